"""Process a message's text: HTML, mentions, and what else follows from it.

Sending and editing call the same functions: `read_content`, then `check_mentions`.
"""

import asyncio
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Final, Protocol

from server.actions.realm_services import Reading
from server.domain.access import GroupGraph
from server.domain.actor import Actor
from server.domain.attachments import path_id_in, path_ids_in
from server.domain.channels import Standing
from server.domain.errors import (
    BadRequestError,
    ChannelWildcardNotAllowedError,
    TopicWildcardNotAllowedError,
)
from server.domain.groups import display_name
from server.domain.markdown import (
    NO_LINKIFIERS,
    Linkifiers,
    MediaPolicy,
    MentionedChannel,
    MentionedGroup,
    MentionedUser,
    Names,
    Rendered,
    Style,
    jobs_in,
    mentioned_groups_in,
    names_in,
    render,
)
from server.domain.messages import LARGE_AUDIENCE, MAX_MESSAGE_LENGTH
from server.domain.names import FoldedName, composed, fold_name
from server.domain.shown_people import INACCESSIBLE_NAME
from server.domain.thumbnails import has_thumbnails, with_links_to_unknown, with_thumbnails
from server.domain.user_settings import UserSettings
from server.domain.widgets import widget_of
from server.i18n import _
from server.realm_cache import RealmCache
from storage import attachments, message_bits, sends
from storage.attachments import AttachmentRow
from storage.channels import ChannelRow
from storage.ids import ChannelId, GroupId, TopicId, UserId
from storage.users import UserRow

LONG: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContent:
    """The processed text of a message."""

    content: str
    rendered: Rendered
    mentioned: frozenset[UserId]
    """By name, or by a group; whether they receive the message or not."""
    topic_mentioned: frozenset[UserId]
    alerted: frozenset[UserId]
    """Users with an alert word in the text."""
    widget: str | None
    """JSON of the widget that the message becomes when it is sent (server/domain/widgets.py)."""
    attachments: tuple[AttachmentRow, ...] = ()
    """Linked files that the author may read, which become readable with the message."""

    @property
    def awaited(self) -> list[AttachmentRow]:
        """Return the pictures without thumbnails yet."""
        return [r for r in self.attachments if has_thumbnails(r.content_type) and r.width is None]

    def flags(self) -> dict[UserId, int]:
        """Return flags of single readers.

        Storage keeps those of readers who receive the message.
        """
        flags = dict.fromkeys(self.mentioned, message_bits.MENTIONED)
        for user_id in self.topic_mentioned:
            flags[user_id] = flags.get(user_id, 0) | message_bits.TOPIC_WILDCARD_MENTIONED
        for user_id in self.alerted:
            flags[user_id] = flags.get(user_id, 0) | message_bits.HAS_ALERT_WORD
        return flags

    @property
    def traits(self) -> int:
        """Return the bits of `messages.traits` that depend on the text: those in CONTENT_TRAITS."""
        return traits_of(self.rendered)


def traits_of(rendered: Rendered) -> int:
    """Return the bits of `messages.traits` that follow from a text: those in CONTENT_TRAITS."""
    holds = {
        message_bits.CHANNEL_WILDCARD: rendered.channel_wildcard,
        message_bits.TOPIC_WILDCARD: rendered.topic_wildcard,
        message_bits.IS_ME_MESSAGE: rendered.is_me_message,
        message_bits.HAS_LINK: rendered.has_link,
        message_bits.HAS_IMAGE: rendered.has_image,
        message_bits.HAS_ATTACHMENT: rendered.has_attachment,
    }
    return sum(bit for bit, is_so in holds.items() if is_so)


