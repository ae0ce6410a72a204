"""The outcome of requests for one device each."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import structlog

from server.push.service import (
    DeliveryOutcome,
    PushError,
    PushRefusedError,
    UnknownDeviceError,
    the_longest_wait,
)
from storage.ids import PushDeviceId, UserId

logger = structlog.get_logger(__name__)


class ReachedDevice(Protocol):
    """A device of any kind."""

    @property
    def device_id(self) -> PushDeviceId: ...

    @property
    def kind(self) -> str: ...


def outcome_of(
    user_id: UserId, devices: Sequence[ReachedDevice], errors: Sequence[PushError | None]
) -> DeliveryOutcome:
    """Return the outcome from the error, if any, of each device.

    Raises the error of the longest wait if all devices are to be retried.
    """
    later = [
        error
        for error in errors
        if error is not None and not isinstance(error, UnknownDeviceError | PushRefusedError)
    ]
    if later and len(later) == len(devices):
        raise the_longest_wait(later)
    gone, again = set(), set()
    counts: Counter[tuple[str, str]] = Counter()
    for device, error in zip(devices, errors, strict=True):
        outcome = "sent"
        if isinstance(error, UnknownDeviceError):
            outcome = "gone"
            gone.add(device.device_id)
        elif isinstance(error, PushRefusedError):
            outcome = "refused"
            logger.warning("push.refused", user_id=user_id, reason=str(error))
        elif error is not None:
            outcome = "later"
            again.add(device.device_id)
        counts[device.kind, outcome] += 1
    return DeliveryOutcome(
        gone=frozenset(gone),
        again=frozenset(again),
        again_after_seconds=the_longest_wait(later).after_seconds if later else 0.0,
        counts=counts,
    )
