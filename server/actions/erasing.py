"""Erase a user: messages, reactions, files and personal data; the id without a name stays."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import UNSET

from server.actions import audit
from server.actions.account_exports import drop_account_exports
from server.actions.attachments import delete_file_of, drop_released_files
from server.actions.credential_changes import end_pending
from server.actions.legal_holds import check_not_held
from server.actions.locked_realm import LockedRealm, lock_realm, lock_realm_context
from server.actions.messages.audience import LockedConversation, of_messages
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.delete import delete_locked
from server.actions.messages.notices import deliver
from server.actions.realm_exports import drop_exports
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.actions.user_activation import CLOSING, deactivate_user
from server.actions.user_audiences import UserAudiences
from server.domain.addresses import RealmAddress
from server.domain.avatars import avatar_of, medium_key
from server.domain.errors import BadRequestError
from server.domain.shown_people import EVERYTHING
from server.events.base import NO_AUDIENCE, Audience, Entry
from server.events.log import LogBlanked, Tick
from server.events.reactions import ReactionRemoved, Reactor
from server.events.user_status import UserStatusChanged
from server.events.users import AvatarChanged, ChangedValue, EmailChanged, PersonChange, UserChanged
from server.i18n import _
from server.jobs import BlobRemoval, enqueue
from server.transactions import Tx
from storage import (
    channels,
    clock,
    erasure,
    event_log,
    legal_holds,
    message_edits,
    message_moves,
    profile_data,
    reactions,
    resumable_uploads,
    users,
)
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.database import Connection
from storage.erasure import ConversationMessages
from storage.ids import (
    AttachmentId,
    ChannelId,
    Position,
    ProfileFieldId,
    RealmId,
    TopicId,
    UserId,
)
from storage.users import UserRow

MESSAGES_PER_STEP: Final = 200
"""Maximum number of messages, reactions or files per transaction."""
ROWS_PER_STEP: Final = 5_000
ENTRIES_PER_STEP: Final = 2_000
KEYS_PER_STEP: Final = 1_000
UPLOADS_UNDER_WAY: Final = "resumable_uploads"
"""The table with rows that have content in the blob store."""


class ErasurePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The erased account."""

    user_id: UserId
    words: list[str]
    """Words that identify the person in the log."""
    since: Position = Position(0)
    """The log's last position before the erasure began: the farewell is after it."""


async def erase_person(tx: Tx, user_id: UserId, *, now: datetime) -> str | None:
    """Deactivate the account at once, and erase the rest in steps; return the work's id.

    Raises LegalHoldError while a hold covers any of it, BadRequestError for an unknown user, a
    system bot, and the only owner.
    """
    await lock_realm(tx, alone=True)
    found = await users.by_ids(await tx.connection(), tx.realm_id, [user_id])
    if not found or found[0].is_system_bot:
        raise BadRequestError(_("No such user"))
    row = found[0]
    await check_not_held(tx, user_id)
    begun = await clock.read(await tx.connection(), tx.realm_id)
    assert begun is not None, "each organization has a clock"
    await deactivate_user(tx, user_id, by=None, now=now)
    plan = ErasurePlan(user_id=user_id, words=[row.email, row.full_name], since=begun.position)
    return await put_off(tx, ERASING, plan, done=0)


async def _take(tx: Tx, plan: ErasurePlan, step: Step) -> int | None:
    """Erase the next part of any kind; the work is done when nothing is left.

    It ends if a legal hold has come meanwhile: what is left stays.
    """
    context = await lock_realm_context(tx, [plan.user_id])
    connection = await tx.connection()
    realm_id, user_id = tx.realm_id, plan.user_id
    messages = await _messages(connection, realm_id, user_id, limit=step.size)
    if await _is_held(connection, realm_id, user_id, messages):
        await _record_end(tx, user_id)
        return None
    if step.done == 0:
        await drop_account_exports(tx, now=step.now)
        await _forget_person(tx, context, plan.user_id)
        return 1
    if messages:
        await delete_written(tx, context, messages, now=step.now)
    elif reacted := await erasure.some_reacted(connection, realm_id, user_id, limit=step.size):
        await _take_off_reactions(tx, context.people[user_id], reacted)
    elif files := await erasure.some_files(connection, realm_id, user_id, limit=step.size):
        for attachment_id in files:
            await delete_file_of(tx, user_id, AttachmentId(attachment_id), now=step.now)
    elif tables := await erasure.tables_left(connection, realm_id, user_id):
        if tables[0] == UPLOADS_UNDER_WAY:
            await _drop_parts(tx, user_id)
        entry = tx.append(Tick(), NO_AUDIENCE)
        tx.at_position(entry, erasure.delete_own(realm_id, user_id, tables[0], limit=ROWS_PER_STEP))
    elif (reached := await _blank_log(tx, plan, step.done)) is not None:
        return reached
    else:
        await _end(tx, user_id, now=step.now)
        return None
    return step.done


