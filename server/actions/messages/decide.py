"""Decide whether a message may be sent, and its recipients; render it. Writes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from server.actions.messages.content import (
    MAX_LOOKED_UP,
    ReadContent,
    check_mentions,
    read_content,
)
from server.actions.realm_services import Reading
from server.domain.access import GUEST
from server.domain.actor import Actor
from server.domain.archived_channels import check_accepts_messages
from server.domain.bots import GENERIC, OUTGOING_WEBHOOK
from server.domain.channels import (
    CREATES_TOPICS,
    Standing,
    allows_empty_topic,
    allows_named_topics,
)
from server.domain.errors import (
    BadRequestError,
    ChannelDoesNotExistError,
    InvalidParameterError,
    MissingParameterError,
    UserDeactivatedError,
)
from server.domain.markdown import names_in
from server.domain.markdown.linkifiers import TopicLink
from server.domain.markdown.writing import mentioned_ids, with_masked_mentions
from server.domain.message_buttons import Buttons
from server.domain.messages import clean_content, clean_new_topic
from server.domain.names import composed
from server.domain.realm_settings import RealmSettings
from server.i18n import _
from server.realm_cache import RealmCache
from storage import conversations, message_moves
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.ids import ChannelId, DmGroupId, RealmId, UserId
from storage.realms import RealmRow
from storage.subscriptions import SubscriptionRow
from storage.users import UserRow

NO_NEW_TOPICS: Final = _("You do not have permission to create new topics in this channel.")
MAX_DM_RECIPIENTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message to be sent."""

    type: Literal["channel", "direct"]
    to: str | int | Sequence[int] | Sequence[str]
    topic: str | None
    content: str
    read_by_sender: bool | None = None
    queue_id: str | None = None
    local_id: str | None = None
    idempotency_key: str | None = None
    idempotency_digest: bytes | None = None
    tells_of_resolving: bool = False
    """Whether it is the notification bot's notice of a resolved or unresolved topic."""
    acting_user_id: UserId | None = None
    """The user who did what a bot's notice reports: the notice is read for them from the start."""
    buttons: Buttons = ()
    """Buttons, with which only outgoing webhooks send: they have a service to call."""
    widget: str | None = None
    """JSON of the widget that it becomes, if the content does not begin one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDestination:
    """Destination of a message: a topic of a channel, or a direct-message group."""

    channel: ChannelRow | None = None
    subscription: SubscriptionRow | None = None
    topic: TopicRow | None = None
    topic_name: str = ""
    dm_group_id: DmGroupId | None = None
    people: tuple[UserRow, ...] = ()
    """Everyone in the direct-message group, the sender included, by id."""
    rests_on_owner: bool = False
    """Whether a bot's permission depends on its owner: rows that no send verifies after the clock's
    lock.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SendDecision:
    """A message that may be sent, and the rows on which that rests."""

    sender: UserRow
    realm: RealmRow
    settings: RealmSettings
    place: MessageDestination
    written: ReadContent
    mentioned_bots: tuple[UserId, ...]
    """Mentioned bots in a public channel: they get it without being subscribed."""
    topic_links: tuple[TopicLink, ...]
    """Links in the topic's name."""


