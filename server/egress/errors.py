"""What can go wrong on the way out. Each message is a sentence for whoever chose the address."""


class EgressError(Exception):
    """There is no answer."""


class EgressRefusedError(EgressError):
    """This server does not go there."""


class HostUnreachableError(EgressError):
    """Nobody answers there at the moment, or nothing that is HTTP."""


class TooSlowError(HostUnreachableError):
    """The answer did not come in time."""


class ResponseTooLargeError(EgressError):
    """The answer, or its headers, are larger than what is read."""
