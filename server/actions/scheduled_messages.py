"""Scheduled messages: checked when they are scheduled, and again when they are due."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import msgspec

from server.actions.messages.decide import OutgoingMessage, SendDecision, decide
from server.actions.messages.notices import notification_bot
from server.actions.messages.send import prepare, send_message
from server.actions.realm_services import RealmServices
from server.actions.timers import (
    GIVEN_UP,
    TakenError,
    check_realm,
    check_room,
    claim,
    due_time,
)
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, DomainError, NotFoundError
from server.domain.markdown.writing import link, quoted, time_mark
from server.events.base import Entry, to_users
from server.events.scheduled_messages import (
    ScheduledMessageAdded,
    ScheduledMessageRemoved,
    ScheduledMessageUpdated,
    ShownScheduledMessage,
)
from server.i18n import _, marked, translated
from server.transactions import Tx
from storage import scheduled_messages
from storage.ids import ScheduledMessageId, UserId
from storage.scheduled_messages import ScheduledMessageRow

MessageType = Literal["channel", "direct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRequest:
    """A message to be scheduled. `timestamp` is in seconds since 1970."""

    type: MessageType
    to: int | list[int]
    topic: str | None
    content: str
    timestamp: int
    read_by_sender: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Requested changes; None leaves a field as it is."""

    type: MessageType | None = None
    to: int | list[int] | None = None
    topic: str | None = None
    content: str | None = None
    timestamp: int | None = None


async def schedule_message(tx: Tx, actor: Actor, wanted: ScheduleRequest, now: datetime) -> Entry:
    """Schedule a message; the entry's position is its id. Raises DomainError.

    Only what the actor may send now can be scheduled.
    """
    due_at = due_time(wanted.timestamp, now)
    full = marked("Too many scheduled messages (limit: {limit})")
    await check_room(tx, actor, full, scheduled_messages.count_of_user)
    draft = OutgoingMessage(
        type=wanted.type, to=wanted.to, topic=wanted.topic, content=wanted.content
    )
    decision = await decide(await tx.realm_cache(), actor, draft, tx.reading)
    settled = _settled(actor, decision)
    is_read = wanted.read_by_sender
    if is_read is None:
        is_read = actor.has_person_at_client and settled["user_ids"] != [actor.user_id]
    row = ScheduledMessageRow(
        realm_id=tx.realm_id,
        sender_id=actor.user_id,
        due_at=due_at,
        read_by_sender=is_read,
        client=actor.client,
        **settled,
    )
    event = ScheduledMessageAdded(
        scheduled_message=ShownScheduledMessage.of(row),
        empty_topic_display_name=decision.settings.empty_topic_display_name,
    )
    entry = tx.append(event, to_users(actor.user_id))
    tx.at_position(entry, scheduled_messages.insert(tx.realm_id, row))
    return entry


async def edit_scheduled_message(
    tx: Tx, actor: Actor, message_id: ScheduledMessageId, changes: Changes, now: datetime
) -> None:
    """Change a scheduled message; a failed one is scheduled again. Raises DomainError.

    A failed one needs a new time.
    """
    if changes == Changes():
        raise BadRequestError(_("Nothing to change."))
    tx.must_be_exact()
    row = await _lock(tx, actor, message_id)
    timestamp = changes.timestamp
    if timestamp is None and row.failure is not None:
        timestamp = int(row.due_at.timestamp())
    due_at = row.due_at if timestamp is None else due_time(timestamp, now)
    decision = await decide(await tx.realm_cache(), actor, _changed(row, changes), tx.reading)
    changed = replace(row, due_at=due_at, failure=None, **_settled(actor, decision))
    if changed == row:
        return
    await scheduled_messages.update(await tx.changing(), tx.realm_id, changed)
    display_name = decision.settings.empty_topic_display_name
    tx.append(_updated(changed, display_name), to_users(actor.user_id))


async def delete_scheduled_message(tx: Tx, actor: Actor, message_id: ScheduledMessageId) -> None:
    """Delete it. Raises NotFoundError."""
    await _lock(tx, actor, message_id)
    await scheduled_messages.delete(await tx.changing(), tx.realm_id, message_id)
    tx.append(ScheduledMessageRemoved(scheduled_message_id=message_id), to_users(actor.user_id))


async def deliver(services: RealmServices, row: ScheduledMessageRow) -> bool:
    """Send a due message, or mark it as failed with a notice: once, despite concurrent attempts.

    The message, its removal from the schedule and the events of both are one commit. Return False
    if another process delivers it, or if it is not the same as `row`.
    """
    sender = await services.realm_cache.user(row.sender_id)
    assert sender is not None, "users are never removed"
    actor = Actor(row.realm_id, sender, row.client)
    draft = _draft(row)
    decision = await prepare(services.realm_cache, actor, draft, services.read)
    now = services.clock.now()
    try:
        await services.write(lambda tx: _deliver(tx, actor, row, draft, decision, now))
    except TakenError:
        return False
    return True