async def read_content(
    realm_cache: RealmCache,
    author: Actor,
    content: str,
    *,
    channel_id: ChannelId | None,
    topic_id: TopicId | None,
    read: Reading,
    masked: Collection[UserId] = (),
) -> ReadContent:
    """Process the author's text for a topic (None: a new one), or for a direct message.

    `content` has passed `clean_content`. The readers may not know the `masked` people.
    """
    graph = await realm_cache.groups()
    rendered = await _render_as(realm_cache, author, content, masked)
    alert_words = await realm_cache.alert_words()
    await _let_others_go_on(content)
    topic_mentioned: frozenset[UserId] = frozenset()
    if rendered.topic_wildcard and channel_id is not None:
        topic_mentioned = await _participants(author, topic_id, read)
    held = await _attachments(realm_cache, author, rendered, read)
    if rendered.has_attachment:
        html = await _with_known_files(realm_cache, author, rendered.html, held)
        html = with_thumbnails(html, {row.path_id: row for row in held})
        rendered = replace(rendered, html=html)
    return ReadContent(
        content=content,
        rendered=rendered,
        mentioned=rendered.mentioned_user_ids | graph.members_of(rendered.mentioned_group_ids),
        topic_mentioned=topic_mentioned,
        alerted=alert_words.owners_in(content),
        widget=widget_of(content),
        attachments=held,
    )


async def _participants(
    author: Actor, topic_id: TopicId | None, read: Reading
) -> frozenset[UserId]:
    """Return the participants of the topic, including the author."""
    found: list[UserId] = []
    if topic_id is not None:
        async with read() as connection:
            found = await sends.topic_participants(connection, author.realm_id, topic_id)
    return frozenset([*found, author.user_id])


async def _attachments(
    realm_cache: RealmCache, author: Actor, rendered: Rendered, read: Reading
) -> tuple[AttachmentRow, ...]:
    """Return the linked files that the author may read: an address alone shares no file."""
    if not rendered.has_attachment:
        return ()
    path_ids = path_ids_in(rendered.links, author.realm_id, await realm_cache.address())
    if not path_ids:
        return ()
    async with read() as connection:
        return tuple(
            await attachments.readable(connection, author.realm_id, author.user_id, path_ids)
        )


async def _with_known_files(
    realm_cache: RealmCache, author: Actor, html: str, held: Collection[AttachmentRow]
) -> str:
    """Return the HTML; of all files but these, it has links alone."""
    held_paths, address = {row.path_id for row in held}, await realm_cache.address()
    return with_links_to_unknown(
        html, lambda href: path_id_in(href, author.realm_id, address) in held_paths
    )


async def render_outside_messages(
    realm_cache: RealmCache, author: Actor, content: str, *, read: Reading
) -> str:
    """Return the HTML of the author's text where it is no message, and waits for no thumbnails."""
    rendered = await _render_as(realm_cache, author, content)
    if not rendered.has_attachment:
        return rendered.html
    held = await _attachments(realm_cache, author, rendered, read)
    html = await _with_known_files(realm_cache, author, rendered.html, held)
    return with_thumbnails(html, {row.path_id: row for row in held if row.width is not None})


async def typeset_ahead(realm_cache: RealmCache, content: str, *, share: Hashable) -> None:
    """Run the text's typesetting jobs before its transaction begins.

    `share`: the author's user id, since users have equal shares of that process. Rendering then
    uses what was done in time, without waiting; the rest stays plain.
    """
    if len(content) > MAX_MESSAGE_LENGTH:
        return
    language = (await realm_cache.settings()).default_code_block_language
    if jobs := jobs_in(content.rstrip(), language):
        await realm_cache.rendering.typesetter.set(jobs, share=(realm_cache.realm_id, share))
    await _let_others_go_on(content)


