"""The tree of a message: every kind of node that a rendered message can hold."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from storage.ids import ChannelId, GroupId, UserId

Alignment: TypeAlias = Literal["None", "Left", "Center", "Right"]
InlineStyle: TypeAlias = Literal["em", "strong", "del"]


Spans: TypeAlias = tuple[tuple[str, str], ...]
"""Code in pieces, each with its Pygments class; no class for ordinary text."""


@dataclass(slots=True)
class Element:
    """An element of MathML; the serializer writes the allowed ones."""

    tag: str
    attributes: dict[str, str]
    kids: "list[Element | str]"


class Inline:
    """A node inside a line of text."""

    __slots__ = ()


class Block:
    """A node on lines of its own."""

    __slots__ = ()


Node: TypeAlias = Inline | Block


@dataclass(slots=True)
class Text(Inline):
    text: str


@dataclass(slots=True)
class Code(Inline):
    text: str


@dataclass(slots=True)
class Math(Inline):
    formula: str
    mathml: Element | None = None


@dataclass(slots=True)
class Time(Inline):
    """A time in UTC, which clients display in the reader's time zone."""

    moment: datetime
    text: str


@dataclass(slots=True)
class UnicodeEmoji(Inline):
    """An emoji of Unicode; `code` is its code points in hexadecimal, joined by hyphens."""

    name: str
    code: str


@dataclass(slots=True)
class ImageEmoji(Inline):
    """A custom emoji of the realm, or the server's own."""

    name: str
    image: str
    """The URL of its image."""


@dataclass(slots=True)
class LineBreak(Inline):
    pass


@dataclass(slots=True)
class Styled(Inline):
    style: InlineStyle
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Link(Inline):
    """A link out of the message; `href` has passed `links.safe_href`."""

    href: str
    title: str = ""
    is_image: bool = False
    """Whether it was written in the syntax of images."""
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class InlineImage(Inline):
    """An uploaded picture in the text; `href` has passed `links.safe_href`."""

    href: str
    alt: str


@dataclass(slots=True)
class Audio(Inline):
    """A player of an uploaded recording; `href` has passed `links.safe_href`."""

    href: str
    title: str


@dataclass(slots=True)
class UserMention(Inline):
    user_id: UserId
    name: str
    silent: bool


@dataclass(slots=True)
class GroupMention(Inline):
    group_id: GroupId
    name: str
    silent: bool


@dataclass(slots=True)
class ChannelWildcard(Inline):
    name: str
    silent: bool


@dataclass(slots=True)
class TopicWildcard(Inline):
    name: str
    silent: bool


Mention: TypeAlias = UserMention | GroupMention | ChannelWildcard | TopicWildcard


@dataclass(slots=True)
class ChannelLink(Inline):
    """A link to a channel, to a topic in it, or to a message in that topic."""

    channel_id: ChannelId
    channel: str
    topic: str | None = None
    message_id: int | None = None


@dataclass(slots=True)
class Paragraph(Block):
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Heading(Block):
    level: int
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Rule(Block):
    pass


@dataclass(slots=True)
class CodeBlock(Block):
    language: str
    text: str
    spans: Spans | None = None


@dataclass(slots=True)
class MathBlock(Block):
    formula: str
    mathml: Element | None = None


@dataclass(slots=True)
class Media(Block):
    """A linked image or video; `href` has passed `links.safe_href`."""

    href: str
    title: str
    source: str
    """The URL that clients load."""
    is_video: bool


@dataclass(frozen=True, slots=True)
class Preview(Block):
    """A preview of a linked page; addresses have passed `safe_href`."""

    href: str
    image: str
    title: str = ""
    description: str = ""


@dataclass(slots=True)
class Quote(Block):
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Spoiler(Block):
    header: list[Node]
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class ItemList(Block):
    """A list; `start` is the first number, or None for bullets."""

    start: int | None
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Item(Block):
    """An item of a list: text without a paragraph if the list is tight."""

    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Table(Block):
    """A table with the head as first row; every row has as many cells as `alignments`."""

    alignments: tuple[Alignment, ...]
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Row(Block):
    kids: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Cell(Block):
    kids: list[Node] = field(default_factory=list)
