"""Convert messages of Slack to our Markdown, with mentions of accounts and channels."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from server.domain.emoji import codes_by_name
from server.domain.markdown.dialects import outside_code
from server.domain.slack import markdown_of
from server.imports.records import References

_REFERENCE: Final = re.compile(r"<([@#!])([^<>|\n]{1,200})(?:\|([^<>\n]{0,2000}))?>")
_EMOJI: Final = re.compile(r":([a-z0-9_+-]{1,100}):(?::skin-tone-[2-6]:)?")
_KEPT: Final = re.compile("\ue000([0-9]+)\ue001")
"""Where Markdown is put in afterwards: characters of private use, which nothing else contains."""
_PRIVATE: Final = str.maketrans(dict.fromkeys("\ue000\ue001"))
_MARKUP_KEYS: Final = frozenset({"text", "pretext", "value", "fallback"})
_OTHER_NAMES: Final = {
    "simple_smile": "smile",
    "smile": "big_smile",
    "point_up": "wait_one_second",
}
"""Our names, where they differ or mean another emoji."""
_MAX_DEPTH: Final = 20

Keep = Callable[[str], str]


def markdown_of_slack(body: dict[str, Any], references: References) -> str:
    """Return a message's text, blocks and attachments as Markdown; code stays as it is."""
    kept: list[str] = []

    def keep(markdown: str) -> str:
        kept.append(markdown)
        return f"\ue000{len(kept) - 1}\ue001"

    prepared = {
        "text": _markup(body.get("text"), references, keep),
        "blocks": _prepared(body.get("blocks"), references, keep, 0),
        "attachments": _prepared(body.get("attachments"), references, keep, 0),
    }
    converted = markdown_of(prepared)
    return _KEPT.sub(lambda found: kept[int(found[1])], converted) if kept else converted


def with_emoji_named(text: str) -> str:
    """Return the text with built-in emoji under our names."""
    return _EMOJI.sub(_named, text) if ":" in text else text


def _named(found: re.Match[str]) -> str:
    name = emoji_name(found[1])
    return f":{name}:" if name in codes_by_name() else found[0]


def emoji_name(name: str) -> str:
    """Return our name of a built-in emoji, without the tone of its skin; others as they are."""
    name = name.partition("::")[0]
    built_in = name.replace("-", "_")
    built_in = _OTHER_NAMES.get(built_in, built_in)
    return built_in if built_in in codes_by_name() else name


def with_aliases(text: str, aliases: Mapping[str, str]) -> str:
    """Return Markdown in which aliases of built-in emoji are replaced by our names of them."""
    if not aliases or ":" not in text:
        return text

    def known(found: re.Match[str]) -> str:
        name = aliases.get(found[1])
        return found[0] if name is None else f":{emoji_name(name)}:"

    return outside_code(text, lambda piece: _EMOJI.sub(known, piece))


def _prepared(value: Any, references: References, keep: Keep, depth: int) -> Any:
    """Return blocks or attachments with their references replaced."""
    if isinstance(value, list) and depth < _MAX_DEPTH:
        return [_prepared(each, references, keep, depth + 1) for each in value]
    if not isinstance(value, dict) or depth >= _MAX_DEPTH:
        return value
    kind = value.get("type")
    markdown = _element(kind, value, references)
    if markdown is not None:
        style = value.get("style")
        plain = {**style, "code": False} if isinstance(style, dict) else None
        return {"type": "text", "text": keep(markdown), "style": plain}
    if kind == "text":
        text = value.get("text")
        if not isinstance(text, str) or text.isascii():
            return value
        return {**value, "text": text.translate(_PRIVATE)}
    return {
        key: _markup(each, references, keep)
        if key in _MARKUP_KEYS and isinstance(each, str) and kind != "plain_text"
        else _prepared(each, references, keep, depth + 1)
        for key, each in value.items()
    }


def _element(kind: Any, value: dict[str, Any], references: References) -> str | None:
    """Return the Markdown of an element that refers to something known."""
    if kind == "user":
        return references.person(str(value.get("user_id")))
    if kind == "channel":
        return references.channel(str(value.get("channel_id")))
    if kind == "broadcast" and value.get("range") in ("channel", "everyone"):
        return "@**all**"
    if kind == "emoji" and not value.get("unicode"):
        return f":{emoji_name(str(value.get('name')))}:"
    return None


def _markup(text: Any, references: References, keep: Keep) -> Any:
    """Return text with references and emoji outside of code replaced."""
    if not isinstance(text, str):
        return text
    if not text.isascii():
        text = text.translate(_PRIVATE)
    if "<" not in text and ":" not in text:
        return text

    def referred(found: re.Match[str]) -> str:
        sign, key = found[1], found[2]
        markdown = None
        if sign == "@":
            markdown = references.person(key)
        elif sign == "#":
            markdown = references.channel(key)
        elif key in ("channel", "everyone"):
            markdown = "@**all**"
        return found[0] if markdown is None else keep(markdown)

    if "<" not in text:
        return outside_code(text, with_emoji_named)
    return outside_code(text, lambda piece: with_emoji_named(_REFERENCE.sub(referred, piece)))
