"""Submessages: what widgets attach to their messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.database import Connection, Statement
from storage.ids import MessageId, Position, RealmId, UserId


@dataclass(frozen=True, slots=True)
class SubmessageRow:
    id: int
    sender_id: UserId
    msg_type: str
    content: str


async def positions_of(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> list[Position]:
    """Return the positions of the log entries of the messages' submessages."""
    return await connection.values(
        """
        SELECT id FROM submessages
         WHERE realm_id = %(realm_id)s AND message_id = ANY(%(message_ids)s::bigint[])
         ORDER BY id
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )


async def first_of(
    connection: Connection, realm_id: RealmId, message_id: MessageId
) -> SubmessageRow | None:
    """Return the submessage that defines the message's widget, if it has one."""
    return await connection.one(
        SubmessageRow,
        """
        SELECT id, sender_id, msg_type, content FROM submessages
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND msg_type = 'widget'
         ORDER BY id LIMIT 1
        """,
        realm_id=realm_id,
        message_id=message_id,
    )


def insert(
    realm_id: RealmId, message_id: MessageId, sender_id: UserId, msg_type: str, content: str
) -> Statement:
    """Insert a submessage; the message's row is locked. The position is its id."""
    return Statement(
        """
        INSERT INTO submessages (realm_id, message_id, id, sender_id, msg_type, content)
        VALUES (%(realm_id)s, %(message_id)s, current_position(), %(sender_id)s, %(msg_type)s,
                %(content)s)
        """,
        {
            "realm_id": realm_id,
            "message_id": message_id,
            "sender_id": sender_id,
            "msg_type": msg_type,
            "content": content,
        },
    )
