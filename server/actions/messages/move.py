"""Move messages to another topic or channel: checks, and the first step."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from typing_extensions import override

from server.actions.messages import edit, move_rules, notices
from server.actions.messages.audience import of_messages
from server.actions.messages.decide import NO_NEW_TOPICS, may_use_topics
from server.actions.messages.edit import NewContent
from server.actions.messages.move_rules import NO_TOPICS, NOT_TO_CHANNELS
from server.actions.messages.moving_steps import (
    MESSAGES_PER_STEP,
    MOVING,
    MovePlan,
    begin_plan,
    policy_body,
)
from server.actions.messages.notices import Location, MoveSummary, Notice
from server.actions.messages.subject import MoveTarget, Subject, lock_subject
from server.actions.stepped_work import JOB_DELAY_SECONDS
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, MoveTimeLimitError
from server.domain.messages import clean_new_topic
from server.domain.resolved_topics import MarkChange, mark_change
from server.events.base import LogEntry
from server.events.log import JobEnqueued
from server.events.message_changes import MessagesChanged, PropagateMode, Relocation
from server.i18n import _
from server.jobs import asking_for
from server.transactions import Clocked, ClockedWrite, StaleDecisionError, Tx
from storage import message_moves
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.database import Statement
from storage.ids import ChannelId, MessageId
from storage.message_moves import MovableRow, Rename

EVERYTHING = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRequest:
    """A requested move; None leaves a field as it is."""

    topic: str | None = None
    channel_id: ChannelId | None = None
    mode: PropagateMode = "change_one"
    notify_old: bool = False
    notify_new: bool = True
    content: NewContent | None = None
    """New content of a single moved message."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Progress of a move. Unfinished work has an id."""

    is_begun: bool
    """False: the target topic had to be created first; call again."""
    work_id: str | None = None


async def begin(
    tx: Tx,
    actor: Actor,
    message_id: MessageId,
    request: MoveRequest,
    now: datetime,
    *,
    messages_per_step: int = MESSAGES_PER_STEP,
) -> "Begun | Clocked[Begun]":
    """Move the messages, or as many as one transaction may; publish it to all concerned."""
    realm_cache = await tx.realm_cache()
    topic = request.topic
    if topic is not None:
        topic = clean_new_topic(topic, (await realm_cache.settings()).empty_topic_display_name)
    subject = await lock_subject(tx, actor, message_id, MoveTarget(request.channel_id, topic))
    if request.content is not None:
        await edit.check_editable(tx, subject, request.content, now)
        if subject.names_its_place:
            await edit.edit_locked(tx, subject, request.content, now)
            return Begun(is_begun=True)
    move = await _decide(tx, subject, request, now)
    if move.is_rename and request.content is None:
        return tx.clocked(RenameWrite(await _rename(tx, move, now)))
    if subject.new_topic is None:
        statement = message_moves.ensure_topics(
            tx.realm_id, move.new_channel.channel_id, [move.new_name]
        )
        return tx.clocked(EnsureTopics(statement))
    prepared = None
    if request.content is not None:
        prepared = await edit.prepare_edit(tx, subject, request.content, now)
    connection = await tx.connection()
    target_id = subject.new_topic.topic_id
    is_used = await message_moves.topics_with_messages(connection, tx.realm_id, [target_id])
    plan = _plan(move, subject.new_topic, now, target_was_empty=not is_used)
    work_id = await begin_plan(tx, plan, messages_per_step, prepared)
    return Begun(is_begun=True, work_id=work_id)


@dataclass(frozen=True, slots=True)
class EnsureTopics(ClockedWrite[Begun]):
    """Creates the target topics, unless they exist."""

    make: Statement

    @property
    @override
    def statement(self) -> Statement:
        return self.make

    @override
    def result(self, rows: Sequence[tuple[Any, ...]]) -> Begun:
        return Begun(is_begun=False)

    @override
    def recovered(self, entries: Sequence[LogEntry]) -> Begun:
        return Begun(is_begun=False)


