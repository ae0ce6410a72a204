"""Audiences of events about channels: users with metadata access at the event's position."""

from collections.abc import Iterable

import msgspec

from server.actions.locked_realm import LockedRealm
from server.domain.access import ADMINISTRATOR, EVERYONE_GROUP, GUEST, MEMBERS_GROUP, Reach
from server.domain.channels import GRANTS_METADATA, setting_of
from server.events.base import EVERYONE, MEMBERS, Audience
from server.runtime.grouping import grouped
from storage import subscriptions, users
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def audiences_allowed_to_see(
    connection: Connection, realm_id: RealmId, context: LockedRealm, channels: Iterable[ChannelRow]
) -> dict[ChannelId, Audience]:
    """Return, by channel, all users with metadata access: its subscribers, and others."""
    audiences: dict[ChannelId, Audience] = {}
    for_members = []
    for channel in channels:
        if channel.is_web_public:
            audiences[channel.channel_id] = EVERYONE
            continue
        reach = _reach(context, channel)
        if not channel.invite_only or reach.role_groups & {MEMBERS_GROUP, EVERYONE_GROUP}:
            for_members.append(channel.channel_id)
        else:
            audiences[channel.channel_id] = Audience(
                channel_id=channel.channel_id,
                users=await _outside(connection, realm_id, context, channel, reach),
            )
    return audiences | await _members_and_guests(connection, realm_id, for_members)


def excluding(audience: Audience, user_ids: Iterable[UserId]) -> Audience:
    """Return the same audience without these users."""
    return msgspec.structs.replace(audience, without=tuple(user_ids))


def by_channels(
    pairs: Iterable[tuple[UserId, ChannelId]],
) -> list[tuple[list[ChannelId], list[UserId]]]:
    """Return each set of channels with all users who have it: they share their events."""
    alike = grouped((tuple(ids), user_id) for user_id, ids in grouped(pairs).items())
    return [(list(channel_ids), user_ids) for channel_ids, user_ids in alike.items()]


def _reach(context: LockedRealm, channel: ChannelRow) -> Reach:
    return context.graph.reach(setting_of(channel, name, context.graph) for name in GRANTS_METADATA)


async def _members_and_guests(
    connection: Connection, realm_id: RealmId, channel_ids: list[ChannelId]
) -> dict[ChannelId, Audience]:
    """Return members and administrators, with the guests who are subscribed."""
    if not channel_ids:
        return {}
    guests = await subscriptions.with_role(connection, realm_id, channel_ids, role=GUEST)
    return {
        i: Audience(everyone=True, channel_id=i) if i in guests else MEMBERS for i in channel_ids
    }


async def _outside(
    connection: Connection,
    realm_id: RealmId,
    context: LockedRealm,
    channel: ChannelRow,
    reach: Reach,
) -> tuple[UserId, ...]:
    """Return users with metadata access to a private channel who are not subscribed to it."""
    candidates = await users.up_to_role(
        connection,
        realm_id,
        least_role=max(ADMINISTRATOR, reach.least_role),
        or_among=reach.user_ids,
    )
    return tuple(
        row.user_id
        for row in candidates
        if context.standing_of(row).sees(channel, subscribed=False)
    )
