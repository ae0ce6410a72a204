"""React to messages."""

from datetime import datetime

from server.actions.messages.audience import of_message
from server.actions.messages.subject import lock_place
from server.actions.reaction_notifications import collect_reaction
from server.actions.user_topics import participate
from server.domain.actor import Actor
from server.domain.emoji import Emoji, WantedEmoji, emoji_of
from server.domain.errors import (
    ReactionAlreadyExistsError,
    ReactionDoesNotExistError,
)
from server.domain.shown_people import EVERYTHING
from server.events.reactions import ReactionAdded, ReactionRemoved, Reactor
from server.i18n import _
from server.transactions import Tx
from storage import message_flags, reactions
from storage.ids import MessageId
from storage.reactions import ReactionRow


async def add_reaction(
    tx: Tx, actor: Actor, message_id: MessageId, wanted: WantedEmoji, *, now: datetime
) -> None:
    """React to a message that the actor can see; it becomes part of their history.

    It counts as participation in the topic, which may give them a policy for it. Raises
    BadRequestError if there is no such emoji; one that the message has already may be deactivated
    since.
    """
    place = await lock_place(tx, actor, message_id)
    there = await reactions.of_message(await tx.connection(), tx.realm_id, place.id)
    emoji = next((e for e in map(_emoji, there) if wanted.is_exactly(e)), None)
    if emoji is None:
        known = await (await tx.realm_cache()).emoji()
        emoji = emoji_of(wanted.name, wanted.code, wanted.type, known)
    reaction = ReactionRow(place.id, actor.user_id, emoji.type, emoji.code, emoji.name)
    if any(_is_same(reaction, each) for each in there):
        raise ReactionAlreadyExistsError(_("Reaction already exists."))
    # The first reaction decides the name of an emoji on this message.
    kind = (emoji.type, emoji.code)
    names = (r.emoji_name for r in there if (r.reaction_type, r.emoji_code) == kind)
    name = next(names, emoji.name)
    event = ReactionAdded(
        message_id=place.id,
        user_id=actor.user_id,
        user=await _reactor(tx, actor),
        emoji_name=name,
        emoji_code=emoji.code,
        reaction_type=emoji.type,
    )
    entry = tx.append(event, await of_message(tx, place, actor.user_id))
    row = ReactionRow(place.id, actor.user_id, emoji.type, emoji.code, name)
    tx.at_position(entry, reactions.insert(tx.realm_id, row))
    tx.at_position(entry, message_flags.remember(tx.realm_id, actor.user_id, [place.id]))
    await collect_reaction(tx, actor, entry, place, now=now)
    await participate(tx, actor, entry, place, now=now)


async def remove_reaction(
    tx: Tx,
    actor: Actor,
    message_id: MessageId,
    emoji_name: str | None,
    emoji_code: str | None,
    reaction_type: str | None,
) -> None:
    """Remove the actor's own reaction; a name alone means the emoji that they named so."""
    place = await lock_place(tx, actor, message_id)
    own = [
        each
        for each in await reactions.of_message(await tx.connection(), tx.realm_id, place.id)
        if each.user_id == actor.user_id
    ]
    code = emoji_code
    if code is None:
        assert emoji_name is not None
        code = next((r.emoji_code for r in own if r.emoji_name == emoji_name), None)
        code = (
            code
            or emoji_of(
                emoji_name, None, reaction_type, await (await tx.realm_cache()).emoji()
            ).code
        )
    reaction = next(
        (
            each
            for each in own
            if each.emoji_code == code and reaction_type in (None, each.reaction_type)
        ),
        None,
    )
    if reaction is None:
        raise ReactionDoesNotExistError(_("Reaction doesn't exist."))
    event = ReactionRemoved(
        message_id=place.id,
        user_id=actor.user_id,
        user=await _reactor(tx, actor),
        emoji_name=reaction.emoji_name,
        emoji_code=reaction.emoji_code,
        reaction_type=reaction.reaction_type,
    )
    entry = tx.append(event, await of_message(tx, place, actor.user_id))
    tx.at_position(entry, reactions.delete(tx.realm_id, reaction))


async def _reactor(tx: Tx, actor: Actor) -> Reactor:
    """Return the user as most people see them; for other readers the event is masked."""
    return Reactor.of(EVERYTHING.shown(actor.row, await (await tx.realm_cache()).address()))


def _emoji(row: ReactionRow) -> Emoji:
    return Emoji(row.emoji_name, row.emoji_code, row.reaction_type)


def _is_same(one: ReactionRow, other: ReactionRow) -> bool:
    return (one.user_id, one.reaction_type, one.emoji_code) == (
        other.user_id,
        other.reaction_type,
        other.emoji_code,
    )
