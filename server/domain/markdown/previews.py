"""Link previews: for which links, and their place in a message's HTML."""

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
"""Maximum per message; the other links get none."""
_SCHEMES: Final = ("http://", "https://")
_OF_ADDRESSES: Final = "%/:?#[]@!$&'()*+,;=~"
"""Characters that stay unescaped in a URL in a style, besides ASCII letters and digits."""
_START: Final = '\n<div class="message_embed">'
"""Cannot occur in a user's text: the serializer escapes it."""


def links_to_preview(content: str) -> list[str]:
    """Return the URLs that a message links, each once: outside of quotes and spoilers."""
    found = _links(parse(normalize(content), EmptyResolver()).blocks)
    return list(dict.fromkeys(filter(_is_page, found)))[:MAX_PREVIEWS]


def with_previews(html: str, previews: Sequence[nodes.Preview]) -> str:
    """Return the message's HTML with exactly these previews, at its end."""
    return "\n".join([part for part in (without_previews(html), to_html(previews)) if part])


def without_previews(html: str) -> str:
    return html.partition(_START)[0]


def preview(
    href: str, image: str, title: str, description: str, proxy: ProxyLinks | None = None
) -> nodes.Preview | None:
    """Return the preview of a page; None without an image that clients can load safely.

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
