"""The ways in which people may sign in, and the clients that are too old to."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from server.domain.realm_settings import RealmSettings

METHODS: Final = (
    "password",
    "dev",
    "email",
    "ldap",
    "remoteuser",
    "github",
    "azuread",
    "gitlab",
    "google",
    "apple",
    "saml",
    "openid connect",
)
"""All that the protocol knows, by the names that clients read."""

PASSWORDS: Final = "Email"
LDAP: Final = "LDAP"
FOR_DEVELOPERS: Final = "Dev"
"""Ways that an organization may have, by the names that it and clients use for them."""

OLDEST_VERSIONS: Final[Mapping[str, tuple[int, ...]]] = {
    "ZulipMobile": (27, 192),
    "ZulipInvalid": (2**31,),
}
"""Clients that no longer work if they are older than that."""

_PRODUCT: Final = re.compile(r"^\s*([A-Za-z]\w*)/v?(\d+(?:\.\d+)*)")


def is_too_old(user_agent: str) -> bool:
    """Return whether this client is known not to work with this server."""
    product = _PRODUCT.match(user_agent)
    if product is None:
        return False
    version = tuple(int(part) for part in product[2].split("."))
    return version < OLDEST_VERSIONS.get(product[1], ())


def takes_passwords(settings: RealmSettings, available: Collection[str]) -> bool:
    """Return whether people sign in with a name and a password: one of ours, or a directory's."""
    return any(name in available and settings.wants_method(name) for name in (PASSWORDS, LDAP))


def shown_methods(settings: RealmSettings, available: Iterable[str]) -> dict[str, dict[str, bool]]:
    """Return the ways that this server has, and whether the organization wants them."""
    return {
        name: {
            "enabled": name == FOR_DEVELOPERS or settings.wants_method(name),
            "available": True,
        }
        for name in available
    }
