"""The ways in which people may sign in, and the clients that are too old to."""

import re
from collections.abc import Mapping
from typing import Final

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

OLDEST_VERSIONS: Final[Mapping[str, tuple[int, ...]]] = {
    "ZulipMobile": (27, 192),
    "ZulipInvalid": (2**31,),
}
"""Clients that no longer work if they are older than that."""

_PRODUCT: Final = re.compile(r"^\s*([A-Za-z]\w*)/v?(\d+(?:\.\d+)*)")


def is_too_old(user_agent: str) -> bool:
    """Whether this client is known not to work with this server."""
    product = _PRODUCT.match(user_agent)
    if product is None:
        return False
    version = tuple(int(part) for part in product[2].split("."))
    return version < OLDEST_VERSIONS.get(product[1], ())
