"""What a change of credentials has ended, carried in the query of the result page."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec
from msgspec.structs import asdict

from server.domain.credential_changes import Ended
from server.domain.decimals import number_in

MAX_DIGITS: Final = 5
_NAMES: Final = tuple(asdict(Ended()))


def done_at(place: str, done: str, ended: Ended) -> str:
    """Return the URL of the result page, with what the change has ended."""
    counts = {name: int(value) for name, value in asdict(ended).items() if value}
    return f"{place}?{urlencode({'done': done, **counts})}"


def ended_in(query: Mapping[str, str]) -> Ended:
    """Read the query; invalid counts are ignored."""
    counts: dict[str, int | bool] = {
        name: number_in(query.get(name, ""), MAX_DIGITS) or 0 for name in _NAMES
    }
    counts["api_key"] = bool(counts["api_key"])
    return msgspec.convert(counts, Ended)
