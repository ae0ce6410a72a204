"""Profile data: users' values of their realm's custom profile fields."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from storage.database import Connection
from storage.ids import ProfileFieldId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class ValueRow:
    value: str
    rendered_value: str | None


ProfileData = Mapping[ProfileFieldId, ValueRow]
"""One user's values, by field."""
NO_DATA: Final[ProfileData] = {}


async def of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> dict[UserId, ProfileData]:
    """Return the values of these users; users without any are left out."""
    rows = await connection.tuples(
        """
        SELECT user_id, field_id, value, rendered_value FROM profile_values
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
         ORDER BY user_id, field_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return _by_user(rows)


async def of_realm(connection: Connection, realm_id: RealmId) -> dict[UserId, ProfileData]:
    """Return the values of all users; users without any are left out."""
    rows = await connection.tuples(
        """
        SELECT user_id, field_id, value, rendered_value FROM profile_values
         WHERE realm_id = %(realm_id)s ORDER BY user_id, field_id
        """,
        realm_id=realm_id,
    )
    return _by_user(rows)


async def upsert(
    connection: Connection, realm_id: RealmId, user_id: UserId, values: ProfileData
) -> None:
    """Insert or update values of the user. The caller has locked the user's row."""
    await connection.execute(
        """
        INSERT INTO profile_values (realm_id, user_id, field_id, value, rendered_value)
        SELECT %(realm_id)s, %(user_id)s, n.field_id, n.value, n.rendered_value
          FROM unnest(%(field_ids)s::bigint[], %(values)s::text[], %(rendered)s::text[])
               AS n(field_id, value, rendered_value)
        ON CONFLICT (realm_id, user_id, field_id) DO UPDATE
           SET value = excluded.value, rendered_value = excluded.rendered_value
        """,
        realm_id=realm_id,
        user_id=user_id,
        field_ids=list(values),
        values=[each.value for each in values.values()],
        rendered=[each.rendered_value for each in values.values()],
    )


async def delete(
    connection: Connection, realm_id: RealmId, user_id: UserId, field_ids: Sequence[ProfileFieldId]
) -> None:
    """Delete values of the user. The caller has locked the user's row."""
    await connection.execute(
        """
        DELETE FROM profile_values
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND field_id = ANY(%(field_ids)s)
        """,
        realm_id=realm_id,
        user_id=user_id,
        field_ids=list(field_ids),
    )


async def who_say(
    connection: Connection,
    realm_id: RealmId,
    field_id: ProfileFieldId,
    values: Sequence[str],
    *,
    limit: int,
) -> list[UserId]:
    """Return up to `limit` users who have one of these values of the field."""
    return await connection.values(
        """
        SELECT user_id FROM profile_values
         WHERE realm_id = %(realm_id)s AND field_id = %(field_id)s AND value = ANY(%(values)s)
         ORDER BY user_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        field_id=field_id,
        values=list(values),
        limit=limit,
    )


async def delete_values(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    field_id: ProfileFieldId,
    values: Sequence[str],
) -> dict[UserId, str]:
    """Delete these values of the field for these locked users; return the value of each user."""
    rows = await connection.tuples(
        """
        WITH gone AS (
            DELETE FROM profile_values
             WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)
               AND field_id = %(field_id)s AND value = ANY(%(values)s)
            RETURNING user_id, value
        )
        SELECT user_id, value FROM gone ORDER BY user_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        field_id=field_id,
        values=list(values),
    )
    return dict(rows)


def _by_user(
    rows: Sequence[tuple[UserId, ProfileFieldId, str, str | None]],
) -> dict[UserId, ProfileData]:
    found: dict[UserId, dict[ProfileFieldId, ValueRow]] = defaultdict(dict)
    for user_id, field_id, value, rendered in rows:
        found[user_id][field_id] = ValueRow(value, rendered)
    return dict(found)
