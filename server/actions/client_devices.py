"""Register and remove client devices, and their push registrations.

A device has a key, with which this server encrypts its notifications, and a token, which the
bouncer alone knows. Here a token is an id: the first bytes of its hash.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from server.actions.push_devices import (
    ASKED_AGAIN_AFTER,
    EXPIRED,
    delete_phones,
    lock_device,
    lock_owner,
    make_room,
)
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.events.base import to_users
from server.events.client_devices import ClientDeviceAdded, ClientDeviceUpdated, token_text
from server.i18n import _
from server.jobs import PushRegistration, enqueue
from server.transactions import Tx
from storage import client_devices, push_devices
from storage.ids import PushDeviceId, UserId
from storage.push_devices import ClientDevice, Kind, PlainDevice

TOKEN_ID_BYTES: Final = 8
CONFIRMED_AFTER: Final = timedelta(days=1)
"""A repeated registration of a token counts as a new confirmation of it after that time."""


@dataclass(frozen=True, slots=True)
class PushKey:
    """A client's key, and its number for it."""

    key_id: int
    key: bytes


@dataclass(frozen=True, slots=True)
class TokenRegistration:
    """A token, encrypted for the bouncer with its key `bouncer_key`."""

    kind: Kind
    token_id: bytes
    registration: str
    bouncer_key: str


def token_id_of(token: str) -> bytes:
    """Return the id of a token."""
    return sha256(token.encode()).digest()[:TOKEN_ID_BYTES]


async def add_device(tx: Tx, actor: Actor, *, now: datetime) -> PushDeviceId:
    """Add a device without a push registration; return its id. Each call adds another."""
    await lock_owner(tx, actor.user_id)
    device_id = await client_devices.insert(
        await tx.changing(), tx.realm_id, actor.user_id, now=now
    )
    await make_room(tx, actor.user_id)
    tx.append(ClientDeviceAdded(device_id=device_id), to_users(actor.user_id))
    return device_id


async def remove_device(tx: Tx, actor: Actor, device_id: PushDeviceId) -> None:
    """Delete the device with its key. Raises BadRequestError."""
    await _own_device(tx, actor, device_id)
    row = await lock_device(tx, actor.user_id, device_id)
    assert row is not None, "it is locked"
    await delete_phones(tx, actor.user_id, [row])


async def register_push(
    tx: Tx,
    actor: Actor,
    device_id: PushDeviceId,
    key: PushKey | None,
    token: TokenRegistration | None,
    *,
    now: datetime,
) -> None:
    """Register a key and a token, or replace one of them. Raises BadRequestError.

    A token is pending until the bouncer has taken it; until then notifications go to the former
    one. While it is pending, no other is accepted for ASKED_AGAIN_AFTER.
    """
    device = await _own_device(tx, actor, device_id)
    if key is None and token is None:
        raise BadRequestError(
            _(
                "Missing parameters: must provide either all push key fields, all token fields,"
                " or both."
            )
        )
    if token is not None and _is_in_progress(device, now):
        raise BadRequestError(_("A registration for the device already in progress."))
    if key is None and device.push_key is None:
        raise BadRequestError(_("No push registration exists to rotate token for."))
    if token is None and device.push_key is None:
        raise BadRequestError(_("No push registration exists to rotate key for."))
    changed = device
    if key is not None:
        changed = replace(changed, push_key_id=key.key_id, push_key=key.key)
    if token is None or (changed == device and _is_registered(device, token)):
        if token is not None:
            changed = _confirmed(changed, now)
        await _store(tx, actor.user_id, device, changed)
        if token is not None:
            await _take_from_others(tx, actor.user_id, device_id, token.token_id)
        return
    is_other_kind = device.kind is not None and device.kind != token.kind
    changed = replace(
        changed,
        kind=token.kind,
        push_token_id=None if is_other_kind else device.push_token_id,
        pending_push_token_id=token.token_id,
        push_token_changed_at=now,
        error_code=None,
    )
    await _store(tx, actor.user_id, device, changed)
    job = PushRegistration(
        realm_id=tx.realm_id,
        user_id=actor.user_id,
        device_id=device_id,
        token_id=token_text(token.token_id),
        registration=token.registration,
        bouncer_key=token.bouncer_key,
    )
    enqueue(tx, job)


async def settle_token(
    tx: Tx,
    user_id: UserId,
    device_id: PushDeviceId,
    token_id: bytes,
    error_code: str | None = None,
) -> bool:
    """Record the bouncer's response. Return False if this token is not awaited any more.

    A token that the bouncer has taken is no other phone's of the user any more: none is notified
    twice.
    """
    device = await _lock_client(tx, user_id, device_id)
    if device is None or device.pending_push_token_id != token_id:
        return False
    if error_code is not None:
        await _store(tx, user_id, device, replace(device, error_code=error_code))
        return True
    changed = replace(device, push_token_id=token_id, pending_push_token_id=None, error_code=None)
    await _store(tx, user_id, device, changed)
    await _take_from_others(tx, user_id, device_id, token_id)
    return True


