"""Display media: what is linked below the text, uploads in the syntax of images within it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from server.domain.external_content import ProxyLinks
from server.domain.markdown import nodes
from server.domain.markdown.links import (
    is_attachment,
    is_image,
    is_placed,
    is_upload,
    is_video,
)
from server.domain.markdown.nodes import Inline, Node

MAX_SHOWN: Final = 24
"""Maximum per message; the others stay links."""


@dataclass(frozen=True, slots=True)
class MediaPolicy:
    """Which sources of images and videos are displayed. Uploads are, if any are."""

    is_on: bool = True
    hosts: frozenset[str] = frozenset()
    """Hosts that are loaded directly: they learn who looks."""
    proxy: ProxyLinks | None = None
    """Proxy for images of all other hosts, which learn nothing; None: they are not displayed."""

    def shows(self, link: nodes.Link) -> bool:
        """Return whether an image or a video is displayed for this link."""
        return self.source_for(link) is not None

    def shows_inline(self, link: nodes.Link) -> bool:
        """Return whether the link, in the syntax of images, is a picture or a player in the text.

        Others are links (levels 405, 437 and 467 of the protocol).
        """
        return self.is_on and link.is_image and is_placed(link.href)

    def source_for(self, link: nodes.Link) -> str | None:
        """Return the URL from which the link's media is loaded; None if it is not displayed."""
        href = link.href
        if not self.is_on or not (is_image(href) or is_video(href)):
            return None
        host = _host(href)
        if is_upload(href) or host in self.hosts:
            return href
        if self.proxy is None or host is None or is_attachment(href) or not is_image(href):
            return None
        return self.proxy.to(href)


def _host(href: str) -> str | None:
    try:
        parts = urlsplit(href)
    except ValueError:
        return None
    return parts.hostname if parts.scheme in ("http", "https") else None


NO_MEDIA: Final = MediaPolicy(is_on=False)


def show_media(blocks: list[Node], policy: MediaPolicy) -> list[Node]:
    """Return the blocks with their media in the text, and after those that link them.

    Quotes display none of those that they link.
    """
    shower = _Shower(policy)
    shower.put_in(blocks)
    return shower.blocks(blocks)


class _Shower:
    def __init__(self, policy: MediaPolicy) -> None:
        self._policy = policy
        self._left = MAX_SHOWN

    def put_in(self, kids: list[Node]) -> None:
        """Replace links by what they display in the text, at any depth."""
        for index, kid in enumerate(kids):
            if isinstance(kid, nodes.Link):
                if self._left and self._policy.shows_inline(kid):
                    self._left -= 1
                    kids[index] = _inline(kid)
                continue
            if isinstance(kid, nodes.Spoiler):
                self.put_in(kid.header)
            below: list[Node] | None = getattr(kid, "kids", None)
            if below:
                self.put_in(below)

    def blocks(self, kids: Sequence[Node]) -> list[Node]:
        """Return the kids of a block container; a run of inline ones counts as one block."""
        shown: list[Node] = []
        waiting: list[Node] = []
        for kid in kids:
            if waiting and not isinstance(kid, Inline):
                shown += waiting
                waiting = []
            shown.append(kid)
            if isinstance(kid, Inline):
                waiting += self._media_of((kid,))
            elif isinstance(kid, nodes.Paragraph | nodes.Heading):
                shown += self._media_of(kid.kids)
            elif isinstance(kid, nodes.ItemList | nodes.Item | nodes.Spoiler):
                kid.kids = self.blocks(kid.kids)
        return shown + waiting

    def _media_of(self, kids: Iterable[Node]) -> list[Node]:
        found: list[Node] = []
        for kid in kids:
            if isinstance(kid, nodes.Styled):
                found += self._media_of(kid.kids)
            elif isinstance(kid, nodes.Link) and self._left:
                source = self._policy.source_for(kid)
                if source is not None:
                    self._left -= 1
                    is_film = is_video(kid.href)
                    found.append(nodes.Media(kid.href, _title(kid), source, is_video=is_film))
        return found


def _inline(link: nodes.Link) -> nodes.InlineImage | nodes.Audio:
    name = _title(link) or unquote(link.href.partition("?")[0].rpartition("/")[2])
    return (
        nodes.InlineImage(link.href, name) if is_image(link.href) else nodes.Audio(link.href, name)
    )


def _title(link: nodes.Link) -> str:
    """Return the link's text, unless it is the address."""
    text = "".join(kid.text for kid in link.kids if isinstance(kid, nodes.Text))
    is_address = text.endswith(link.href) and (text == link.href or "://" in text)
    return "" if is_address else text
