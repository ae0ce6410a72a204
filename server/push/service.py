"""The interface of push services, and their errors."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from server.actions.push_status import PushStatus
from storage.ids import PushDeviceId, UserId
from storage.push_devices import EncryptedDevice, PlainDevice, SealedDevice


class PushError(Exception):
    """A request to a push service failed."""

    def __init__(self, reason: str, *, after_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.after_seconds = after_seconds
        """The minimum delay of a retry."""


class TryLaterError(PushError):
    """A transient error: a retry may succeed."""


class PushServiceUnreachableError(TryLaterError):
    """The connection failed, or there was no response before the timeout."""


class ServiceFaultError(TryLaterError):
    """The response says that the service is unavailable."""


class NeedsOperatorError(PushError):
    """An error that an operator has to fix: keys, names, or a plan."""


class UnknownRealmError(NeedsOperatorError):
    """The organization is not registered with the bouncer (yet)."""


class DisallowedError(NeedsOperatorError):
    """The bouncer accepts no notifications of the organization."""


class UnknownDeviceError(PushError):
    """The device is not registered, or no longer."""


class PushRefusedError(PushError):
    """A permanent refusal of the request. `code` is the service's error code."""

    def __init__(self, reason: str, *, code: str = "") -> None:
        super().__init__(reason)
        self.code = code


class NotificationTooLargeError(PushRefusedError):
    """The payload is larger than the service accepts."""


def the_longest_wait(errors: Iterable[PushError]) -> PushError:
    """Return the error with the longest retry delay."""
    return max(errors, key=lambda error: error.after_seconds)


@dataclass(frozen=True, slots=True)
class PushRecipient:
    """A user's identifiers at a bouncer."""

    realm_uuid: str
    user_uuid: str
    user_id: UserId


@dataclass(frozen=True, slots=True)
class PlainNotification:
    """A notification in plain text, with a payload for each kind of device."""

    apple: Mapping[str, Any]
    """`alert`, `sound` and `badge`, and in `custom` the payload for the app."""
    android: Mapping[str, Any]
    is_urgent: bool
    """Whether it wakes the device."""
    collapse_key: str = ""
    """A later notification with the same key replaces it."""


@dataclass(frozen=True, slots=True)
class SealedNotice:
    """An encrypted payload for one device, in base64."""

    device: SealedDevice
    encrypted: str


@dataclass(frozen=True, slots=True)
class EncryptedNotice:
    """A payload for one client device, encrypted with its key, in base64."""

    device: EncryptedDevice
    encrypted: str


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """The outcome of a delivery."""

    gone: frozenset[PushDeviceId] = frozenset()
    """Devices that no longer exist."""
    dead_tokens: Mapping[PushDeviceId, bytes] = field(default_factory=dict[PushDeviceId, bytes])
    """Tokens that no longer exist, of client devices, which stay."""
    again: frozenset[PushDeviceId] = frozenset()
    """Devices to retry."""
    again_after_seconds: float = 0.0
    counts: Mapping[tuple[str, str], int] = field(default_factory=Counter)
    """By kind of device and outcome: `sent`, `gone`, `later`, `refused`."""
    status: PushStatus | None = None
    """The organization's status in the response."""


class SealedPushes(Protocol):
    """Delivers encrypted payloads to devices that are registered with the service only."""

    async def register_sealed(
        self, realm_uuid: str, account_id: int, *, encrypted: str, public_key: str
    ) -> int:
        """Register a device with an encrypted token; return the service's id for it. Idempotent.

        Raises a PushError; PushRefusedError if the registration is invalid.
        """
        ...

    async def push_sealed(
        self, realm_uuid: str, notices: Sequence[SealedNotice], *, is_removal: bool
    ) -> DeliveryOutcome:
        """Deliver the payloads. Raises a PushError if none was accepted."""
        ...

    async def register_token(
        self, realm_uuid: str, token_id: str, *, encrypted: str, public_key: str
    ) -> None:
        """Register the encrypted token of a client device. Idempotent.

        Raises a PushError; PushRefusedError if the registration is invalid.
        """
        ...

    async def push_encrypted(
        self, realm_uuid: str, notices: Sequence[EncryptedNotice], *, is_removal: bool
    ) -> DeliveryOutcome:
        """Deliver to client devices. Raises a PushError if none was accepted."""
        ...


class PushService(Protocol):
    """Delivers notifications to devices. Requests may be concurrent."""

    @property
    def kinds(self) -> frozenset[str]:
        """The supported kinds of devices."""
        ...

    @property
    def wants_registration(self) -> bool:
        """Whether devices have to be registered before a delivery."""
        ...

    @property
    def sealed(self) -> SealedPushes | None:
        """None if encrypted payloads are not supported."""
        ...

    async def register(self, recipient: PushRecipient, device: PlainDevice) -> None:
        """Register a device. Idempotent. Raises a PushError."""
        ...

    async def unregister(self, recipient: PushRecipient, kind: str, token: str) -> None:
        """Remove a device, if it is registered. Raises a PushError."""
        ...

    async def forget(self, recipient: PushRecipient) -> None:
        """Remove all devices of a user. Raises a PushError."""
        ...

    async def push(
        self, recipient: PushRecipient, notice: PlainNotification, devices: Sequence[PlainDevice]
    ) -> DeliveryOutcome:
        """Deliver to the devices. Raises a PushError if it was accepted for none of them."""
        ...

    async def test(
        self,
        recipient: PushRecipient,
        base: Mapping[str, Any],
        notice: PlainNotification,
        device: PlainDevice,
    ) -> None:
        """Deliver a test notification; some services build the payload themselves, from `base`.

        Raises a PushError; UnknownDeviceError if the device no longer exists.
        """
        ...

    async def introduce(self, realms: Sequence[Mapping[str, Any]]) -> dict[str, PushStatus]:
        """Register these organizations, which are all; return the response by uuid.

        Raises a PushError.
        """
        ...

    async def check(self) -> None:
        """Check the credentials. Raises a PushError."""
        ...
