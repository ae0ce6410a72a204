"""Change a channel: privacy, permissions, properties and archiving."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from server.actions import audit
from server.actions.access.apply import apply
from server.actions.access.deferred import defer, pairs_with_unread
from server.actions.access.diff import AccessDiff, AccessState, Pair
from server.actions.access.metadata import channel_infos
from server.actions.bot_defaults import append_channel_name_events
from server.actions.channel_audiences import audiences_allowed_to_see, excluding
from server.actions.channel_folders import check_folder
from server.actions.channels.notices import of_change
from server.actions.channels.updates import give_back, updates
from server.actions.default_channel_groups import leave_groups
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.realm_settings import withdraw_channel
from server.domain.access import GUEST
from server.domain.actor import Actor
from server.domain.channel_changes import (
    ChannelChange,
    changed_channel,
    check_change,
    sight_may_differ,
)
from server.domain.channels import setting_of
from server.domain.default_channel_groups import may_be_in_a_group
from server.domain.errors import BadRequestError, ChannelAlreadyExistsError
from server.domain.group_settings import changed_settings, named_in
from server.domain.permission_settings import CHANNEL_PERMISSIONS
from server.events.base import MEMBERS, Entry
from server.events.channels import ChannelInfo, DefaultChannelsChanged
from server.i18n import _
from server.transactions import Tx
from storage import channels, subscriptions, users
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId


async def change_channel(
    tx: Tx,
    actor: Actor,
    channel_id: ChannelId,
    change: ChannelChange,
    *,
    web_public_enabled: bool,
) -> str | None:
    """Change all of it, or nothing; publish it to all users with metadata access.

    Users who lose or gain access are sent the channel's removal or the channel. An archived
    channel takes no messages; clients that do not know archived channels are sent its removal.
    Returns the id of an ACCESS_CHANGE to be finished, or None.

    Raises BadRequestError, ExpectationMismatchError, and ChannelAlreadyExistsError for a name
    that another channel has.
    """
    context = await lock_context(tx, actor, names_change=change.reaches_beyond_the_channel)
    old, subscribed = await _administered(tx, actor, context, channel_id)
    new = changed_channel(old, change)
    connection = await tx.connection()
    permissions = await _permissions(connection, context, old, change)
    new = replace(new, permissions=old.permissions | permissions)
    check_change(
        context.standing(actor.user_id),
        old,
        new,
        subscribed=subscribed,
        web_public_enabled=web_public_enabled,
    )
    await _check_surroundings(connection, context, old, new)
    if new == old:
        return None
    if sight_may_differ(old, new):
        tx.must_be_exact()  # every user is looked at, which takes long

    connection = await tx.changing()
    pairs: list[Pair] = []
    for before, after in _steps(old, new):
        step = _Step(tx, connection, actor, context, before, after)
        pairs += await step.take()
    person, language = context.people[actor.user_id], context.settings.language
    notices = []
    if context.settings.send_channel_events_messages:
        notices = of_change(person, old, new, context.graph, language)
    if new.is_archived and not old.is_archived:
        there = await subscriptions.active_user_ids(connection, tx.realm_id, channel_id)
        others = await pairs_with_unread(connection, tx.realm_id, channel_id)
        pairs = sorted({*pairs, *others, *((user_id, channel_id) for user_id in there)})
    return await defer(tx, pairs, notices)


async def _administered(
    tx: Tx, actor: Actor, context: LockedRealm, channel_id: ChannelId
) -> tuple[ChannelRow, bool]:
    """Lock and return the channel, and whether the actor is subscribed to it.

    Raises BadRequestError unless the actor sees and administers it.
    """
    unknown = BadRequestError(_("Invalid channel ID"))
    connection = await tx.connection()
    if not await channels.by_ids(connection, tx.realm_id, [channel_id]):
        raise unknown
    [channel] = await tx.lock(channels.locking(tx.realm_id, [channel_id]))
    own = await subscriptions.of_user_in(connection, tx.realm_id, actor.user_id, channel_id)
    standing = context.standing(actor.user_id)
    is_in = own is not None and own.active
    if not standing.sees(channel, subscribed=is_in):
        raise unknown
    if not standing.administers(channel):
        raise BadRequestError(_("You do not have permission to administer this channel."))
    return channel, is_in


async def _permissions(
    connection: Connection, context: LockedRealm, channel: ChannelRow, change: ChannelChange
) -> dict[str, Any]:
    """Return the permissions that change, in stored form."""
    changes, graph = change.permissions, context.graph
    active = await users.active_among(connection, context.realm.realm_id, named_in(changes))
    return changed_settings(
        changes,
        CHANNEL_PERMISSIONS,
        lambda name: setting_of(channel, name, graph),
        graph,
        active,
    )


async def _check_surroundings(
    connection: Connection, context: LockedRealm, old: ChannelRow, new: ChannelRow
) -> None:
    """Raise a DomainError if the channel's surroundings forbid the change."""
    realm_id, channel_id = context.realm.realm_id, old.channel_id
    if new.name != old.name:
        [found] = await channels.named(connection, realm_id, [new.name])
        if found.channel_id not in (None, channel_id):
            raise ChannelAlreadyExistsError(new.name)
    if new.folder_id != old.folder_id:
        await check_folder(connection, realm_id, new.folder_id)
    is_to_be_empty = new.topics_policy == "empty_topic_only" != old.topics_policy
    if is_to_be_empty and await channels.has_named_topics(connection, realm_id, channel_id):
        empty = context.settings.empty_topic_display_name
        raise BadRequestError(
            _("All messages of this channel must be in the {empty} topic.", empty=empty)
        )


