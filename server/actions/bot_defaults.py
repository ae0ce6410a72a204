"""Default channels of bots, and their visibility."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import UNSET

from server.actions.locked_realm import LockedRealm
from server.actions.user_audiences import UserAudiences
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.events.base import Audience, to_users
from server.events.bot_defaults import by_name, subscribed_in
from server.events.bots import BotChange, BotChanged, BotDefaults
from server.i18n import _
from server.transactions import Tx
from storage import bots, channels, users
from storage.bots import DefaultsRow
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId
from storage.users import UserRow

Pair = tuple[UserId, ChannelId]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedDefaults:
    """Requested defaults of a bot; None leaves a field as it is."""

    sending: str | None = None
    """The channel's name; the empty string removes the default."""
    events: str | None = None
    all_public_channels: bool | None = None

    @property
    def names(self) -> list[str]:
        return [name for name in (self.sending, self.events) if name]


UNCHANGED: Final = WantedDefaults()


@dataclass(frozen=True, slots=True)
class DefaultsChange:
    """Decided defaults of a bot, with the channels locked."""

    old: DefaultsRow
    new: DefaultsRow
    shown: BotDefaults
    """The new defaults by name."""

    async def write(
        self, tx: Tx, connection: Connection, user_audiences: UserAudiences, bot: UserRow
    ) -> None:
        """Write them, and notify the users who manage the bot."""
        if self.new == self.old:
            return
        await bots.set_defaults(connection, tx.realm_id, replace(self.new, bot_id=bot.user_id))
        change = BotChange(
            user_id=bot.user_id,
            default_sending_stream=self.shown.default_sending_stream,
            default_events_register_stream=self.shown.default_events_register_stream,
            default_all_public_streams=self.shown.default_all_public_streams,
        )
        tx.append(BotChanged(bot=change), user_audiences.of_bot(bot))


async def decide(
    tx: Tx,
    context: LockedRealm,
    old: DefaultsRow,
    wanted: WantedDefaults,
    *,
    actor_id: UserId,
    owner_id: UserId | None,
) -> DefaultsChange:
    """Decide upon the defaults of a bot with this owner from now on.

    Both the actor and the owner must be able to read the channels, which must not be archived;
    previous defaults that a new owner cannot read are removed. Raises BadRequestError.
    """
    connection = await tx.connection()
    named = await channels.named(connection, tx.realm_id, wanted.names) if wanted.names else []
    ids = {each.name: each.channel_id for each in named}
    kept = (old.sending_channel_id, old.events_channel_id)
    needed = sorted({i for i in (*kept, *ids.values()) if i is not None})
    rows = await tx.lock(channels.locking(tx.realm_id, needed).shared()) if needed else []
    found = {row.channel_id: row for row in rows}
    owner_ids = [] if owner_id is None else [owner_id]
    people = await users.by_ids(connection, tx.realm_id, sorted({actor_id, *owner_ids}))
    by_id = {row.user_id: context.standing_of(row) for row in people}
    of_owner = await _readable(connection, tx.realm_id, [by_id[i] for i in owner_ids], rows)
    readable = of_owner & await _readable(connection, tx.realm_id, [by_id[actor_id]], rows)

    def chosen(name: str | None, before: ChannelId | None) -> ChannelId | None:
        if name is None:
            return before if before in of_owner else None
        if name == "":
            return None
        channel_id = ids[name]
        if channel_id not in readable or found[channel_id].is_archived:
            raise BadRequestError(_("Invalid channel name '{name}'", name=name))
        return channel_id

    everywhere = wanted.all_public_channels
    new = replace(
        old,
        sending_channel_id=chosen(wanted.sending, old.sending_channel_id),
        events_channel_id=chosen(wanted.events, old.events_channel_id),
        all_public_channels=old.all_public_channels if everywhere is None else everywhere,
    )
    return DefaultsChange(old, new, by_name(new, found))


async def append_channel_name_events(
    tx: Tx, connection: Connection, context: LockedRealm, channel: ChannelRow
) -> None:
    """Notify users who manage bots with this default channel of the channel's new name."""
    rows = await bots.with_default_channels(connection, tx.realm_id, [channel.channel_id])
    for bot, defaults, managers in await _managed(tx, context, rows):
        audience = await _who_see(connection, tx.realm_id, context, managers, channel)
        tx.append(_channel_event(bot, defaults, channel.channel_id, channel.name), audience)


async def append_access_events(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    channel_rows: Mapping[ChannelId, ChannelRow],
    *,
    gained: Collection[Pair],
    lost: Collection[Pair],
) -> None:
    """Notify users who gain or lose access to the metadata of default channels of their bots.

    The name of a channel is only shown to users who may know of the channel.
    """
    found, gone = set(gained), set(lost)
    changed = {channel_id for _, channel_id in found | gone}
    if not changed:
        return
    rows = await bots.with_default_channels(connection, tx.realm_id, changed)
    for bot, defaults, managers in await _managed(tx, context, rows):
        own = (defaults.sending_channel_id, defaults.events_channel_id)
        for channel_id in sorted(changed.intersection(own)):
            for pairs, name in ((found, channel_rows[channel_id].name), (gone, None)):
                audience = [u for u in managers.users if (u, channel_id) in pairs]
                if audience:
                    event = _channel_event(bot, defaults, channel_id, name)
                    tx.append(event, to_users(*audience))


async def _managed(
    tx: Tx, context: LockedRealm, rows: Sequence[DefaultsRow]
) -> list[tuple[UserRow, DefaultsRow, Audience]]:
    """Return each bot with its defaults, and the users who manage it."""
    if not rows:
        return []
    connection = await tx.connection()
    found = await users.by_ids(connection, tx.realm_id, [row.bot_id for row in rows])
    user_audiences = await UserAudiences.of(tx, context, found)
    defaults = {row.bot_id: row for row in rows}
    return [(bot, defaults[bot.user_id], user_audiences.of_bot(bot)) for bot in found]


def _channel_event(
    bot: UserRow, defaults: DefaultsRow, channel_id: ChannelId, name: str | None
) -> BotChanged:
    """Return the change of the defaults that are this channel: its name is shown as given."""
    return BotChanged(
        bot=BotChange(
            user_id=bot.user_id,
            default_sending_stream=name if defaults.sending_channel_id == channel_id else UNSET,
            default_events_register_stream=(
                name if defaults.events_channel_id == channel_id else UNSET
            ),
        )
    )


async def _who_see(
    connection: Connection,
    realm_id: RealmId,
    context: LockedRealm,
    audience: Audience,
    channel: ChannelRow,
) -> Audience:
    people = await users.by_ids(connection, realm_id, sorted(audience.users))
    there = await subscribed_in(connection, realm_id, [p.user_id for p in people], [channel])
    return Audience(
        users=tuple(
            row.user_id
            for row in people
            if context.standing_of(row).sees(
                channel, subscribed=(row.user_id, channel.channel_id) in there
            )
        )
    )


async def _readable(
    connection: Connection,
    realm_id: RealmId,
    readers: Sequence[Standing],
    rows: Sequence[ChannelRow],
) -> set[ChannelId]:
    """Return the channels that all of these users may read."""
    ids = [reader.person.user_id for reader in readers]
    there = await subscribed_in(connection, realm_id, ids, rows)
    return {
        row.channel_id
        for row in rows
        if all(
            reader.reads(row, subscribed=(reader.person.user_id, row.channel_id) in there)
            for reader in readers
        )
    }
