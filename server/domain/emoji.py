"""Emoji and their names."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from server.domain.errors import BadRequestError, InvalidParameterError
from server.i18n import _

PICTURES_PATH: Final = "/user_avatars"
_NAME: Final = re.compile(r"[0-9a-z_+-]{1,100}")
_NEW_NAME: Final = re.compile(r"[0-9a-z._-]{0,99}[0-9a-z]")
SERVICE_EMOJI: Final = "zulip"
"""The one emoji that is neither in Unicode nor a realm's."""


@dataclass(frozen=True, slots=True)
class Emoji:
    name: str
    code: str
    type: str
    """`unicode_emoji`, `realm_emoji` or `zulip_extra_emoji`."""


@dataclass(frozen=True, slots=True)
class WantedEmoji:
    """The emoji fields of a request."""

    name: str
    code: str | None = None
    type: str | None = None

    def is_exactly(self, emoji: Emoji) -> bool:
        """Return whether all identifying fields are given and match this emoji."""
        said = (self.name, self.code, self.type or "unicode_emoji")
        return said == (emoji.name, emoji.code, emoji.type)


@dataclass(frozen=True, slots=True)
class RealmEmoji:
    """The active custom emoji of a realm, by name."""

    ids: Mapping[str, str]
    pictures: Mapping[str, str]
    """URLs of their images."""


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
    """Return whether there is a built-in emoji of this name, in every realm."""
    return name == SERVICE_EMOJI or name in codes_by_name()


def checked_name(given: str) -> str:
    """Return a name for a custom emoji; raise InvalidParameterError."""
    name = given.strip().lower().replace(" ", "_")
    if not name:
        raise InvalidParameterError("emoji_name", _("Emoji name is missing"))
    if _NEW_NAME.fullmatch(name) is None:
        raise InvalidParameterError("emoji_name", _("Invalid characters in emoji name"))
    return name


def picture_url(blob_key: str) -> str:
    """Return the path of a processed picture, below the realm's URL."""
    kind, realm_id, rest = blob_key.split("/", 2)
    return f"{PICTURES_PATH}/{realm_id}/{kind}/{rest}"


def emoji_of(
    name: str,
    code: str | None,
    reaction_type: str | None,
    realm_emoji: RealmEmoji = NO_REALM_EMOJI,
) -> Emoji:
    """Return the emoji that a request names; raise BadRequestError if there is none.

    With a code, the name is the client's: half of those that zulip-terminal has are not among ours,
    or are another emoji's here. A custom emoji takes precedence over one of Unicode with the same
    name.
    """
    known_id = realm_emoji.ids.get(name)
    if reaction_type == "realm_emoji" or (known_id and reaction_type is None and code is None):
        if known_id is None:
            raise BadRequestError(_("Emoji '{name}' does not exist", name=name))
        if code not in (None, known_id):
            raise BadRequestError(_("Invalid custom emoji ID."))
        return Emoji(name, known_id, "realm_emoji")
    if name == SERVICE_EMOJI and reaction_type in (None, "zulip_extra_emoji"):
        return Emoji(SERVICE_EMOJI, SERVICE_EMOJI, "zulip_extra_emoji")
    if reaction_type not in (None, "unicode_emoji"):
        raise BadRequestError(_("Invalid emoji type."))
    if code is None:
        known = codes_by_name().get(name)
        if known is None:
            raise BadRequestError(_("Emoji '{name}' does not exist", name=name))
        return Emoji(name, known, "unicode_emoji")
    if code not in _codes():
        raise BadRequestError(_("Invalid emoji code."))
    if _NAME.fullmatch(name) is None:
        raise BadRequestError(_("Invalid emoji name."))
    return Emoji(name, code, "unicode_emoji")