async def decide(
    realm_cache: RealmCache, actor: Actor, draft: OutgoingMessage, read: Reading
) -> SendDecision:
    """Check the draft, and render it. Raises a DomainError."""
    sender = await realm_cache.user(actor.user_id)
    if sender is None or not sender.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    realm = await realm_cache.realm()
    settings = await realm_cache.settings()
    graph = await realm_cache.groups()
    content = clean_content(draft.content)
    if draft.buttons and sender.bot_type != OUTGOING_WEBHOOK:
        raise InvalidParameterError("buttons", _("Only outgoing webhooks have buttons."))
    current = Actor(actor.realm_id, sender, actor.client)
    standing = Standing(current.person, graph, settings)
    if draft.type == "channel":
        place = await _channel_place(realm_cache, current, draft, standing, read)
    else:
        place = await _direct_place(realm_cache, current, draft, standing, read)
    channel_id = place.channel.channel_id if place.channel else None
    masked = await _masked(realm_cache, sender, place, content)
    written = await read_content(
        realm_cache,
        current,
        with_masked_mentions(content, masked) if masked else content,
        channel_id=channel_id,
        topic_id=place.topic.topic_id if place.topic else None,
        read=read,
        masked=masked,
    )
    await check_mentions(realm_cache, current, written, channel_id=channel_id, read=read)
    if draft.buttons and written.widget is not None:
        raise InvalidParameterError("buttons", _("A poll or list of tasks has no buttons."))
    if draft.widget is not None and written.widget is None:
        written = replace(written, widget=draft.widget)
    linkifiers = await realm_cache.linkifiers()
    return SendDecision(
        sender=sender,
        realm=realm,
        settings=settings,
        place=place,
        written=written,
        mentioned_bots=await _mentioned_bots(realm_cache, place.channel, written),
        topic_links=tuple(linkifiers.topic_links(place.topic_name)),
    )


async def _masked(
    realm_cache: RealmCache, sender: UserRow, place: MessageDestination, content: str
) -> frozenset[UserId]:
    """Return people in the server's own direct message that its recipients may not know.

    Messages of system bots name people, and quote others, with everything that those bots know.
    """
    guests = [row for row in place.people if row.role == GUEST]
    if not guests or not sender.is_system_bot or await realm_cache.guests_know_all_users():
        return frozenset()
    names = names_in(content, await realm_cache.linkifiers())
    ids = mentioned_ids(content) | {UserId(user_id) for user_id in names.user_ids}
    for name in islice(names.users, MAX_LOOKED_UP):
        ids.update(row.user_id for row in await realm_cache.users_named(name))
    found: set[UserId] = set()
    for row in guests:
        found |= (await realm_cache.sight(row, ids)).strangers
    return frozenset(found)


async def _mentioned_bots(
    realm_cache: RealmCache, channel: ChannelRow | None, written: ReadContent
) -> tuple[UserId, ...]:
    if channel is None or channel.invite_only or not written.mentioned:
        return ()
    rows = await realm_cache.users(sorted(written.mentioned))
    return tuple(row.user_id for row in rows.values() if row.bot_type == GENERIC and row.is_active)


# -- channels


async def _channel_place(
    realm_cache: RealmCache,
    actor: Actor,
    draft: OutgoingMessage,
    standing: Standing,
    read: Reading,
) -> MessageDestination:
    if draft.topic is None:
        raise MissingParameterError("topic")
    channel, subscription = await _channel_of(realm_cache, actor, draft.to, standing)
    topic_name = clean_new_topic(draft.topic, standing.settings.empty_topic_display_name)
    check_accepts_messages(channel)
    topic = await realm_cache.topic(channel.channel_id, topic_name)
    rests_on_owner = False
    if not actor.row.is_system_bot:
        is_in = subscription is not None and subscription.active
        rests_on_owner = await check_may_post(
            realm_cache, actor, channel, standing, subscribed=is_in
        )
        check_topic_policy(channel, topic_name, standing.settings)
        if not await may_use_topics(standing, actor.realm_id, channel, [topic], read):
            rests_on_owner = True
            owner = await _owner(realm_cache, actor, channel, standing)
            if not any(each.channel_permits(channel, CREATES_TOPICS) for each, _in in owner):
                raise BadRequestError(NO_NEW_TOPICS)
    return MessageDestination(
        channel=channel,
        subscription=subscription,
        topic=topic,
        topic_name=topic.name if topic is not None else topic_name,
        rests_on_owner=rests_on_owner,
    )


