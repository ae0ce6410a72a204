"""Confirmations by a link: purposes, validity, and pages."""

from typing import Final

RESET_PASSWORD: Final = "reset_password"  # noqa: S105 - a name
CHANGE_EMAIL: Final = "change_email"
SIGN_UP: Final = "sign_up"
VOUCHED_SIGN_UP: Final = "vouched_sign_up"
"""Sign-up of a user with an address verified by another site: needs no email."""
FOUND_REALM: Final = "found_realm"
SIGN_IN: Final = "sign_in"
"""Sign-in by a link that the operator has printed."""
SIGN_IN_HERE: Final = "sign_in_here"
"""The same, on the machine that the server runs on."""
DESKTOP_SIGN_IN: Final = "desktop_sign_in"
"""Sign-in in the desktop app by a browser that has just signed in."""
SIGN_IN_PURPOSES: Final = (SIGN_IN, SIGN_IN_HERE, DESKTOP_SIGN_IN)

VALID_SECONDS: Final = 24 * 3600
INVITED_SECONDS: Final = 7 * 24 * 3600
"""Of links that invite people with imported accounts."""
SIGN_IN_SECONDS: Final = {SIGN_IN: 600, SIGN_IN_HERE: 600, DESKTOP_SIGN_IN: 300}
"""For how long their tokens are valid."""
SIGN_IN_LINK: Final = "/sign-in-link/"
"""Path of the page where these are spent; a link has the token behind a #."""

PATHS: Final = {
    RESET_PASSWORD: "/accounts/password/reset/{token}",
    CHANGE_EMAIL: "/accounts/email/confirm/{token}",
    SIGN_UP: "/accounts/join/{token}",
    VOUCHED_SIGN_UP: "/accounts/join/{token}",
    FOUND_REALM: "/new/{token}",
}
"""Paths of the confirmation pages, by purpose."""
