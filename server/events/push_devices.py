"""Event of a push device's registration, delivered to its user only."""

from typing import ClassVar, Literal

import msgspec
from msgspec import UNSET, UnsetType

from server.events.base import Event
from storage.push_devices import DeviceRow, Status


class ShownDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device in register, under the id that its client gave its account."""

    status: Status
    error_code: str | None

    @classmethod
    def of(cls, row: DeviceRow) -> "ShownDevice":
        return cls(status=row.status, error_code=row.error_code)


class PushDeviceChanged(Event, frozen=True, kw_only=True):
    """The registration with the bouncer is pending, has succeeded, or has failed."""

    kind: ClassVar[str] = "push_device"
    wire_type: ClassVar[str] = "push_device"

    type: Literal["push_device"] = "push_device"
    push_account_id: str
    """A 64-bit number as text: more than clients' numbers hold."""
    status: Status
    error_code: str | UnsetType = UNSET