@dataclass(frozen=True, slots=True)
class RenameWrite(ClockedWrite[Begun]):
    """Renames a whole topic, unless the target name is taken meanwhile."""

    rename: Rename

    @property
    @override
    def statement(self) -> Statement:
        return self.rename.statement()

    @override
    def result(self, rows: Sequence[tuple[Any, ...]]) -> Begun:
        if rows[0][0] == "stale":
            raise StaleDecisionError
        return Begun(is_begun=True, work_id=self.rename.work_id)

    @override
    def recovered(self, entries: Sequence[LogEntry]) -> Begun:
        return Begun(is_begun=True, work_id=self.rename.work_id)


# -- checks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """A permitted move."""

    subject: Subject
    request: MoveRequest
    channel: ChannelRow
    topic: TopicRow
    new_channel: ChannelRow
    new_name: str
    found: MovableRow

    @property
    def crosses(self) -> bool:
        return self.channel.channel_id != self.new_channel.channel_id

    @property
    def is_rename(self) -> bool:
        """Whether the topic stays together, and nothing else has the new name."""
        target = self.subject.new_topic
        is_free = target is None or target.topic_id == self.topic.topic_id
        return self.found.holds_all and not self.crosses and is_free

    @property
    def mark_change(self) -> MarkChange | None:
        """Whether the topic as a whole is resolved or unresolved."""
        if not self.found.holds_all and self.request.mode != "change_all":
            return None
        return mark_change(self.topic.name, self.new_name)


async def _decide(tx: Tx, subject: Subject, request: MoveRequest, now: datetime) -> _Move:
    if subject.channel is None or subject.topic is None:
        raise BadRequestError(NO_TOPICS if request.channel_id is None else NOT_TO_CHANNELS)
    new_channel = await move_rules.target_channel(tx, subject)
    crosses = new_channel.channel_id != subject.channel.channel_id
    new_name = subject.new_topic_name
    if not crosses and new_name == subject.topic.name:
        raise BadRequestError(_("Nothing to change"))
    if crosses and request.content is not None:
        raise BadRequestError(_("Cannot change message content while changing channel"))
    limit = move_rules.check_move(subject)
    if not (move_rules.resolves(subject) or subject.names_its_place):
        await _check_new_topic(tx, subject, new_channel)
    found = await _movable(tx, subject, request.mode, limit, now)
    if subject.names_its_place and not found.holds_all:
        # Topics are case-insensitive: a part of one cannot be spelled otherwise.
        raise BadRequestError(_("Nothing to change"))
    _check_age(request.mode, found, limit)
    return _Move(
        subject=subject,
        request=request,
        channel=subject.channel,
        topic=subject.topic,
        new_channel=new_channel,
        new_name=new_name,
        found=found,
    )


async def _check_new_topic(tx: Tx, subject: Subject, channel: ChannelRow) -> None:
    """Raise BadRequestError if the topic would be new, and the actor may not begin topics there."""
    topic = subject.new_topic
    if not await may_use_topics(subject.standing, tx.realm_id, channel, [topic], tx.reading):
        raise BadRequestError(NO_NEW_TOPICS)


async def _movable(
    tx: Tx, subject: Subject, mode: PropagateMode, limit: timedelta | None, now: datetime
) -> MovableRow:
    topic = subject.topic
    assert topic is not None
    row = await message_moves.movable(
        await tx.connection(),
        tx.realm_id,
        subject.actor.user_id,
        topic.topic_id,
        since=MessageId(0) if mode == "change_all" else subject.row.id,
        until=subject.row.id if mode == "change_one" else None,
        sent_since=None if limit is None else now - limit,
        only_given=subject.reads_only_given,
    )
    assert row.total, "the message itself is there"
    return row


def _check_age(mode: PropagateMode, found: MovableRow, limit: timedelta | None) -> None:
    if limit is None or found.recent == found.total:
        return
    if mode != "change_all" or not found.recent:
        raise BadRequestError(_("The time limit for moving this message has passed"))
    raise MoveTimeLimitError(
        _("You only have permission to move some of the messages in this topic."),
        first_message_id_allowed_to_move=found.first_recent_id,
        total_messages_in_topic=found.total,
        total_messages_allowed_to_move=found.recent,
    )


