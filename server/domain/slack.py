"""Convert payloads written for Slack to our Markdown."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from server.domain.markdown.dialects import in_our_dialect
from server.domain.slack_rich_text import rich_text, table
from server.domain.slack_text import (
    MAX_PARTS,
    MAX_TEXT,
    converted,
    each_of,
    fallback,
    link,
    plain,
    text_object,
    text_of,
    time_of,
)

__all__ = ["MAX_PARTS", "channel_of", "converted", "markdown_of"]

MAX_LINE: Final = 2_000
"""Maximum characters of a title, a name, the text of a button."""
_SLACK_ID: Final = re.compile(r"(?=\D+\d)[CDGUW][A-Z0-9]{8,13}", re.ASCII)
"""An id of a conversation or a person; names of channels in Slack have no capital letters."""


def markdown_of(payload: Any) -> str:
    """Return the payload as Markdown; empty if it has no known content."""
    if not isinstance(payload, dict):
        return ""
    parts = [*_some(each_of(payload.get("blocks"), _block))]
    # Beside blocks, the text is the fallback of notifications.
    if not any(parts):
        is_styled = payload.get("mrkdwn") is not False
        parts = [converted(text_of(payload.get("text")), styled=is_styled)]
    parts += _some(each_of(payload.get("attachments"), _attachment))
    whole = "\n\n".join(part for part in parts if part)
    # Our slash commands (/poll, /todo, /me) are not Slack's, and mean nothing in a webhook.
    return f"\\{whole}" if whole.startswith("/") else whole


def _some(parts: Iterator[str]) -> Iterator[str]:
    """Yield as many of the parts as a message may hold, and some more.

    Others are not even converted.
    """
    length = 0
    for part in parts:
        yield part
        length += len(part)
        if length > MAX_TEXT:
            break


def channel_of(payload: Any) -> str | None:
    """Return the channel that the payload names, without Slack's sign in front.

    None if it has only an id of Slack, which names nothing here.
    """
    if not isinstance(payload, dict):
        return None
    channel = payload.get("channel")
    named = [payload.get("channel_name")]
    named += [channel.get("name")] if isinstance(channel, dict) else [channel]
    texts = (text_of(each).strip() for each in named)
    return next((name for each in texts if (name := _channel_name(each))), None)


def _channel_name(text: str) -> str:
    return "" if _SLACK_ID.fullmatch(text) else text.lstrip("#@")


# -- blocks


def _block(block: dict[str, Any]) -> str:
    return _BLOCKS.get(text_of(block.get("type")), fallback)(block)


def _section(block: dict[str, Any]) -> str:
    accessory = block.get("accessory")
    parts = [
        text_object(block.get("text")),
        *each_of(block.get("fields"), text_object),
        _accessory(accessory) if isinstance(accessory, dict) else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _accessory(each: dict[str, Any]) -> str:
    return _image(each) if each.get("type") == "image" else _button(each)


def _image(block: dict[str, Any]) -> str:
    file = block.get("slack_file")
    url = text_of(block.get("image_url")) or (
        text_of(file.get("url")) if isinstance(file, dict) else ""
    )
    title = _one_line(block.get("title")) or text_of(block.get("alt_text"))
    return link(title or "image", url) if url else plain(title)


def _video(block: dict[str, Any]) -> str:
    title = _one_line(block.get("title")) or text_of(block.get("alt_text")) or "video"
    url = text_of(block.get("title_url")) or text_of(block.get("video_url"))
    parts = [link(title, url) if url else plain(title), text_object(block.get("description"))]
    return "\n".join(part for part in parts if part)


def _context(block: dict[str, Any]) -> str:
    def element(each: dict[str, Any]) -> str:
        if each.get("type") == "image":
            return _image(each)
        return text_object(each) or fallback(each)

    return "\n".join(each_of(block.get("elements"), element))


def _header(block: dict[str, Any]) -> str:
    text = " ".join(text_object(block.get("text")).split())
    return f"## {text}" if text else ""


def _markdown(block: dict[str, Any]) -> str:
    return in_our_dialect(text_of(block.get("text")))


def _actions(block: dict[str, Any]) -> str:
    return " ".join(each_of(block.get("elements"), _button))


def _button(each: dict[str, Any]) -> str:
    """Return a button with a link, and the choices of a menu that have links.

    Others can do nothing.
    """
    if each.get("type") == "overflow":
        return " ".join(each_of(each.get("options"), _button))
    url = text_of(each.get("url"))
    return link(_one_line(each.get("text")) or url, url) if url else ""


def _one_line(value: Any) -> str:
    """Return a text for use as the text of a link."""
    text = value.get("text") if isinstance(value, dict) else value
    return " ".join(text_of(text)[:MAX_LINE].split())


def _nothing(_: dict[str, Any]) -> str:
    return ""


_BLOCKS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "actions": _actions,
    "context": _context,
    "context_actions": _nothing,
    "divider": lambda _: "----",
    "header": _header,
    "image": _image,
    "input": _nothing,
    "markdown": _markdown,
    "rich_text": rich_text,
    "section": _section,
    "table": table,
    "video": _video,
}


# -- attachments


def _attachment(each: dict[str, Any]) -> str:
    footer = _one_line(each.get("footer"))
    parts = [
        converted(text_of(each.get("pretext"))),
        _author(each),
        _title(each),
        converted(text_of(each.get("text"))),
        *each_of(each.get("blocks"), _block),
        "\n".join(each_of(each.get("fields"), _field)),
        *(
            link("image", url)
            for key in ("image_url", "thumb_url")
            if (url := text_of(each.get(key)))
        ),
        " ".join(each_of(each.get("actions"), _button)),
        f"*{plain(footer)}*" if footer else "",
        time_of(each.get("ts")),
    ]
    shown = "\n\n".join(part for part in parts if part)
    return shown or converted(text_of(each.get("fallback")), styled=False)


def _author(each: dict[str, Any]) -> str:
    name, url = _one_line(each.get("author_name")), text_of(each.get("author_link"))
    if not name:
        return ""
    return f"**{link(name, url) if url else plain(name)}**"


def _title(each: dict[str, Any]) -> str:
    title, url = _one_line(each.get("title")), text_of(each.get("title_link"))
    if not title:
        return ""
    return f"## {link(title, url) if url else converted(title, styled=False)}"


def _field(each: dict[str, Any]) -> str:
    title, value = _one_line(each.get("title")), converted(text_of(each.get("value")))
    return f"**{plain(title)}**: {value}".rstrip() if title else value
