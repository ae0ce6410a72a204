"""Set the buttons of bots' messages, and click on them."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from server.actions.messages import edit
from server.actions.messages.audience import of_messages
from server.actions.messages.decide import OutgoingMessage, decide
from server.actions.messages.edit import NewContent
from server.actions.messages.subject import Subject, lock_place, lock_subject
from server.domain.actor import Actor
from server.domain.bots import OUTGOING_WEBHOOK
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.message_buttons import (
    MAX_LOCAL_ID_LENGTH,
    MAX_OPEN_CLICKS,
    Button,
    checked_buttons,
    decode_buttons,
    encode_button,
    encode_buttons,
    shown_buttons,
)
from server.domain.outgoing_webhooks import MAX_ANSWERS
from server.events.message_buttons import MessageButtonsChanged
from server.i18n import _
from server.jobs import ButtonClick, enqueue
from server.transactions import Tx
from storage import conversations, message_buttons, message_edits, message_places, submessages
from storage.ids import ButtonClickId, MessageId, TopicId, UserId
from storage.message_places import MessagePlace
from storage.users import UserRow


async def set_buttons(
    tx: Tx, actor: Actor, message_id: MessageId, buttons: Sequence[Button]
) -> None:
    """Replace the buttons of a bot's message, as the bot or its owner. Raises a DomainError."""
    checked = checked_buttons(buttons)
    subject = await lock_subject(tx, actor, message_id)
    sender = subject.context.people[subject.row.sender_id]
    if sender.bot_type != OUTGOING_WEBHOOK:
        raise InvalidParameterError("buttons", _("Only outgoing webhooks have buttons."))
    if not subject.is_own(subject.row):
        raise BadRequestError(_("You don't have permission to edit this message"))
    if await submessages.first_of(await tx.connection(), tx.realm_id, subject.row.id) is not None:
        raise InvalidParameterError("buttons", _("A poll or list of tasks has no buttons."))
    await _put(tx, subject, checked)


async def replace_message(
    tx: Tx,
    bot: Actor,
    reader: Actor,
    message_id: MessageId,
    content: str,
    buttons: Sequence[Button],
    now: datetime,
) -> None:
    """Replace the text, unless it is empty, and the buttons of the bot's message.

    `reader` is the bot, or its owner if only the owner may read it. The limits of edits do not
    apply: people click on buttons for longer than they correct their words. Raises a DomainError.
    """
    subject = await lock_subject(tx, reader, message_id)
    if subject.row.sender_id != bot.user_id:
        raise BadRequestError(_("You don't have permission to edit this message"))
    subject = replace(
        subject,
        actor=Actor(bot.realm_id, subject.context.people[bot.user_id], bot.client),
        standing=subject.context.standing(bot.user_id),
    )
    if content.strip():
        await edit.edit_locked(tx, subject, NewContent(content), now)
    await _put(tx, subject, buttons)


async def _put(tx: Tx, subject: Subject, buttons: Sequence[Button]) -> None:
    """Set the buttons of a locked message, and publish them."""
    row, stored = subject.row, encode_buttons(buttons)
    connection = await tx.connection()
    before = await message_buttons.of_message(connection, tx.realm_id, row.id)
    if (before or encode_buttons(())) == stored:
        return
    event = MessageButtonsChanged(message_id=row.id, buttons=shown_buttons(buttons))
    all_recipients = await of_messages(tx, subject.channel, row.conversation_id, [row.id])
    entries = [tx.append(event, recipients.audience) for recipients in all_recipients]
    tx.at_position(entries[0], message_buttons.put(tx.realm_id, row.id, row.sender_id, stored))
    for entry in entries:
        tx.at_position(entry, message_edits.holds_content(tx.realm_id, row.id))


async def click_button(
    tx: Tx,
    actor: Actor,
    message_id: MessageId,
    button_id: str,
    local_id: str | None,
    now: datetime,
) -> ButtonClickId:
    """Deliver a click to the bot's service; return its id, or that of the one that it repeats.

    The actor must be allowed to read the message, and to send one to the same conversation. Raises
    a DomainError.
    """
    tx.must_be_exact()
    if actor.is_bot:
        # Two bots that click on each other's buttons would never end.
        raise BadRequestError(_("Bots cannot click on buttons."))
    if local_id is not None and not 0 < len(local_id) <= MAX_LOCAL_ID_LENGTH:
        raise InvalidParameterError(
            "local_id",
            _("local_id must have 1 to {limit} characters", limit=MAX_LOCAL_ID_LENGTH),
        )
    place = await lock_place(tx, actor, message_id)
    connection = await tx.connection()
    here = (connection, tx.realm_id, message_id)
    known = await message_buttons.known_click(
        *here, actor.user_id, local_id=local_id, button_id=button_id
    )
    if known is not None:
        return known
    button = _named(await message_buttons.of_message(*here), button_id)
    bot = await _callable(tx, place)
    await _check_may_send(tx, actor, place)
    if await message_buttons.count_open(*here) >= MAX_OPEN_CLICKS:
        raise BadRequestError(_("Too many clicks wait for an answer. Try again later."))
    click_id = await message_buttons.insert_click(
        await tx.changing(),
        tx.realm_id,
        message_id,
        bot_id=bot.user_id,
        user_id=actor.user_id,
        local_id=secrets.token_hex(16) if local_id is None else local_id,
        button=encode_button(button),
        button_id=button.id,
        clicked_at=now,
        answer_token=secrets.token_urlsafe(32),
        answers_left=MAX_ANSWERS,
    )
    enqueue(tx, ButtonClick(realm_id=tx.realm_id, message_id=message_id, click_id=click_id))
    return click_id


def _named(stored: str | None, button_id: str) -> Button:
    for button in () if stored is None else decode_buttons(stored):
        if button.id == button_id:
            return button
    raise InvalidParameterError("button_id", _("This message has no such button."))


async def _callable(tx: Tx, place: MessagePlace) -> UserRow:
    """Return the bot that sent the message. Raises BadRequestError if it is deactivated."""
    bot = await (await tx.realm_cache()).user(place.sender_id)
    if bot is None or not bot.is_active:
        raise BadRequestError(_("The bot of this message is deactivated."))
    return bot


async def _check_may_send(tx: Tx, actor: Actor, place: MessagePlace) -> None:
    """Raise a DomainError unless the actor may send a message to the conversation."""
    connection = await tx.connection()
    to: int | list[UserId]
    topic = None
    if place.channel_id is not None:
        to = place.channel_id
        [row] = await conversations.topics_by_ids(
            connection, tx.realm_id, [TopicId(place.conversation_id)]
        )
        topic = row.name
    else:
        people = await message_places.dm_user_ids(connection, tx.realm_id, place.conversation_id)
        to = [each for each in people if each != actor.user_id] or [actor.user_id]
    draft = OutgoingMessage(
        type="direct" if place.channel_id is None else "channel",
        to=to,
        topic=topic,
        content="/",
    )
    await decide(await tx.realm_cache(), actor, draft, tx.reading)
