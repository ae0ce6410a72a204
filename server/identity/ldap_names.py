"""The names of LDAP entries, in the form in which directories compare them."""

import re
from typing import Final

from ldap3.core.exceptions import LDAPInvalidDnError
from ldap3.utils.dn import parse_dn

_ESCAPED: Final = re.compile(r"((?:\\[0-9A-Fa-f]{2})+)|\\(.)")


def folded_name(name: str) -> str:
    """Return the distinguished name without case, blanks between its parts, and escapes.

    Names of other kinds, as some attributes have them, lose case and double blanks alone.
    """
    try:
        parts = parse_dn(name, strip=True)
    except LDAPInvalidDnError:
        return _folded(name)
    folded: list[list[str]] = [[]]
    for attribute, value, separator in parts:
        folded[-1].append(f"{attribute.casefold()}={_folded(_ESCAPED.sub(_plain, value))}")
        if separator != "+":
            folded.append([])
    # NUL stands in no name, so that no value can look like another part.
    return "\0".join("+".join(sorted(each)) for each in folded if each)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _plain(found: "re.Match[str]") -> str:
    """Return what an escaped character, or the escaped bytes of some, stand for."""
    if found[1] is None:
        return found[2]
    return bytes.fromhex(found[1].replace("\\", "")).decode(errors="replace")
