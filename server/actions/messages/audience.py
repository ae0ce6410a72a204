"""Audiences of events about messages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from server.actions.channel_audiences import audiences_allowed_to_see
from server.actions.locked_realm import LockedRealm
from server.events.base import Audience
from server.events.channels import RECENTLY
from server.transactions import Tx
from storage import channels, message_edits, message_places
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.database import Statement
from storage.ids import ChannelId, MessageId, Position, UserId
from storage.message_edits import ChangingRow, LockedRow, ReaderRow
from storage.message_places import MessagePlace


async def of_message(tx: Tx, place: MessagePlace, actor_id: UserId) -> Audience:
    """Return readers who follow the conversation or have the message in their history.

    In a channel with protected history: those who were given the message. The actor is about to
    have it in their history, if they have not.
    """
    connection = await tx.connection()
    if place.channel_id is None:
        people = await message_places.dm_user_ids(connection, tx.realm_id, place.conversation_id)
        return Audience(users=tuple(people))
    channel = await (await tx.realm_cache()).channel(place.channel_id)
    assert channel is not None, "a message is in a channel that exists"
    outsiders = await message_edits.readers(
        connection,
        tx.realm_id,
        place.channel_id,
        [place.id],
        outsiders_only=True,
        also=[actor_id],
    )
    users = tuple(sorted(await _what_they_read(tx, outsiders, [place.id])))
    if channel.history_public_to_subscribers:
        return Audience(channel_id=place.channel_id, users=users)
    return Audience(
        channel_id=place.channel_id,
        users=users,
        received_in=place.origin_channel_id,
        received_at=Position(place.id),
        entered_at=place.entered_at,
    )


@dataclass(frozen=True, slots=True)
class MessageRecipients:
    """An audience with those of several messages that it may read."""

    audience: Audience
    message_ids: Sequence[MessageId]


def readers_of(recipients: Iterable[MessageRecipients]) -> list[UserId]:
    """Return the users of all these audiences."""
    return sorted({user_id for each in recipients for user_id in each.audience.users})


def protects_history(channel: ChannelRow) -> bool:
    """Return whether readers may read only what they were given (received, or moved in later)."""
    return (
        channel.invite_only
        and not channel.is_web_public
        and not channel.history_public_to_subscribers
    )


@dataclass(frozen=True, slots=True)
class LockedConversation:
    """Locked messages of one conversation; the channel of a topic is locked too."""

    channel: ChannelRow | None
    topic: TopicRow | None
    rows: Sequence[ChangingRow | LockedRow]


async def of_messages(
    tx: Tx,
    channel: ChannelRow | None,
    conversation_id: int,
    message_ids: Sequence[MessageId],
    *,
    also: Sequence[UserId] = (),
) -> list[MessageRecipients]:
    """Return the recipients of messages of one conversation, with those that they may read now.

    `also`: users who get them without being concerned by them, as far as they may read them. The
    channel is locked: subscribers do not change until the commit. Never empty.
    """
    if channel is not None:
        return await of_channel(tx, channel, message_ids, also=also)
    connection = await tx.connection()
    people = await message_places.dm_user_ids(connection, tx.realm_id, conversation_id)
    return [MessageRecipients(Audience(users=tuple(people)), message_ids)]


async def of_conversations(
    tx: Tx, found: Sequence[LockedConversation], *, also: Sequence[UserId] = ()
) -> list[tuple[LockedConversation, MessageRecipients]]:
    """Return the same for messages of several conversations, for each of them. Never empty."""
    by_id = {each.rows[0].conversation_id: each for each in found}
    direct = [key for key, each in by_id.items() if each.channel is None]
    members = (
        await message_places.members_of_dm_groups(await tx.connection(), tx.realm_id, direct)
        if direct
        else {}
    )
    recipients = [
        MessageRecipients(Audience(users=tuple(members[key])), [row.id for row in by_id[key].rows])
        for key in direct
    ]
    in_channels: dict[ChannelId, list[LockedConversation]] = {}
    for each in found:
        if each.channel is not None:
            in_channels.setdefault(each.channel.channel_id, []).append(each)
    for some in in_channels.values():
        assert some[0].channel is not None
        ids = sorted(row.id for each in some for row in each.rows)
        recipients += await of_channel(tx, some[0].channel, ids, also=also)
    places = {row.id: key for key, each in by_id.items() for row in each.rows}
    return [
        (by_id[key], part) for each in recipients for key, part in by_place(each, places).items()
    ] or [(found[0], MessageRecipients(Audience(), []))]


def by_place(
    recipients: MessageRecipients, places: Mapping[MessageId, int]
) -> dict[int, MessageRecipients]:
    """Return the recipients of messages of several places, with those of each place."""
    ids: dict[int, list[MessageId]] = {}
    for message_id in recipients.message_ids:
        ids.setdefault(places[message_id], []).append(message_id)
    return {place: MessageRecipients(recipients.audience, some) for place, some in ids.items()}


async def of_channel(
    tx: Tx,
    channel: ChannelRow,
    message_ids: Sequence[MessageId],
    *,
    also: Sequence[UserId] = (),
) -> list[MessageRecipients]:
    """Return the recipients of messages of one locked channel. Never empty."""
    if protects_history(channel):
        return _grouped(await read_by(tx, channel, message_ids, also=also)) or [
            MessageRecipients(Audience(), [])
        ]
    outsiders = await message_edits.readers(
        await tx.connection(),
        tx.realm_id,
        channel.channel_id,
        message_ids,
        outsiders_only=True,
        also=also,
    )
    audience = Audience(
        channel_id=channel.channel_id,
        public=not channel.invite_only,
        users=tuple(each.user_id for each in outsiders),
    )
    return [MessageRecipients(audience, message_ids)]


async def activity_statements(
    tx: Tx, context: LockedRealm, rows: Iterable[ChannelRow], now: datetime
) -> list[Statement]:
    """Return statements that publish the channels' activity after messages leave or join them."""
    by_id = {row.channel_id: row for row in rows}
    connection = await tx.connection()
    audiences = await audiences_allowed_to_see(connection, tx.realm_id, context, by_id.values())
    return [
        channels.append_activity_event(
            tx.realm_id,
            before,
            now=now,
            recently=RECENTLY,
            audience=audiences[before.channel_id].encode(),
            write_id=tx.write_id,
        )
        for before in await channels.activity(connection, tx.realm_id, sorted(by_id))
    ]


