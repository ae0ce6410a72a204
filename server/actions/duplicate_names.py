"""Rename duplicates of older names, and report it to the administrators.

An older release accepted equal names as different (server/domain/names.py), so that messages sent
to one by its name could land in the other. `parley migrate` runs this before the names become
unique.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Final

import msgspec
import structlog

from server.actions import audit
from server.actions.channel_audiences import audiences_allowed_to_see
from server.actions.locked_realm import lock_realm, lock_realm_context
from server.actions.messages.audience import of_messages
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.move import EVERYTHING, Begun, RenameWrite
from server.actions.messages.moving_steps import policy_body
from server.actions.messages.notices import deliver, notification_bot
from server.actions.realm_services import RealmServices
from server.domain.access import ADMINISTRATOR
from server.domain.actor import Actor
from server.domain.channel_folders import MAX_NAME_LENGTH as MAX_FOLDER_LENGTH
from server.domain.channels import MAX_NAME_LENGTH as MAX_CHANNEL_LENGTH
from server.domain.default_channel_groups import MAX_NAME_LENGTH as MAX_CHANNEL_GROUP_LENGTH
from server.domain.groups import MAX_NAME_LENGTH as MAX_GROUP_LENGTH
from server.domain.markdown.writing import literal
from server.domain.messages import MAX_TOPIC_LENGTH
from server.domain.names import fold_name
from server.events.base import EVERYONE, MEMBERS, NO_AUDIENCE, Entry
from server.events.channel_folders import FolderChange, FolderChanged
from server.events.channels import ChannelUpdated
from server.events.default_channel_groups import DefaultChannelGroupsChanged, shown_groups
from server.events.groups import GroupChanged
from server.events.log import Tick
from server.events.message_changes import MessagesChanged, Relocation
from server.realm_cache import RealmCache
from server.transactions import Clocked, Tx
from storage import channel_folders as stored_folders
from storage import (
    channels,
    default_channel_groups,
    groups,
    message_moves,
    name_duplicates,
    realms,
    users,
)
from storage.channels import ChannelRow
from storage.ids import ChannelGroupId, ChannelId, FolderId, GroupId, MessageId, TopicId
from storage.message_moves import Rename
from storage.name_duplicates import DuplicateRow, Kind

logger = structlog.get_logger(__name__)

MAX_LENGTHS: Final[dict[Kind, int]] = {
    "channel": MAX_CHANNEL_LENGTH,
    "topic": MAX_TOPIC_LENGTH,
    "group": MAX_GROUP_LENGTH,
    "folder": MAX_FOLDER_LENGTH,
    "default channel group": MAX_CHANNEL_GROUP_LENGTH,
}
MAX_LISTED: Final = 50
"""Maximum number of names in the message to the administrators; the log has all."""


@dataclass(frozen=True, slots=True)
class Renamed:
    row: DuplicateRow
    new_name: str


async def rename_duplicates(services: RealmServices) -> list[Renamed]:
    """Rename all duplicates of a realm, each in a transaction of its own. Idempotent."""
    async with services.read() as connection:
        rows = await name_duplicates.of_realm(connection, services.realm_id)
    done = []
    for row in rows:
        renamed = Renamed(row, await _free_name(services, row))
        await _rename(services, renamed)
        done.append(renamed)
        logger.warning(
            "duplicate_names.renamed",
            realm_id=services.realm_id,
            kind=row.kind,
            id=row.id,
            old=row.name,
            new=renamed.new_name,
        )
    if done:
        await _report(services, done)
    return done


async def _free_name(services: RealmServices, row: DuplicateRow) -> str:
    """Return the name with the first number that makes it unique, cut to the maximum length."""
    async with services.read() as connection:
        for number in count(2):
            suffix = f" ({number})"
            name = row.name[: MAX_LENGTHS[row.kind] - len(suffix)].rstrip() + suffix
            folded = fold_name(name)
            if not await name_duplicates.is_taken(connection, services.realm_id, row, folded):
                return name
    raise AssertionError("numbers do not end")


async def _rename(services: RealmServices, renamed: Renamed) -> None:
    now = services.clock.now()
    await services.write(lambda tx: _RENAMES[renamed.row.kind](tx, renamed, now))
    if renamed.row.kind == "topic":
        # A write that may be stale writes nothing else.
        await services.write(lambda tx: _record_topic(tx, renamed))


async def _report(services: RealmServices, done: Sequence[Renamed]) -> None:
    """Send the list to every administrator, as direct messages of the notification bot."""
    lines = [
        f"* {each.row.kind} {literal(each.row.name)}: now {literal(each.new_name)}"
        for each in done[:MAX_LISTED]
    ]
    if len(done) > MAX_LISTED:
        lines.append(f"* {len(done) - MAX_LISTED} more, which the server's log lists")
    content = (
        "Some names differed only in ways that no longer count (case, or how accented letters are"
        " stored), so that messages could reach the wrong place. The newer ones have been"
        " renamed:\n\n" + "\n".join(lines)
    )
    async with services.read() as connection:
        people = await users.up_to_role(
            connection, services.realm_id, least_role=ADMINISTRATOR, or_among=()
        )
    for person in people:
        if person.bot_type is None:
            await deliver(
                services,
                OutgoingMessage(type="direct", to=[person.user_id], topic=None, content=content),
            )


def _record(tx: Tx, entry: Entry, action: str, renamed: Renamed) -> None:
    changed = {renamed.row.id: {"name": (renamed.row.name, renamed.new_name)}}
    audit.record_each(tx, entry, None, action, changed)


async def _rename_channel(tx: Tx, renamed: Renamed, now: datetime) -> None:
    del now
    tx.must_be_exact()
    channel_id = ChannelId(renamed.row.id)
    context = await lock_realm_context(tx, [], names_change=True)
    [old] = await tx.lock(channels.locking(tx.realm_id, [channel_id]))
    new = replace(old, name=renamed.new_name)
    connection = await tx.changing()
    await channels.update(connection, tx.realm_id, new)
    audiences = await audiences_allowed_to_see(connection, tx.realm_id, context, [new])
    event = ChannelUpdated(
        stream_id=channel_id,
        name=old.name,
        property="name",
        value=new.name,
        archived=new.is_archived,
    )
    entry = tx.append(event, audiences[channel_id])
    tx.at_position(entry, channels.changed(tx.realm_id, [channel_id]))
    _record(tx, entry, "channel_changed", renamed)


async def _rename_topic(tx: Tx, renamed: Renamed, now: datetime) -> Clocked[Begun] | None:
    """Rename the topic of all its messages, as a move of the notification bot; no notice."""
    tx.must_be_exact()
    topic_id, channel_id = TopicId(renamed.row.id), renamed.row.channel_id
    assert channel_id is not None
    await lock_realm(tx, alone=False)
    [channel] = await tx.lock(channels.locking(tx.realm_id, [channel_id]))
    locked = await tx.lock(message_moves.topics(tx.realm_id, [topic_id]))
    if [(row.name, row.channel_id) for row in locked] != [(renamed.row.name, channel_id)]:
        return None  # it has another name by now
    last = MessageId(2**63 - 1)
    ids = await message_moves.ids_in_topic(
        await tx.connection(),
        tx.realm_id,
        topic_id,
        since=MessageId(0),
        until=last,
        limit=EVERYTHING,
    )
    realm_cache = await tx.realm_cache()
    bot = await notification_bot(realm_cache)
    display_name = (await realm_cache.settings()).empty_topic_display_name
    event = await _topic_renamed(realm_cache, renamed, channel, ids, bot, now)
    all_recipients = await of_messages(tx, channel, topic_id, ids)
    rename = Rename(
        realm_id=tx.realm_id,
        topic_id=topic_id,
        name=renamed.new_name,
        history_entry={
            "user_id": bot.user_id,
            "timestamp": int(now.timestamp()),
            "prev_topic": renamed.row.name,
            "topic": renamed.new_name,
        },
        last_id=ids[-1] if ids else MessageId(0),
        audiences=[each.audience.encode() for each in all_recipients],
        message_ids=[list(each.message_ids) for each in all_recipients],
        body=msgspec.to_builtins(event),
        message_id=event.message_id,
        old_policy_body=policy_body(channel_id, renamed.row.name, now, display_name),
        new_policy_body=policy_body(channel_id, renamed.new_name, now, display_name),
        work_id=None,
        work=None,
        job=None,
        write_id=tx.write_id,
    )
    return tx.clocked(RenameWrite(rename))


async def _topic_renamed(
    realm_cache: RealmCache,
    renamed: Renamed,
    channel: ChannelRow,
    ids: Sequence[MessageId],
    bot: Actor,
    now: datetime,
) -> MessagesChanged:
    """Return the event of the rename; its messages are added with its audiences."""
    links = (await realm_cache.linkifiers()).topic_links(renamed.new_name)
    return MessagesChanged(
        message_id=ids[0] if ids else MessageId(0),
        message_ids=(),
        user_id=bot.user_id,
        edit_timestamp=int(now.timestamp()),
        channel_id=channel.channel_id,
        channel_name=channel.name,
        move=Relocation(
            orig_topic=renamed.row.name,
            topic=renamed.new_name,
            propagate_mode="change_all",
            is_rename=True,
            topic_links=tuple(links),
        ),
        empty_topic_display_name=(await realm_cache.settings()).empty_topic_display_name,
    )


async def _record_topic(tx: Tx, renamed: Renamed) -> None:
    _record(tx, tx.append(Tick(), NO_AUDIENCE), "topic_renamed", renamed)


async def _rename_group(tx: Tx, renamed: Renamed, now: datetime) -> None:
    del now
    await lock_realm(tx, alone=True)
    row = await groups.by_id(await tx.connection(), tx.realm_id, GroupId(renamed.row.id))
    if row is None:
        return
    new = replace(row, name=renamed.new_name)
    await groups.update(await tx.changing(), tx.realm_id, new)
    event = GroupChanged(
        group_id=row.group_id, data={"name": renamed.new_name}, deactivated=row.deactivated
    )
    entry = tx.append(event, EVERYONE)
    tx.at_position(entry, realms.groups_changed(tx.realm_id))
    _record(tx, entry, "group_changed", renamed)


async def _rename_folder(tx: Tx, renamed: Renamed, now: datetime) -> None:
    del now
    await lock_realm(tx, alone=True)
    folder_id = FolderId(renamed.row.id)
    row = await stored_folders.by_id(await tx.connection(), tx.realm_id, folder_id)
    if row is None:
        return
    new = replace(row, name=renamed.new_name)
    await stored_folders.update(await tx.changing(), tx.realm_id, new)
    event = FolderChanged(channel_folder_id=folder_id, data=FolderChange(name=renamed.new_name))
    _record(tx, tx.append(event, EVERYONE), "channel_folder_changed", renamed)


async def _rename_channel_group(tx: Tx, renamed: Renamed, now: datetime) -> None:
    del now
    await lock_realm(tx, alone=True)
    there = await default_channel_groups.of_realm(await tx.connection(), tx.realm_id)
    for row in there:
        if row.group_id == ChannelGroupId(renamed.row.id):
            new = replace(row, name=renamed.new_name)
            await default_channel_groups.put(await tx.changing(), tx.realm_id, new)
    known = await default_channel_groups.of_realm(await tx.changing(), tx.realm_id)
    event = DefaultChannelGroupsChanged(default_stream_groups=shown_groups(known))
    _record(tx, tx.append(event, MEMBERS), "default_channel_group_changed", renamed)


_Renaming = Callable[[Tx, Renamed, datetime], Awaitable[object]]
_RENAMES: Final[dict[Kind, _Renaming]] = {
    "channel": _rename_channel,
    "topic": _rename_topic,
    "group": _rename_group,
    "folder": _rename_folder,
    "default channel group": _rename_channel_group,
}
