"""Sign-in methods, and clients that are too old."""

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
    "discord",
    "saml",
    "openid connect",
)
"""All methods of the protocol, by their wire names."""

PASSWORDS: Final = "Email"
LDAP: Final = "LDAP"
FOR_DEVELOPERS: Final = "Dev"
"""Methods that a realm may enable, by the names of settings and clients."""

LOGIN_PATH: Final = "/login/"
"""Path of the page where people sign in; the desktop app knows it by its end."""
BROWSER: Final = "browser"
"""Name of the way by which apps sign in on that page, opened in a browser."""

OLDEST_VERSIONS: Final[Mapping[str, tuple[int, ...]]] = {
    "ZulipMobile": (27, 192),
    "ZulipInvalid": (2**31,),
}
"""Minimum versions of clients."""

_PRODUCT: Final = re.compile(r"^\s*([A-Za-z]\w*)/v?(\d+(?:\.\d+)*)")


def is_too_old(user_agent: str) -> bool:
    """Return whether this client is known not to work with this server."""
    product = _PRODUCT.match(user_agent)
    if product is None:
        return False
    version = tuple(int(part) for part in product[2].split("."))
    return version < OLDEST_VERSIONS.get(product[1], ())


def takes_passwords(settings: RealmSettings, available: Collection[str]) -> bool:
    """Return whether users sign in with a password: one of ours, or a directory's."""
    return any(name in available and settings.wants_method(name) for name in (PASSWORDS, LDAP))


def shown_methods(settings: RealmSettings, available: Iterable[str]) -> dict[str, dict[str, bool]]:
    """Return the server's methods, and whether the realm enables them."""
    return {
        name: {
            "enabled": name == FOR_DEVELOPERS or settings.wants_method(name),
            "available": True,
        }
        for name in available
    }
