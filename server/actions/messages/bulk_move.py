"""Move several messages of a channel at once: all of them, or none."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from server.actions.messages import move, move_rules, notices
from server.actions.messages.bulk import BulkSubject, PlacedMessages, Refusals, lock_messages
from server.actions.messages.decide import NO_NEW_TOPICS, may_use_topics
from server.actions.messages.move import Begun, EnsureTopics, MoveRequest
from server.actions.messages.moving_steps import MOVING, MovePlan, PlannedMove, move_planned
from server.actions.messages.notices import Location, MoveSummary, Notice
from server.actions.messages.subject import INVALID_MESSAGE, MoveTarget, Placement
from server.actions.stepped_work import put_off
from server.domain.actor import Actor
from server.domain.archived_channels import CANNOT_BE_CHANGED
from server.domain.errors import BadRequestError
from server.domain.messages import clean_new_topic
from server.domain.resolved_topics import mark_change
from server.i18n import _
from server.transactions import Clocked, Tx
from storage import message_moves
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.ids import MessageId, TopicId


async def begin(
    tx: Tx,
    actor: Actor,
    message_ids: Sequence[MessageId],
    request: MoveRequest,
    now: datetime,
) -> Begun | Clocked[Begun]:
    """Move the messages of one channel; only the notices of it are left to be sent.

    Messages that are in the requested place already stay. If all are there, a whole topic gets the
    requested spelling. Raises MessagesRefusedError if the actor may not move one of the others, and
    BadRequestError if only a part of a topic is to be spelled otherwise.
    """
    topic = request.topic
    if topic is not None:
        settings = await (await tx.realm_cache()).settings()
        topic = clean_new_topic(topic, settings.empty_topic_display_name)
    target = MoveTarget(request.channel_id, topic)
    subject = await lock_messages(tx, actor, message_ids, target)
    moving = [each for each in subject.placed if not each.placement.names_its_place]
    respelled = [] if moving else [each for each in subject.placed if _is_respelled(each)]
    channel = await _check(tx, subject, moving or respelled, now)
    if channel is None:
        return Begun(is_begun=True)
    if respelled:
        return await _respell(tx, actor, respelled, request, now)
    missing = [each.placement.new_topic_name for each in moving if each.placement.new_topic is None]
    if missing:
        statement = message_moves.ensure_topics(tx.realm_id, channel.channel_id, missing)
        return tx.clocked(EnsureTopics(statement))
    planned = await _planned(tx, moving, channel, now)
    await move_planned(tx, planned)
    found = _notices(planned, moving[0].placement, request)
    plan = msgspec.structs.replace(planned[0].plan, notices=found)
    return Begun(is_begun=True, work_id=await put_off(tx, MOVING, plan, done=None))


def _is_respelled(placed: PlacedMessages) -> bool:
    """Return whether the messages are in the requested place, but its name is spelled otherwise."""
    placement = placed.placement
    return placement.topic is not None and placement.topic.name != placement.new_topic_name


async def _respell(
    tx: Tx,
    actor: Actor,
    placed: Sequence[PlacedMessages],
    request: MoveRequest,
    now: datetime,
) -> Begun | Clocked[Begun]:
    """Rename the topic of these messages, all of it. Raises BadRequestError for a part."""
    topic_ids = [TopicId(row.conversation_id) for each in placed for row in each.rows[:1]]
    ids = [message_id for each in placed for message_id in each.ids]
    if len(topic_ids) > 1 or await message_moves.topics_with_messages(
        await tx.connection(), tx.realm_id, topic_ids, besides=ids
    ):
        raise BadRequestError(_("Nothing to change"))
    return await move.begin(tx, actor, ids[0], replace(request, mode="change_all"), now)


# -- checks


async def _check(
    tx: Tx, subject: BulkSubject, moving: Sequence[PlacedMessages], now: datetime
) -> ChannelRow | None:
    """Return the target channel, None if nothing is to be moved.

    Raises MessagesRefusedError or, where the place itself is refused, BadRequestError.
    """
    refusals = Refusals()
    refusals.add(INVALID_MESSAGE, subject.missing)
    movable: list[PlacedMessages] = []
    for each in moving:
        if each.placement.channel is None:
            refusals.add(move_rules.NOT_TO_CHANNELS, each.ids)
        elif each.placement.channel.is_archived:
            refusals.add(CANNOT_BE_CHANGED, each.ids)
        else:
            movable.append(each)
    placements = [each.placement for each in movable]
    sources = [each.placement.channel for each in subject.placed]
    if len({each.channel_id for each in sources if each is not None}) > 1:
        raise BadRequestError(_("Messages of several channels cannot be moved together."))
    channel = await move_rules.target_channel(tx, placements[0]) if placements else None
    for each in movable:
        _check_messages(each, refusals, now)
    refusals.check()
    begun = [each.new_topic for each in placements if not move_rules.resolves(each)]
    if channel is not None and not await may_use_topics(
        placements[0].standing, tx.realm_id, channel, begun, tx.reading
    ):
        raise BadRequestError(NO_NEW_TOPICS)
    return channel


def _check_messages(placed: PlacedMessages, refusals: Refusals, now: datetime) -> None:
    try:
        limit = move_rules.check_move(placed.placement)
    except BadRequestError as refusal:
        refusals.add(refusal.message, placed.ids)
        return
    if limit is not None:
        too_old = [row.id for row in placed.rows if row.sent_at < now - limit]
        refusals.add(_("The time limit for moving this message has passed"), too_old)


# -- writing


async def _planned(
    tx: Tx, moving: Sequence[PlacedMessages], channel: ChannelRow, now: datetime
) -> list[PlannedMove]:
    connection = await tx.connection()
    ids = [message_id for each in moving for message_id in each.ids]
    places = [_topics(each.placement) for each in moving]
    divided = await message_moves.topics_with_messages(
        connection, tx.realm_id, [old.topic_id for old, _new in places], besides=ids
    )
    targets = sorted({new.topic_id for _old, new in places})
    used = await message_moves.topics_with_messages(connection, tx.realm_id, targets)
    return [
        PlannedMove(
            MovePlan(
                actor_id=each.placement.actor.user_id,
                message_id=each.ids[0],
                mode="change_one" if old.topic_id in divided else "change_all",
                old_channel_id=old.channel_id,
                old_topic_id=old.topic_id,
                old_topic=old.name,
                new_channel_id=channel.channel_id,
                new_topic_id=new.topic_id,
                new_topic=new.name,
                since=each.ids[0],
                until=each.ids[-1],
                only_given=each.placement.reads_only_given,
                moved_at=now,
                target_was_empty=new.topic_id not in used,
            ),
            each.ids,
            is_last=True,
        )
        for each, (old, new) in zip(moving, places, strict=True)
    ]


def _topics(placement: Placement) -> tuple[TopicRow, TopicRow]:
    """Return the old topic and the new one, which both exist by now."""
    assert placement.topic is not None
    assert placement.new_topic is not None
    return placement.topic, placement.new_topic


def _notices(
    planned: Sequence[PlannedMove], placement: Placement, request: MoveRequest
) -> list[Notice]:
    """Return the notices of all moves; one in each topic that messages came to."""
    assert placement.channel is not None
    assert placement.new_channel is not None
    by_target: dict[TopicId, list[MoveSummary]] = {}
    for each in planned:
        plan = each.plan
        is_whole = plan.mode == "change_all"
        summary = MoveSummary(
            actor=placement.actor.row,
            old=Location(plan.old_channel_id, placement.channel.name, plan.old_topic),
            new=Location(plan.new_channel_id, placement.new_channel.name, plan.new_topic),
            message_id=plan.message_id,
            count=len(each.message_ids),
            is_whole=is_whole,
            mark_change=mark_change(plan.old_topic, plan.new_topic) if is_whole else None,
        )
        by_target.setdefault(plan.new_topic_id, []).append(summary)
    settings = placement.context.settings
    return [
        notice
        for moves in by_target.values()
        for notice in notices.of_moves(
            moves,
            notify_old=request.notify_old,
            notify_new=request.notify_new,
            empty_topic_name=settings.empty_topic_display_name,
            language=settings.language,
        )
    ]