async def give_up(services: RealmServices, row: ScheduledMessageRow) -> None:
    """Mark it as failed after the last attempt."""
    now = services.clock.now()

    async def fail(tx: Tx) -> None:
        tx.must_be_exact()
        await _claim(tx, row)
        await _fail(tx, row, GIVEN_UP, now)

    with suppress(TakenError):
        await services.write(fail)


async def _deliver(
    tx: Tx,
    actor: Actor,
    row: ScheduledMessageRow,
    draft: OutgoingMessage,
    decision: SendDecision | None,
    now: datetime,
) -> None:
    # A write that has to run alone does so before the row is locked: the batch would lock it.
    if decision is None or decision.realm.deactivated or decision.place.rests_on_owner:
        tx.must_be_exact()
    await _claim(tx, row)
    removed = ScheduledMessageRemoved(scheduled_message_id=row.scheduled_message_id)
    then = scheduled_messages.sent(
        tx.realm_id,
        row.scheduled_message_id,
        audience=to_users(row.sender_id).encode(),
        body=msgspec.json.encode(removed),
        write_id=tx.write_id,
    )
    try:
        if tx.exact:
            await check_realm(tx)
        await send_message(tx, actor, draft, decision, now, then)
    except DomainError as refusal:
        await _fail(tx, row, refusal.message, now)


async def _claim(tx: Tx, row: ScheduledMessageRow) -> None:
    locking = scheduled_messages.locking(tx.realm_id, row.sender_id, row.scheduled_message_id)
    await claim(tx, locking, row)


async def _fail(tx: Tx, row: ScheduledMessageRow, failure: str, now: datetime) -> None:
    """Record why it was not sent, and let the notification bot notify its sender, if possible."""
    realm_cache = await tx.realm_cache()
    display_name = (await realm_cache.settings()).empty_topic_display_name
    failed = replace(row, failure=failure)
    event, audience = _updated(failed, display_name), to_users(row.sender_id)
    then = scheduled_messages.failed(
        tx.realm_id,
        row.scheduled_message_id,
        failure,
        audience=audience.encode(),
        body=msgspec.json.encode(event),
        write_id=tx.write_id,
    )
    try:
        await check_realm(tx)
        bot = await notification_bot(realm_cache)
        language = await realm_cache.language_of(row.sender_id)
        await send_message(tx, bot, _notice(failed, language), None, now, then)
    except DomainError:
        await scheduled_messages.update(await tx.changing(), tx.realm_id, failed)
        tx.append(event, audience)


def _notice(row: ScheduledMessageRow, language: str) -> OutgoingMessage:
    time = time_mark(row.due_at)
    said = _("The message that you scheduled for {time} was not sent:", time=time)
    see = translated(_("See your scheduled messages"), language)
    parts = [translated(said, language), quoted(row.failure or ""), link(see, "/#scheduled")]
    return OutgoingMessage(
        type="direct",
        to=[row.sender_id],
        topic=None,
        content="\n\n".join(parts),
        read_by_sender=True,
    )


async def _lock(tx: Tx, actor: Actor, message_id: ScheduledMessageId) -> ScheduledMessageRow:
    locked = await tx.lock(scheduled_messages.locking(tx.realm_id, actor.user_id, message_id))
    if not locked:
        raise NotFoundError(_("Scheduled message does not exist"))
    return locked[0]


def _settled(actor: Actor, decision: SendDecision) -> dict[str, Any]:
    """Return content and recipients of a decided draft, in stored form."""
    place = decision.place
    others: list[UserId] = [row.user_id for row in place.people if row.user_id != actor.user_id]
    return {
        "channel_id": place.channel.channel_id if place.channel else None,
        "topic": place.topic_name,
        "user_ids": [] if place.channel else others or [actor.user_id],
        "content": decision.written.content,
        "rendered_content": decision.written.rendered.html,
    }


def _draft(row: ScheduledMessageRow) -> OutgoingMessage:
    is_direct = row.channel_id is None
    return OutgoingMessage(
        type="direct" if is_direct else "channel",
        to=row.user_ids if row.channel_id is None else row.channel_id,
        topic=None if is_direct else row.topic,
        content=row.content,
        read_by_sender=row.read_by_sender,
    )


def _changed(row: ScheduledMessageRow, changes: Changes) -> OutgoingMessage:
    draft = _draft(row)
    kind = changes.type or draft.type
    if kind != draft.type and changes.to is None:
        raise BadRequestError(_("A message of another type needs a recipient."))
    topic = changes.topic
    if topic is None and kind == draft.type:
        topic = draft.topic
    return replace(
        draft,
        type=kind,
        to=draft.to if changes.to is None else changes.to,
        topic=topic if kind == "channel" else None,
        content=draft.content if changes.content is None else changes.content,
    )


def _updated(row: ScheduledMessageRow, display_name: str) -> ScheduledMessageUpdated:
    return ScheduledMessageUpdated(
        scheduled_message=ShownScheduledMessage.of(row), empty_topic_display_name=display_name
    )
