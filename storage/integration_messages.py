"""Messages of integrations about builds and alerts that a later delivery is about as well."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

from storage.database import Connection, Statement
from storage.ids import MessageId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class IntegrationMessageRow:
    """The newest message about one build or alert."""

    message_id: MessageId
    is_open: bool
    """Whether another message about the same is expected."""
    delivery: bytes | None
    """Digest of the id of the last delivery, if the service sends ids."""


async def latest(
    connection: Connection, realm_id: RealmId, bot_id: UserId, about: bytes
) -> IntegrationMessageRow | None:
    """Return the newest message that the bot has sent about it."""
    return await connection.one(
        IntegrationMessageRow,
        """
        SELECT message_id, is_open, delivery FROM integration_messages
         WHERE realm_id = %(realm_id)s AND bot_id = %(bot_id)s AND about = %(about)s
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        about=about,
    )


@dataclass(frozen=True, slots=True)
class StageRecord:
    """What a delivery says of a build or an alert, to be recorded with its message."""

    realm_id: RealmId
    bot_id: UserId
    about: bytes
    is_open: bool
    delivery: bytes | None
    changed_at: datetime

    def with_send(self) -> Statement:
        """With the send of a message: record it. For Send.statement."""
        return Statement(_PUT + "message_id" + _PUT_REST + "::text", self._params())

    async def put(self, connection: Connection, message_id: MessageId) -> None:
        """Record the message that has been edited."""
        await connection.execute(
            _PUT + "%(edited_id)s" + _PUT_REST, **self._params(), edited_id=message_id
        )

    def _params(self) -> dict[str, Any]:
        return {
            "realm_id": self.realm_id,
            "bot_id": self.bot_id,
            "about": self.about,
            "is_open": self.is_open,
            "delivery": self.delivery,
            "changed_at": self.changed_at,
        }


_PUT: Final[LiteralString] = "SELECT put_integration_message(%(realm_id)s, %(bot_id)s, %(about)b, "
_PUT_REST: Final[LiteralString] = ", %(is_open)s, %(delivery)b, %(changed_at)s)"


async def forget(connection: Connection, *, older_than: timedelta) -> None:
    """Delete rows that have not changed for so long."""
    await connection.execute(
        "DELETE FROM integration_messages WHERE changed_at < now() - %(age)s", age=older_than
    )
