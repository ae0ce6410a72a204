"""Which emoji there are, and by what names."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal

from server.domain.errors import BadRequestError

ReactionType = Literal["unicode_emoji", "realm_emoji", "zulip_extra_emoji"]
_NAME: Final = re.compile(r"[0-9a-z_+-]{1,100}")
SERVICE_EMOJI: Final = "zulip"
"""The one emoji that is neither in Unicode nor an organization's."""


@dataclass(frozen=True, slots=True)
class Emoji:
    name: str
    code: str
    type: ReactionType


@lru_cache(maxsize=1)
def codes_by_name() -> dict[str, str]:
    """The code points of each name, in hexadecimal and joined by hyphens."""
    codes: dict[str, str] = json.loads(files(__package__).joinpath("emoji_names.json").read_text())
    return codes


@lru_cache(maxsize=1)
def _codes() -> frozenset[str]:
    return frozenset(codes_by_name().values())


def emoji_of(name: str, code: str | None, reaction_type: str | None) -> Emoji:
    """The emoji that a request names. Raises BadRequestError if there is none.

    With a code, the name is what the client calls it: pickers differ in their names.
    """
    if name == SERVICE_EMOJI and reaction_type in (None, "zulip_extra_emoji"):
        return Emoji(SERVICE_EMOJI, SERVICE_EMOJI, "zulip_extra_emoji")
    if reaction_type not in (None, "unicode_emoji"):
        raise BadRequestError("Invalid emoji type.")
    if code is None:
        known = codes_by_name().get(name)
        if known is None:
            raise BadRequestError(f"Emoji '{name}' does not exist")
        return Emoji(name, known, "unicode_emoji")
    if code not in _codes():
        raise BadRequestError("Invalid emoji code.")
    if _NAME.fullmatch(name) is None:
        raise BadRequestError("Invalid emoji name.")
    return Emoji(name, code, "unicode_emoji")
