"""Describe topics of channels."""

from server.actions import audit
from server.actions.messages.move_rules import may_rename_topics
from server.actions.messages.subject import lock_shown_topic
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.topic_descriptions import MAX_DESCRIBED_TOPICS
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import topic_descriptions
from storage.ids import ChannelId
from storage.topic_descriptions import TopicDescription


async def set_topic_description(
    tx: Tx, actor: Actor, channel_id: ChannelId, name: str, new: TopicDescription | None
) -> None:
    """Set the description of a topic, or remove it with None. Raises BadRequestError.

    The topic has a message that the actor may read. Does nothing if it is as requested already.
    """
    context, channel, topic = await lock_shown_topic(tx, actor, channel_id, name)
    if not may_rename_topics(context.standing(actor.user_id), channel):
        raise BadRequestError(_("You don't have permission to describe topics in this channel."))
    connection = await tx.connection()
    old = await topic_descriptions.of_topic(connection, tx.realm_id, topic.topic_id)
    if old == new:
        return
    if old is None:
        count = await topic_descriptions.count(connection, tx.realm_id, channel_id)
        if count >= MAX_DESCRIBED_TOPICS:
            raise BadRequestError(
                _("A channel has at most {limit} described topics.", limit=MAX_DESCRIBED_TOPICS)
            )
    await topic_descriptions.set_description(await tx.changing(), tx.realm_id, topic.topic_id, new)
    entry = tx.append(Tick(), NO_AUDIENCE)
    changed = topic_descriptions.append_changed(
        tx.realm_id, channel_id, [topic.topic_id], write_id=tx.write_id
    )
    tx.at_position(entry, changed)
    action = "channel_topic_undescribed" if new is None else "channel_topic_described"
    audit.record(
        tx,
        entry,
        actor.user_id,
        action,
        subject_id=channel_id,
        before={},
        after={"topic": topic.name},
    )