async def _end(tx: Tx, user_id: UserId, *, now: datetime) -> None:
    """Delete what must not remain in exports, in the archive and in the audit log."""
    await drop_exports(tx, now=now)
    await drop_account_exports(tx, now=now)
    await drop_released_files(tx, limit=KEYS_PER_STEP)
    await erasure.forget_record(await tx.changing(), tx.realm_id, user_id)
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record(tx, entry, None, "user_erased", subject_id=user_id, before={}, after={})


async def _is_held(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    messages: ConversationMessages | None,
) -> bool:
    """Return whether a legal hold covers the user, or one of these messages."""
    if await legal_holds.names_user(connection, realm_id, user_id):
        return True
    ids = [] if messages is None else messages.message_ids
    return bool(ids and await legal_holds.held_messages(connection, realm_id, ids))


async def _record_end(tx: Tx, user_id: UserId) -> None:
    """Record that the erasure has ended because of a legal hold that came meanwhile."""
    await tx.changing()
    entry = tx.append(Tick(), NO_AUDIENCE)
    ended = {user_id: dict[str, Any]()}
    audit.record_outcomes(tx, entry, None, "user_erasure_ended", ended)


async def _messages(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int
) -> ConversationMessages | None:
    """Return some messages to delete: their own, and those of system bots that name them."""
    for some in (erasure.some_messages, erasure.some_from_the_system, erasure.some_naming):
        if found := await some(connection, realm_id, user_id, limit=limit):
            return found
    return None


async def _drop_parts(tx: Tx, user_id: UserId) -> None:
    """Delete the content of their unfinished uploads; the rows are deleted with this step."""
    keys = await resumable_uploads.content_of_owner(await tx.connection(), tx.realm_id, user_id)
    for at in range(0, len(keys), KEYS_PER_STEP):
        some = tuple(keys[at : at + KEYS_PER_STEP])
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=some))


async def _blank_log(tx: Tx, plan: ErasurePlan, done: int) -> int | None:
    """Blank the next log entries; return the progress, negative after the farewell, or None.

    Entries after the farewell publish that the account has no person any more.
    """
    found = await erasure.search_log(
        await tx.connection(),
        tx.realm_id,
        plan.user_id,
        words=plan.words,
        farewell=nameless(plan.user_id),
        since=plan.since,
        after=Position(abs(done) - 1),
        limit=ENTRIES_PER_STEP,
    )
    if found is None:
        return None
    end = found.last + 1 if found.farewell is None else found.farewell
    about = [position for position in found.about if done > 0 and position < end]
    if entries := sorted({*found.own, *about}):
        await event_log.blank(await tx.changing(), tx.realm_id, entries)
        tx.append(LogBlanked(entries=tuple(entries)), NO_AUDIENCE)
    is_after = done < 0 or found.farewell is not None
    return -(found.last + 1) if is_after else found.last + 1


def nameless(user_id: UserId) -> str:
    """Return the name of an account without a person."""
    return f"Deleted user {user_id}"


async def _forget_person(tx: Tx, context: LockedRealm, user_id: UserId) -> None:
    """Publish to all who know the account that it has no person any more."""
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    values = (await profile_data.of_users(await tx.connection(), tx.realm_id, [user_id])).get(
        user_id, {}
    )
    new = replace(
        row,
        email=f"user{user_id}@deleted.invalid",
        full_name=nameless(user_id),
        timezone="",
        avatar_key=None,
        avatar_version=row.avatar_version + 1,
        settings={},
        stub=None,
        is_deleted=not row.is_active,
    )
    connection = await tx.changing()
    await erasure.forget_person(
        connection, tx.realm_id, user_id, email=new.email, full_name=new.full_name
    )
    await end_pending(tx, [row], CLOSING)
    if row.avatar_key is not None:
        keys = (row.avatar_key, medium_key(row.avatar_key))
        enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=keys))
    context = replace(context, people={user_id: new})
    await _append_user_event(tx, context, row, new, list(values))


