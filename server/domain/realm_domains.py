"""Validation of a realm's own email domains."""

import re
from collections.abc import Iterable
from typing import Final

from server.domain.errors import BadRequestError, InvalidParameterError
from server.i18n import _
from storage.address_folding import fold_address
from storage.realm_domains import DomainRow

MAX_DOMAINS: Final = 1_000
MAX_LENGTH: Final = 253
"""Limit of the DNS."""

_LABEL: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)")


def checked_domain(domain: str) -> str:
    """Return the domain in lower case; raise InvalidParameterError."""
    domain = domain.strip().lower()
    labels = domain.split(".")
    if not domain:
        raise _refusal(_("Domain can't be empty."))
    if len(domain) > MAX_LENGTH:
        raise _refusal(_("Domain is too long"))
    if not labels[0] or not labels[-1]:
        raise _refusal(_("Domain cannot start or end with a dot (.)"))
    if len(labels) == 1:
        raise _refusal(_("Domain must have at least one dot (.)"))
    if not all(map(_LABEL.fullmatch, labels)):
        raise _refusal(
            _("The parts of a domain are letters, numbers and '-'; none begins or ends with '-'.")
        )
    return domain


def check_admitted(email: str, domains: Iterable[DomainRow]) -> None:
    """Raise BadRequestError unless the address is in one of the realm's domains.

    An address with a plus sign stands for any number of addresses, and so is refused.
    """
    local, _at, domain = fold_address(email.strip()).rpartition("@")
    if "+" in local:
        raise BadRequestError(_("Email addresses containing + are not allowed."))
    for row in domains:
        if domain == row.domain or (row.allow_subdomains and domain.endswith(f".{row.domain}")):
            return
    raise BadRequestError(
        _("Email '{email}' is not allowed in this organization.", email=email.strip())
    )


def _refusal(message: str) -> InvalidParameterError:
    return InvalidParameterError("domain", message)
