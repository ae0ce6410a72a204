"""Visibility policies of topics, set by users or gained by participation."""

from datetime import datetime

from server.actions.clocked import Effect
from server.actions.locked_realm import lock_context
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.messages import clean_topic
from server.domain.names import fold_name
from server.domain.topic_policies import NONE, policy_gained
from server.domain.user_settings import UserSettings
from server.events.base import Entry
from server.i18n import _
from server.transactions import Tx
from storage import channels, subscriptions, user_topics, users
from storage.ids import ChannelId, TopicId
from storage.message_places import MessagePlace


async def change_policy(
    tx: Tx, actor: Actor, channel: ChannelId | str, topic: str, policy: int, *, now: datetime
) -> None:
    """Set the actor's policy for a topic of a channel that they may read, by its id or its name.

    A topic without messages may have one. Removing a policy is always possible. Raises
    BadRequestError.
    """
    context = await lock_context(tx, actor)
    name = clean_topic(topic, context.settings.empty_topic_display_name)
    connection = await tx.connection()
    if isinstance(channel, str):
        named = await channels.by_names(connection, tx.realm_id, [channel])
        wanted = [row.channel_id for row in named]
    else:
        wanted = [channel]
    locked = await tx.lock(channels.locking(tx.realm_id, wanted).shared()) if wanted else []
    if not locked:
        raise BadRequestError(_("Invalid channel ID"))
    [row] = locked
    own = await subscriptions.of_user_in(connection, tx.realm_id, actor.user_id, row.channel_id)
    is_in = own is not None and own.active
    may_read = context.standing(actor.user_id).reads(row, subscribed=is_in)
    if not may_read or (row.is_archived and policy != NONE):
        known = await user_topics.of_user(connection, tx.realm_id, actor.user_id)
        has_one = any(
            (u.channel_id, fold_name(u.name)) == (row.channel_id, fold_name(name)) for u in known
        )
        if policy != NONE or not has_one:
            raise BadRequestError(_("Invalid channel ID"))
    statement = user_topics.change(
        tx.realm_id,
        actor.user_id,
        row.channel_id,
        name,
        policy=policy,
        changed_at=now,
        empty_topic_name=context.settings.empty_topic_display_name,
        write_id=tx.write_id,
    )
    tx.clocked(Effect(statement))


async def participate(
    tx: Tx, actor: Actor, entry: Entry, place: MessagePlace, *, now: datetime
) -> None:
    """Apply the actor's participation in the message's topic, if it is in one, with this entry.

    Their settings decide the policy. It comes after all other effects of the entry.
    """
    if place.channel_id is None or actor.row.bot_type is not None:
        return
    connection = await tx.connection()
    [row] = await users.by_ids(connection, tx.realm_id, [actor.user_id])
    own = await subscriptions.of_user_in(connection, tx.realm_id, actor.user_id, place.channel_id)
    policy = policy_gained(
        UserSettings.of(row.settings), "react", in_muted=own is not None and own.is_muted
    )
    if policy is None:
        return
    statement = user_topics.raise_to(
        tx.realm_id,
        actor.user_id,
        TopicId(place.conversation_id),
        policy=policy,
        changed_at=now,
        empty_topic_name=(await (await tx.realm_cache()).settings()).empty_topic_display_name,
        write_id=tx.write_id,
    )
    tx.at_position(entry, statement)
