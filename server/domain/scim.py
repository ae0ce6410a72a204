"""Provisioning by a directory (SCIM): tokens, names of roles, limits and errors."""

import secrets
import string
from collections.abc import Mapping
from typing import Final

from typing_extensions import override

from server.domain.access import ADMINISTRATOR, MEMBER, ROLE_NAMES
from server.domain.errors import BadRequestError, DomainError, InvalidApiKeyError
from server.domain.names import fold_name

PREFIX: Final = "/scim/v2"
"""Path of the service at an organization's address."""
RECOGNIZED_PREFIX: Final = "plyscim_"
"""Prefix of tokens, by which secret scanners recognise them."""
TOKEN_LENGTH: Final = 40
MAX_TOKENS: Final = 20
"""Maximum per organization."""
MIN_CLOSURES: Final = 3
"""Accounts that a directory may deactivate within an hour in the smallest organization."""
CLOSURES_SHARE: Final = 10
"""It may deactivate one in so many active accounts within an hour."""
_ALIASES: Final[Mapping[str, int]] = {"admin": ADMINISTRATOR, "user": MEMBER}
_ALPHABET: Final = string.ascii_letters + string.digits


class ScimTokenError(InvalidApiKeyError):
    """The request has no token of a directory, or one that is not valid any more."""

    @property
    @override
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": 'Bearer realm="SCIM"'}


class AccountTakenError(BadRequestError):
    """Another account has the address, the user name or the external id."""


class GroupTakenError(BadRequestError):
    """Another group has the name."""


class LastOwnerError(BadRequestError):
    """The organization would be left without an owner."""


class StateChangedError(BadRequestError):
    """The account or group was changed since it was read."""


class TooManyClosuresError(DomainError):
    """The directory has deactivated as many accounts within an hour as it may."""

    code = "RATE_LIMIT_HIT"
    status = 429

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The directory may deactivate {limit} accounts within an hour. An owner of the"
            " organization, or the operator, must allow more."
        )
        self.limit = limit


def new_token() -> str:
    """Return a random token."""
    return RECOGNIZED_PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(TOKEN_LENGTH))


def closures_limit(active: int, maximum: int) -> int:
    """Return how many of so many active accounts a directory may deactivate within an hour."""
    return min(maximum, max(MIN_CLOSURES, active // CLOSURES_SHARE))


def role_named(name: str) -> int | None:
    """Return the role with this name, in any case, or with this number; None if there is none."""
    folded = fold_name(name.strip())
    if folded.isdecimal() and int(folded) in ROLE_NAMES.values():
        return int(folded)
    return ROLE_NAMES.get(folded) or _ALIASES.get(folded)


def name_of_role(role: int) -> str:
    return next(name for name, known in ROLE_NAMES.items() if known == role)
