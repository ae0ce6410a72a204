"""The language that a browser asks for."""

import re
from typing import Final, NamedTuple

from server.i18n.catalogues import LANGUAGES

MAX_RANGES: Final = 30
"""Number of languages in a header that are considered."""
MAX_LENGTH: Final = 1000
_RANGE: Final = re.compile(
    r"(?P<tag>\*|[a-z]{1,8}(?:-[a-z0-9]{1,8})*)"
    r"(?:\s*;\s*q\s*=\s*(?P<quality>0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?",
    re.ASCII,
)
ANY: Final = "*"


class Accepted(NamedTuple):
    """A language that a browser accepts and that there is a complete catalogue for."""

    language: str
    tag: str
    """As the browser names it, with the region: `de-at`."""


def accepted_language(header: str | None) -> Accepted | None:
    """Return the best language of an `Accept-Language`; None if it asks for none of ours.

    Malformed parts are ignored. `*` asks for no language in particular, as a missing header does.
    """
    if not header:
        return None
    parts = header[:MAX_LENGTH].lower().split(",")[:MAX_RANGES]
    found = [match for part in parts if (match := _RANGE.fullmatch(part.strip()))]
    wanted = [(match["tag"], float(match["quality"] or 1)) for match in found]
    refused = {tag for tag, quality in wanted if not quality}
    # Sorting keeps the order of equals, which browsers send by preference.
    for tag, quality in sorted(wanted, key=lambda each: -each[1]):
        language = _ours(tag)
        if quality and tag == ANY:
            return None
        if quality and language is not None and language not in refused:
            return Accepted(language, tag)
    return None


def _ours(tag: str) -> str | None:
    """Return the language of ours that a tag means (RFC 4647, lookup)."""
    while tag and tag not in LANGUAGES:
        tag = tag.rpartition("-")[0]
    return tag or None
