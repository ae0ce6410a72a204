"""Register the server's organizations with a push service, and read its response."""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Final, Protocol

from server.actions.push_status import PushStatus
from server.domain.realm_settings import RealmSettings
from server.push.service import PushService
from server.realm_cache import RealmCaches
from storage import server_keys
from storage.database import Database
from storage.realms import RealmRow

PURPOSE: Final = "push realms"
"""The purpose of the key from which the secret of each organization is derived."""


class RegistrationContext(Protocol):
    """The data needed to describe an organization."""

    @property
    def database(self) -> Database: ...

    @property
    def realm_caches(self) -> RealmCaches: ...


async def introduce(
    service: PushService, rows: Sequence[RealmRow], ground: RegistrationContext
) -> dict[str, PushStatus]:
    """Register these organizations, which are all; return the response by uuid.

    Raises a PushError.
    """
    async with ground.database.connection() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    return await service.introduce([_described(row, ground.realm_caches, key) for row in rows])


def _described(row: RealmRow, realm_caches: RealmCaches, key: bytes) -> dict[str, Any]:
    address = realm_caches.of(row.realm_id).address_of(row)
    settings = RealmSettings.of(row.settings)
    secret = hmac.new(key, row.uuid.encode(), hashlib.sha256).hexdigest()
    return {
        "id": row.realm_id,
        "uuid": row.uuid,
        "uuid_owner_secret": secret,
        "host": address.host,
        "url": address.url,
        "name": row.name,
        "org_type": settings.org_type,
        "date_created": row.created_at.timestamp(),
        "deactivated": row.deactivated,
        "authentication_methods": dict.fromkeys(settings.authentication_methods, True),
        "is_system_bot_realm": False,
    }
