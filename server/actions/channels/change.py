"""Changes to a channel: who may know of it or read it, what it is like, whether it is closed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server.actions import audit
from server.actions.bot_defaults import tell_of_name
from server.actions.channel_folders import check_folder
from server.actions.channels.aftermath import (
    Reader,
    put_off_aftermath,
    take_first,
    tell_first,
    with_unread,
)
from server.actions.channels.notices import of_change
from server.actions.channels.sight import (
    ReadingChange,
    SightChange,
    reading_change,
    sight_change,
    tell_of_sight,
)
from server.actions.channels.updates import give_back, updates
from server.actions.default_channel_groups import leave_groups
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.realm_settings import withdraw_channel
from server.actions.subscriptions.audiences import besides, seers
from server.actions.subscriptions.membership import activity_of
from server.actions.subscriptions.restored_access import who_find_something
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
from server.transactions import Tx
from storage import channels, read_state, restored_access, subscriptions, users
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, UserId


async def change_channel(
    tx: Tx,
    actor: Actor,
    channel_id: ChannelId,
    change: ChannelChange,
    *,
    web_public_enabled: bool,
) -> str | None:
    """Change all of it, or nothing; everyone who may know of the channel is told.

    Whoever may no longer know of it loses it; whoever now may gets it. Nobody sends to a channel
    that is archived; clients that do not know archived channels are told that it is gone, or back.
    What is returned, if anything, is AFTERMATH to be finished: a notice in the channel, that what
    was unread there is read for those who do not find it any more, or that those who find it again
    are told.
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
        tx.must_be_exact()  # everybody is looked at, which takes long

    connection = await tx.changing()
    readers: list[Reader] = []
    for before, after in _steps(old, new):
        step = _Step(tx, connection, actor, context, before, after)
        readers += await step.take()
    notices = of_change(context.people[actor.user_id], old, new, context.graph)
    if new.is_archived and not old.is_archived:
        there = await subscriptions.active_user_ids(connection, tx.realm_id, channel_id)
        others = await with_unread(connection, tx.realm_id, channel_id)
        readers = sorted({*readers, *others, *((user_id, channel_id) for user_id in there)})
    return await put_off_aftermath(tx, readers, notices)


async def _administered(
    tx: Tx, actor: Actor, context: LockedRealm, channel_id: ChannelId
) -> tuple[ChannelRow, bool]:
    """The channel, locked, and whether the actor is in it.

    Raises BadRequestError unless the actor sees and administers it.
    """
    unknown = BadRequestError("Invalid channel ID")
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
        raise BadRequestError("You do not have permission to administer this channel.")
    return channel, is_in


async def _permissions(
    connection: Connection, context: LockedRealm, channel: ChannelRow, change: ChannelChange
) -> dict[str, Any]:
    """The permissions that are not what they were, as they are kept."""
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
    """Raise a DomainError if something beside the channel forbids that it is so."""
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
        raise BadRequestError(f"All messages of this channel must be in the {empty} topic.")


