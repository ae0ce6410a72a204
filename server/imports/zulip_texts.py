"""Texts of Zulip: the same Markdown, with other ids in mentions and links."""

import html
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote

from server.domain.markdown.dialects import outside_code
from server.domain.markdown.references import CHANNEL_WILDCARDS, TOPIC_WILDCARDS
from server.domain.markdown.writing import time_mark
from server.imports.records import References

_USER: Final = re.compile(r"@(_?)\*\*(?:\|([0-9]{1,15})|([^*`\n]{1,300}?)(?:\|([0-9]{1,15}))?)\*\*")
_CHANNEL: Final = re.compile(r"#\*\*([^*`\n]{1,300}?)(?=>|\*\*)")
_UPLOAD: Final = re.compile(
    r"(?:https?://([^\s/()<>\[\]]+)/|(?<![\w/.:-])/?)user_uploads/([0-9]+/[^\s()<>\[\]\"'?#]+)"
)
_WILDCARDS: Final = CHANNEL_WILDCARDS | TOPIC_WILDCARDS
_ENCODED: Final = r"(?:[\w%~-]|[^\x00-\x7f]|\.[0-9A-Fa-f]{2})*"
"""A name in the fragment of a URL, where dots stand for percent signs."""
_SLUG: Final = rf"(?:stream|channel)/(?P<channel>[0-9]{{1,15}})(?P<slug>-{_ENCODED})?"
_TOPIC_SLUG: Final = rf"/(?:topic|subject)/{_ENCODED}"
_UNIX_TIME: Final = re.compile(r"<time:([0-9]{9,11})>")
"""Times had this form, too, before level 503 of the protocol."""
_RENDERED_USER: Final = re.compile(r'data-user-id="([0-9]{1,15})">@?([^<]{1,300})<')
_RENDERED_CHANNEL: Final = re.compile(
    r'class="stream(?:-topic)?" data-stream-id="([0-9]{1,15})"[^>]*>#([^<]{1,600})<'
)


def referred_in(content: str, rendered: Any) -> dict[str, dict[str, str]]:
    """Return which ids the names in a text had when it was sent, as its HTML tells.

    Names of people and channels change; texts that mention them by name do not.
    """
    referred: dict[str, dict[str, str]] = {}
    if not isinstance(rendered, str):
        return referred
    if "@" in content:
        pairs = _RENDERED_USER.findall(rendered)
        referred["people"] = {html.unescape(name): key for key, name in pairs}
    if "#**" in content:
        pairs = _RENDERED_CHANNEL.findall(rendered)
        referred["channels"] = {html.unescape(name).partition(" > ")[0]: key for key, name in pairs}
    return referred


@dataclass(frozen=True, slots=True)
class ZulipTexts:
    """Converts texts, given the names and addresses of the organization."""

    people: Mapping[str, str]
    """Keys by names that one person has."""
    channels: Mapping[str, str]
    """Names by keys."""
    hosts: Collection[str]
    """Where it was reached; empty: unknown."""
    has_file: Callable[[str], bool]
    """Whether the export has the uploaded file with a path."""
    message_links: re.Pattern[str] = field(init=False)
    place_links: re.Pattern[str] = field(init=False)
    channel_keys: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        hosts = "|".join(map(re.escape, sorted(self.hosts))) or r"[^\s/()<>\[\]]+"
        start = rf"(?:https?://(?P<host>{hosts})/?|(?<![\w/])/?)#narrow/"
        near = r"/(?:near|with)/(?P<id>[0-9]{1,15})"
        links = (
            rf"{start}(?:{_SLUG}(?:{_TOPIC_SLUG})?|(?:dm|pm-with)/[0-9,]+(?:-{_ENCODED})?){near}"
            r"|(?P<mention>\#\*\*[^*`>\n]{1,300}>(?:[^*`\n]|\*(?!\*)){0,300}?)@(?P<mentioned>[0-9]{1,15})\*\*"
        )
        places = rf"{start}{_SLUG}(?P<topic>{_TOPIC_SLUG})?(?![\w%~/-])"
        object.__setattr__(self, "message_links", re.compile(links))
        object.__setattr__(self, "place_links", re.compile(places))
        keys = {name: key for key, name in self.channels.items()}
        object.__setattr__(self, "channel_keys", keys)

    def linked_message(self, url: re.Match[str]) -> str:
        """Return the key of the message that a match of `message_links` refers to."""
        if url["mentioned"]:
            return url["mentioned"]
        return url["id"] if self.is_ours(url) else ""

    def markdown(self, body: Mapping[str, Any], references: References) -> str:
        """Return a text with our ids and names."""
        people, channels = body.get("people") or {}, body.get("channels") or {}
        return outside_code(body["text"], _Conversion(self, people, channels, references).changed)

    def files_in(self, content: str) -> list[str]:
        """Return the paths of files of the organization that a text links to, outside of code."""
        paths: dict[str, None] = {}

        def collected(piece: str) -> str:
            for host, path in _UPLOAD.findall(piece):
                if not host or host.casefold() in self.hosts or self.has_file(path):
                    paths[path] = None
            return piece

        if "user_uploads/" in content:
            outside_code(content, collected)
        return list(paths)

    def is_ours(self, url: re.Match[str]) -> bool:
        """Return whether a link leads to this organization, as far as that can be known.

        Without a known host, a channel's number must have its name.
        """
        if not url["host"] or self.hosts:
            return True
        name = self.channels.get(url["channel"] or "")
        slug = unquote((url["slug"] or "").replace(".", "%"))
        return name is not None and slug == f"-{name.replace(' ', '-')}"


@dataclass(frozen=True, slots=True)
class _Conversion:
    """Of one text, given the keys of people and channels by the names that it mentions."""

    texts: ZulipTexts
    people: Mapping[str, str]
    channels: Mapping[str, str]
    references: References

    def changed(self, piece: str) -> str:
        """Return a part of the text that is not code."""
        if "@" in piece:
            piece = _USER.sub(self._user, piece)
        if "#**" in piece:
            piece = _CHANNEL.sub(self._channel, piece)
        if "#narrow/" in piece:
            piece = self.texts.place_links.sub(self._place, piece)
        if "user_uploads/" in piece:
            piece = _UPLOAD.sub(self._file, piece)
        return _UNIX_TIME.sub(_time, piece)

    def _user(self, found: re.Match[str]) -> str:
        silent, name = found[1], found[3] or ""
        if name in _WILDCARDS and not found[4]:
            return found[0]
        key = found[2] or found[4] or self.people.get(name) or self.texts.people.get(name) or ""
        mention = self.references.person(key)
        if mention is None:
            return f"@{silent}**{name or key}**"  # Not with a number: that is another's here.
        return f"@{silent}{mention[1:]}"

    def _channel(self, found: re.Match[str]) -> str:
        key = self.channels.get(found[1]) or self.texts.channel_keys.get(found[1]) or ""
        link = self.references.channel(key)
        return found[0] if link is None else link.removesuffix("**")

    def _place(self, found: re.Match[str]) -> str:
        url = None
        if self.texts.is_ours(found):
            url = self.references.channel_url(found["channel"])
        return found[0] if url is None else url + (found["topic"] or "")

    def _file(self, found: re.Match[str]) -> str:
        """Return the path that the file's new one replaces (SharedFile.is_in_text)."""
        return address_of(found[2]) if self.texts.has_file(found[2]) else found[0]


def address_of(path: str) -> str:
    """Return the address of an uploaded file in texts."""
    return f"/user_uploads/{path}"


def _time(found: re.Match[str]) -> str:
    return time_mark(datetime.fromtimestamp(int(found[1]), UTC))
