"""Messages of integrations about builds and alerts that a later delivery is about as well."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from storage.database import Connection
from storage.ids import MessageId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class IntegrationMessageRow:
    """The newest message about one build or alert."""

    about: bytes
    """Digest of the service, the destination, and the identity of the build or alert."""
    message_id: MessageId
    is_open: bool
    """Whether another message about the same is expected."""
    delivery: bytes | None
    """Digest of the id of the last delivery, if the service sends ids."""
    changed_at: datetime


async def latest(
    connection: Connection, realm_id: RealmId, bot_id: UserId, about: bytes
) -> IntegrationMessageRow | None:
    """Return the newest message that the bot has sent about it."""
    return await connection.one(
        IntegrationMessageRow,
        """
        SELECT about, message_id, is_open, delivery, changed_at FROM integration_messages
         WHERE realm_id = %(realm_id)s AND bot_id = %(bot_id)s AND about = %(about)s
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        about=about,
    )


async def put(
    connection: Connection, realm_id: RealmId, bot_id: UserId, row: IntegrationMessageRow
) -> None:
    """Record the newest message. A repeated delivery does not reopen what has ended."""
    await connection.execute(
        """
        INSERT INTO integration_messages AS m
               (realm_id, bot_id, about, message_id, is_open, delivery, changed_at)
        VALUES (%(realm_id)s, %(bot_id)s, %(about)s, %(message_id)s, %(is_open)s, %(delivery)s,
                %(changed_at)s)
            ON CONFLICT (realm_id, bot_id, about) DO UPDATE
           SET message_id = excluded.message_id, is_open = excluded.is_open,
               delivery = excluded.delivery, changed_at = excluded.changed_at
         WHERE m.message_id < excluded.message_id OR m.is_open
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        about=row.about,
        message_id=row.message_id,
        is_open=row.is_open,
        delivery=row.delivery,
        changed_at=row.changed_at,
    )


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Delete rows that have not changed for so long."""
    await connection.execute(
        "DELETE FROM integration_messages WHERE changed_at < now() - %(age)s", age=older_than
    )