def _steps(old: ChannelRow, new: ChannelRow) -> Iterator[tuple[ChannelRow, ChannelRow]]:
    """It is opened before anything else, and closed after it: all of that happens in the open."""
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
    """One way from a channel as it is to a channel as it shall be, and how everybody is told."""

    tx: Tx
    connection: Connection
    actor: Actor
    context: LockedRealm
    old: ChannelRow
    new: ChannelRow

    @property
    def channel_id(self) -> ChannelId:
        return self.new.channel_id

    async def take(self) -> Sequence[Reader]:
        """Take it; for whom it is left to AFTERMATH that they read it no longer, or again."""
        realm_id = self.tx.realm_id
        await channels.update(self.connection, realm_id, self.new)
        sight, reading = await self._sight()
        audiences = await seers(self.connection, realm_id, self.context, [self.new])
        audience = audiences[self.channel_id]
        if sight.gained:
            audience = besides(audience, sight.gained)
        info = await self._info() if self.old.is_archived and not self.new.is_archived else None
        told = updates(self.old, self.new, self.context.graph, info)
        entries = [self.tx.append(event, audience) for event in told]
        if self.new.name != self.old.name:
            await tell_of_name(self.tx, self.connection, self.context, self.new)
        if self.old.is_default != self.new.is_default:
            ids = await channels.default_ids(self.connection, realm_id)
            entries.append(self.tx.append(DefaultChannelsChanged(default_streams=ids), MEMBERS))
        if may_be_in_a_group(self.old) and not may_be_in_a_group(self.new):
            await leave_groups(self.tx, self.actor.user_id, self.channel_id)
        self._record(entries[0])
        shown = await tell_of_sight(
            self.tx, self.connection, self.context, {self.channel_id: self.new}, sight
        )
        left = [
            *await self._take_away(entries[0], sight, reading.losing),
            *await self._show_again(shown or entries[0], reading.gaining),
        ]
        if info is not None:
            await give_back(self.tx, self.connection, info, audience)
        if self.new.is_archived and not self.old.is_archived:
            await withdraw_channel(self.tx, self.actor, self.context, self.channel_id)
        return left

    async def _info(self) -> ChannelInfo:
        graph = self.context.graph
        activity = await activity_of(self.connection, self.tx.realm_id, [self.channel_id])
        return ChannelInfo.of(self.new, activity.get(self.channel_id), graph, now=graph.clock.now())

    def _record(self, entry: Entry) -> None:
        """At the first entry: decisions on the old row are stale, and who made it so is kept."""
        self.tx.at_position(entry, channels.changed(self.tx.realm_id, [self.channel_id]))
        changes = audit.differences(_settings(self.old), _settings(self.new))
        audit.record(
            self.tx,
            entry,
            self.actor.user_id,
            "channel_changed",
            subject_id=self.channel_id,
            before=audit.before(changes),
            after=audit.after(changes),
        )

    async def _sight(self) -> tuple[SightChange, ReadingChange]:
        """Who sees it now and did not, and the reverse; and who reads it."""
        if not sight_may_differ(self.old, self.new):
            return SightChange({}, {}), ReadingChange([], [])
        realm_id = self.tx.realm_id
        everybody = await users.up_to_role(self.connection, realm_id, least_role=GUEST, or_among=())
        people = replace(self.context, people={row.user_id: row for row in everybody})
        there = frozenset(
            await subscriptions.active_user_ids(self.connection, realm_id, self.channel_id)
        )
        change = sight_change(
            people,
            people,
            [self.old],
            {self.channel_id: self.new},
            {(user_id, self.channel_id) for user_id in there},
        )
        return change, reading_change(people, people, self.old, self.new, there)

    async def _show_again(self, entry: Entry, gaining: list[UserId]) -> Sequence[Reader]:
        """Whoever reads it again is told what is unread, starred, followed or muted there.

        Of many only the first ones; the others.
        """
        found = await who_find_something(
            self.connection, self.tx.realm_id, self.channel_id, gaining
        )
        return tell_first(self.tx, entry, found, self.context)

    async def _take_away(
        self, entry: Entry, sight: SightChange, losing: list[UserId]
    ) -> Sequence[Reader]:
        """What somebody may read no longer is read, starred and set no more, as for who leaves.

        Of many only for the first ones; the others.
        """
        realm_id = self.tx.realm_id
        concerned = await who_find_something(self.connection, realm_id, self.channel_id, losing)
        known = sight.still_known(concerned)
        left = take_first(self.tx, entry, concerned, known, self.context)
        old, new = self.old, self.new
        if old.history_public_to_subscribers and not new.history_public_to_subscribers:
            await self._hide_history(entry, losing)
        return left

    async def _hide_history(self, entry: Entry, losing: list[UserId]) -> None:
        """What people were not given there counts as read, and is starred no more.

        Those who lose all of it are told of their stars with the rest.
        """
        realm_id, write_id = self.tx.realm_id, self.tx.write_id
        marking = read_state.mark_hidden_read(realm_id, self.channel_id, write_id=write_id)
        self.tx.at_position(entry, marking)
        gone = set(losing)
        starred = await restored_access.starred_by(self.connection, realm_id, self.channel_id)
        if pairs := [(i, self.channel_id) for i in starred if i not in gone]:
            telling = restored_access.tell_unstarred(realm_id, pairs, write_id=write_id)
            self.tx.at_position(entry, telling)


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
    }
