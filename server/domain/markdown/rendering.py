"""Renders a message: its HTML, and what the sender's words ask for."""

from dataclasses import dataclass

from server.domain.markdown import nodes
from server.domain.markdown.directory import EmptyDirectory, MentionDirectory
from server.domain.markdown.links import is_attachment, is_image
from server.domain.markdown.serializer import to_html
from server.domain.markdown.source import normalize
from server.domain.markdown.tree import parse
from storage.ids import GroupId, UserId

_ME = "/me "


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


def render(content: str, directory: MentionDirectory) -> Rendered:
    """Render a message of any content; never fails, and takes no longer than its length asks.

    Reads nothing but the directory, so that it can run before a write and outside of any
    transaction.
    """
    source = normalize(content)
    document = parse(source, directory)
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
        has_image=any(link.is_image or is_image(link.href) for link in links),
        has_attachment=any(is_attachment(link.href) for link in links),
    )


def render_description(text: str) -> str:
    """The HTML of a channel's or group's description, in which nobody is mentioned."""
    return render(text, EmptyDirectory()).html
