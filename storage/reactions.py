"""Reactions to messages."""

from dataclasses import dataclass

from storage.database import Connection, Statement
from storage.ids import MessageId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class ReactionRow:
    message_id: MessageId
    user_id: UserId
    reaction_type: str
    emoji_code: str
    emoji_name: str


async def of_message(
    connection: Connection, realm_id: RealmId, message_id: MessageId
) -> list[ReactionRow]:
    """Return the message's reactions, in the order of creation."""
    return await connection.many(
        ReactionRow,
        """
        SELECT message_id, user_id, reaction_type, emoji_code, emoji_name
          FROM reactions WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s
         ORDER BY position
        """,
        realm_id=realm_id,
        message_id=message_id,
    )


def insert(realm_id: RealmId, reaction: ReactionRow) -> Statement:
    """Insert a reaction that is missing; the message's row is locked."""
    return Statement(
        """
        INSERT INTO reactions (realm_id, message_id, user_id, reaction_type, emoji_code,
                               emoji_name, position)
        VALUES (%(realm_id)s, %(message_id)s, %(user_id)s, %(reaction_type)s, %(emoji_code)s,
                %(emoji_name)s, current_position())
        """,
        {
            "realm_id": realm_id,
            "message_id": reaction.message_id,
            "user_id": reaction.user_id,
            "reaction_type": reaction.reaction_type,
            "emoji_code": reaction.emoji_code,
            "emoji_name": reaction.emoji_name,
        },
    )


def delete(realm_id: RealmId, reaction: ReactionRow) -> Statement:
    """Delete a reaction."""
    return Statement(
        """
        DELETE FROM reactions
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND user_id = %(user_id)s
           AND reaction_type = %(reaction_type)s AND emoji_code = %(emoji_code)s
        """,
        {
            "realm_id": realm_id,
            "message_id": reaction.message_id,
            "user_id": reaction.user_id,
            "reaction_type": reaction.reaction_type,
            "emoji_code": reaction.emoji_code,
        },
    )