async def _append_user_event(
    tx: Tx,
    context: LockedRealm,
    old: UserRow,
    row: UserRow,
    fields: Sequence[ProfileFieldId],
) -> None:
    user_audiences = await UserAudiences.of(tx, context)
    knowing = await user_audiences.audience_knowing(row)
    append_profile_events(tx, row, fields, user_audiences.address, knowing)
    if old.stub == "imported":
        change = PersonChange(user_id=row.user_id, is_imported_stub=False)
        tx.append(UserChanged(person=change), knowing)
    change = PersonChange(user_id=row.user_id, delivery_email=row.email)
    tx.append(UserChanged(person=change), knowing)
    avatar = avatar_of(row, user_audiences.address)
    address = EmailChanged(
        user_id=row.user_id,
        new_email=row.email,
        avatar_source=avatar.source,
        avatar_version=avatar.version,
    )
    entry = tx.append(address, knowing)
    tx.at_position(entry, users.changed(tx.realm_id, [row.user_id]))


def append_profile_events(
    tx: Tx,
    row: UserRow,
    fields: Sequence[ProfileFieldId],
    address: RealmAddress,
    knowing: Audience,
) -> Entry:
    """Publish that the user has this name, and nothing else in their profile; return an entry."""
    user_id = row.user_id
    changes = [
        PersonChange(
            user_id=user_id,
            full_name=row.full_name,
            is_deleted=True if row.is_deleted else UNSET,
        ),
        PersonChange(user_id=user_id, timezone=""),
        *(
            PersonChange(user_id=user_id, custom_profile_field=ChangedValue(id=field, value=None))
            for field in fields
        ),
    ]
    for change in changes:
        tx.append(UserChanged(person=change), knowing)
    status = UserStatusChanged(
        user_id=user_id, away=False, status_text="", emoji_name="", emoji_code="", reaction_type=""
    )
    tx.append(status, knowing)
    return tx.append(AvatarChanged.to(user_id, avatar_of(row, address)), knowing)


async def delete_written(
    tx: Tx,
    context: LockedRealm,
    written: ConversationMessages,
    *,
    now: datetime,
    by: Sequence[UserId] = (),
) -> None:
    """Delete messages of one conversation; publish it to their readers, and to `by`."""
    channel, topic = await _place(tx, written)
    found = await tx.lock(message_edits.locking(tx.realm_id, written.message_ids))
    rows = [row for row in found if row.conversation_id == written.conversation_id]
    if rows:
        locked = LockedConversation(channel, topic, rows)
        await delete_locked(tx, context, [locked], now, by=by)


async def _take_off_reactions(tx: Tx, row: UserRow, reacted: ConversationMessages) -> None:
    channel, _ = await _place(tx, reacted)
    connection = await tx.connection()
    own = await erasure.reactions_to(connection, tx.realm_id, row.user_id, reacted.message_ids)
    await tx.lock(message_edits.locking(tx.realm_id, sorted(reacted.message_ids)))
    address = await (await tx.realm_cache()).address()
    reactor = Reactor.of(EVERYTHING.shown(row, address))
    all_recipients = await of_messages(tx, channel, reacted.conversation_id, reacted.message_ids)
    audiences = {
        each: recipients.audience
        for recipients in all_recipients
        for each in recipients.message_ids
    }
    for reaction in own:
        event = ReactionRemoved(
            message_id=reaction.message_id,
            user_id=row.user_id,
            user=reactor,
            emoji_name=reaction.emoji_name,
            emoji_code=reaction.emoji_code,
            reaction_type=reaction.reaction_type,
        )
        entry = tx.append(event, audiences.get(reaction.message_id, NO_AUDIENCE))
        tx.at_position(entry, reactions.delete(tx.realm_id, reaction))


async def _place(
    tx: Tx, written: ConversationMessages
) -> tuple[ChannelRow | None, TopicRow | None]:
    """Lock the channel against moves and the topic, and return them; or neither."""
    if written.channel_id is None:
        return None, None
    [channel] = await tx.lock(
        channels.locking(tx.realm_id, [ChannelId(written.channel_id)]).shared()
    )
    [topic] = await tx.lock(message_moves.topics(tx.realm_id, [TopicId(written.conversation_id)]))
    return channel, topic


def no_messages(plan: Any, work_id: str) -> list[OutgoingMessage]:
    """Return the messages that follow the work: none."""
    del plan, work_id
    return []


ERASING: Final = SteppedWorkKind(
    "erase_person", ErasurePlan, MESSAGES_PER_STEP, _take, no_messages, deliver
)