async def expire_token(
    tx: Tx, user_id: UserId, device_id: PushDeviceId, *, before: datetime
) -> None:
    """Fail the registration, if the bouncer has not decided on it since before that time."""
    device = await _lock_client(tx, user_id, device_id)
    if device is None or device.pending_push_token_id is None or device.error_code is not None:
        return
    if device.push_token_changed_at is None or device.push_token_changed_at < before:
        await _store(tx, user_id, device, replace(device, error_code=EXPIRED))


async def forget_tokens(tx: Tx, user_id: UserId, dead: Mapping[PushDeviceId, bytes]) -> None:
    """Remove tokens that the bouncer reports as gone, unless they were replaced meanwhile.

    Devices and their keys stay: clients register another token.
    """
    for device_id, token_id in sorted(dead.items()):
        device = await _lock_client(tx, user_id, device_id)
        if device is not None and device.push_token_id == token_id:
            await _store(tx, user_id, device, replace(device, push_token_id=None))


async def end_push_registrations(tx: Tx, user_ids: Sequence[UserId]) -> int:
    """Remove keys and tokens of all devices of these users; return of how many.

    Devices stay: a client goes on with its own when its user signs in again. The caller has locked
    the users' rows.
    """
    connection = await tx.changing()
    ended = await client_devices.end_registrations(connection, tx.realm_id, user_ids)
    for user_id, device_id in sorted(ended):
        event = ClientDeviceUpdated(
            device_id=device_id,
            push_key_id=None,
            push_token_id=None,
            pending_push_token_id=None,
            push_token_last_updated_timestamp=None,
            push_registration_error_code=None,
        )
        tx.append(event, to_users(user_id))
    return len(ended)


def _is_in_progress(device: ClientDevice, now: datetime) -> bool:
    if device.pending_push_token_id is None or device.error_code is not None:
        return False
    asked_at = device.push_token_changed_at
    return asked_at is not None and now - asked_at < ASKED_AGAIN_AFTER


def _is_registered(device: ClientDevice, token: TokenRegistration) -> bool:
    is_same = (device.push_token_id, device.kind) == (token.token_id, token.kind)
    return is_same and device.pending_push_token_id is None and device.error_code is None


def _confirmed(device: ClientDevice, now: datetime) -> ClientDevice:
    """Return the device with its token confirmed: clients repeat a registration that is old."""
    changed_at = device.push_token_changed_at
    if changed_at is not None and now - changed_at < CONFIRMED_AFTER:
        return device
    return replace(device, push_token_changed_at=now)


def _is_token(device: PlainDevice, token_id: bytes) -> bool:
    """Return whether the token has this id; those of Apple are stored in lower case."""
    spellings = {device.token}
    if device.kind == "apns":
        spellings.add(device.token.upper())
    return any(token_id_of(each) == token_id for each in spellings)


async def _take_from_others(
    tx: Tx, user_id: UserId, device_id: PushDeviceId, token_id: bytes
) -> None:
    """Remove the device's token from the user's other devices, and its registration in the clear.

    Such devices are of the same phone: of an app that was installed again, or an older version.
    """
    rows = await push_devices.of_user(await tx.connection(), tx.realm_id, user_id)
    for other in (row.client for row in rows if row.device_id != device_id):
        if other is not None and other.push_token_id == token_id:
            await _store(tx, user_id, other, replace(other, push_token_id=None))
    same = [row for row in rows if row.plain is not None and _is_token(row.plain, token_id)]
    await delete_phones(tx, user_id, same)


async def _own_device(tx: Tx, actor: Actor, device_id: PushDeviceId) -> ClientDevice:
    await lock_owner(tx, actor.user_id)
    device = await _lock_client(tx, actor.user_id, device_id)
    if device is None:
        raise BadRequestError(_("Invalid `device_id`"))
    return device


async def _lock_client(tx: Tx, user_id: UserId, device_id: PushDeviceId) -> ClientDevice | None:
    row = await lock_device(tx, user_id, device_id)
    return None if row is None else row.client


async def _store(tx: Tx, user_id: UserId, before: ClientDevice, after: ClientDevice) -> None:
    if after == before:
        return
    await client_devices.update(await tx.changing(), tx.realm_id, user_id, after)
    event = ClientDeviceUpdated.of(before, after)
    if event is not None:
        tx.append(event, to_users(user_id))
