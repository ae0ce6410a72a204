"""Client devices: those rows of push_devices that clients register before they give a token."""

from collections.abc import Sequence
from datetime import datetime

from storage.database import Connection
from storage.ids import PushDeviceId, RealmId, UserId
from storage.push_devices import ClientDevice


async def insert(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, now: datetime
) -> PushDeviceId:
    """Insert a device without a key and a token."""
    new: PushDeviceId = await connection.value(
        """
        INSERT INTO push_devices (realm_id, user_id, is_client_device, created_at)
        VALUES (%(realm_id)s, %(user_id)s, true, %(now)s)
        RETURNING device_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        now=now,
    )
    return new


async def update(
    connection: Connection, realm_id: RealmId, user_id: UserId, device: ClientDevice
) -> None:
    """Store the state of the push registration. The caller has locked the user's row."""
    await connection.execute(
        """
        UPDATE push_devices
           SET kind = %(kind)s, push_key_id = %(push_key_id)s, push_key = %(push_key)s,
               push_token_id = %(push_token_id)s,
               pending_push_token_id = %(pending_push_token_id)s,
               push_token_changed_at = %(changed_at)s, error_code = %(error_code)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND device_id = %(device_id)s
           AND is_client_device
        """,
        realm_id=realm_id,
        user_id=user_id,
        device_id=device.device_id,
        kind=device.kind,
        push_key_id=device.push_key_id,
        push_key=device.push_key,
        push_token_id=device.push_token_id,
        pending_push_token_id=device.pending_push_token_id,
        changed_at=device.push_token_changed_at,
        error_code=device.error_code,
    )


async def end_registrations(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[tuple[UserId, PushDeviceId]]:
    """Remove keys and tokens of these users' devices, which stay; return the changed ones."""
    return await connection.tuples(
        """
        UPDATE push_devices
           SET kind = NULL, push_key_id = NULL, push_key = NULL, push_token_id = NULL,
               pending_push_token_id = NULL, push_token_changed_at = NULL, error_code = NULL
         WHERE realm_id = %(realm_id)s AND user_id = ANY (%(user_ids)s::bigint[])
           AND is_client_device AND push_key IS NOT NULL
        RETURNING user_id, device_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


async def pending_since(
    connection: Connection, realm_id: RealmId, before: datetime
) -> list[tuple[UserId, PushDeviceId]]:
    """Return devices with a token on which the bouncer has not decided since before that time."""
    return await connection.tuples(
        """
        SELECT user_id, device_id FROM push_devices
         WHERE realm_id = %(realm_id)s AND pending_push_token_id IS NOT NULL
           AND error_code IS NULL AND push_token_changed_at < %(before)s
         ORDER BY user_id, device_id
        """,
        realm_id=realm_id,
        before=before,
    )
