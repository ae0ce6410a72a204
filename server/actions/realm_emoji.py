"""Add and deactivate custom emoji."""

from dataclasses import dataclass
from typing import Final

from server.actions import audit
from server.actions.locked_realm import lock_context
from server.domain.actor import Actor
from server.domain.channels import Standing
from server.domain.emoji import is_built_in
from server.domain.errors import (
    BadRequestError,
    InvalidParameterError,
    NotFoundError,
)
from server.events.base import EVERYONE, Entry
from server.events.realm_emoji import RealmEmojiChanged, shown
from server.i18n import _
from server.transactions import Tx
from storage import realm_emoji
from storage.ids import EmojiId
from storage.realm_emoji import EmojiRow

PERMISSION: Final = "can_add_custom_emoji_group"
MAX_EMOJI: Final = 10_000
"""Deactivated ones count too: messages contain them, and clients know them, for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEmoji:
    """A new emoji, with its image already in the store."""

    name: str
    blob_key: str
    still_key: str | None


def check_new(standing: Standing, there: list[EmojiRow], name: str) -> None:
    """Raise BadRequestError if this person may not add an emoji of this name."""
    if not standing.realm_permits(PERMISSION):
        raise BadRequestError(_("Insufficient permission"))
    if any(row.name == name and not row.deactivated for row in there):
        raise BadRequestError(_("A custom emoji with this name already exists."))
    if len(there) >= MAX_EMOJI:
        raise BadRequestError(_("Too many custom emoji (limit: {limit})", limit=MAX_EMOJI))
    if is_built_in(name) and not standing.person.is_administrator:
        raise InvalidParameterError(
            "emoji_name", _("Only administrators can override default emoji.")
        )


async def add_emoji(tx: Tx, actor: Actor, new: NewEmoji) -> None:
    """Add an emoji. Raises BadRequestError."""
    standing, there = await _stand(tx, actor)
    check_new(standing, there, new.name)
    connection = await tx.changing()
    emoji_id = await realm_emoji.insert(
        connection,
        tx.realm_id,
        name=new.name,
        author_id=actor.user_id,
        blob_key=new.blob_key,
        still_key=new.still_key,
    )
    entry = await _append_emoji(tx, emoji_id, is_new=True)
    added = {emoji_id: {"name": new.name, "deactivated": False}}
    audit.record_outcomes(tx, entry, actor.user_id, "emoji_added", added)


async def deactivate_emoji(tx: Tx, actor: Actor, name: str) -> None:
    """Deactivate an emoji; messages keep it. Raises BadRequestError, NotFoundError."""
    standing, there = await _stand(tx, actor)
    row = next((each for each in there if each.name == name and not each.deactivated), None)
    if row is None:
        raise NotFoundError(_("Emoji '{name}' does not exist", name=name))
    is_authors = row.author_id == actor.user_id and standing.realm_permits(PERMISSION)
    if not (standing.person.is_administrator or is_authors):
        raise BadRequestError(_("Must be an organization administrator or emoji author"))
    await realm_emoji.deactivate(await tx.changing(), tx.realm_id, row.emoji_id)
    entry = await _append_emoji(tx, row.emoji_id, is_new=False)
    changed = {row.emoji_id: {"name": (name, name), "deactivated": (False, True)}}
    audit.record_each(tx, entry, actor.user_id, "emoji_deactivated", changed)


async def _stand(tx: Tx, actor: Actor) -> tuple[Standing, list[EmojiRow]]:
    """Lock and return the actor and all emoji."""
    tx.must_be_exact()
    context = await lock_context(tx, actor, names_change=True)
    there = await realm_emoji.of_realm(await tx.connection(), tx.realm_id)
    return context.standing(actor.user_id), there


async def _append_emoji(tx: Tx, emoji_id: EmojiId, *, is_new: bool) -> Entry:
    rows = await realm_emoji.of_realm(await tx.connection(), tx.realm_id)
    event = RealmEmojiChanged(changed_id=str(emoji_id), is_new=is_new, realm_emoji=shown(rows))
    return tx.append(event, EVERYONE)
