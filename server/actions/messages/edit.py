"""Edit the content of a message."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from server.actions.attachments import before_letting_go, hold
from server.actions.messages.audience import MessageRecipients, of_messages
from server.actions.messages.content import ReadContent, check_mentions, read_content
from server.actions.messages.subject import Subject, lock_subject
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, ExpectationMismatchError
from server.domain.markdown.previews import without_previews
from server.domain.messages import clean_content
from server.events.message_changes import ContentChange, MessagesChanged
from server.i18n import _
from server.jobs import EmbedLinks, MessageFanout, Thumbnails, enqueue
from server.transactions import Tx
from storage import message_bits, message_edits, message_flags, submessages
from storage.database import Statement
from storage.ids import MessageId, TopicId

DELETED = "(deleted)"
"""Content of a message edited to nothing."""
GRACE_SECONDS: Final = 20
"""Tolerance of the time limit: an edit begun in time takes a while, and clocks differ."""


@dataclass(frozen=True, slots=True)
class NewContent:
    """New content, with the old content that the client expects."""

    content: str
    prev_content_sha256: str | None = None


async def edit_content(
    tx: Tx, actor: Actor, message_id: MessageId, new: NewContent, now: datetime
) -> None:
    """Edit the content of one's own message; publish it to all concerned."""
    subject = await lock_subject(tx, actor, message_id)
    await check_editable(tx, subject, new, now)
    await edit_locked(tx, subject, new, now)


async def check_editable(tx: Tx, subject: Subject, new: NewContent, now: datetime) -> None:
    """Raise BadRequestError if the actor may not make this edit."""
    settings = subject.context.settings
    if subject.row.sender_id != subject.actor.user_id:
        raise BadRequestError(_("You don't have permission to edit this message"))
    if not settings.allow_message_editing:
        raise BadRequestError(_("Your organization has turned off message editing"))
    limit = settings.message_content_edit_limit_seconds
    age = (now - subject.row.sent_at).total_seconds()
    if limit is not None and age > limit + GRACE_SECONDS:
        raise BadRequestError(_("The time limit for editing this message has passed"))
    if new.prev_content_sha256 is not None:
        known = hashlib.sha256(subject.row.content.encode()).hexdigest()
        if new.prev_content_sha256.lower() != known:
            raise ExpectationMismatchError("prev_content_sha256")
    if await submessages.first_of(await tx.connection(), tx.realm_id, subject.row.id) is not None:
        raise BadRequestError(_("Polls and lists of tasks cannot be edited"))
    _cleaned(new.content)


def _cleaned(content: str) -> str:
    return DELETED if content.strip() == "" else clean_content(content)


async def edit_locked(tx: Tx, subject: Subject, new: NewContent, now: datetime) -> None:
    """Make the edit that `check_editable` permits.

    Unchanged content is an edit, too: clients wait for the event of their request.
    """
    row = subject.row
    edit = await prepare_edit(tx, subject, new, now)
    all_recipients = await of_messages(tx, subject.channel, row.conversation_id, [row.id])
    await write_edit(tx, edit)
    append_content_events(tx, _event(edit), all_recipients, first=edit.set_flags())
    edit.enqueue_jobs(tx)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedEdit:
    """New content of a locked message, rendered and permitted but not written yet."""

    subject: Subject
    written: ReadContent
    edited_at: datetime
    holds_files: bool
    """Whether the message has files, before the edit or after it."""
    fanout: MessageFanout | None

    @property
    def change(self) -> ContentChange:
        """Return the content for events: the previous one only if the realm shows edits."""
        row, written = self.subject.row, self.written
        settings = self.subject.context.settings
        shows_history = settings.message_edit_history_visibility_policy == "all"
        return ContentChange(
            orig_content=row.content if shows_history else None,
            orig_rendered_content=row.rendered_content if shows_history else None,
            content=written.content,
            rendered_content=written.rendered.html,
            is_me_message=written.rendered.is_me_message,
        )

    @property
    def previous_content(self) -> dict[str, str]:
        """Return the fields of a history entry with the previous content."""
        row = self.subject.row
        return {
            "prev_content": row.content,
            "prev_rendered_content": without_previews(row.rendered_content),
        }

    def set_flags(self) -> Statement:
        """Under the clock's lock: set the flags that follow from the new content."""
        row = self.subject.row
        flags = self.written.flags()
        return message_edits.set_content_flags(self.subject.actor.realm_id, row.id, flags)

    def enqueue_jobs(self, tx: Tx) -> None:
        """Enqueue the jobs of the new content: notifications, thumbnails, previews."""
        subject, written, message_id = self.subject, self.written, self.subject.row.id
        if self.holds_files:
            hold(tx, message_id, written.attachments)
        if self.fanout is not None:
            enqueue(tx, self.fanout)
        for each in written.awaited:
            enqueue(tx, Thumbnails(realm_id=tx.realm_id, attachment_id=each.attachment_id))
        if _wants_previews(subject, written):
            enqueue(tx, EmbedLinks(realm_id=tx.realm_id, message_id=message_id))


