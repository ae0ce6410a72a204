"""Email confirmations: purposes, validity, and pages of their links."""

from typing import Final

RESET_PASSWORD: Final = "reset_password"  # noqa: S105 - a name
CHANGE_EMAIL: Final = "change_email"
SIGN_UP: Final = "sign_up"
VOUCHED_SIGN_UP: Final = "vouched_sign_up"
"""Sign-up of a user with an address verified by another site: needs no email."""
FOUND_REALM: Final = "found_realm"

VALID_SECONDS: Final = 24 * 3600

PATHS: Final = {
    RESET_PASSWORD: "/accounts/password/reset/{token}",
    CHANGE_EMAIL: "/accounts/email/confirm/{token}",
    SIGN_UP: "/accounts/join/{token}",
    VOUCHED_SIGN_UP: "/accounts/join/{token}",
    FOUND_REALM: "/new/{token}",
}
"""Paths of the confirmation pages, by purpose."""
