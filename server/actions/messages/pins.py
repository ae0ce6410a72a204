"""Pin topics and messages in their channel."""

from datetime import datetime
from typing import Any

from server.actions import audit
from server.actions.messages.subject import MoveTarget, Subject, lock_shown_topic, lock_subject
from server.domain.actor import Actor
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.domain.pins import MAX_PINNED_MESSAGES, MAX_PINNED_TOPICS, may_pin
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import pins
from storage.channels import ChannelRow
from storage.database import Statement
from storage.ids import ChannelId, MessageId
from storage.message_bits import PINNED


async def set_message_pinned(
    tx: Tx, actor: Actor, message_id: MessageId, *, is_pinned: bool
) -> None:
    """Pin a message of a channel, or unpin it. Raises BadRequestError.

    Does nothing if it is as requested already.
    """
    # As for a move, so that no other message of the channel is pinned meanwhile.
    subject = await lock_subject(tx, actor, message_id, MoveTarget())
    channel = _permitted_channel(subject)
    row = subject.row
    if bool(row.traits & PINNED) == is_pinned:
        return
    if is_pinned:
        here = await pins.message_ids(await tx.connection(), tx.realm_id, [channel.channel_id])
        if len(here) >= MAX_PINNED_MESSAGES:
            raise BadRequestError(
                _("A channel has at most {limit} pinned messages.", limit=MAX_PINNED_MESSAGES)
            )
    await pins.set_message(await tx.changing(), tx.realm_id, row.id, is_pinned=is_pinned)
    published = pins.append_messages(tx.realm_id, channel.channel_id, row.id, write_id=tx.write_id)
    action = "channel_message_pinned" if is_pinned else "channel_message_unpinned"
    _record(tx, actor, channel, action, published, {"message_id": row.id})


def _permitted_channel(subject: Subject) -> ChannelRow:
    if subject.channel is None:
        raise BadRequestError(_("Direct messages cannot be pinned."))
    _check_permitted(subject.standing, subject.channel)
    return subject.channel


def _check_permitted(standing: Standing, channel: ChannelRow) -> None:
    if not may_pin(standing, channel):
        raise BadRequestError(_("You don't have permission to pin in this channel."))


async def set_topic_pinned(
    tx: Tx, actor: Actor, channel_id: ChannelId, name: str, now: datetime, *, is_pinned: bool
) -> None:
    """Pin a topic of a channel, or unpin it. Raises BadRequestError.

    It has a message that the actor may read. Does nothing if it is as requested already.
    """
    context, channel, topic = await lock_shown_topic(tx, actor, channel_id, name)
    _check_permitted(context.standing(actor.user_id), channel)
    connection = await tx.connection()
    pinned_at = await pins.pinned_at(connection, tx.realm_id, topic.topic_id)
    if (pinned_at is not None) == is_pinned:
        return
    if is_pinned:
        count = await pins.count_topics(connection, tx.realm_id, channel_id)
        if count >= MAX_PINNED_TOPICS:
            raise BadRequestError(
                _("A channel has at most {limit} pinned topics.", limit=MAX_PINNED_TOPICS)
            )
    changing = await tx.changing()
    await pins.set_topic(changing, tx.realm_id, topic.topic_id, now if is_pinned else None)
    published = pins.append_topics(tx.realm_id, channel_id, [topic.topic_id], write_id=tx.write_id)
    action = "channel_topic_pinned" if is_pinned else "channel_topic_unpinned"
    _record(tx, actor, channel, action, published, {"topic": topic.name})


def _record(
    tx: Tx,
    actor: Actor,
    channel: ChannelRow,
    action: str,
    published: Statement,
    about: dict[str, Any],
) -> None:
    """Publish the change, and record it in the audit log."""
    entry = tx.append(Tick(), NO_AUDIENCE)
    tx.at_position(entry, published)
    audit.record(
        tx, entry, actor.user_id, action, subject_id=channel.channel_id, before={}, after=about
    )
