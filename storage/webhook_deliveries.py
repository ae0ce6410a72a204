"""The last delivery to each incoming webhook bot."""

from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    service: str
    outcome: str
    received_at: datetime


async def note(
    connection: Connection, realm_id: RealmId, bot_id: UserId, delivery: DeliveryRow
) -> None:
    """Record the last delivery, unless a later one is known."""
    await connection.execute(
        """
        INSERT INTO webhook_deliveries AS d (realm_id, bot_id, service, outcome, received_at)
        VALUES (%(realm_id)s, %(bot_id)s, %(service)s, %(outcome)s, %(received_at)s)
            ON CONFLICT (realm_id, bot_id) DO UPDATE
           SET service = excluded.service, outcome = excluded.outcome,
               received_at = excluded.received_at
         WHERE d.received_at < excluded.received_at
        """,
        realm_id=realm_id,
        bot_id=bot_id,
        service=delivery.service,
        outcome=delivery.outcome,
        received_at=delivery.received_at,
    )


async def last(connection: Connection, realm_id: RealmId, bot_id: UserId) -> DeliveryRow | None:
    """Return the last delivery to the bot, if there was one."""
    return await connection.one(
        DeliveryRow,
        """
        SELECT service, outcome, received_at FROM webhook_deliveries
         WHERE realm_id = %(realm_id)s AND bot_id = %(bot_id)s
        """,
        realm_id=realm_id,
        bot_id=bot_id,
    )
