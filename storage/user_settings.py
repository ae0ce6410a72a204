"""Personal settings of many users."""

from collections.abc import Mapping
from typing import Any

from storage.database import Connection
from storage.ids import RealmId, UserId


async def update(
    connection: Connection, realm_id: RealmId, settings: Mapping[UserId, dict[str, Any]]
) -> None:
    """Update the settings of these users. The caller has locked their rows."""
    await connection.execute(
        """
        UPDATE users u SET settings = n.settings
          FROM unnest(%(user_ids)s::bigint[], %(settings)s::jsonb[]) AS n(user_id, settings)
         WHERE u.realm_id = %(realm_id)s AND u.user_id = n.user_id
        """,
        realm_id=realm_id,
        user_ids=list(settings),
        settings=[connection.json(each) for each in settings.values()],
    )
