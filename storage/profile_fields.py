"""Custom profile fields of realms."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from storage.database import Connection
from storage.ids import ProfileFieldId, RealmId


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    field_id: ProfileFieldId
    field_type: int
    name: str
    hint: str
    field_data: str
    required: bool
    editable_by_user: bool
    display_in_profile_summary: bool
    use_for_user_matching: bool = False


async def of_realm(connection: Connection, realm_id: RealmId) -> list[FieldRow]:
    """Return all fields, in display order."""
    return await connection.many(
        FieldRow,
        """
        SELECT field_id, field_type, name, hint, field_data, required, editable_by_user,
               display_in_profile_summary, use_for_user_matching
          FROM profile_fields WHERE realm_id = %(realm_id)s ORDER BY sort_order, field_id
        """,
        realm_id=realm_id,
    )


async def ids(connection: Connection, realm_id: RealmId) -> frozenset[ProfileFieldId]:
    return frozenset(
        await connection.values(
            "SELECT field_id FROM profile_fields WHERE realm_id = %(realm_id)s", realm_id=realm_id
        )
    )


async def new_id(connection: Connection) -> ProfileFieldId:
    field_id: ProfileFieldId = await connection.value("SELECT nextval('profile_field_ids')")
    return field_id


async def insert(connection: Connection, realm_id: RealmId, row: FieldRow) -> None:
    """Insert the field at the end, under an id from `new_id`.

    The caller has locked the realm's row exclusively.
    """
    await connection.execute(
        """
        INSERT INTO profile_fields (realm_id, field_id, field_type, name, hint, field_data,
                                    required, editable_by_user, display_in_profile_summary,
                                    use_for_user_matching, sort_order)
        SELECT %(realm_id)s, %(field_id)s, %(field_type)s, %(name)s, %(hint)s, %(field_data)s,
               %(required)s, %(editable_by_user)s, %(display_in_profile_summary)s,
               %(use_for_user_matching)s, coalesce(max(sort_order), 0) + 1
          FROM profile_fields WHERE realm_id = %(realm_id)s
        """,
        realm_id=realm_id,
        **asdict(row),
    )


async def update(connection: Connection, realm_id: RealmId, row: FieldRow) -> None:
    """Update the field, except its type. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE profile_fields
           SET name = %(name)s, hint = %(hint)s, field_data = %(field_data)s,
               required = %(required)s, editable_by_user = %(editable_by_user)s,
               display_in_profile_summary = %(display_in_profile_summary)s,
               use_for_user_matching = %(use_for_user_matching)s
         WHERE realm_id = %(realm_id)s AND field_id = %(field_id)s
        """,
        realm_id=realm_id,
        **asdict(row),
    )


async def update_order(
    connection: Connection, realm_id: RealmId, field_ids: Sequence[ProfileFieldId]
) -> None:
    """Update the display order. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE profile_fields f SET sort_order = n.place
          FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS n(field_id, place)
         WHERE f.realm_id = %(realm_id)s AND f.field_id = n.field_id
        """,
        realm_id=realm_id,
        ids=list(field_ids),
    )


async def delete(connection: Connection, realm_id: RealmId, field_id: ProfileFieldId) -> None:
    """Delete the field and all of its values."""
    await connection.execute(
        """
        WITH forgotten AS (
            DELETE FROM profile_values
             WHERE realm_id = %(realm_id)s AND field_id = %(field_id)s
        )
        DELETE FROM profile_fields WHERE realm_id = %(realm_id)s AND field_id = %(field_id)s
        """,
        realm_id=realm_id,
        field_id=field_id,
    )