async def check_may_post(
    realm_cache: RealmCache,
    actor: Actor,
    channel: ChannelRow,
    standing: Standing,
    *,
    subscribed: bool,
) -> bool:
    """Raise BadRequestError unless the actor, or a bot's owner, may send to the channel.

    Returns whether only the owner may.
    """
    own = (standing, subscribed)
    if _refusal(channel, [own]) is None:
        return False
    owner = await _owner(realm_cache, actor, channel, standing)
    if (refusal := _refusal(channel, [own, *owner])) is not None:
        raise refusal
    return True


async def _channel_of(
    realm_cache: RealmCache, actor: Actor, to: object, standing: Standing
) -> tuple[ChannelRow, SubscriptionRow | None]:
    """Return the channel that `to` names, if the actor may know that it exists."""
    if isinstance(to, list | tuple):
        if len(to) != 1:
            raise BadRequestError(_("Expected exactly one channel"))
        to = to[0]
    if isinstance(to, int):
        missing = ChannelDoesNotExistError.with_id(to)
        channel = await realm_cache.channel(ChannelId(to))
    else:
        name = composed(str(to))
        missing = ChannelDoesNotExistError.named(name)
        channel = await realm_cache.channel_by_name(name)
    if channel is None:
        raise missing
    subscription = await realm_cache.subscription(actor.user_id, channel.channel_id)
    is_subscribed = subscription is not None and subscription.active
    if actor.row.is_system_bot or standing.sees(channel, subscribed=is_subscribed):
        return channel, subscription
    if any(is_in for _, is_in in await _owner(realm_cache, actor, channel, standing)):
        return channel, subscription
    raise missing


async def _owner(
    realm_cache: RealmCache, actor: Actor, channel: ChannelRow, standing: Standing
) -> list[tuple[Standing, bool]]:
    """Return the standing of a bot's owner in the channel, if any: a bot may send there too."""
    owner_id = actor.row.bot_owner_id
    row = None if owner_id is None else await realm_cache.user(owner_id)
    if owner_id is None or row is None or not row.is_active:
        return []
    subscription = await realm_cache.subscription(owner_id, channel.channel_id)
    is_subscribed = subscription is not None and subscription.active
    owner = Standing(realm_cache.person(row), standing.graph, standing.settings)
    return [(owner, is_subscribed)]


def _refusal(
    channel: ChannelRow, senders: Sequence[tuple[Standing, bool]]
) -> BadRequestError | None:
    """Return why neither the sender nor a bot's owner may send there; None if one may."""
    if not any(
        is_subscribed or standing.reads_history(channel, subscribed=False)
        for standing, is_subscribed in senders
    ):
        return BadRequestError(_("Not authorized to send to channel '{name}'", name=channel.name))
    if not any(
        standing.channel_permits(channel, "can_send_message_group") for standing, _ in senders
    ):
        return BadRequestError(
            _("You do not have permission to post in channel '{name}'.", name=channel.name)
        )
    return None


def check_topic_policy(channel: ChannelRow, topic_name: str, settings: RealmSettings) -> None:
    """Raise BadRequestError if the channel does not allow such topics."""
    if topic_name == "" and not allows_empty_topic(channel, settings):
        raise BadRequestError(
            _("Topics are required in this organization."),
            empty_topic_display_name=settings.empty_topic_display_name,
        )
    if topic_name != "" and not allows_named_topics(channel):
        raise BadRequestError(
            _(
                "Only the {empty_topic_display_name} topic is allowed in this channel.",
                empty_topic_display_name=settings.empty_topic_display_name,
            ),
            empty_topic_display_name=settings.empty_topic_display_name,
        )


async def may_use_topics(
    standing: Standing,
    realm_id: RealmId,
    channel: ChannelRow,
    topics: Sequence[TopicRow | None],
    read: Reading,
) -> bool:
    """Return whether the person may begin topics there, or all of these have messages already."""
    if standing.channel_permits(channel, CREATES_TOPICS):
        return True
    ids = {topic.topic_id for topic in topics if topic is not None}
    if None in topics:
        return False
    async with read() as connection:
        found = await message_moves.topics_with_messages(connection, realm_id, sorted(ids))
        return found == ids


