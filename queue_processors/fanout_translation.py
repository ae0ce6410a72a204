"""Translate event log entries into message_fanout jobs, each for a batch of messages.

The log of a busy realm is read in large pieces, so a thousand sends become a few jobs.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from server.events.base import decode_audience, traceparent_in
from server.events.message_changes import MessagesGone
from server.events.message_flags import MessageFlagsChanged
from server.events.messages import MessageSent
from server.jobs import MessageFanout, outgoing
from server.messaging.job_broker import OutgoingJob
from server.telemetry import traces
from storage.ids import MessageId, RealmId, UserId
from storage.shipping import ShippableRow

KINDS: Final = (MessageSent.kind, MessageFlagsChanged.kind, MessagesGone.kind)
WITHOUT_BODY: Final = (MessageSent.kind,)
MAX_MESSAGES_PER_JOB: Final = 200
MAX_READS_PER_JOB: Final = 1_000
DIGEST_LENGTH: Final = 16
MAX_NAMED_READS: Final = 100
"""The maximum number of read messages that a job names; beyond it, all of a user's are checked."""

Item = TypeVar("Item")


class _Flags(msgspec.Struct):
    """The fields of MessageFlagsChanged that the fan-out needs."""

    op: str
    flag: str
    messages: tuple[MessageId, ...]
    all: bool


class _Gone(msgspec.Struct):
    """The fields of MessagesGone that the fan-out needs."""

    message_ids: tuple[MessageId, ...]


_flags = msgspec.json.Decoder(_Flags)
_gone = msgspec.json.Decoder(_Gone)


class Notes:
    """Collect the entries of a piece of a realm's log into jobs."""

    def __init__(self, realm_id: RealmId) -> None:
        self._realm_id = realm_id
        self._first = 0
        self._sent: list[MessageId] = []
        self._read: dict[tuple[UserId, MessageId], None] = {}
        self._read_all: dict[UserId, None] = {}
        self._gone: dict[MessageId, None] = {}
        self._traceparents: list[str] = []

    def add(self, entry: ShippableRow) -> None:
        """Add an entry of one of KINDS. Raises msgspec.DecodeError."""
        if entry.kind == MessageSent.kind:
            self._sent.append(MessageId(entry.position))
        elif entry.kind == MessagesGone.kind:
            self._gone |= dict.fromkeys(_gone.decode(entry.body).message_ids)
        else:
            self._add_flags(entry)
        self._first = self._first or entry.position
        self._traceparents.append(traceparent_in(entry.audience))

    def _add_flags(self, entry: ShippableRow) -> None:
        change = _flags.decode(entry.body)
        if change.flag != "read" or change.op != "add":
            return
        readers = decode_audience(entry.audience).users
        if change.all or len(change.messages) > MAX_NAMED_READS:
            self._read_all |= dict.fromkeys(readers)
        else:
            self._read |= {(user, each): None for user in readers for each in change.messages}

    def jobs(self) -> list[OutgoingJob]:
        """Return the jobs for the collected entries."""
        facts: list[dict[str, Any]] = [
            *({"sent": some} for some in _slices(self._sent, MAX_MESSAGES_PER_JOB)),
            *({"read": some} for some in _slices(self._read, MAX_READS_PER_JOB)),
            *({"read_all": some} for some in _slices(self._read_all, MAX_MESSAGES_PER_JOB)),
            *({"gone": some} for some in _slices(self._gone, MAX_READS_PER_JOB)),
        ]
        return [self._outgoing(MessageFanout(realm_id=self._realm_id, **fact)) for fact in facts]

    def _outgoing(self, job: MessageFanout) -> OutgoingJob:
        # How much of the log is read at once is chance: which job this is, only what it says tells.
        digest = hashlib.sha256(msgspec.json.encode(job)).hexdigest()[:DIGEST_LENGTH]
        job_of = outgoing(job, key=f"{self._first}:{digest}")
        spans = traces.joined(self._traceparents)
        return msgspec.structs.replace(job_of, traceparents=spans) if spans else job_of


def _slices(items: Iterable[Item], size: int) -> list[Sequence[Item]]:
    every = tuple(items)
    return [every[start : start + size] for start in range(0, len(every), size)]
