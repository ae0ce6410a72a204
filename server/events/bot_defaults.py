"""Bots' defaults for the wire, with names of channels that the reader may know."""

from collections.abc import Collection, Sequence

from server.domain.channels import Standing
from server.events.bots import NO_DEFAULTS, BotDefaults
from storage import channels, subscriptions
from storage.bots import DefaultsRow
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def visible_to(
    connection: Connection, realm_id: RealmId, standing: Standing, rows: Collection[DefaultsRow]
) -> dict[UserId, BotDefaults]:
    """Return bots' defaults for a user, with only the channels that the user may know."""
    ids = {i for row in rows for i in (row.sending_channel_id, row.events_channel_id) if i}
    if not ids:
        return {row.bot_id: by_name(row, {}) for row in rows}
    user_id = standing.person.user_id
    found = await channels.by_ids(connection, realm_id, sorted(ids))
    there = await subscribed_in(connection, realm_id, [user_id], found)
    known = {
        row.channel_id: row
        for row in found
        if standing.sees(row, subscribed=(user_id, row.channel_id) in there)
    }
    return {row.bot_id: by_name(row, known) for row in rows}


async def subscribed_in(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Collection[UserId],
    rows: Sequence[ChannelRow],
) -> set[tuple[UserId, ChannelId]]:
    """Return which of these users is subscribed to which of the channels."""
    if not rows or not user_ids:
        return set()
    own = await subscriptions.in_channels(
        connection,
        realm_id,
        user_ids=sorted(user_ids),
        channel_ids=[row.channel_id for row in rows],
    )
    return {(row.user_id, row.channel_id) for row in own if row.active}


def by_name(row: DefaultsRow, known: dict[ChannelId, ChannelRow]) -> BotDefaults:
    """Return the defaults with the names of known channels; others are left out."""

    def name(channel_id: ChannelId | None) -> str | None:
        channel = None if channel_id is None else known.get(channel_id)
        return None if channel is None else channel.name

    if row == DefaultsRow(bot_id=row.bot_id):
        return NO_DEFAULTS
    return BotDefaults(
        default_sending_stream=name(row.sending_channel_id),
        default_events_register_stream=name(row.events_channel_id),
        default_all_public_streams=row.all_public_channels,
    )
