"""Calls of slash commands that still take answers, at an address of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCallRow:
    call_id: str
    bot_id: UserId
    caller_id: UserId
    command: str
    """Without the slash."""
    channel_id: ChannelId | None
    """The channel in which it was called; None: direct messages."""
    topic: str
    user_ids: Sequence[UserId]
    """The participants of the direct messages."""
    answers_left: int
    """How many more answers its address takes."""


async def open_address(
    connection: Connection, realm_id: RealmId, row: CommandCallRow, *, token: str, now: datetime
) -> str:
    """Record the call; return the token of its address, which repeats of the call share."""
    known: str = await connection.value(
        """
        INSERT INTO command_calls
               (realm_id, call_id, answer_token, bot_id, caller_id, command, channel_id, topic,
                user_ids, called_at, answers_left)
        VALUES (%(realm_id)s, %(call_id)s, %(token)s, %(bot_id)s, %(caller_id)s, %(command)s,
                %(channel_id)s, %(topic)s, %(user_ids)s, %(now)s, %(answers_left)s)
            ON CONFLICT (realm_id, call_id) DO UPDATE SET call_id = excluded.call_id
        RETURNING answer_token
        """,
        realm_id=realm_id,
        call_id=row.call_id,
        token=token,
        bot_id=row.bot_id,
        caller_id=row.caller_id,
        command=row.command,
        channel_id=row.channel_id,
        topic=row.topic,
        user_ids=list(row.user_ids),
        now=now,
        answers_left=row.answers_left,
    )
    return known


async def use_answer(
    connection: Connection, realm_id: RealmId, token: str, *, called_after: datetime
) -> CommandCallRow | None:
    """Count an answer to the call with this token; None if it takes no more."""
    return await connection.one(
        CommandCallRow,
        """
        UPDATE command_calls SET answers_left = answers_left - 1
         WHERE realm_id = %(realm_id)s AND answer_token = %(token)s AND answers_left > 0
           AND called_at > %(called_after)s
        RETURNING call_id, bot_id, caller_id, command, channel_id, topic, user_ids, answers_left
        """,
        realm_id=realm_id,
        token=token,
        called_after=called_after,
    )


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Delete calls that are older than this."""
    await connection.execute(
        "DELETE FROM command_calls WHERE called_at < now() - %(age)s", age=older_than
    )