ReadBy = dict[UserId, tuple[MessageId, ...]]


async def read_by(
    tx: Tx, channel: ChannelRow, message_ids: Sequence[MessageId], *, also: Sequence[UserId] = ()
) -> ReadBy:
    """Return which of the channel's messages each concerned user may read, and those of `also`."""
    rows = await message_edits.readers(
        await tx.connection(),
        tx.realm_id,
        channel.channel_id,
        message_ids,
        outsiders_only=False,
        also=also,
    )
    return await _what_they_read(tx, rows, message_ids)


async def _to_be_read_by(
    tx: Tx, channel: ChannelRow, message_ids: Sequence[MessageId], also: Iterable[UserId]
) -> ReadBy:
    """Return the same for messages about to enter the channel: its subscribers are given them."""
    rows = await message_edits.readers(
        await tx.connection(),
        tx.realm_id,
        channel.channel_id,
        message_ids,
        outsiders_only=False,
        also=sorted(also),
    )
    return await _what_they_read(tx, rows, message_ids, are_coming=True)


async def _what_they_read(
    tx: Tx,
    rows: Sequence[ReaderRow],
    message_ids: Sequence[MessageId],
    *,
    are_coming: bool = False,
) -> ReadBy:
    everything = tuple(message_ids)
    all_of_them = {
        row.user_id: everything
        for row in rows
        if row.reads_all or (are_coming and row.is_subscribed)
    }
    partly = [row.user_id for row in rows if row.user_id not in all_of_them]
    if not partly:
        return all_of_them
    given = await message_edits.given(
        await tx.connection(), tx.realm_id, partly, message_ids, only_received=are_coming
    )
    return all_of_them | {row.user_id: tuple(row.message_ids) for row in given}


def _grouped(read: ReadBy) -> list[MessageRecipients]:
    by_messages: dict[tuple[MessageId, ...], list[UserId]] = {}
    # Nearly all users read the very same messages: these are not compared one by one.
    users_of: dict[int, list[UserId]] = {}
    for user_id, message_ids in read.items():
        users = users_of.get(id(message_ids))
        if users is None:
            users = users_of[id(message_ids)] = by_messages.setdefault(message_ids, [])
        users.append(user_id)
    return [
        MessageRecipients(Audience(users=tuple(sorted(users))), message_ids)
        for message_ids, users in by_messages.items()
        if message_ids
    ]


def _less(ids: tuple[MessageId, ...], other: tuple[MessageId, ...]) -> tuple[MessageId, ...]:
    """Return those of the first that are not among the others."""
    return () if ids is other else tuple(sorted({*ids}.difference(other)))


@dataclass(frozen=True, slots=True)
class Crossing:
    """The effect of a move to another channel on each user concerned."""

    gained: list[MessageRecipients]
    """Who may read them there: those who knew them, and the subscribers of that channel."""
    lost: list[MessageRecipients]
    """Who knew them and may not read them there."""
    regained: list[UserId]
    """Who could not read them in the old channel, and may have received them earlier."""


async def of_crossing(
    tx: Tx, old: ChannelRow, new: ChannelRow, message_ids: Sequence[MessageId]
) -> Crossing:
    """Compute it before the messages are moved from one locked channel to another."""
    message_ids = tuple(message_ids)
    before = await read_by(tx, old, message_ids)
    after = await _to_be_read_by(tx, new, message_ids, also=before)
    gained = _grouped(after)
    lost = _grouped({user: _less(ids, after.get(user, ())) for user, ids in before.items()})
    known = tuple(sorted({*before, *after}))
    if not new.invite_only:
        audience = Audience(channel_id=new.channel_id, public=True, without=known)
        gained.append(MessageRecipients(audience, message_ids))
    elif not old.invite_only:
        # For a queue that listens to all public channels they are gone.
        audience = Audience(channel_id=old.channel_id, public=True, without=known)
        lost.append(MessageRecipients(audience, message_ids))
    gaining = [user for user, ids in after.items() if _less(ids, before.get(user, ()))]
    regained = await message_edits.may_remember(
        await tx.connection(), tx.realm_id, gaining, message_ids
    )
    return Crossing(gained, lost, regained)
