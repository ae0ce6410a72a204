"""Subscribing many people takes several transactions: what is left to do, and to tell."""

from dataclasses import dataclass
from typing import Any, LiteralString

from storage.database import Connection, Locking
from storage.ids import ChannelId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class WorkRow:
    work_id: str
    actor_id: UserId
    channel_ids: list[ChannelId]
    user_ids: list[UserId]
    """Whom later transactions subscribe, in this order."""
    news: Any
    """What to tell when all are; None: nothing."""
    done: int = 0
    """How many of them have been."""


_SELECT: LiteralString = """
    SELECT work_id::text, actor_id, channel_ids, user_ids, news, done FROM subscribing_work
     WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid"""


async def by_id(connection: Connection, realm_id: RealmId, work_id: str) -> WorkRow | None:
    """The work, or None if it is done."""
    return await connection.one(WorkRow, _SELECT, realm_id=realm_id, work_id=work_id)


def locking(realm_id: RealmId, work_id: str) -> Locking[WorkRow]:
    """The work, if it is not done. Locked before anything else by all who go on with it."""
    return Locking(WorkRow, _SELECT, {"realm_id": realm_id, "work_id": work_id}, expected=1)


async def insert(connection: Connection, realm_id: RealmId, row: WorkRow) -> None:
    await connection.execute(
        """
        INSERT INTO subscribing_work (realm_id, work_id, actor_id, channel_ids, user_ids, news)
        VALUES (%(realm_id)s, %(work_id)s::uuid, %(actor_id)s, %(channel_ids)s::bigint[],
                %(user_ids)s::bigint[], %(news)s)
        """,
        realm_id=realm_id,
        work_id=row.work_id,
        actor_id=row.actor_id,
        channel_ids=row.channel_ids,
        user_ids=row.user_ids,
        news=None if row.news is None else connection.json(row.news),
    )


async def go_on(connection: Connection, realm_id: RealmId, work_id: str, *, done: int) -> None:
    """So many have been subscribed."""
    # The long array stays where it is: only a row that points to it is written.
    await connection.execute(
        """
        UPDATE subscribing_work SET done = %(done)s
         WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid
        """,
        realm_id=realm_id,
        work_id=work_id,
        done=done,
    )


async def delete(connection: Connection, realm_id: RealmId, work_id: str) -> None:
    """The work is done."""
    await connection.execute(
        """
        DELETE FROM subscribing_work
         WHERE realm_id = %(realm_id)s AND work_id = %(work_id)s::uuid
        """,
        realm_id=realm_id,
        work_id=work_id,
    )
