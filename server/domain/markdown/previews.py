"""Previews of linked pages: for which links, and where they stand in a message's HTML."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

from server.domain.external_content import ProxyLinks
from server.domain.markdown import nodes
from server.domain.markdown.links import is_attachment, is_image, is_video, safe_href
from server.domain.markdown.nodes import Node
from server.domain.markdown.resolver import EmptyResolver
from server.domain.markdown.serializer import to_html
from server.domain.markdown.source import normalize
from server.domain.markdown.tree import parse

MAX_PREVIEWS: Final = 5
"""Of one message; the other links are links."""
_SCHEMES: Final = ("http://", "https://")
_OF_ADDRESSES: Final = "%/:?#[]@!$&'()*+,;=~"
"""What stays as it is, beside letters and digits of ASCII, where an address stands in a style."""
_START: Final = '\n<div class="message_embed">'
"""Nothing that people write comes out like this: the serializer escapes it."""


def links_to_preview(content: str) -> list[str]:
    """Return the pages that a message links, each once: outside of quotes and spoilers."""
    found = _links(parse(normalize(content), EmptyResolver()).blocks)
    return list(dict.fromkeys(filter(_is_page, found)))[:MAX_PREVIEWS]


def with_previews(html: str, previews: Sequence[nodes.Preview]) -> str:
    """Return the message's HTML with these previews below all else, and no others."""
    return "\n".join([part for part in (without_previews(html), to_html(previews)) if part])


def without_previews(html: str) -> str:
    return html.partition(_START)[0]


def preview(
    href: str, image: str, title: str, description: str, proxy: ProxyLinks | None = None
) -> nodes.Preview | None:
    """Return the preview of a page; None without a picture that clients can load safely.

    With a proxy they load it from there.
    """
    safe_image = safe_href(image)
    if safe_image is None:
        return None
    if proxy is not None:
        is_absolute = safe_image.lower().startswith(_SCHEMES)
        source = proxy.to(quote(safe_image, safe=_OF_ADDRESSES)) if is_absolute else None
        return None if source is None else nodes.Preview(href, source, title, description)
    if not safe_image.lower().startswith("https://"):
        return None
    return nodes.Preview(href, quote(safe_image, safe=_OF_ADDRESSES), title, description)


def _is_page(href: str) -> bool:
    if not href.lower().startswith(_SCHEMES) or is_attachment(href):
        return False
    return not (is_image(href) or is_video(href))


def _links(kids: Iterable[Node]) -> Iterator[str]:
    for kid in kids:
        if isinstance(kid, nodes.Link):
            yield kid.href
        elif isinstance(
            kid,
            nodes.Paragraph | nodes.Heading | nodes.Styled | nodes.ItemList | nodes.Item,
        ):
            yield from _links(kid.kids)
