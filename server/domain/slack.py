"""What programs write for Slack, as our Markdown; whatever it is that they send."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any, Final

MAX_PARTS: Final = 100
"""Of attachments, blocks, fields: what comes beyond is left out."""

_CODE: Final = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_REFERENCE: Final = re.compile(r"<([^\s<>|][^<>|\n]{0,2000})(?:\|([^<>\n]{0,2000}))?>")


def _between(mark: str) -> re.Pattern[str]:
    """What stands between two of these marks, none of them within a word."""
    within = rf"(?![\s{mark}])([^{mark}\n]+?)(?<!\s)"
    return re.compile(rf"(?<![\w{mark}]){mark}{within}{mark}(?![\w{mark}])")


_STYLES: Final = (
    (_between(r"\*"), r"**\1**"),
    (_between("_"), r"*\1*"),
    (_between("~"), r"~~\1~~"),
)


def markdown_of(payload: Any) -> str:
    """What the payload says; nothing if it says nothing that we know of."""
    if not isinstance(payload, dict):
        return ""
    parts = [*_each(payload.get("blocks"), _block)]
    # Beside blocks, the text is what notifications show in their place.
    if not any(parts):
        parts = [converted(_text(payload.get("text")))]
    parts += _each(payload.get("attachments"), _attachment)
    return "\n\n".join(part for part in parts if part)


def converted(text: str) -> str:
    """A text with Slack's marks, with ours. Code stays as it is."""
    pieces = _CODE.split(text)
    return "".join(unescape(p) if i % 2 else _marks(p) for i, p in enumerate(pieces))


def channel_of(payload: Any) -> str | None:
    """Where it says that it goes, without Slack's sign in front."""
    name = _text(payload.get("channel")) if isinstance(payload, dict) else ""
    return name.strip().lstrip("#@") or None


def _marks(text: str) -> str:
    for pattern, mark in _STYLES:
        text = pattern.sub(mark, text)
    return unescape(_REFERENCE.sub(_reference, text))


def _reference(found: re.Match[str]) -> str:
    target, label = found[1], found[2]
    if target[0] in "@#!":
        return label or f"@{target[1:]}" if target[0] != "#" else f"#{label or target[1:]}"
    target = unescape(target)
    if not re.match(r"[a-z][a-z+.-]*:", target):
        return label or target
    if not label or label == target.removeprefix("mailto:"):
        return target.removeprefix("mailto:")
    return _link(unescape(label), target)


def _link(text: str, url: str) -> str:
    plain = re.sub(r"[\[\]\n]", " ", text).strip()
    return f"[{plain}](<{url}>)" if re.search(r"[\s()<>]", url) else f"[{plain}]({url})"


# -- blocks


def _block(block: dict[str, Any]) -> str:
    render = _BLOCKS.get(_text(block.get("type")))
    return "" if render is None else render(block)


def _section(block: dict[str, Any]) -> str:
    parts = [_text_object(block.get("text")), *_each(block.get("fields"), _text_object)]
    return "\n\n".join(part for part in parts if part)


def _image(block: dict[str, Any]) -> str:
    url = _text(block.get("image_url"))
    title = _text_object(block.get("title")) or _text(block.get("alt_text"))
    return _link(title or "image", url) if url else title


def _context(block: dict[str, Any]) -> str:
    def element(each: dict[str, Any]) -> str:
        return _image(each) if each.get("type") == "image" else _text_object(each)

    return "\n".join(_each(block.get("elements"), element))


def _header(block: dict[str, Any]) -> str:
    text = _text_object(block.get("text")).replace("\n", " ")
    return f"## {text}" if text else ""


def _rich_text(block: dict[str, Any]) -> str:
    def inline(each: dict[str, Any]) -> str:
        text, url = _text(each.get("text")), _text(each.get("url"))
        if url:
            return _link(text or url, url)
        return text or (f":{name}:" if (name := _text(each.get("name"))) else "")

    def part(each: dict[str, Any]) -> str:
        kind = each.get("type")
        if kind == "rich_text_list":
            return "\n".join(f"* {item}" for item in _each(each.get("elements"), part))
        text = "".join(_each(each.get("elements"), inline))
        if kind == "rich_text_preformatted":
            return f"```\n{text}\n```"
        if kind == "rich_text_quote":
            return "\n".join(f"> {line}" for line in text.splitlines())
        return text

    return "\n".join(_each(block.get("elements"), part))


def _text_object(value: Any) -> str:
    """A text, or an object that holds one in one of Slack's two forms."""
    if not isinstance(value, dict):
        return converted(_text(value))
    text = _text(value.get("text"))
    return text if value.get("type") == "plain_text" else converted(text)


_BLOCKS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "context": _context,
    "divider": lambda _: "----",
    "header": _header,
    "image": _image,
    "rich_text": _rich_text,
    "section": _section,
}


# -- attachments


def _attachment(each: dict[str, Any]) -> str:
    title, url = converted(_text(each.get("title"))), _text(each.get("title_link"))
    author, footer = _text(each.get("author_name")), _text(each.get("footer"))
    parts = [
        converted(_text(each.get("pretext"))),
        f"**{author}**" if author else "",
        f"## {_link(title, url) if url else title}" if title else "",
        converted(_text(each.get("text"))),
        *_each(each.get("blocks"), _block),
        "\n".join(_each(each.get("fields"), _field)),
        _link("image", image) if (image := _text(each.get("image_url"))) else "",
        f"*{footer}*" if footer else "",
    ]
    shown = "\n\n".join(part for part in parts if part)
    return shown or converted(_text(each.get("fallback")))


def _field(each: dict[str, Any]) -> str:
    title, value = _text(each.get("title")), converted(_text(each.get("value")))
    return f"**{title}**: {value}" if title else value


def _each(items: Any, render: Callable[[dict[str, Any]], str]) -> Iterator[str]:
    """What there is to say of those of the items that are objects."""
    for item in items[:MAX_PARTS] if isinstance(items, list) else ():
        if isinstance(item, dict) and (said := render(item)):
            yield said


def _text(value: Any) -> str:
    """A text as it is; a number as one; anything else is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).replace("\0", "")
