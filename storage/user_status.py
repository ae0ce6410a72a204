"""User status: a text and an emoji."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from storage.database import Connection
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class UserStatusRow:
    """A user's status; empty fields are not set."""

    user_id: UserId
    away: bool
    """Whether the user hides their presence."""
    status_text: str = ""
    emoji_name: str = ""
    emoji_code: str = ""
    reaction_type: str = ""


_SELECT: LiteralString = """
    SELECT u.user_id,
           u.settings ->> 'presence_enabled' IS NOT DISTINCT FROM 'false' AS away,
           coalesce(s.status_text, '') AS status_text,
           coalesce(s.emoji_name, '') AS emoji_name,
           coalesce(s.emoji_code, '') AS emoji_code,
           coalesce(s.reaction_type, '') AS reaction_type
      FROM users u
      LEFT JOIN user_statuses s ON s.realm_id = u.realm_id AND s.user_id = u.user_id
     WHERE u.realm_id = %(realm_id)s AND """
_OF_WHOM_THERE_IS_ANYTHING_TO_SAY: LiteralString = """
           u.is_active AND u.bot_type IS NULL AND u.user_id = ANY (ARRAY(
               SELECT user_id FROM user_statuses WHERE realm_id = %(realm_id)s
                UNION
               SELECT user_id FROM users
                WHERE realm_id = %(realm_id)s AND settings ->> 'presence_enabled' = 'false'))
     ORDER BY u.user_id
"""


async def of_realm(connection: Connection, realm_id: RealmId) -> list[UserStatusRow]:
    """Return the non-empty statuses of active users."""
    return await connection.many(
        UserStatusRow,
        _SELECT + _OF_WHOM_THERE_IS_ANYTHING_TO_SAY,
        realm_id=realm_id,
    )


async def of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[UserStatusRow]:
    """Return those of these users, active or not, as far as they exist."""
    return await connection.many(
        UserStatusRow,
        _SELECT + "u.user_id = ANY(%(user_ids)s) ORDER BY u.user_id",
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


async def put(connection: Connection, realm_id: RealmId, row: UserStatusRow) -> None:
    """Update text and emoji. The caller has locked the user's row."""
    await connection.execute(
        """
        INSERT INTO user_statuses (realm_id, user_id, status_text, emoji_name, emoji_code,
                                   reaction_type)
        VALUES (%(realm_id)s, %(user_id)s, %(status_text)s, %(emoji_name)s, %(emoji_code)s,
                %(reaction_type)s)
        ON CONFLICT (realm_id, user_id) DO UPDATE
           SET status_text = excluded.status_text, emoji_name = excluded.emoji_name,
               emoji_code = excluded.emoji_code, reaction_type = excluded.reaction_type
        """,
        realm_id=realm_id,
        user_id=row.user_id,
        status_text=row.status_text,
        emoji_name=row.emoji_name,
        emoji_code=row.emoji_code,
        reaction_type=row.reaction_type,
    )


async def delete(connection: Connection, realm_id: RealmId, user_id: UserId) -> None:
    """Delete the status. The caller has locked the user's row."""
    await connection.execute(
        """
        DELETE FROM user_statuses WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )
