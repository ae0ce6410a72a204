"""Register and remove push devices. Changes of a user's devices lock their row."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import UNSET

from server.domain.actor import Actor
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.events.base import to_users
from server.events.client_devices import ClientDeviceRemoved
from server.events.push_devices import PushDeviceChanged
from server.i18n import _
from server.jobs import GoneDevice, PushRegistration, enqueue
from server.transactions import Tx
from storage import push_devices, users
from storage.ids import PushDeviceId, UserId
from storage.push_devices import WEB, DeviceRow, Kind, Status

MAX_DEVICES: Final = 50
"""Maximum of phones per user; for one more, one is deleted."""
REGISTERED: Final = 1
"""For a device with a token: that it is registered with the bouncer."""
ASKED_AGAIN_AFTER: Final = timedelta(minutes=10)
"""An earlier repetition counts as the same request."""
EXPIRED: Final = "REQUEST_EXPIRED"
"""Error code of a registration that is too old for any bouncer."""


async def add_token(
    tx: Tx, actor: Actor, kind: Kind, token: str, app_id: str | None, *, now: datetime
) -> None:
    """Store the device; an existing one stays.

    Other users may have the same token: an app has one for all its accounts.
    """
    await lock_owner(tx, actor.user_id)
    connection = await tx.changing()
    new = await push_devices.insert_plain(
        connection, tx.realm_id, actor.user_id, kind=kind, token=token, app_id=app_id, now=now
    )
    if new is None:
        return
    await make_room(tx, actor.user_id)
    enqueue(tx, PushRegistration(realm_id=tx.realm_id, user_id=actor.user_id, device_id=new))


async def remove_token(tx: Tx, actor: Actor, kind: Kind, token: str) -> None:
    """Delete the device here and at the bouncer. Raises BadRequestError."""
    await lock_owner(tx, actor.user_id)
    row = await push_devices.with_token(
        await tx.connection(), tx.realm_id, actor.user_id, kind, token
    )
    if row is None:
        raise BadRequestError(_("Token does not exist"))
    await delete_phones(tx, actor.user_id, [row])


async def register_device(
    tx: Tx,
    actor: Actor,
    kind: Kind,
    account_id: int,
    public_key: bytes,
    *,
    registration: str,
    bouncer_key: str,
    now: datetime,
) -> None:
    """Enqueue the device's registration with the bouncer, unless it is done or pending.

    `registration` is encrypted for the bouncer, with its key `bouncer_key`. It replaces one that
    has been pending for a while.
    """
    await lock_owner(tx, actor.user_id)
    rows = await push_devices.of_user(await tx.connection(), tx.realm_id, actor.user_id)
    before = next((row for row in rows if row.account_id == account_id), None)
    status = None if before is None else before.status
    if status == "active" or _was_just_asked(before, kind, public_key, now):
        return
    connection = await tx.changing()
    device_id = await push_devices.put_sealed(
        connection,
        tx.realm_id,
        actor.user_id,
        kind=kind,
        account_id=account_id,
        public_key=public_key,
        now=now,
    )
    await make_room(tx, actor.user_id)
    if status != "pending":
        _append_device_event(tx, actor.user_id, account_id, "pending")
    enqueue(
        tx,
        PushRegistration(
            realm_id=tx.realm_id,
            user_id=actor.user_id,
            device_id=device_id,
            registration=registration,
            bouncer_key=bouncer_key,
        ),
    )


def _was_just_asked(row: DeviceRow | None, kind: Kind, public_key: bytes, now: datetime) -> bool:
    if row is None or row.status != "pending" or (row.kind, row.public_key) != (kind, public_key):
        return False
    return now - row.created_at < ASKED_AGAIN_AFTER


async def settle_device(
    tx: Tx,
    user_id: UserId,
    device_id: PushDeviceId,
    *,
    bouncer_id: int | None,
    error_code: str | None = None,
) -> bool:
    """Record the bouncer's response. Return False if the device is gone."""
    row = await lock_device(tx, user_id, device_id)
    if row is None:
        return False
    if (row.bouncer_id, row.error_code) != (bouncer_id, error_code):
        await _settle(tx, user_id, row, bouncer_id, error_code)
    return True


async def expire_device(tx: Tx, user_id: UserId, device_id: PushDeviceId) -> None:
    """Fail the registration, if the bouncer has not responded until now."""
    row = await lock_device(tx, user_id, device_id)
    if row is not None and row.status == "pending":
        await _settle(tx, user_id, row, None, EXPIRED)


async def drop_devices(tx: Tx, user_id: UserId, device_ids: Iterable[PushDeviceId]) -> None:
    """Delete devices that the push services, or the bouncer, report as gone."""
    await tx.lock(users.locking(tx.realm_id, [user_id]))
    connection = await tx.changing()
    await push_devices.delete(connection, tx.realm_id, user_id, device_ids)


async def drop_all_devices(tx: Tx, user_ids: Sequence[UserId]) -> int:
    """Delete devices with API keys of users who leave or are signed out; return how many phones.

    Browsers with sessions go with these, and client devices stay. The caller has locked the users'
    rows.
    """
    connection = await tx.changing()
    owners = await push_devices.delete_of_users(connection, tx.realm_id, user_ids)
    for user_id in sorted(set(owners)):
        enqueue(tx, PushRegistration(realm_id=tx.realm_id, user_id=user_id, all_gone=True))
    return len(owners)


async def lock_owner(tx: Tx, user_id: UserId) -> None:
    """Lock the row of the user. Raises UserDeactivatedError."""
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))


async def lock_device(tx: Tx, user_id: UserId, device_id: PushDeviceId) -> DeviceRow | None:
    """Lock the row of the user, and return the device; None if they have none of this id."""
    await tx.lock(users.locking(tx.realm_id, [user_id]))
    return await push_devices.by_id(await tx.connection(), tx.realm_id, user_id, device_id)


async def _settle(
    tx: Tx, user_id: UserId, row: DeviceRow, bouncer_id: int | None, error_code: str | None
) -> None:
    await push_devices.settle(
        await tx.changing(),
        tx.realm_id,
        user_id,
        row.device_id,
        bouncer_id=bouncer_id,
        error_code=error_code,
    )
    if row.account_id is not None:
        status: Status = "active" if error_code is None else "failed"
        _append_device_event(tx, user_id, row.account_id, status, error_code)


async def make_room(tx: Tx, user_id: UserId) -> None:
    """Delete phones beyond MAX_DEVICES: first those that get no notifications, then the oldest.

    The newest one stays.
    """
    rows = await push_devices.of_user(await tx.changing(), tx.realm_id, user_id)
    phones = [row for row in rows if row.kind != WEB]
    surplus = len(phones) - MAX_DEVICES
    if surplus > 0:
        ranked = sorted(phones[:-1], key=lambda row: row.client is None or row.client.is_in_use)
        await delete_phones(tx, user_id, ranked[:surplus])


async def delete_phones(tx: Tx, user_id: UserId, rows: Sequence[DeviceRow]) -> None:
    """Delete these phones of the user, here and at the bouncer."""
    if not rows:
        return
    connection = await tx.changing()
    ids = [row.device_id for row in rows]
    await push_devices.delete(connection, tx.realm_id, user_id, ids)
    for row in rows:
        if row.plain is not None:
            gone = GoneDevice(kind=row.plain.kind, token=row.plain.token)
            enqueue(tx, PushRegistration(realm_id=tx.realm_id, user_id=user_id, gone=gone))
        if row.client is not None:
            tx.append(ClientDeviceRemoved(device_id=row.device_id), to_users(user_id))


def _append_device_event(
    tx: Tx, user_id: UserId, account_id: int, status: Status, error_code: str | None = None
) -> None:
    event = PushDeviceChanged(
        push_account_id=str(account_id),
        status=status,
        error_code=UNSET if error_code is None else error_code,
    )
    tx.append(event, to_users(user_id))
