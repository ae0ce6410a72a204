"""Events of client devices, delivered to their owner only."""

import base64
from typing import ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from server.events.base import Event
from storage.ids import PushDeviceId
from storage.push_devices import ClientDevice


class ShownClientDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device in register: its push registration, without the key."""

    push_key_id: int | None
    push_token_id: str | None
    pending_push_token_id: str | None
    push_token_last_updated_timestamp: int | None
    push_registration_error_code: str | None

    @classmethod
    def of(cls, device: ClientDevice) -> "ShownClientDevice":
        changed_at = device.push_token_changed_at
        return cls(
            push_key_id=device.push_key_id,
            push_token_id=_shown(device.push_token_id),
            pending_push_token_id=_shown(device.pending_push_token_id),
            push_token_last_updated_timestamp=None
            if changed_at is None
            else int(changed_at.timestamp()),
            push_registration_error_code=device.error_code,
        )


class ClientDeviceEvent(Event, frozen=True, kw_only=True):
    """Base of events of client devices."""

    wire_type: ClassVar[str] = "device"

    type: Literal["device"] = "device"


class ClientDeviceAdded(ClientDeviceEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "device/add"

    op: Literal["add"] = "add"
    device_id: PushDeviceId


class ClientDeviceRemoved(ClientDeviceEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "device/remove"

    op: Literal["remove"] = "remove"
    device_id: PushDeviceId


class ClientDeviceUpdated(ClientDeviceEvent, frozen=True, kw_only=True):
    """The changed fields of a push registration; null clears a field."""

    kind: ClassVar[str] = "device/update"

    op: Literal["update"] = "update"
    device_id: PushDeviceId
    push_key_id: int | UnsetType | None = UNSET
    push_token_id: str | UnsetType | None = UNSET
    pending_push_token_id: str | UnsetType | None = UNSET
    push_token_last_updated_timestamp: int | UnsetType | None = UNSET
    push_registration_error_code: str | UnsetType | None = UNSET

    @classmethod
    def of(cls, before: ClientDevice, after: ClientDevice) -> "ClientDeviceUpdated | None":
        """Return the difference that clients see; None without one."""
        old = msgspec.structs.asdict(ShownClientDevice.of(before))
        new = msgspec.structs.asdict(ShownClientDevice.of(after))
        changed = {name: value for name, value in new.items() if old[name] != value}
        return cls(device_id=after.device_id, **changed) if changed else None


def token_text(token_id: bytes) -> str:
    """Return the id of a token as clients and bouncers write it."""
    return base64.b64encode(token_id).decode()


def _shown(token_id: bytes | None) -> str | None:
    return None if token_id is None else token_text(token_id)
