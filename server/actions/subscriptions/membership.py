"""Membership in channels: rows, and events in their order."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from msgspec import Raw

from server.actions import audit
from server.actions.access.apply import apply
from server.actions.access.diff import AccessDiff, AccessState
from server.actions.access.metadata import archived, channel_infos
from server.actions.access.shown_subscriptions import append_subscriptions
from server.actions.channel_audiences import audiences_allowed_to_see, by_channels, excluding
from server.actions.locked_realm import LockedRealm
from server.actions.subscriptions.shared_contacts import Acquaintance
from server.domain.channels import COLORS, first_free_color
from server.events.base import Entry, to_users
from server.events.subscriptions import (
    ChannelName,
    PeersAdded,
    PeersRemoved,
    SubscriptionsRemoved,
)
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage import channels, subscription_spans, subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId
from storage.subscriptions import Membership, SubscriptionRow
from storage.users import UserRow

MAX_CHOOSING: Final = 50
"""Above this number of users the channel's own color is used, not one that each has free."""


@dataclass(frozen=True)
class MembershipChange:
    """Users who join, or leave, channels. All rows are locked; none is subscribed already."""

    channels: Mapping[ChannelId, ChannelRow]
    people: Mapping[UserId, UserRow]
    pairs: Sequence[tuple[UserId, ChannelId]]
    past: Mapping[tuple[UserId, ChannelId], SubscriptionRow] = field(default_factory=dict)
    """Former subscriptions of the users, with their settings."""
    chooses_colors: bool = True
    """False if they are part of more than MAX_CHOOSING."""
    is_looked_up: bool = False
    """Whether later statements of the same write look them up as subscribers."""
    by: UserId | None = None
    """The actor for the audit log. None: it follows from something else."""

    def absent(self, context: LockedRealm) -> AccessState:
        """Return the state of access in which the users are not subscribed."""
        return AccessState(replace(context, people=self.people), self.channels, frozenset())

    def present(self, context: LockedRealm) -> AccessState:
        """Return the state of access in which they are."""
        return replace(self.absent(context), subscribed=frozenset(self.pairs))

    def counts(self, sign: int = 1) -> dict[ChannelId, int]:
        """Return by how many users each channel grows; with -1, shrinks."""
        return {channel_id: sign * len(ids) for channel_id, ids in self.by_channel.items()}

    @cached_property
    def by_channel(self) -> Mapping[ChannelId, tuple[UserId, ...]]:
        users = grouped((channel_id, user_id) for user_id, channel_id in self.pairs)
        return {channel_id: tuple(ids) for channel_id, ids in users.items()}


async def join(tx: Tx, context: LockedRealm, change: MembershipChange) -> None:
    """Subscribe them; publish it to them, and to users with metadata access.

    Users who could not know a channel before get the channel first. For users who could not read
    it, its messages count as read, also those that they received elsewhere: their clients had
    removed them. Their stars and topic policies there are published again.
    """
    if not change.pairs:
        return
    connection = await tx.changing()
    acquaintance = await Acquaintance.before(connection, change.absent(context))
    memberships = await _with_colors(connection, tx.realm_id, change)
    # Writing the rows twice is half of the cost for many: once is enough if nothing reads them
    # before they get their spans, neither this write nor others that share its transaction.
    if change.is_looked_up or acquaintance.known or not tx.exact:
        await subscriptions.activate(connection, tx.realm_id, memberships)
    await acquaintance.append_events(tx, connection, context)
    await channels.change_subscriber_counts(connection, tx.realm_id, change.counts())

    after = replace(change.present(context), channels=_grown(change))
    infos = await channel_infos(connection, tx.realm_id, after, list(change.by_channel))
    people = await subscriptions.subscribers_with(connection, tx.realm_id, memberships)
    subscribers = {row.channel_id: Raw(row.user_ids.encode()) for row in people}
    rows = [change.past.get(m.pair) or subscriptions.new_row(m) for m in memberships]

    async def publish(_: AccessDiff) -> Entry:
        for entry, event in append_subscriptions(tx, rows, change.people, infos, subscribers):
            colors = {each.stream_id: each.color for each in event.subscriptions}
            push = [each.push_notifications for each in event.subscriptions]
            begin = subscription_spans.begin(tx.realm_id, event.user_ids, colors, push)
            tx.at_position(entry, begin)
        _keep(tx, entry, change, "subscribers_added")
        return entry

    await apply(tx, connection, change.absent(context), after, publish)
    # They have just received everything about the channel.
    await _append_peers(tx, connection, context, change, PeersAdded, to_themselves=False)