def _steps(old: ChannelRow, new: ChannelRow) -> Iterator[tuple[ChannelRow, ChannelRow]]:
    """Yield the steps: the channel is opened before all other changes, and closed after them."""
    if new.is_archived == old.is_archived:
        yield old, new
        return
    is_opened = old.is_archived
    between = (
        replace(old, is_archived=False)
        if is_opened
        else replace(new, is_archived=False, is_default=old.is_default)
    )
    for before, after in ((old, between), (between, new)):
        if before != after:
            yield before, after


@dataclass(frozen=True, slots=True)
class _Step:
    """A step from one state of a channel to the next, with its events."""

    tx: Tx
    connection: Connection
    actor: Actor
    context: LockedRealm
    old: ChannelRow
    new: ChannelRow

    @property
    def channel_id(self) -> ChannelId:
        return self.new.channel_id

    async def take(self) -> list[Pair]:
        """Take the step; return what is left to ACCESS_CHANGE."""
        await channels.update(self.connection, self.tx.realm_id, self.new)
        before, after = await self._states()

        async def publish(diff: AccessDiff) -> Entry:
            return await self._publish(after, diff)

        left = await apply(self.tx, self.connection, before, after, publish)
        if self.new.is_archived and not self.old.is_archived:
            await withdraw_channel(self.tx, self.actor, self.context, self.channel_id)
        return left

    async def _publish(self, after: AccessState, diff: AccessDiff) -> Entry:
        """Append the events of the step; return the first entry."""
        realm_id = self.tx.realm_id
        audiences = await audiences_allowed_to_see(
            self.connection, realm_id, self.context, [self.new]
        )
        audience = audiences[self.channel_id]
        if diff.metadata_gained:
            audience = excluding(audience, [user_id for user_id, _ in diff.metadata_gained])
        is_opened = self.old.is_archived and not self.new.is_archived
        info = await self._info(after) if is_opened else None
        events = updates(self.old, self.new, self.context.graph, info)
        entries = [self.tx.append(event, audience) for event in events]
        if self.new.name != self.old.name:
            await append_channel_name_events(self.tx, self.connection, self.context, self.new)
        if self.old.is_default != self.new.is_default:
            ids = await channels.default_ids(self.connection, realm_id)
            entries.append(self.tx.append(DefaultChannelsChanged(default_streams=ids), MEMBERS))
        if may_be_in_a_group(self.old) and not may_be_in_a_group(self.new):
            await leave_groups(self.tx, self.actor.user_id, self.channel_id)
        self._record(entries[0])
        if info is not None:
            await give_back(self.tx, self.connection, info, audience)
        return entries[0]

    async def _info(self, state: AccessState) -> ChannelInfo:
        infos = await channel_infos(self.connection, self.tx.realm_id, state, [self.channel_id])
        return infos[self.channel_id]

    async def _states(self) -> tuple[AccessState, AccessState]:
        """Return the states before and after, with all users if any of them is concerned."""
        after = AccessState(self.context, {self.channel_id: self.new}, ())
        if sight_may_differ(self.old, self.new):
            realm_id = self.tx.realm_id
            rows = await users.up_to_role(self.connection, realm_id, least_role=GUEST, or_among=())
            there = await subscriptions.active_user_ids(self.connection, realm_id, self.channel_id)
            after = replace(
                after,
                context=replace(self.context, people={row.user_id: row for row in rows}),
                subscribed={(user_id, self.channel_id) for user_id in there},
            )
        return replace(after, channels={self.channel_id: self.old}), after

    def _record(self, entry: Entry) -> None:
        """Invalidate decisions on the old row at the first entry, and write the audit log."""
        self.tx.at_position(entry, channels.changed(self.tx.realm_id, [self.channel_id]))
        changed = {self.channel_id: audit.differences(_settings(self.old), _settings(self.new))}
        audit.record_each(self.tx, entry, self.actor.user_id, "channel_changed", changed)


def _settings(channel: ChannelRow) -> Mapping[str, Any]:
    return {
        **channel.permissions,
        "name": channel.name,
        "description": channel.description,
        "invite_only": channel.invite_only,
        "is_web_public": channel.is_web_public,
        "history_public_to_subscribers": channel.history_public_to_subscribers,
        "is_archived": channel.is_archived,
        "is_default": channel.is_default,
        "topics_policy": channel.topics_policy,
        "folder_id": channel.folder_id,
        "message_retention_days": channel.message_retention_days,
        "default_push_notifications": channel.default_push_notifications,
    }
