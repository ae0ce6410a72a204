"""Alert words: words that notify a user when a message holds them."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.database import Connection
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class AlertWordRow:
    word: str
    user_ids: list[UserId]


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[str]:
    """Return the user's words, in alphabetical order."""
    return await connection.values(
        """
        SELECT word FROM alert_words
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
         ORDER BY lower(word), word
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def of_realm(connection: Connection, realm_id: RealmId) -> list[AlertWordRow]:
    """Return every alert word of the realm, with its user and in that user's spelling."""
    return await connection.many(
        AlertWordRow,
        """
        SELECT word, array_agg(user_id ORDER BY user_id) AS user_ids
          FROM alert_words WHERE realm_id = %(realm_id)s
         GROUP BY word
        """,
        realm_id=realm_id,
    )


async def insert(
    connection: Connection, realm_id: RealmId, user_id: UserId, words: Sequence[str]
) -> None:
    """Insert words that the user does not have. The caller has locked the user's row."""
    await connection.execute(
        """
        INSERT INTO alert_words (realm_id, user_id, word)
        SELECT %(realm_id)s, %(user_id)s, unnest(%(words)s::text[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        words=list(words),
    )


async def delete(
    connection: Connection, realm_id: RealmId, user_id: UserId, words: Sequence[str]
) -> None:
    """Delete words of the user, given in their stored spelling.

    The caller has locked the user's row.
    """
    await connection.execute(
        """
        DELETE FROM alert_words
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND word = ANY(%(words)s::text[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        words=list(words),
    )