async def _render_as(
    realm_cache: RealmCache, author: Actor, content: str, masked: Collection[UserId] = ()
) -> Rendered:
    """Render the author's text for readers who may not know the masked people."""
    settings = await realm_cache.settings()
    standing = Standing(author.person, await realm_cache.groups(), settings)
    style = Style(
        translate_emoticons=UserSettings.of(author.row.settings).translate_emoticons,
        media=MediaPolicy(
            settings.inline_image_preview,
            realm_cache.rendering.media_hosts,
            realm_cache.rendering.proxy,
        ),
        code_language=settings.default_code_block_language,
        origin=(await realm_cache.address()).url,
    )
    names = await _mentionable(realm_cache, standing, content, masked)
    await _let_others_go_on(content)
    return render(content, names, style, realm_cache.rendering.typesetter)


async def _let_others_go_on(content: str) -> None:
    """Yield to the event loop between passes over a long text, each of some milliseconds."""
    if len(content) > LONG:
        await asyncio.sleep(0)


async def check_mentions(
    realm_cache: RealmCache,
    author: Actor,
    written: ReadContent,
    *,
    channel_id: ChannelId | None,
    read: Reading,
    instead_of: str = "",
) -> None:
    """Raise DomainError unless the author may mention these groups and wildcards.

    `instead_of` is the HTML of the previous content: groups that it mentioned may stay.
    """
    added = written.rendered.mentioned_group_ids - mentioned_groups_in(instead_of)
    if added and not author.row.is_system_bot:
        _check_groups(await realm_cache.groups(), author, added)
    await _check_wildcards(realm_cache, author, written, channel_id=channel_id, read=read)


def _check_groups(graph: GroupGraph, author: Actor, group_ids: Collection[GroupId]) -> None:
    for name, group_id in graph.ids_by_name.items():
        if group_id in group_ids and not graph.may_mention(group_id, author.person):
            raise BadRequestError(
                _("You are not allowed to mention user group '{name}'.", name=name)
            )


async def _check_wildcards(
    realm_cache: RealmCache,
    author: Actor,
    written: ReadContent,
    *,
    channel_id: ChannelId | None,
    read: Reading,
) -> None:
    rendered = written.rendered
    if channel_id is None or not (rendered.channel_wildcard or rendered.topic_wildcard):
        return
    graph = await realm_cache.groups()
    permitted = (await realm_cache.settings()).permission("can_mention_many_users_group", graph)
    if graph.contains(permitted, author.person):
        return
    if rendered.channel_wildcard:
        async with read() as connection:
            count = await sends.subscriber_count(
                connection, author.realm_id, channel_id, limit=LARGE_AUDIENCE + 1
            )
        if count > LARGE_AUDIENCE:
            raise ChannelWildcardNotAllowedError(
                _("You do not have permission to use channel wildcard mentions in this channel.")
            )
    if len(written.topic_mentioned) > LARGE_AUDIENCE:
        raise TopicWildcardNotAllowedError(
            _("You do not have permission to use topic wildcard mentions in this topic.")
        )


# -- names in the text

MAX_LOOKED_UP: Final = 200
MAX_TOPICS_LOOKED_UP: Final = 30


class Mentionable:
    """Names in the text, looked up before it is rendered.

    `emoji` holds the image URLs of the realm's active emoji, by name.
    """

    def __init__(self) -> None:
        self.by_name: dict[FoldedName, list[UserRow]] = {}
        self.by_id: dict[int, UserRow] = {}
        self.groups: dict[FoldedName, MentionedGroup] = {}
        self.channels: dict[FoldedName, MentionedChannel] = {}
        self.topics: set[tuple[ChannelId, FoldedName]] = set()
        self.emoji: Mapping[str, str] = {}
        self.linkifiers: Linkifiers = NO_LINKIFIERS

    def user_by_name(self, name: str) -> MentionedUser | None:
        """Return the only user of this name; of several, the only one with exactly this spelling.

        Clients add the id if two users have exactly the same name, and only then: without the
        second rule, a user could break the mentions of another by taking the name in another case.
        """
        rows = self.by_name.get(fold_name(name), [])
        if len(rows) > 1:
            rows = [row for row in rows if row.full_name == composed(name)]
        return _mentioned(rows[0]) if len(rows) == 1 else None

    def user_by_id(self, user_id: int) -> MentionedUser | None:
        row = self.by_id.get(user_id)
        return None if row is None else _mentioned(row)

    def group_by_name(self, name: str) -> MentionedGroup | None:
        return self.groups.get(fold_name(name))

    def channel_by_name(self, name: str) -> MentionedChannel | None:
        return self.channels.get(fold_name(name))

    def topics_in(self, channel: str, topics: Iterable[str]) -> Collection[str]:
        known = self.channels.get(fold_name(channel))
        if known is None:
            return ()
        return [each for each in topics if (known.channel_id, fold_name(each)) in self.topics]

    def emoji_image(self, name: str) -> str | None:
        return self.emoji.get(name)


