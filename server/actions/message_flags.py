"""Personal flags of messages: read, starred, collapsed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from typing_extensions import override

from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.events.base import Clocked, ClockedWrite, LogEntry, Tx, to_users
from server.events.message_flags import MessageFlagsChanged
from storage import message_flags, read_state
from storage.database import Statement
from storage.ids import ChannelId, MessageId

Operation = Literal["add", "remove"]
SETTABLE: Final = ("read", "starred", "collapsed")
MAX_MESSAGES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Changed:
    message_ids: list[MessageId]
    """Those whose flag has changed, sorted."""
    left_out: list[ChannelId]
    """Channels whose messages stay read, because the user is not subscribed to them."""


def check_flag(flag: str, message_ids: Sequence[MessageId]) -> None:
    """Raise BadRequestError for a flag that is not for users to set."""
    if flag not in SETTABLE:
        raise BadRequestError(f"Invalid flag: '{flag}'")
    if len(message_ids) > MAX_MESSAGES:
        raise BadRequestError(f"Too many messages (limit: {MAX_MESSAGES})")


async def change_flag(
    tx: Tx, actor: Actor, message_ids: Sequence[MessageId], operation: Operation, flag: str
) -> Clocked[Changed]:
    """Set or take off a flag on those of the messages that the actor may read."""
    audience = to_users(actor.user_id).encode()
    if flag != "read":
        statement = message_flags.change(
            tx.realm_id,
            actor.user_id,
            message_ids,
            flag="starred" if flag == "starred" else "collapsed",
            operation=operation,
            audience=audience,
            write_id=tx.write_id,
        )
        return tx.clocked(FlagWrite(statement, _ids_only))
    mark = read_state.mark_read if operation == "add" else read_state.mark_unread
    statement = mark(
        tx.realm_id, actor.user_id, message_ids, audience=audience, write_id=tx.write_id
    )
    return tx.clocked(FlagWrite(statement, _ids_only if operation == "add" else _ids_and_left_out))


async def fold_reads(tx: Tx, actor: Actor, folds: Sequence[read_state.Fold]) -> None:
    """Shorten what is kept of the actor's reading; nobody can tell the difference."""
    statement = read_state.fold(tx.realm_id, actor.user_id, folds)
    tx.clocked(FlagWrite(statement, lambda _: Changed([], [])))


def _ids_only(row: Sequence[Any]) -> Changed:
    return Changed(row[0], [])


def _ids_and_left_out(row: Sequence[Any]) -> Changed:
    return Changed(row[0], row[1])


@dataclass(frozen=True, slots=True)
class FlagWrite(ClockedWrite[Changed]):
    """A storage function that changes flags and appends what it has changed."""

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
        changed = [
            message_id
            for entry in entries
            if entry.body is not None
            for message_id in msgspec.json.decode(entry.body, type=MessageFlagsChanged).messages
        ]
        return Changed(changed, [])
