"""Display linked images and videos below the text with the links."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from server.domain.external_content import ProxyLinks
from server.domain.markdown import nodes
from server.domain.markdown.links import is_attachment, is_image, is_upload, is_video
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
    """Return the blocks with media after those that link them; quotes display none."""
    return _Shower(policy).blocks(blocks)


class _Shower:
    def __init__(self, policy: MediaPolicy) -> None:
        self._policy = policy
        self._left = MAX_SHOWN

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


def _title(link: nodes.Link) -> str:
    """Return the link's text, unless it is the address."""
    text = "".join(kid.text for kid in link.kids if isinstance(kid, nodes.Text))
    is_address = text.endswith(link.href) and (text == link.href or "://" in text)
    return "" if is_address else text
