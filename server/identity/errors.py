"""Errors of identity providers."""

from server.domain.errors import DomainError, ServerNotReadyError


class IdentityError(DomainError):
    """The provider did not assert an identity, or its response is invalid.

    The message is for users; `reason` is for the log.
    """

    code = "AUTHENTICATION_FAILED"
    status = 401

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or "Signing in there did not work. Try again.")
        self.reason = reason


class DirectoryAwayError(ServerNotReadyError):
    """The LDAP directory is unavailable: a retry may succeed."""

    def __init__(self, reason: str) -> None:
        super().__init__("The directory does not answer. Try again later.")
        self.reason = reason
