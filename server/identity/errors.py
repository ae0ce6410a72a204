"""What may be wrong with what a site says of somebody."""

from server.domain.errors import DomainError, ServerNotReadyError


class IdentityError(DomainError):
    """The site did not say who they are, or not so that it can be believed.

    The message is for people; `reason` is for the log.
    """

    code = "AUTHENTICATION_FAILED"
    status = 401

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or "Signing in there did not work. Try again.")
        self.reason = reason


class DirectoryAwayError(ServerNotReadyError):
    """The directory of people cannot be asked: the same may work later."""

    def __init__(self, reason: str) -> None:
        super().__init__("The directory does not answer. Try again later.")
        self.reason = reason
