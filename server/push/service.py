"""Who takes push notifications on their way to phones, and what may come of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from server.actions.push_status import PushStatus
from storage.ids import PushDeviceId, UserId
from storage.push_devices import PlainDevice, SealedDevice


class PushError(Exception):
    """Something was not taken."""

    def __init__(self, reason: str, *, after_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.after_seconds = after_seconds
        """How long the service asks to be left alone."""


class TryLaterError(PushError):
    """It may be taken later, if nobody changes anything."""


class PushServiceUnreachableError(TryLaterError):
    """The service cannot be reached, or gives no answer in time."""


class ServiceFaultError(TryLaterError):
    """The service answers, and says that it cannot now."""


class NeedsOperatorError(PushError):
    """Nothing is taken until an operator has done something: about keys, names, or a plan."""


class UnknownRealmError(NeedsOperatorError):
    """The bouncer does not know the organization (yet)."""


class DisallowedError(NeedsOperatorError):
    """The bouncer takes no notifications of the organization."""


class UnknownDeviceError(PushError):
    """The service does not know the device, or no longer."""


class PushRefusedError(PushError):
    """It will never be taken as it is. `code` is what the service calls it."""

    def __init__(self, reason: str, *, code: str = "") -> None:
        super().__init__(reason)
        self.code = code


def the_longest_wait(errors: Iterable[PushError]) -> PushError:
    """Of several the one after which all may be tried again."""
    return max(errors, key=lambda error: error.after_seconds)


@dataclass(frozen=True, slots=True)
class PushRecipient:
    """Somebody, as a bouncer knows them."""

    realm_uuid: str
    user_uuid: str
    user_id: UserId


@dataclass(frozen=True, slots=True)
class PlainNotification:
    """What devices are sent in the clear: each kind has a form of its own."""

    apple: Mapping[str, Any]
    """`alert`, `sound` and `badge`, and in `custom` what the app reads."""
    android: Mapping[str, Any]
    is_urgent: bool
    """Whether it wakes the device."""
    collapse_key: str = ""
    """A later notice with the same replaces it."""


@dataclass(frozen=True, slots=True)
class SealedNotice:
    """What one device is sent encrypted, in base64."""

    device: SealedDevice
    encrypted: str


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """What became of a notice."""

    gone: frozenset[PushDeviceId] = frozenset()
    """Devices that do not exist any more."""
    again: frozenset[PushDeviceId] = frozenset()
    """Devices that did not get it, and may later."""
    again_after_seconds: float = 0.0
    counts: Mapping[tuple[str, str], int] = field(default_factory=Counter)
    """By kind of device and outcome: `sent`, `gone`, `later`, `refused`."""
    status: PushStatus | None = None
    """What the service has said of the organization by the way."""


class SealedPushes(Protocol):
    """Takes what only the device can read. It knows the devices; this server does not."""

    async def register_sealed(
        self, realm_uuid: str, account_id: int, *, encrypted: str, public_key: str
    ) -> int:
        """The service's id of the device whose token is encrypted for it. Twice is as once.

        Raises a PushError; RefusedError if the registration is of no use.
        """
        ...

    async def push_sealed(
        self, realm_uuid: str, notices: Sequence[SealedNotice], *, is_removal: bool
    ) -> DeliveryOutcome:
        """Raises a PushError if it has taken none of them."""
        ...


class PushService(Protocol):
    """Takes notices for devices. Any number may be on their way at once."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of devices that it reaches."""
        ...

    @property
    def wants_registration(self) -> bool:
        """Whether it has to know a device before it takes anything for it."""
        ...

    @property
    def sealed(self) -> SealedPushes | None:
        """None: it takes nothing encrypted."""
        ...

    async def register(self, recipient: PushRecipient, device: PlainDevice) -> None:
        """Let it know the device. Twice is as once. Raises a PushError."""
        ...

    async def unregister(self, recipient: PushRecipient, kind: str, token: str) -> None:
        """Let it forget the device, if it knows it. Raises a PushError."""
        ...

    async def forget(self, recipient: PushRecipient) -> None:
        """Let it forget all devices of somebody. Raises a PushError."""
        ...

    async def push(
        self, recipient: PushRecipient, notice: PlainNotification, devices: Sequence[PlainDevice]
    ) -> DeliveryOutcome:
        """Raises a PushError if it has taken it for none of the devices."""
        ...

    async def test(
        self,
        recipient: PushRecipient,
        base: Mapping[str, Any],
        notice: PlainNotification,
        device: PlainDevice,
    ) -> None:
        """Show a test notification; some services make it themselves, of `base`.

        Raises a PushError; UnknownDeviceError if the device does not exist any more.
        """
        ...

    async def introduce(self, realms: Sequence[Mapping[str, Any]]) -> dict[str, PushStatus]:
        """Let it know these organizations, which are all; what it says of each, by uuid.

        Raises a PushError.
        """
        ...

    async def check(self) -> None:
        """Whether it lets us in. Raises a PushError."""
        ...
