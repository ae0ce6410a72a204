"""Extract a page's metadata: Open Graph first, and oEmbed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol
from urllib.parse import urljoin

import orjson

MAX_TITLE: Final = 200
MAX_DESCRIPTION: Final = 500
MAX_ADDRESS: Final = 2_000
OEMBED: Final = "application/json+oembed"

_TITLES: Final = ("og:title", "twitter:title")
_DESCRIPTIONS: Final = ("og:description", "twitter:description", "description")
_IMAGES: Final = ("og:image:secure_url", "og:image:url", "og:image", "twitter:image")
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CHARSET: Final = re.compile(r"charset=[\"']?([A-Za-z0-9._-]{1,40})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """Metadata of a page; texts are plain, of one line and bounded, addresses absolute."""

    title: str = ""
    description: str = ""
    image: str = ""
    oembed_url: str = ""
    """URL of its oEmbed metadata."""


class PageReader(Protocol):
    """Parses pages off the event loop; a timeout returns empty metadata."""

    async def page(self, body: bytes, *, url: str, content_type: str) -> PageMetadata:
        """Return the metadata of the HTML."""
        ...

    async def oembed(self, page: PageMetadata, body: bytes, *, url: str) -> PageMetadata:
        """Return the page with the metadata of its oEmbed response."""
        ...


def read_page(body: bytes, *, url: str, content_type: str) -> PageMetadata:
    """Return the metadata of any HTML. Takes some milliseconds for a large one."""
    from lxml import etree, html  # the server starts faster without it

    parser = html.HTMLParser(
        encoding=_encoding(content_type), no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = html.document_fromstring(body, parser=parser)
    except (etree.LxmlError, ValueError):
        return PageMetadata()
    said: dict[str, str] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or ""
        said.setdefault(name.strip().lower(), meta.get("content") or "")
    title = next(root.iter("title"), None)
    return PageMetadata(
        title=_text(
            _first(said, _TITLES) or ("" if title is None else title.text or ""), MAX_TITLE
        ),
        description=_text(_first(said, _DESCRIPTIONS), MAX_DESCRIPTION),
        image=_absolute(url, _first(said, _IMAGES)),
        oembed_url=next(
            (
                _absolute(url, link.get("href") or "")
                for link in root.iter("link")
                if (link.get("type") or "").strip().lower() == OEMBED
            ),
            "",
        ),
    )


def with_oembed(page: PageMetadata, body: bytes, *, url: str) -> PageMetadata:
    """Return the page with the metadata of its oEmbed response: never any HTML."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return page
    if not isinstance(said, dict):
        return page
    image = _string(said, "url") if said.get("type") == "photo" else ""
    return replace(
        page,
        title=page.title or _text(_string(said, "title"), MAX_TITLE),
        description=page.description or _text(_string(said, "author_name"), MAX_DESCRIPTION),
        image=page.image or _absolute(url, image or _string(said, "thumbnail_url")),
    )


def _string(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _first(said: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((said[name] for name in names if said.get(name, "").strip()), "")


def _text(text: str, limit: int) -> str:
    line = _BLANKS.sub(" ", text[: 10 * limit]).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _absolute(base: str, address: str) -> str:
    address = address.strip()
    if not 0 < len(address) <= MAX_ADDRESS:
        return ""
    try:
        absolute = urljoin(base, address)
    except ValueError:
        return ""
    return absolute if len(absolute) <= MAX_ADDRESS else ""


def _encoding(content_type: str) -> str | None:
    """Return the encoding in the response's header, if the parser supports it."""
    from lxml import html  # as above

    named = _CHARSET.search(content_type)
    if named is None:
        return None
    try:
        html.HTMLParser(encoding=named[1])
    except LookupError:
        return None
    return named[1]