# -- direct messages


async def _direct_place(
    realm_cache: RealmCache, actor: Actor, draft: OutgoingMessage, standing: Standing, read: Reading
) -> MessageDestination:
    others = await _recipients(realm_cache, actor, draft.to)
    people = {row.user_id: row for row in [*others, actor.row]}
    user_ids = tuple(sorted(people))
    await _check_direct_permissions(actor, people, standing, read)
    return MessageDestination(
        dm_group_id=await realm_cache.dm_group(user_ids),
        people=tuple(people[user_id] for user_id in user_ids),
    )


async def _recipients(realm_cache: RealmCache, actor: Actor, to: object) -> list[UserRow]:
    """Return the active users that `to` names by ids or by emails."""
    if isinstance(to, str):
        to = [part.strip() for part in to.split(",") if part.strip()]
    named = list(to) if isinstance(to, (list, tuple)) else [to]
    if not named:
        raise BadRequestError(_("Message must have recipients"))
    if len(named) > MAX_DM_RECIPIENTS:
        raise BadRequestError(_("Too many recipients (limit: {limit})", limit=MAX_DM_RECIPIENTS))
    ids = [UserId(each) for each in named if isinstance(each, int)]
    if len(ids) == len(named):
        rows = await known_people(realm_cache, actor, ids)
    else:
        rows = []
        for email in dict.fromkeys(str(each) for each in named):
            found = await realm_cache.users_known_by(actor.row, [email])
            if not found or await _strangers(realm_cache, actor, found):
                raise BadRequestError(_("Invalid email '{email}'", email=email))
            rows += found
    for row in rows:
        if not row.is_active:
            raise BadRequestError(
                _("'{full_name}' is no longer using Parley.", full_name=row.full_name)
            )
    return rows


async def known_people(
    realm_cache: RealmCache, actor: Actor, user_ids: Sequence[UserId]
) -> list[UserRow]:
    """Return the users with these ids, by id.

    A user that the actor may not know is refused like one that does not exist: a message would make
    them contacts. Raises BadRequestError.
    """
    found = await realm_cache.users(user_ids)
    strangers = {row.user_id for row in await _strangers(realm_cache, actor, found.values())}
    for user_id in user_ids:
        if user_id not in found or user_id in strangers:
            raise BadRequestError(_("Invalid user ID {user_id}", user_id=user_id))
    return [found[user_id] for user_id in sorted(found)]


async def _strangers(
    realm_cache: RealmCache, actor: Actor, rows: Iterable[UserRow]
) -> list[UserRow]:
    return [] if actor.row.is_system_bot else await realm_cache.strangers(actor.row, rows)


async def _check_direct_permissions(
    actor: Actor, people: Mapping[UserId, UserRow], standing: Standing, read: Reading
) -> None:
    """Raise an error unless the realm lets them write to these people, or start a conversation.

    Bots may always write, and anyone may write to bots and to themselves.
    """
    persons = [p for p in people.values() if p.bot_type is None]
    if actor.is_bot or all(p.user_id == actor.user_id for p in persons):
        return
    graph = standing.graph
    permitted = standing.settings.permission("direct_message_permission_group", graph)
    if not any(graph.contains(permitted, Actor(actor.realm_id, p).person) for p in persons):
        raise BadRequestError(
            _("You do not have permission to send direct messages to this recipient.")
        )
    if standing.realm_permits("direct_message_initiator_group"):
        return
    async with read() as connection:
        has_begun = await conversations.dm_group_has_messages(
            connection, actor.realm_id, sorted(people)
        )
    if not has_begun:
        raise BadRequestError(
            _("You do not have permission to initiate direct message conversations.")
        )
