"""Change personal flags of messages: read, starred, collapsed, hide_link_previews."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, cast, get_args

import msgspec
from typing_extensions import override

from server.actions.clocked import Effect
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.events.base import LogEntry, to_users
from server.events.message_flags import MessageFlagsChanged
from server.i18n import _
from server.transactions import Clocked, ClockedWrite, SharedWrite, Tx
from storage import message_flags, read_marks, read_state
from storage.database import Statement
from storage.ids import ChannelId, MessageId, RealmId, UserId

Operation = Literal["add", "remove"]
Flag = Literal["read"] | message_flags.Settable
"""Flags that users can set."""
SETTABLE: Final = frozenset(("read", *get_args(message_flags.Settable)))
MAX_MESSAGES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Changed:
    message_ids: list[MessageId]
    """Messages with a changed flag, sorted."""
    left_out: list[ChannelId]
    """Channels with messages that stay read, because the user is not subscribed to them."""


def checked_flag(flag: str, message_ids: Sequence[MessageId]) -> Flag:
    """Return the flag. Raises BadRequestError for one that users cannot set."""
    if flag not in SETTABLE:
        raise BadRequestError(_("Invalid flag: '{flag}'", flag=flag))
    if len(message_ids) > MAX_MESSAGES:
        raise BadRequestError(_("Too many messages (limit: {limit})", limit=MAX_MESSAGES))
    return cast("Flag", flag)


async def change_flag(
    tx: Tx, actor: Actor, message_ids: Sequence[MessageId], operation: Operation, flag: Flag
) -> Clocked[Changed]:
    """Set or clear a flag on those of the messages that the actor may read."""
    if flag != "read":
        statement = message_flags.change(
            tx.realm_id,
            actor.user_id,
            message_ids,
            flag=flag,
            operation=operation,
            **_log(tx, actor),
        )
        return tx.clocked(FlagWrite(statement, _ids_only))
    if operation == "add":
        audience = tx.traced(to_users(actor.user_id)).encode()
        return tx.clocked(ReadWrite(actor.user_id, frozenset(message_ids), audience))
    settings = await (await tx.realm_cache()).settings()
    statement = read_marks.mark_unread(
        tx.realm_id,
        actor.user_id,
        message_ids,
        empty_topic_name=settings.empty_topic_display_name,
        **_log(tx, actor),
    )
    return tx.clocked(FlagWrite(statement, _ids_and_left_out))


async def mark_all_read(tx: Tx, actor: Actor) -> None:
    """Mark everything as read that the actor has received."""
    statement = read_marks.mark_all_read(tx.realm_id, actor.user_id, **_log(tx, actor))
    tx.clocked(Effect(statement))


async def mark_channel_read(tx: Tx, actor: Actor, channel_id: ChannelId) -> None:
    """Mark all messages of a channel as read."""
    statement = read_marks.mark_channel_read(
        tx.realm_id, actor.user_id, channel_id, **_log(tx, actor)
    )
    tx.clocked(Effect(statement))


async def mark_conversation_read(tx: Tx, actor: Actor, conversation_id: int) -> None:
    """Mark all messages of a topic or a direct-message group as read."""
    statement = read_marks.mark_conversation_read(
        tx.realm_id, actor.user_id, conversation_id, **_log(tx, actor)
    )
    tx.clocked(Effect(statement))


async def fold_reads(tx: Tx, actor: Actor, folds: Sequence[read_state.Fold]) -> None:
    """Compact the actor's read state, without visible changes."""
    statement = read_state.fold(tx.realm_id, actor.user_id, folds)
    tx.clocked(Effect(statement))


def _log(tx: Tx, actor: Actor) -> dict[str, Any]:
    """Return the parameters of entries that are delivered to the actor only."""
    return {"audience": tx.traced(to_users(actor.user_id)).encode(), "write_id": tx.write_id}


def _ids_only(row: Sequence[Any]) -> Changed:
    return Changed(row[0], [])


def _ids_and_left_out(row: Sequence[Any]) -> Changed:
    return Changed(row[0], row[1])


@dataclass(frozen=True, slots=True)
class FlagWrite(ClockedWrite[Changed]):
    """A storage function that changes flags and appends the events."""

    change: Statement
    read: Callable[[Sequence[Any]], Changed]

    @property
    @override
    def statement(self) -> Statement:
        return self.change

    @override
    def result(self, rows: Sequence[tuple[Any, ...]]) -> Changed:
        return self.read(rows[0])

    @override
    def recovered(self, entries: Sequence[LogEntry]) -> Changed:
        return Changed(_changed_ids(entries), [])


@dataclass(frozen=True, slots=True)
class ReadWrite(SharedWrite[Changed]):
    """Marks messages as read. The readers of a batch share a statement, and have an entry each."""

    user_id: UserId
    message_ids: frozenset[MessageId]
    audience: bytes

    @classmethod
    @override
    def together(cls, writes: Sequence[Self], realm_id: RealmId, write_id: str) -> Statement:
        readers: dict[UserId, read_marks.ReadMarker] = {}
        for write in writes:
            known = readers.get(write.user_id)
            ids = write.message_ids if known is None else write.message_ids.union(known.message_ids)
            readers[write.user_id] = read_marks.ReadMarker(write.user_id, ids, write.audience)
        return read_marks.mark_reads(realm_id, readers.values(), write_id=write_id)

    @classmethod
    @override
    def results(cls, writes: Sequence[Self], rows: Sequence[tuple[Any, ...]]) -> list[Changed]:
        changed: dict[UserId, set[MessageId]] = {}
        for user_id, message_id in rows:
            changed.setdefault(user_id, set()).add(message_id)
        results = []
        for write in writes:
            left = changed.get(write.user_id, set())
            mine = left & write.message_ids
            left -= mine
            results.append(Changed(sorted(mine), []))
        return results

    @classmethod
    @override
    def recovered(cls, writes: Sequence[Self], entries: Sequence[LogEntry]) -> list[Changed]:
        readers = {write.audience: write.user_id for write in writes}
        rows = [
            (readers[entry.audience], message_id)
            for entry in entries
            for message_id in _changed_ids([entry])
        ]
        return cls.results(writes, rows)


def _changed_ids(entries: Sequence[LogEntry]) -> list[MessageId]:
    """Return the messages in these entries of changed flags."""
    return [
        message_id
        for entry in entries
        if entry.body is not None
        for message_id in msgspec.json.decode(entry.body, type=MessageFlagsChanged).messages
    ]
