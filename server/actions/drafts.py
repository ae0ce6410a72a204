"""Drafts, synchronized between a user's clients."""

from collections.abc import Sequence
from dataclasses import replace

from server.actions.locked_realm import LockedRealm, lock_context
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, NotFoundError
from server.domain.messages import clean_content, clean_topic
from server.domain.user_settings import UserSettings
from server.events.base import to_users
from server.events.drafts import DraftRemoved, DraftsAdded, DraftUpdated, ShownDraft
from server.i18n import _
from server.transactions import Tx
from storage import channels, drafts, subscriptions
from storage.drafts import Draft, DraftRow
from storage.ids import ChannelId, DraftId, UserId
from storage.users import UserRow


def check_keeps_drafts(row: UserRow) -> None:
    """Raise BadRequestError for a user who has switched synchronization off."""
    if not UserSettings.of(row.settings).enable_drafts_synchronization:
        raise BadRequestError(_("User has disabled synchronizing drafts."))


async def create_drafts(tx: Tx, actor: Actor, new: Sequence[Draft]) -> list[DraftId]:
    """Create all of these drafts, or none; return their ids, in order. Raises BadRequestError."""
    checked = await _checked(tx, actor, new)
    if not checked:
        return []
    connection = await tx.changing()
    ids = await drafts.insert(connection, tx.realm_id, actor.user_id, checked)
    shown = [
        ShownDraft.of(_row(draft_id, draft)) for draft_id, draft in zip(ids, checked, strict=True)
    ]
    tx.append(DraftsAdded(drafts=shown), to_users(actor.user_id))
    return ids


async def edit_draft(tx: Tx, actor: Actor, draft_id: DraftId, draft: Draft) -> None:
    """Update a draft. Raises NotFoundError, BadRequestError."""
    [checked] = await _checked(tx, actor, [draft])
    await _lock(tx, actor, draft_id)
    connection = await tx.changing()
    await drafts.update(connection, tx.realm_id, actor.user_id, draft_id, checked)
    shown = ShownDraft.of(_row(draft_id, checked))
    tx.append(DraftUpdated(draft=shown), to_users(actor.user_id))


async def delete_draft(tx: Tx, actor: Actor, draft_id: DraftId) -> None:
    """Delete a draft. Raises NotFoundError, BadRequestError."""
    context = await lock_context(tx, actor)
    check_keeps_drafts(context.people[actor.user_id])
    await _lock(tx, actor, draft_id)
    connection = await tx.changing()
    await drafts.delete(connection, tx.realm_id, actor.user_id, draft_id)
    tx.append(DraftRemoved(draft_id=draft_id), to_users(actor.user_id))


async def _lock(tx: Tx, actor: Actor, draft_id: DraftId) -> None:
    if not await tx.lock(drafts.locking(tx.realm_id, actor.user_id, draft_id)):
        raise NotFoundError(_("Draft does not exist"))


def _row(draft_id: DraftId, draft: Draft) -> DraftRow:
    return DraftRow(
        draft_id=draft_id,
        type=draft.type,
        to_ids=draft.to_ids,
        topic=draft.topic,
        content=draft.content,
        edited_at=draft.edited_at,
    )


async def _checked(tx: Tx, actor: Actor, new: Sequence[Draft]) -> list[Draft]:
    """Return the normalized drafts. Raises BadRequestError for what could never be sent."""
    people = {UserId(i) for draft in new if draft.type == "private" for i in draft.to_ids}
    context = await lock_context(tx, actor, people)
    check_keeps_drafts(context.people[actor.user_id])
    unknown = people - context.people.keys()
    if unknown:
        raise BadRequestError(_("Invalid user ID {unknown}", unknown=min(unknown)))
    for draft in new:
        if draft.type == "stream" and len(draft.to_ids) != 1:
            raise BadRequestError(_("Must specify exactly 1 channel ID for channel messages"))
    places = {ChannelId(i) for draft in new if draft.type == "stream" for i in draft.to_ids}
    await _check_channels(tx, actor, context, places)
    display_name = context.settings.empty_topic_display_name
    return [
        replace(
            draft,
            to_ids=draft.to_ids if draft.type else [],
            topic=clean_topic(draft.topic, display_name) if draft.type == "stream" else "",
            content=clean_content(draft.content),
        )
        for draft in new
    ]


async def _check_channels(
    tx: Tx, actor: Actor, context: LockedRealm, places: set[ChannelId]
) -> None:
    connection = await tx.connection()
    rows = await channels.by_ids(connection, tx.realm_id, sorted(places))
    own = await subscriptions.in_channels(
        connection, tx.realm_id, user_ids=[actor.user_id], channel_ids=sorted(places)
    )
    subscribed = {row.channel_id for row in own if row.active}
    standing = context.standing(actor.user_id)
    seen = {
        row.channel_id
        for row in rows
        if standing.sees(row, subscribed=row.channel_id in subscribed)
    }
    if places - seen:
        raise BadRequestError(_("Invalid channel ID"))
