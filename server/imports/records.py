"""The records that readers yield, whatever program wrote the file.

Keys are those of the file, and unique by kind of record.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any, Protocol

from server.domain.access import MEMBER
from server.domain.profile_fields import FieldType

FieldValue = str | Sequence[str]
"""A value of a custom profile field: a text, or keys of people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFieldRecord:
    """A custom field of profiles. Names may be too long or repeated, values of any length."""

    key: str
    name: str
    field_type: int = FieldType.SHORT_TEXT
    """Of a field of short texts, longer ones make a field of long texts."""
    hint: str = ""
    field_data: Mapping[str, Any] = field(default_factory=dict)
    required: bool = False
    editable_by_user: bool = True
    in_summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRecord:
    """A status that does not end by itself."""

    text: str = ""
    emoji: str = ""
    """Our name of it; a name that is not built in is left out."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """Content that the archive does not contain, but a server of the other program."""

    url: str
    size: int | None = None
    media_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecord:
    """An account: a person, or a bot."""

    key: str
    full_name: str
    email: str | None = None
    role: int = MEMBER
    is_active: bool = True
    is_bot: bool = False
    owner: str | None = None
    """Key of the bot's owner; None: the organization's owner."""
    joined_at: datetime | None = None
    """None: now."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Personal settings that differ from the defaults, by our names, with valid values."""
    timezone: str = ""
    is_first_owner: bool = False
    """Of the owners, the one that the organization cannot be without."""
    picture: str | RemoteFile | None = None
    """Its profile picture, as a member of the archive or elsewhere."""
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    """Values of custom profile fields, by the keys of the fields."""
    status: StatusRecord | None = None
    alert_words: Sequence[str] = ()
    muted: Sequence[str] = ()
    """Keys of muted people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkifierRecord:
    """A pattern that becomes a link."""

    pattern: str
    url_template: str
    """As of RFC 6570."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundRecord:
    """A page that runs code of a language."""

    name: str
    language: str
    url_template: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmojiRecord:
    """A custom emoji, with its picture as a member of the archive or elsewhere."""

    name: str
    picture: str | RemoteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRecord:
    """Members of a permission: people and groups; empty: none."""

    people: Sequence[str] = ()
    groups: Sequence[str] = ()
    """Keys of groups, and names of role groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """A group of people."""

    key: str
    name: str
    members: Sequence[str] = ()
    subgroups: Sequence[str] = ()
    """Keys of groups, and names of role groups."""
    description: str = ""
    is_active: bool = True
    creator: str | None = None
    created_at: datetime | None = None
    permissions: Mapping[str, PermissionRecord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionChoices:
    """What a subscriber has chosen for a channel. None: as for all channels."""

    is_muted: bool = False
    pin_to_top: bool = False
    desktop_notifications: bool | None = None
    audible_notifications: bool | None = None
    push_notifications: bool | None = None
    email_notifications: bool | None = None
    wildcard_mentions_notify: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPolicy:
    """Whether a person follows a topic, or has muted it."""

    person: str
    thread: str
    """As of messages."""
    policy: int
    """From server/domain/topic_policies.py."""
    moment: datetime | None = None
    """None: now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    key: str
    name: str
    members: Sequence[str]
    """Keys of people, subscribed now."""
    colors: Sequence[str] = ()
    """Of the members, in their order, as `#rrggbb`; empty ones are chosen."""
    choices: Mapping[str, SubscriptionChoices] = field(default_factory=dict)
    """Of members, where they have chosen."""
    since: Mapping[str, datetime] | None = None
    """If subscribers read only what was sent since they joined: when they did; others read nothing.
    None: they read the whole history.
    """
    description: str = ""
    is_private: bool = False
    is_web_public: bool = False
    is_archived: bool = False
    is_default: bool = False
    creator: str | None = None
    created_at: datetime | None = None
    permissions: Mapping[str, PermissionRecord] = field(default_factory=dict)
    """Those that differ from the defaults."""
    topics_policy: str = "inherit"
    retention_days: int | None = None
    """-1: for ever; None: as the organization."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectConversation:
    """A conversation between people, outside of channels."""

    key: str
    members: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    emoji: str
    """Its name, in the file's program."""
    people: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFile:
    """A file that a message holds."""

    key: str
    name: str
    url: str = ""
    """Where the other program has it."""
    member: str | RemoteFile | None = None
    """Its content in the archive or elsewhere; None: it cannot be had."""
    is_in_text: bool = False
    """Whether the text contains `url`, in place of which comes that of the file here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedMessage:
    """A message of a channel or a direct conversation."""

    key: str
    place: str
    """Key of the channel or of the direct conversation."""
    sender: str
    sender_name: str = ""
    """Its name in the message, for senders that the file does not list."""
    sent_at: datetime
    edited_at: datetime | None = None
    thread: str | None = None
    """Key of the message at the root of its thread, which may be itself; None: in no thread."""
    topic: str | None = None
    """Name of its thread; empty: the topic without a name; None: its first words."""
    is_resolved: bool = False
    """Whether the topic has the mark of resolved ones, which is not in its name here."""
    body: Any
    """Its text, in the form of the file's program."""
    files: Sequence[SharedFile] = ()
    reactions: Sequence[Reaction] = ()
    starred_by: Sequence[str] = ()
    """Keys of people."""
    is_pinned: bool = False


class References(Protocol):
    """Markdown for what texts refer to by key; None for unknown keys."""

    def person(self, key: str) -> str | None: ...

    def channel(self, key: str) -> str | None: ...

    def channel_url(self, key: str) -> str | None: ...


class Reader(Protocol):
    """Reads a file. Each call begins at its start, and yields the same records again."""

    @property
    def source(self) -> str:
        """Name of the program that wrote the file."""
        ...

    @property
    def message_links(self) -> re.Pattern[str]:
        """Pattern of URLs of messages in the other program."""
        ...

    def people(self) -> Iterator[PersonRecord]: ...

    def profile_fields(self) -> Iterator[ProfileFieldRecord]:
        """Yield the custom fields of profiles, in their order."""
        return iter(())

    def groups(self) -> Iterator[GroupRecord]:
        return iter(())

    def linkifiers(self) -> Iterator[LinkifierRecord]:
        """Yield them in their order."""
        return iter(())

    def playgrounds(self) -> Iterator[PlaygroundRecord]:
        return iter(())

    def emoji(self) -> Iterator[EmojiRecord]: ...

    def places(self) -> Iterator[Channel | DirectConversation]: ...

    def messages(self) -> Iterator[PostedMessage]:
        """Yield all messages, in the order of their times. Raises FileRefusedError."""
        ...

    def topic_policies(self) -> Iterator[TopicPolicy]:
        """Yield them always in the same order."""
        return iter(())

    def markdown(self, body: Any, references: References) -> str:
        """Return the text of a message in our Markdown."""
        ...

    def emoji_name(self, name: str) -> str:
        """Return our name of a built-in emoji of the other program, or the name as it is."""
        ...

    def linked_message(self, url: re.Match[str]) -> str:
        """Return the key of the message that a match of `message_links` refers to."""
        ...

    def opened(self, member: str) -> AbstractContextManager[IO[bytes]]:
        """Open a member of the archive. Raises FileRefusedError, also while it is read."""
        ...
