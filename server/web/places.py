"""Paths of pages, and validation of redirect targets."""

import re
from typing import Final
from urllib.parse import urlencode, urlsplit

from server.api.browsers import SAFE_METHODS
from server.api.endpoint import Request
from server.domain.sign_in import LOGIN_PATH

HOME: Final = "/"
CLIENTS: Final = "/clients"
SIGN_IN: Final = LOGIN_PATH
SECOND_STEP: Final = f"{SIGN_IN}second-factor"
PASSKEY_SECOND_STEP: Final = f"{SECOND_STEP}/passkey"
SET_UP: Final = f"{SECOND_STEP}/set-up"
SET_UP_DONE: Final = f"{SECOND_STEP}/done"
PASSKEY_SIGN_IN: Final = f"{SIGN_IN}passkey"
SIGN_OUT: Final = "/logout"
ACCOUNT: Final = "/account"
FIND: Final = "/accounts/go"
FIND_FROM_APPS: Final = "/accounts/find"
"""Where the desktop app leads people who look for their organizations."""

MAX_LENGTH: Final = 2_000
_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")


def place_here(wanted: str) -> str:
    r"""Return the wanted place if it is one of this very address, else the first page.

    Browsers take `//host`, `/\host` and what holds control characters for other sites.
    """
    if len(wanted) > MAX_LENGTH or _PATH.fullmatch(wanted) is None:
        return HOME
    parts = urlsplit(wanted)
    return HOME if parts.scheme or parts.netloc else wanted


def sign_in_first(request: Request) -> str:
    """Return the sign-in page, which leads back to this page."""
    if request.method not in SAFE_METHODS:
        return SIGN_IN
    wanted = place_here(request.path + (f"?{urlencode(request.query)}" if request.query else ""))
    return SIGN_IN if wanted == HOME else f"{SIGN_IN}?{urlencode({'next': wanted})}"