# -- writing


def _plan(
    move: _Move, target: TopicRow, now: datetime, *, target_was_empty: bool = True
) -> MovePlan:
    found = move.found
    assert found.first_id is not None
    assert found.last_id is not None
    return MovePlan(
        actor_id=move.subject.actor.user_id,
        message_id=move.subject.row.id,
        mode=move.request.mode,
        old_channel_id=move.channel.channel_id,
        old_topic_id=move.topic.topic_id,
        old_topic=move.topic.name,
        new_channel_id=move.new_channel.channel_id,
        new_topic_id=target.topic_id,
        new_topic=target.name,
        since=found.first_id,
        until=found.last_id,
        only_given=move.subject.reads_only_given,
        moved_at=now,
        target_was_empty=target_was_empty,
        notices=_notices(move, target.name),
    )


def _notices(move: _Move, new_name: str) -> list[Notice]:
    """Return the notices of the move: none if only case or repeated marks change."""
    if move.subject.names_its_place:
        return []
    summary = MoveSummary(
        actor=move.subject.actor.row,
        old=Location(move.channel.channel_id, move.channel.name, move.topic.name),
        new=Location(move.new_channel.channel_id, move.new_channel.name, new_name),
        message_id=move.subject.row.id,
        count=move.found.total,
        is_whole=move.found.holds_all,
        mark_change=move.mark_change,
    )
    return notices.of_move(
        summary,
        notify_old=move.request.notify_old,
        notify_new=move.request.notify_new,
        empty_topic_name=move.subject.context.settings.empty_topic_display_name,
        language=move.subject.context.settings.language,
    )


async def _rename(tx: Tx, move: _Move, now: datetime) -> Rename:
    topic, timestamp = move.topic, int(now.timestamp())
    last_id = move.found.last_id
    assert last_id is not None
    ids = await message_moves.ids_in_topic(
        await tx.connection(),
        tx.realm_id,
        topic.topic_id,
        since=MessageId(0),
        until=last_id,
        limit=EVERYTHING,
    )
    all_recipients = await of_messages(tx, move.channel, topic.topic_id, ids)
    display_name = move.subject.context.settings.empty_topic_display_name
    linkifiers = await (await tx.realm_cache()).linkifiers()
    event = MessagesChanged(
        message_id=move.subject.row.id,
        message_ids=(),
        user_id=move.subject.actor.user_id,
        edit_timestamp=timestamp,
        channel_id=move.channel.channel_id,
        channel_name=move.channel.name,
        move=Relocation(
            orig_topic=topic.name,
            topic=move.new_name,
            propagate_mode=move.request.mode,
            is_rename=True,
            topic_links=tuple(linkifiers.topic_links(move.new_name)),
        ),
        empty_topic_display_name=display_name,
    )
    notices = _notices(move, move.new_name)
    plan = msgspec.structs.replace(_plan(move, topic, now), notices=notices)
    return Rename(
        realm_id=tx.realm_id,
        topic_id=topic.topic_id,
        name=move.new_name,
        history_entry={
            "user_id": move.subject.actor.user_id,
            "timestamp": timestamp,
            "prev_topic": topic.name,
            "topic": move.new_name,
        },
        last_id=last_id,
        audiences=[each.audience.encode() for each in all_recipients],
        message_ids=[list(each.message_ids) for each in all_recipients],
        body=msgspec.to_builtins(event),
        message_id=move.subject.row.id,
        old_policy_body=policy_body(move.channel.channel_id, topic.name, now, display_name),
        new_policy_body=policy_body(move.channel.channel_id, move.new_name, now, display_name),
        work_id=tx.write_id if notices else None,
        work=msgspec.to_builtins(plan) if notices else None,
        job=msgspec.json.encode(_notices_job(tx)) if notices else None,
        write_id=tx.write_id,
    )


def _notices_job(tx: Tx) -> JobEnqueued:
    """Return the job that sends a rename's notices, should this process not live to do it."""
    return asking_for(MOVING.job(tx.realm_id, tx.write_id), after_seconds=JOB_DELAY_SECONDS)
