"""Errors of requests that wait for a push service."""

from server.domain.errors import DomainError
from server.domain.push_errors import (
    AdminActionRequiredError,
    BouncerFaultError,
    BouncerUnreachableError,
    InvalidRemotePushDeviceTokenError,
)
from server.push.service import (
    PushError,
    PushServiceUnreachableError,
    TryLaterError,
    UnknownDeviceError,
)


def refusal_of(error: PushError) -> DomainError:
    """Return the error for a test notification that was not delivered."""
    match error:
        case UnknownDeviceError():
            return InvalidRemotePushDeviceTokenError()
        case PushServiceUnreachableError():
            return BouncerUnreachableError()
        case TryLaterError():
            return BouncerFaultError()
        case _:
            return AdminActionRequiredError()
