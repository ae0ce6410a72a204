"""Which domains an organization may call its own."""

import re
from typing import Final

from server.domain.errors import InvalidParameterError

MAX_DOMAINS: Final = 1_000
MAX_LENGTH: Final = 253
"""More no name in the DNS can have."""

_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")


def checked_domain(domain: str) -> str:
    """The domain as it is kept, in small letters. Raises InvalidParameterError."""
    domain = domain.strip().lower()
    labels = domain.split(".")
    if not domain:
        raise _refusal("Domain can't be empty.")
    if len(domain) > MAX_LENGTH:
        raise _refusal("Domain is too long")
    if not labels[0] or not labels[-1]:
        raise _refusal("Domain cannot start or end with a dot (.)")
    if len(labels) == 1:
        raise _refusal("Domain must have at least one dot (.)")
    if not all(map(_LABEL.fullmatch, labels)):
        raise _refusal(
            "The parts of a domain are letters, numbers and '-'; none begins or ends with '-'."
        )
    return domain


def _refusal(message: str) -> InvalidParameterError:
    return InvalidParameterError("domain", message)
