"""Typing notifications: checked like a message, and never stored."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from server.actions.messages.decide import known_people
from server.actions.realm_services import Reading
from server.domain.actor import Actor
from server.domain.addresses import RealmAddress
from server.domain.archived_channels import check_accepts_messages, check_messages_may_change
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, ChannelDoesNotExistError
from server.domain.messages import clean_topic
from server.domain.shown_people import EVERYTHING
from server.domain.user_settings import UserSettings
from server.events.base import Audience, Event
from server.events.message_changes import EditTyping
from server.events.typing import ChannelTyping, DirectTyping, TypingPerson
from server.i18n import _
from server.realm_cache import RealmCache
from storage import conversations, message_edits, message_places, subscriptions
from storage.ids import ChannelId, MessageId, TopicId, UserId
from storage.users import UserRow

MAX_CHANNEL_SUBSCRIBERS: Final = 100
"""In larger channels typing is not published: it would be noise, at a high cost."""
MAX_DIRECT_RECIPIENTS: Final = 20

Op = Literal["start", "stop"]
TypingNotice = tuple[Event, Audience]


async def in_direct_messages(
    realm_cache: RealmCache, actor: Actor, op: Op, user_ids: Sequence[UserId]
) -> TypingNotice | None:
    """Return the event and its audience; None if the actor does not share typing."""
    if not user_ids:
        raise BadRequestError(_("Empty 'to' list"))
    people = await known_people(realm_cache, actor, [*user_ids, actor.user_id])
    for row in people:
        if not row.is_active:
            raise BadRequestError(
                _("'{full_name}' is no longer using Parley.", full_name=row.full_name)
            )
    if (
        len(people) > MAX_DIRECT_RECIPIENTS
        or not _settings(actor).send_private_typing_notifications
    ):
        return None
    address = await realm_cache.address()
    event = DirectTyping(
        op=op,
        sender=_person(actor.row, address),
        recipients=tuple([_person(row, address) for row in people]),
    )
    wanting = [
        r.user_id for r in people if UserSettings.of(r.settings).receives_typing_notifications
    ]
    return event, Audience(users=tuple(wanting))


async def in_channel(
    realm_cache: RealmCache, read: Reading, actor: Actor, op: Op, channel_id: ChannelId, topic: str
) -> TypingNotice | None:
    """Return the same for a topic of a channel that the actor may read."""
    channel = await realm_cache.channel(channel_id)
    standing = Standing(actor.person, await realm_cache.groups(), await realm_cache.settings())
    subscription = await realm_cache.subscription(actor.user_id, channel_id)
    is_subscribed = subscription is not None and subscription.active
    if channel is None or not standing.reads(channel, subscribed=is_subscribed):
        raise ChannelDoesNotExistError.with_id(channel_id)
    check_accepts_messages(channel)
    display_name = standing.settings.empty_topic_display_name
    topic = clean_topic(topic, display_name)
    if not _settings(actor).send_stream_typing_notifications:
        return None
    async with read() as connection:
        wanting = await subscriptions.wanting_typing(
            connection, actor.realm_id, channel_id, limit=MAX_CHANNEL_SUBSCRIBERS
        )
    if wanting is None:
        return None
    event = ChannelTyping(
        op=op,
        sender=_person(actor.row, await realm_cache.address()),
        stream_id=channel_id,
        topic=topic,
        empty_topic_display_name=display_name,
    )
    return event, Audience(users=tuple(wanting))


async def in_edit(
    realm_cache: RealmCache, read: Reading, actor: Actor, op: Op, message_id: MessageId
) -> TypingNotice | None:
    """Return the same for a user who edits their own message."""
    async with read() as connection:
        row = await message_edits.visible(connection, actor.realm_id, actor.user_id, message_id)
        if row is None:
            raise BadRequestError(_("Invalid message(s)"))
        settings = await realm_cache.settings()
        if row.sender_id != actor.user_id or not settings.allow_message_editing:
            raise BadRequestError(_("You don't have permission to edit this message"))
        wants = _settings(actor)
        recipient: dict[str, Any]
        if row.channel_id is None:
            people = await message_places.dm_user_ids(
                connection, actor.realm_id, row.conversation_id
            )
            recipient = {"type": "direct", "user_ids": people}
            if not wants.send_private_typing_notifications or len(people) > MAX_DIRECT_RECIPIENTS:
                return None
            found = await realm_cache.users(people)
            wanting = [
                u
                for u, r in found.items()
                if r.is_active and UserSettings.of(r.settings).receives_typing_notifications
            ]
        else:
            [topic] = await conversations.topics_by_ids(
                connection, actor.realm_id, [TopicId(row.conversation_id)]
            )
            recipient = {"type": "channel", "channel_id": row.channel_id, "topic": topic.name}
            channel = await realm_cache.channel(row.channel_id)
            if channel is not None:
                check_messages_may_change(is_archived=channel.is_archived)
            if (
                channel is None
                or not channel.history_public_to_subscribers
                or not wants.send_stream_typing_notifications
            ):
                return None
            listed = await subscriptions.wanting_typing(
                connection, actor.realm_id, row.channel_id, limit=MAX_CHANNEL_SUBSCRIBERS
            )
            if listed is None:
                return None
            wanting = listed
    event = EditTyping(
        op=op,
        sender_id=actor.user_id,
        message_id=message_id,
        recipient=recipient,
        empty_topic_display_name=settings.empty_topic_display_name,
    )
    return event, Audience(users=tuple(wanting))


def _settings(actor: Actor) -> UserSettings:
    return UserSettings.of(actor.row.settings)


def _person(row: UserRow, address: RealmAddress) -> TypingPerson:
    """Return the person as most users see them: readers who may not know them get it masked."""
    return TypingPerson.of(EVERYTHING.shown(row, address))
