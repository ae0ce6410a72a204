"""Errors of egress requests. Each message is a sentence for the user who supplied the URL."""


class EgressError(Exception):
    """There is no response."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        """It can be translated, unlike `str` of the error."""


class EgressRefusedError(EgressError):
    """The destination is forbidden."""


class HostUnreachableError(EgressError):
    """The connection failed, or the response is not HTTP."""


class TooSlowError(HostUnreachableError):
    """The request timed out."""


class ResponseTooLargeError(EgressError):
    """The response, or its headers, exceed the limit."""
