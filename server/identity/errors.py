"""Errors of identity providers and directories."""

from server.domain.errors import DomainError, ServerNotReadyError


class IdentityError(DomainError):
    """The provider did not assert an identity, or not a trustworthy one.

    The message is for people; `reason` is for the log.
    """

    code = "AUTHENTICATION_FAILED"
    status = 401

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or "Signing in there did not work. Try again.")
        self.reason = reason


class DirectoryAwayError(ServerNotReadyError):
    """The directory is unavailable: a retry may succeed later."""

    def __init__(self, reason: str) -> None:
        super().__init__("The directory does not answer. Try again later.")
        self.reason = reason
