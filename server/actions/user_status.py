"""Set a user's status: a text, an emoji, or that they are away."""

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from server.actions import audit
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.user_audiences import audience_knowing
from server.actions.user_settings import OwnChange, change_own_settings
from server.domain.actor import Actor
from server.domain.emoji import Emoji
from server.domain.errors import BadRequestError
from server.events.user_status import ShownStatus, UserStatusChanged
from server.i18n import _
from server.transactions import Tx
from storage import user_status, users
from storage.ids import UserId
from storage.user_status import UserStatusRow

MAX_TEXT_LENGTH: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """Requested changes; None leaves a field as it is."""

    text: str | None = None
    """Empty: no text."""
    emoji: Emoji | None = None
    clears_emoji: bool = False

    def of(self, row: UserStatusRow) -> UserStatusRow:
        """Return the status after it."""
        if self.text is not None:
            row = replace(row, status_text=self.text)
        if self.clears_emoji:
            return replace(row, emoji_name="", emoji_code="", reaction_type="")
        if self.emoji is not None:
            emoji = self.emoji
            return replace(
                row, emoji_name=emoji.name, emoji_code=emoji.code, reaction_type=emoji.type
            )
        return row

    def event(self, row: UserStatusRow) -> UserStatusChanged:
        """Return its event; the row is that after it."""
        event = UserStatusChanged(user_id=row.user_id)
        if self.text is not None:
            event = msgspec.structs.replace(event, status_text=row.status_text)
        if self.clears_emoji or self.emoji is not None:
            event = msgspec.structs.replace(
                event,
                emoji_name=row.emoji_name,
                emoji_code=row.emoji_code,
                reaction_type=row.reaction_type,
            )
        return event


def checked_text(text: str) -> str:
    """Return the normalized text. Raises BadRequestError."""
    text = text.strip()
    if len(text) > MAX_TEXT_LENGTH:
        raise BadRequestError(
            _("status_text is too long (limit: {limit} characters)", limit=MAX_TEXT_LENGTH)
        )
    return text


async def change_own_status(
    tx: Tx, actor: Actor, change: StatusChange, *, away: bool | None = None
) -> None:
    """Change one's own status. `away` is how older clients say whether presence is shared."""
    if away is not None:
        settings = OwnChange(settings={"presence_enabled": not away})
        await change_own_settings(tx, actor, settings)
    await _change(tx, actor, await lock_context(tx, actor), actor.user_id, change)


async def change_status_of(tx: Tx, actor: Actor, user_id: UserId, change: StatusChange) -> None:
    """Change another user's status, as an administrator. Raises BadRequestError."""
    context = await lock_context(tx, actor, [user_id])
    if not context.standing(actor.user_id).person.is_administrator:
        raise BadRequestError(_("Must be an organization administrator"))
    target = context.people.get(user_id)
    if target is None or target.bot_type is not None:
        raise BadRequestError(_("No such user"))
    if not target.is_active:
        raise BadRequestError(_("User is deactivated"))
    await _change(tx, actor, context, user_id, change)


async def _change(
    tx: Tx, actor: Actor, context: LockedRealm, user_id: UserId, change: StatusChange
) -> None:
    [user] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    connection = await tx.connection()
    [old] = await user_status.of_users(connection, tx.realm_id, [user_id])
    new = change.of(old)
    if new == old:
        return
    connection = await tx.changing()
    if new == UserStatusRow(user_id, new.away):
        await user_status.delete(connection, tx.realm_id, user_id)
    else:
        await user_status.put(connection, tx.realm_id, new)
    entry = tx.append(change.event(new), await audience_knowing(tx, context, user))
    if user_id != actor.user_id:
        audit.record(
            tx,
            entry,
            actor.user_id,
            "user_status_changed",
            subject_id=user_id,
            before=msgspec.to_builtins(ShownStatus.of(old)),
            after=msgspec.to_builtins(ShownStatus.of(new)),
        )