async def prepare_edit(tx: Tx, subject: Subject, new: NewContent, now: datetime) -> PreparedEdit:
    """Render what `check_editable` permits. Raises a DomainError."""
    written = await _read(tx, subject, new)
    return PreparedEdit(
        subject=subject,
        written=written,
        edited_at=now,
        holds_files=await before_letting_go(tx, [subject.row.id], now) or bool(written.attachments),
        fanout=await _new_mentions(tx, subject, written),
    )


async def _read(tx: Tx, subject: Subject, new: NewContent) -> ReadContent:
    """Process the new content as a send of it would. Raises a DomainError."""
    row, realm_cache = subject.row, await tx.realm_cache()
    written = await read_content(
        realm_cache,
        subject.actor,
        _cleaned(new.content),
        channel_id=row.channel_id,
        topic_id=None if subject.channel is None else TopicId(row.conversation_id),
        read=tx.reading,
    )
    await check_mentions(
        realm_cache,
        subject.actor,
        written,
        channel_id=row.channel_id,
        read=tx.reading,
        instead_of=row.rendered_content,
    )
    return written


async def write_edit(tx: Tx, edit: PreparedEdit, *, with_history: bool = True) -> None:
    """Write the message's new content, and optionally a history entry of its own."""
    row = edit.subject.row
    entry = {
        "user_id": edit.subject.actor.user_id,
        "timestamp": int(edit.edited_at.timestamp()),
        **edit.previous_content,
    }
    await message_edits.change_content(
        await tx.changing(),
        tx.realm_id,
        row.id,
        content=edit.written.content,
        rendered=edit.written.rendered.html,
        traits=row.traits & ~message_bits.CONTENT_TRAITS | edit.written.traits,
        edited_at=edit.edited_at,
        history_entry=entry if with_history else None,
    )


def _event(edit: PreparedEdit) -> MessagesChanged:
    row, channel = edit.subject.row, edit.subject.channel
    return MessagesChanged(
        message_id=row.id,
        message_ids=(row.id,),
        user_id=edit.subject.actor.user_id,
        edit_timestamp=int(edit.edited_at.timestamp()),
        channel_id=row.channel_id,
        channel_name="" if channel is None else channel.name,
        content=edit.change,
    )


def _wants_previews(subject: Subject, written: ReadContent) -> bool:
    settings = subject.context.settings
    return (
        settings.inline_url_embed_preview and written.rendered.has_link and not subject.actor.is_bot
    )


def append_content_events(
    tx: Tx,
    event: MessagesChanged,
    all_recipients: Sequence[MessageRecipients],
    *,
    first: Statement | None = None,
) -> None:
    """Append events of a locked message's new content or rendering; `first` runs before them."""
    for recipients in all_recipients:
        entry = tx.append(event, recipients.audience)
        tx.at_position(entry, message_edits.holds_content(tx.realm_id, event.message_id))
        if first is not None:
            tx.at_position(entry, first)
            first = None
        tx.at_position(entry, message_edits.add_reader_flags(tx.realm_id, event.message_id))


async def _new_mentions(tx: Tx, subject: Subject, written: ReadContent) -> MessageFanout | None:
    """Return the fan-out job for users who are newly mentioned, if there are any.

    A direct message concerns everyone in it already.
    """
    row = subject.row
    if subject.channel is None:
        return None
    mentioned = written.mentioned | written.topic_mentioned
    if mentioned:
        before = await message_flags.mentioned_in(await tx.connection(), tx.realm_id, row.id)
        mentioned -= before
    is_for_all = (
        written.rendered.channel_wildcard and not row.traits & message_bits.CHANNEL_WILDCARD
    )
    if not mentioned and not is_for_all:
        return None
    return MessageFanout(
        realm_id=tx.realm_id,
        mentioning=(row.id,) if is_for_all else (),
        newly_mentioned=tuple((user_id, row.id) for user_id in sorted(mentioned)),
    )
