"""Render a message: its HTML, and what its text requests."""

from dataclasses import dataclass
from typing import Final

from server.domain.markdown import nodes
from server.domain.markdown.links import is_attachment, is_image, relative_href
from server.domain.markdown.media import NO_MEDIA, MediaPolicy, show_media
from server.domain.markdown.resolver import EmptyResolver, MentionResolver
from server.domain.markdown.serializer import to_html
from server.domain.markdown.source import normalize
from server.domain.markdown.tree import Document, parse
from server.domain.markdown.typesetting import (
    PlainTypesetter,
    TypesetJob,
    Typesetter,
    job_of,
    nodes_to_set,
    take,
)
from storage.ids import GroupId, UserId

_ME = "/me "
_SIGNS: Final = ("```", "~~~", "$$")
"""Without one of these there is nothing to typeset."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered message. Mentions are those that notify: silent ones are only in the HTML."""

    html: str
    mentioned_user_ids: frozenset[UserId]
    mentioned_group_ids: frozenset[GroupId]
    channel_wildcard: bool
    topic_wildcard: bool
    is_me_message: bool
    links: tuple[str, ...]
    has_image: bool
    has_attachment: bool

    @property
    def has_link(self) -> bool:
        return bool(self.links)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Options of a rendering, besides the text."""

    translate_emoticons: bool = False
    """Whether emoticons such as :) become emoji."""
    media: MediaPolicy = NO_MEDIA
    code_language: str = ""
    """Default language of code fences."""
    origin: str = ""
    """The realm's URL: links to it become relative, as uploads are."""


PLAIN_STYLE: Final = Style()
NO_TYPESETTER: Final = PlainTypesetter()


def render(
    content: str,
    resolver: MentionResolver,
    style: Style = PLAIN_STYLE,
    typesetter: Typesetter = NO_TYPESETTER,
) -> Rendered:
    """Render a message of any content; never fails, in time proportional to its length.

    Reads nothing but the resolver. Code is highlighted, and formulas are set, if the typesetter has
    done `jobs_in` the message before.
    """
    source = normalize(content)
    document = _read(source, resolver, style)
    if _may_have_jobs(source):
        for node in nodes_to_set(document.blocks):
            if (job := job_of(node)) is not None:
                take(node, typesetter.known(job))
    return _rendered(source, document)


def jobs_in(content: str, code_language: str = "") -> list[TypesetJob]:
    """Return the typesetting jobs of a message, for any sender.

    `code_language` is the default language of fences.
    """
    source = normalize(content)
    if not _may_have_jobs(source):
        return []
    blocks = parse(source, EmptyResolver(), code_language=code_language).blocks
    jobs = [job for node in nodes_to_set(blocks) if (job := job_of(node)) is not None]
    return list(dict.fromkeys(jobs))


def _may_have_jobs(source: str) -> bool:
    return any(sign in source for sign in _SIGNS)


def _read(source: str, resolver: MentionResolver, style: Style) -> Document:
    document = parse(
        source,
        resolver,
        translate_emoticons=style.translate_emoticons,
        code_language=style.code_language,
    )
    links = [each for each in document.found if isinstance(each, nodes.Link)]
    for link in links:
        link.href = relative_href(link.href, style.origin)
    media = style.media
    if not any(media.shows(link) or media.shows_inline(link) for link in links):
        return document
    return Document(show_media(document.blocks, media), document.found)


def _rendered(source: str, document: Document) -> Rendered:
    links = [node for node in document.found if isinstance(node, nodes.Link)]
    mentions = [node for node in document.found if not isinstance(node, nodes.Link)]
    return Rendered(
        html=to_html(document.blocks),
        mentioned_user_ids=frozenset(
            mention.user_id for mention in mentions if isinstance(mention, nodes.UserMention)
        ),
        mentioned_group_ids=frozenset(
            mention.group_id for mention in mentions if isinstance(mention, nodes.GroupMention)
        ),
        channel_wildcard=any(isinstance(mention, nodes.ChannelWildcard) for mention in mentions),
        topic_wildcard=any(isinstance(mention, nodes.TopicWildcard) for mention in mentions),
        is_me_message=source.startswith(_ME),
        links=tuple(dict.fromkeys(link.href for link in links)),
        has_image=any(is_image(link.href) or _is_external_image(link) for link in links),
        has_attachment=any(is_attachment(link.href) for link in links),
    )


def _is_external_image(link: nodes.Link) -> bool:
    """Return whether it was written as an image: addresses of other sites need not end as one."""
    return link.is_image and not is_attachment(link.href)


def render_description(text: str) -> str:
    """Return the HTML of a channel's or group's description, without mentions."""
    return render(text, EmptyResolver()).html
