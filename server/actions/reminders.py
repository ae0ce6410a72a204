"""Reminders: the notification bot writes to the user at the requested time."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final

import msgspec

from server.actions.messages.content import render_outside_messages
from server.actions.messages.decide import OutgoingMessage, SendDecision
from server.actions.messages.links import link_to
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
from server.domain.markdown.writing import mention, quoted
from server.events.base import Entry, to_users
from server.events.reminders import (
    ReminderAdded,
    ReminderFailed,
    ReminderRemoved,
    ShownReminder,
)
from server.i18n import _, marked, translated
from server.realm_cache import RealmCache
from server.transactions import Tx
from storage import message_edits, reminders
from storage.database import Connection
from storage.ids import MessageId, ReminderId, UserId
from storage.message_edits import ChangingRow
from storage.reminders import ReminderRow

MAX_NOTE_LENGTH: Final = 1_000
MAX_QUOTED_LENGTH: Final = 5_000
"""Maximum quoted length of the message; the rest is behind the link."""


async def set_reminder(
    tx: Tx,
    actor: Actor,
    message_id: MessageId | None,
    note: str,
    timestamp: int,
    now: datetime,
) -> Entry:
    """Schedule a reminder of a message that the actor may read, or of a note alone.

    The entry's position is the reminder's id. Raises BadRequestError.
    """
    due_at = due_time(timestamp, now)
    note = note.strip()
    if len(note) > MAX_NOTE_LENGTH:
        raise BadRequestError(
            _("note is too long (limit: {limit} characters)", limit=MAX_NOTE_LENGTH)
        )
    full = marked("Too many reminders (limit: {limit})")
    await check_room(tx, actor, full, reminders.count_of_user)
    realm_cache, connection = await tx.realm_cache(), await tx.connection()
    row = await _visible(connection, realm_cache, actor.user_id, message_id)
    if row is None and message_id is not None:
        raise BadRequestError(_("Invalid message(s)"))
    content = await _opening(realm_cache, connection, actor.user_id, row, note)
    reminder = ReminderRow(
        realm_id=tx.realm_id,
        user_id=actor.user_id,
        message_id=message_id,
        note=note,
        content=content,
        rendered_content=await render_outside_messages(
            realm_cache, actor, content, read=tx.reading
        ),
        due_at=due_at,
    )
    event = ReminderAdded(reminder=ShownReminder.of(reminder))
    entry = tx.append(event, to_users(actor.user_id))
    tx.at_position(entry, reminders.insert(tx.realm_id, reminder))
    return entry


async def delete_reminder(tx: Tx, actor: Actor, reminder_id: ReminderId) -> None:
    """Delete it. Raises NotFoundError."""
    if not await tx.lock(reminders.locking(tx.realm_id, actor.user_id, reminder_id)):
        raise NotFoundError(_("Reminder does not exist"))
    await reminders.delete(await tx.changing(), tx.realm_id, reminder_id)
    tx.append(ReminderRemoved(reminder_id=reminder_id), to_users(actor.user_id))


async def deliver(services: RealmServices, row: ReminderRow) -> bool:
    """Send a due reminder, or mark it as failed: once, despite concurrent attempts.

    The message, the reminder's deletion and the events of both are one commit. A message that is
    gone, or that its reader lost, is not shown; the reminder is sent all the same. Return False if
    another process delivers it.
    """
    realm_cache = services.realm_cache
    async with services.read() as connection:
        content = await _full(realm_cache, connection, row)
    draft = OutgoingMessage(
        type="direct", to=[row.user_id], topic=None, content=content, read_by_sender=True
    )
    bot = await notification_bot(realm_cache)
    decision = await prepare(realm_cache, bot, draft, services.read)
    now = services.clock.now()
    try:
        await services.write(lambda tx: _deliver(tx, bot, row, draft, decision, now))
    except TakenError:
        return False
    return True


async def give_up(services: RealmServices, row: ReminderRow) -> None:
    """Mark it as failed after the last attempt."""

    async def fail(tx: Tx) -> None:
        await _claim(tx, row)
        await _fail(tx, row, GIVEN_UP)

    with suppress(TakenError):
        await services.write(fail)


async def _deliver(
    tx: Tx,
    bot: Actor,
    row: ReminderRow,
    draft: OutgoingMessage,
    decision: SendDecision | None,
    now: datetime,
) -> None:
    # A write that has to run alone does so before the row is locked: the batch would lock it.
    if decision is None or decision.realm.deactivated:
        tx.must_be_exact()
    await _claim(tx, row)
    then = reminders.sent(
        tx.realm_id,
        row.reminder_id,
        audience=to_users(row.user_id).encode(),
        body=msgspec.json.encode(ReminderRemoved(reminder_id=row.reminder_id)),
        write_id=tx.write_id,
    )
    try:
        if tx.exact:
            await check_realm(tx)
        await send_message(tx, bot, draft, decision, now, then)
    except DomainError as refusal:
        await _fail(tx, row, refusal.message)


async def _fail(tx: Tx, row: ReminderRow, failure: str) -> None:
    """Record why it was not sent. There is no notice of it: the bot's own message failed."""
    await reminders.fail(await tx.changing(), tx.realm_id, row.reminder_id, failure)
    shown = ShownReminder.of(replace(row, failure=failure))
    tx.append(ReminderFailed(reminder=shown), to_users(row.user_id))


async def _claim(tx: Tx, row: ReminderRow) -> None:
    await claim(tx, reminders.locking(tx.realm_id, row.user_id, row.reminder_id), row)


# -- text of a reminder


async def _visible(
    connection: Connection, realm_cache: RealmCache, user_id: UserId, message_id: MessageId | None
) -> ChangingRow | None:
    if message_id is None:
        return None
    return await message_edits.visible(connection, realm_cache.realm_id, user_id, message_id)


async def _opening(
    realm_cache: RealmCache,
    connection: Connection,
    user_id: UserId,
    row: ChangingRow | None,
    note: str,
) -> str:
    """Return the beginning of the reminder, with the user's note."""
    language = await realm_cache.language_of(user_id)
    opening = _("You asked for a reminder.")
    if row is not None:
        message = await link_to(realm_cache, connection, user_id, row, language)
        opening = _("You asked to be reminded of {message}.", message=message)
    said = translated(opening, language)
    return "\n\n".join([said, quoted(note)]) if note else said


async def _full(realm_cache: RealmCache, connection: Connection, reminder: ReminderRow) -> str:
    """Return the beginning as of now, and the message itself."""
    user_id = reminder.user_id
    language = await realm_cache.language_of(user_id)
    row = await _visible(connection, realm_cache, user_id, reminder.message_id)
    parts = [await _opening(realm_cache, connection, user_id, row, reminder.note)]
    if row is not None:
        sender = await realm_cache.user(row.sender_id)
        assert sender is not None, "senders are never removed"
        parts.append(translated(_("{person} wrote:", person=mention(sender)), language))
        parts.append(quoted(row.content, limit=MAX_QUOTED_LENGTH))
    elif reminder.message_id is not None:
        gone = _("The message was deleted, or you may no longer read it.")
        parts.append(translated(gone, language))
    return "\n\n".join(parts)