async def leave(tx: Tx, context: LockedRealm, change: MembershipChange) -> None:
    """Unsubscribe them; publish it to them, and to users with metadata access.

    The channel's messages count as read. Stars and topic policies stay stored until they may read
    it again. A channel that a user may no longer know is removed for them.
    """
    if not change.pairs:
        return
    connection = await tx.changing()
    acquaintance = await Acquaintance.before(connection, change.present(context))
    memberships = [Membership(user_id, channel_id) for user_id, channel_id in change.pairs]
    await subscriptions.deactivate(connection, tx.realm_id, memberships)
    await channels.change_subscriber_counts(connection, tx.realm_id, change.counts(-1))

    async def publish(_: AccessDiff) -> Entry:
        entry = _append_leaving(tx, change)
        _keep(tx, entry, change, "subscribers_removed")
        return entry

    await apply(tx, connection, change.present(context), change.absent(context), publish)
    await _append_peers(tx, connection, context, change, PeersRemoved)
    await acquaintance.append_events(tx, connection, context)


async def set_receiving(
    tx: Tx, context: LockedRealm, change: MembershipChange, entry: Entry, *, receives: bool
) -> None:
    """Count reactivated users as subscribers again, or deactivated ones no more.

    Their subscriptions are kept. After the entry they receive what is sent, or nothing.
    """
    if not change.pairs:
        return
    connection = await tx.changing()
    counts = change.counts(1 if receives else -1)
    await channels.change_subscriber_counts(connection, tx.realm_id, counts)
    for ids, user_ids in by_channels(change.pairs):
        spans = subscription_spans.set_receiving(tx.realm_id, user_ids, ids, receives=receives)
        tx.at_position(entry, spans)
    kind = PeersAdded if receives else PeersRemoved
    await _append_peers(tx, connection, context, change, kind)


def _grown(change: MembershipChange) -> dict[ChannelId, ChannelRow]:
    """Return the channels with the users counted."""
    counts = {i: row.subscriber_count for i, row in change.channels.items()}
    counts |= {i: counts[i] + joining for i, joining in change.counts().items()}
    return {i: replace(row, subscriber_count=counts[i]) for i, row in change.channels.items()}


def _keep(tx: Tx, entry: Entry, change: MembershipChange, action: str) -> None:
    """Write the audit log: for each channel, the users who joined or left."""
    people = {channel_id: {"user_ids": ids} for channel_id, ids in change.by_channel.items()}
    audit.record_outcomes(tx, entry, change.by, action, people)


def _append_leaving(tx: Tx, change: MembershipChange) -> Entry:
    """Append an entry for users with the same channels, which ends their spans; return the last."""
    entry: Entry | None = None
    for channel_ids, user_ids in by_channels(change.pairs):
        names = [ChannelName(stream_id=i, name=change.channels[i].name) for i in channel_ids]
        event = SubscriptionsRemoved(
            user_ids=user_ids,
            subscriptions=names,
            archived=archived(change.channels, channel_ids),
        )
        entry = tx.append(event, to_users(*user_ids))
        spans = subscription_spans.set_receiving(tx.realm_id, user_ids, channel_ids, receives=False)
        tx.at_position(entry, spans)
    assert entry is not None, "a user leaves"
    return entry


async def _with_colors(
    connection: Connection, realm_id: RealmId, change: MembershipChange
) -> list[Membership]:
    used: dict[UserId, set[str]] = defaultdict(set)
    if change.chooses_colors:
        used |= await subscriptions.colors(connection, realm_id, list(change.people))
    memberships = []
    for user_id, channel_id in change.pairs:
        color = COLORS[channel_id % len(COLORS)]
        if change.chooses_colors:
            color = first_free_color(channel_id % len(COLORS), used[user_id])
            used[user_id].add(color)
        push = change.channels[channel_id].default_push_notifications or None
        memberships.append(Membership(user_id, channel_id, color, push))
    return memberships


async def _append_peers(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    change: MembershipChange,
    kind: type[PeersAdded | PeersRemoved],
    *,
    to_themselves: bool = True,
) -> None:
    """Append who has joined or left, for users who may see the channels.

    Channels with the same users and audience share an entry.
    """
    changed = [change.channels[channel_id] for channel_id in change.by_channel]
    audiences = await audiences_allowed_to_see(connection, tx.realm_id, context, changed)
    alike = grouped(
        ((audiences[channel_id].encode(), user_ids), channel_id)
        for channel_id, user_ids in change.by_channel.items()
    )
    for (_, user_ids), channel_ids in alike.items():
        audience = audiences[channel_ids[0]]
        event = kind(
            stream_ids=channel_ids,
            user_ids=list(user_ids),
            archived=archived(change.channels, channel_ids),
        )
        tx.append(event, audience if to_themselves else excluding(audience, user_ids))
