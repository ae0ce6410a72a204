"""Case folding of email addresses: two addresses are the same if their foldings are equal."""

import unicodedata
from typing import Final, NewType

FoldedAddress = NewType("FoldedAddress", str)
"""The type of columns named `folded_email`, and of cache keys that are looked up by address."""
MAX_DOMAIN_LENGTH: Final = 253
"""Limit of the DNS for a domain name."""
_DEVIATIONS: Final = frozenset("ßẞς\u200c\u200d")
"""Letters that the older IDNA 2003 maps to other domains."""


def fold_address(email: str) -> FoldedAddress:
    """Return the local part composed (NFC) and in lower case, and the domain as A-labels.

    The domain decides where mail goes: so `faß.de` is not `fass.de`, as names with these letters
    would be. Mail is sent to the address as it is stored, never to its folding.
    """
    if email.isascii():
        return FoldedAddress(email.lower())
    local, at, domain = email.rpartition("@")
    return FoldedAddress(f"{_lower(local)}{at}{folded_domain(domain)}")


def folded_domain(domain: str) -> str:
    """Return the domain as A-labels; a domain unknown to the DNS is composed and lower-cased."""
    try:
        return ascii_domain(domain)
    except ValueError:
        return _lower(domain)


def ascii_domain(domain: str) -> str:
    """Return the domain as the DNS has it, in lower case; raise ValueError if it cannot be there.

    Uses IDNA 2008 with the mapping of UTS 46, as browsers do; domains that only IDNA 2003 knows,
    such as emoji domains, are converted by that.
    """
    if domain.isascii():
        return domain.lower()
    if len(domain) > MAX_DOMAIN_LENGTH:
        raise ValueError("The domain is too long")
    import idna  # large, and rarely needed

    try:
        return idna.encode(domain, uts46=True).decode("ascii")
    except idna.IDNAError:
        if not _DEVIATIONS.isdisjoint(domain):
            raise
        return domain.encode("idna").decode("ascii").lower()


def _lower(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
