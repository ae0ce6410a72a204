"""Errors of push notifications, and of the bouncer that relays them."""

from server.domain.errors import DomainError
from server.i18n import _


class PushServiceNotConfiguredError(DomainError):
    """The server has no push service for this kind of device."""

    code = "PUSH_SERVICE_NOT_CONFIGURED"

    def __init__(self) -> None:
        super().__init__(_("Server is not configured to use push notification service."))


class InvalidPushDeviceTokenError(DomainError):
    """The device is not registered here."""

    code = "INVALID_PUSH_DEVICE_TOKEN"

    def __init__(self) -> None:
        super().__init__("Device not recognized")


class InvalidRemotePushDeviceTokenError(DomainError):
    """The push bouncer does not know this device."""

    code = "INVALID_REMOTE_PUSH_DEVICE_TOKEN"

    def __init__(self) -> None:
        super().__init__("Device not recognized by the push bouncer")


class NoActivePushDeviceError(DomainError):
    code = "NO_ACTIVE_PUSH_DEVICE"

    def __init__(self) -> None:
        super().__init__("No active registered push device")


class AdminActionRequiredError(DomainError):
    """An operator has to configure push notifications."""

    code = "ADMIN_ACTION_REQUIRED"
    status = 403

    def __init__(self) -> None:
        super().__init__(
            "Push notification configuration issue on server, contact the server administrator or"
            " retry later."
        )


class BouncerUnreachableError(DomainError):
    code = "FAILED_TO_CONNECT_BOUNCER"
    status = 502

    def __init__(self) -> None:
        super().__init__("Network error while connecting to the push notification service.")


class BouncerFaultError(DomainError):
    code = "INTERNAL_SERVER_ERROR_ON_BOUNCER"
    status = 502

    def __init__(self) -> None:
        super().__init__("Internal server error on the push notification service, retry later.")
