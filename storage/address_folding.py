"""The one folding of email addresses: two addresses are the same where their foldings are equal."""

import unicodedata
from typing import Final, NewType

FoldedAddress = NewType("FoldedAddress", str)
"""What columns called `folded_email` hold, and keys of caches that are looked up by address."""
MAX_DOMAIN_LENGTH: Final = 253
"""No name in the DNS is longer."""
_DEVIATIONS: Final = frozenset("ßẞς\u200c\u200d")
"""Letters that the older IDNA 2003 makes other domains of."""


def fold_address(email: str) -> FoldedAddress:
    """Return the local part composed (NFC) and in lower case, the domain as A-labels.

    The domain decides where mail goes: so `faß.de` is not `fass.de`, as names with these letters
    would be. Mail goes to the address as it is stored, and never to its folding.
    """
    if email.isascii():
        return FoldedAddress(email.lower())
    local, at, domain = email.rpartition("@")
    return FoldedAddress(f"{_lower(local)}{at}{folded_domain(domain)}")


def folded_domain(domain: str) -> str:
    """Return the domain as A-labels; one that the DNS cannot have composed and in lower case."""
    try:
        return ascii_domain(domain)
    except ValueError:
        return _lower(domain)


def ascii_domain(domain: str) -> str:
    """Return the domain as the DNS has it, in lower case.

    Raises ValueError where it cannot be there.

    By IDNA 2008 with the mapping of UTS 46, as browsers do it; what only IDNA 2003 knows, as
    domains of emoji, by that.
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
