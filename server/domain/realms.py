"""Validation of a realm's name, description and subdomain."""

import re
from typing import Final

from server.domain.errors import BadRequestError
from server.i18n import _

MAX_NAME_LENGTH: Final = 40
MAX_SUBDOMAIN_LENGTH: Final = 40
MAX_DESCRIPTION_LENGTH: Final = 1_000
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def checked_realm_name(name: str) -> str:
    """Return the normalized name; raise BadRequestError."""
    name = " ".join(name.split())
    if not name:
        raise BadRequestError(_("Organization name cannot be empty."))
    if len(name) > MAX_NAME_LENGTH:
        raise BadRequestError(_("Organization name is too long."))
    return name


def checked_realm_description(description: str) -> str:
    """Return the normalized description; raise BadRequestError."""
    description = description.replace("\r\n", "\n").strip()
    if len(description) > MAX_DESCRIPTION_LENGTH:
        raise BadRequestError(_("Organization description is too long."))
    return description


def checked_subdomain(subdomain: str) -> str:
    """Return the normalized subdomain; empty for the server's own URL.

    Raises BadRequestError.
    """
    subdomain = subdomain.strip().lower()
    if len(subdomain) > MAX_SUBDOMAIN_LENGTH:
        raise BadRequestError(_("Subdomain is too long."))
    if subdomain and _SUBDOMAIN.fullmatch(subdomain) is None:
        raise BadRequestError(_("Subdomain can only have lowercase letters, numbers, and '-'s."))
    return subdomain