def _mentioned(row: UserRow) -> MentionedUser:
    return MentionedUser(row.user_id, row.full_name, row.is_active)


async def _mentionable(
    realm_cache: RealmCache, standing: Standing, content: str, masked: Collection[UserId]
) -> Mentionable:
    """Look up what the text seems to name; the renderer decides what it does name."""
    found = Mentionable()
    found.linkifiers = await realm_cache.linkifiers()
    found.emoji = (await realm_cache.emoji()).pictures
    names = names_in(content, found.linkifiers)
    for name in islice(names.users, MAX_LOOKED_UP):
        rows = await realm_cache.users_named(name)
        strangers = await realm_cache.strangers(standing.person, rows)
        found.by_name[fold_name(name)] = [
            row for row in rows if row not in strangers and row.user_id not in masked
        ]
    for user_id in islice(names.user_ids, MAX_LOOKED_UP):
        row = await realm_cache.user(UserId(user_id))
        if row is not None and not await realm_cache.strangers(standing.person, [row]):
            found.by_id[row.user_id] = (
                replace(row, full_name=INACCESSIBLE_NAME) if row.user_id in masked else row
            )
    for name in islice(chain(names.groups, names.unusual_groups), MAX_LOOKED_UP):
        group = _mentionable_group(standing, name)
        if group is not None:
            found.groups[fold_name(name)] = group
    await _find_channels(realm_cache, standing, names, found)
    return found


async def _find_channels(
    realm_cache: RealmCache, standing: Standing, names: Names, found: Mentionable
) -> None:
    """Look up the channels that the author may know, and topics in those that they may read."""
    wanted = [*names.channels, *names.unusual_channels][:MAX_LOOKED_UP]
    topics_left = MAX_TOPICS_LOOKED_UP
    for name in await realm_cache.existing_channels(wanted):
        channel = await realm_cache.channel_by_name(name)
        if channel is None or not await _may(standing.sees, realm_cache, standing, channel):
            continue
        found.channels[fold_name(name)] = MentionedChannel(channel.channel_id, channel.name)
        topics = list(names.topics.get(name, ()))[:topics_left]
        if topics and await _may(standing.reads_history, realm_cache, standing, channel):
            topics_left -= len(topics)
            for topic in topics:
                if await realm_cache.topic(channel.channel_id, topic) is not None:
                    found.topics.add((channel.channel_id, fold_name(topic)))


def _mentionable_group(standing: Standing, name: str) -> MentionedGroup | None:
    for known, group_id in standing.graph.ids_by_name.items():
        if fold_name(known) == fold_name(name):
            is_active = group_id not in standing.graph.deactivated
            return MentionedGroup(group_id, display_name(known), is_active)
    return None


class ContentRule(Protocol):
    """A permission rule of `Standing`."""

    def __call__(self, channel: ChannelRow, *, subscribed: bool) -> bool: ...


async def _may(
    rule: ContentRule, realm_cache: RealmCache, standing: Standing, channel: ChannelRow
) -> bool:
    subscription = await realm_cache.subscription(standing.person.user_id, channel.channel_id)
    return rule(channel, subscribed=subscription is not None and subscription.active)
