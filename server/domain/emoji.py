"""Which emoji there are, and by what names."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from server.domain.errors import BadRequestError, InvalidParameterError

PICTURES_PATH: Final = "/user_avatars"
_NAME: Final = re.compile(r"[0-9a-z_+-]{1,100}")
_NEW_NAME: Final = re.compile(r"[0-9a-z._-]{0,99}[0-9a-z]")
SERVICE_EMOJI: Final = "zulip"
"""The one emoji that is neither in Unicode nor an organization's."""


@dataclass(frozen=True, slots=True)
class Emoji:
    name: str
    code: str
    type: str
    """`unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`."""


@dataclass(frozen=True, slots=True)
class WantedEmoji:
    """What a request says of an emoji."""

    name: str
    code: str | None = None
    type: str | None = None

    def is_exactly(self, emoji: Emoji) -> bool:
        """Return whether it says all that identifies this one, and says it rightly."""
        said = (self.name, self.code, self.type or "unicode_emoji")
        return said == (emoji.name, emoji.code, emoji.type)


@dataclass(frozen=True, slots=True)
class RealmEmoji:
    """The emoji of an organization that are in use, by name."""

    ids: Mapping[str, str]
    pictures: Mapping[str, str]
    """Where they are to be had."""


NO_REALM_EMOJI: Final = RealmEmoji({}, {})


@lru_cache(maxsize=1)
def codes_by_name() -> dict[str, str]:
    """Return the code points of each name, in hexadecimal and joined by hyphens."""
    codes: dict[str, str] = json.loads(files(__package__).joinpath("emoji_names.json").read_text())
    return codes


@lru_cache(maxsize=1)
def _codes() -> frozenset[str]:
    return frozenset(codes_by_name().values())


def is_built_in(name: str) -> bool:
    """Return whether every user has an emoji of this name, in every organization."""
    return name == SERVICE_EMOJI or name in codes_by_name()


def checked_name(given: str) -> str:
    """Return a name for an emoji of an organization. Raises InvalidParameterError."""
    name = given.strip().lower().replace(" ", "_")
    if not name:
        raise InvalidParameterError("emoji_name", "Emoji name is missing")
    if _NEW_NAME.fullmatch(name) is None:
        raise InvalidParameterError("emoji_name", "Invalid characters in emoji name")
    return name


def picture_url(blob_key: str) -> str:
    """Where a picture that the server has made is to be had, below the organization's address."""
    kind, realm_id, rest = blob_key.split("/", 2)
    return f"{PICTURES_PATH}/{realm_id}/{kind}/{rest}"


def emoji_of(
    name: str,
    code: str | None,
    reaction_type: str | None,
    realm_emoji: RealmEmoji = NO_REALM_EMOJI,
) -> Emoji:
    """Return the emoji that a request names. Raises BadRequestError if there is none.

    With a code, the name is what the client calls it: half of those that zulip-terminal has are not
    among ours, or are another emoji's here. An emoji of the organization comes before one of
    Unicode that has the same name.
    """
    known_id = realm_emoji.ids.get(name)
    if reaction_type == "realm_emoji" or (known_id and reaction_type is None and code is None):
        if known_id is None:
            raise BadRequestError(f"Emoji '{name}' does not exist")
        if code not in (None, known_id):
            raise BadRequestError("Invalid custom emoji ID.")
        return Emoji(name, known_id, "realm_emoji")
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
