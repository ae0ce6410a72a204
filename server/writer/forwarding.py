"""Forward writes of a realm to the one sibling process that commits for all of them.

docs/adr/0057-forwarded-writes.md.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import msgspec
import structlog

from server.runtime.siblings import SiblingChannels
from server.transactions import PortableWrite
from storage.database import DatabaseUnavailableError
from storage.ids import Position, RealmId

logger = structlog.get_logger(__name__)

WRITES: Final = ord("w")
RESULTS: Final = ord("r")
"""The kinds of the datagrams."""

VALID_POSITIONS: Final = 2_000
"""Positions after which a forwarded write is stale: more than a realm uses while it waits."""
PATIENCE_SECONDS: Final = 1.0
"""How long another process may take before this one finds out what has become of its writes."""
CHECK_SECONDS: Final = 0.05
"""How often to check meanwhile whether the other process still accepts connections."""
MOST_TAKING_TURNS: Final = 2
"""As many processes are as fast without forwarding (docs/adr/0057-forwarded-writes.md)."""
AVOIDED_SECONDS: Final = 5.0
"""How long nothing is forwarded to a process that did not answer."""


@dataclass(frozen=True, slots=True)
class ForwardedOutcome:
    """What has become of writes that one process has decided and another one was to commit."""

    epoch: int
    position: Position
    """A position of the clock, of the writes or later."""
    results: Sequence[Any] | None
    """In the order of the writes, None for one that is stale. None instead of all: unknown."""


class _Writes(msgspec.Struct, array_like=True, frozen=True):
    request: int
    realm_id: RealmId
    portable_as: str
    writes: list[msgspec.Raw]


class _Results(msgspec.Struct, array_like=True, frozen=True):
    request: int
    epoch: int
    position: Position
    results: list[msgspec.Raw] | None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Writes that were forwarded to a process, and are waited for until the deadline."""

    number: int
    deadline: float
    answer: asyncio.Future[_Results]


_decode_writes: Final = msgspec.json.Decoder(_Writes).decode
_decode_results: Final = msgspec.json.Decoder(_Results).decode


class SiblingLostError(DatabaseUnavailableError):
    """A sibling did not answer. What it was to write may be written, even later."""


def committing(realm_id: RealmId, numbers: Sequence[int]) -> int | None:
    """Return which of these processes commits for all in the realm; None if each commits itself.

    Two take turns at the clock: while one waits for the database, the other decides its writes.
    """
    return numbers[realm_id % len(numbers)] if len(numbers) > MOST_TAKING_TURNS else None


Commit = Callable[[RealmId, Sequence[PortableWrite[Any]]], Awaitable[ForwardedOutcome]]
Reached = Callable[[RealmId, int, Position], Callable[[], Awaitable[object]] | None]


class WriteForwarder:
    """Forwards writes to siblings, and has theirs committed in this process."""

    def __init__(
        self,
        channels: SiblingChannels,
        portable: Sequence[type[PortableWrite[Any]]],
        reached: Reached,
    ) -> None:
        """`reached` returns a wait until this process has applied a position of an epoch."""
        self.reached = reached
        self.forwarded = 0
        """Writes that siblings have committed for this process."""
        self._channels = channels
        self._portable = {kind.portable_as: kind for kind in portable}
        self._decoders = {kind: msgspec.json.Decoder(kind.result_type | None) for kind in portable}
        """Of a result of each class."""
        self._requests = count(secrets.randbits(48))
        """Start anywhere, since answers to the process before this one may still come."""
        self._waiting: dict[int, _Waiting] = {}
        self._checking: asyncio.TimerHandle | None = None
        self._avoided_until: dict[int, float] = {}
        self._commit: Commit | None = None
        self._serving: set[asyncio.Task[None]] = set()

    def serve(self, commit: Commit) -> None:
        """Have writes of siblings committed by `commit` from now on."""
        self._commit = commit
        self._channels.handle(WRITES, self._on_writes)
        self._channels.handle(RESULTS, self._on_results)

    def writer_of(self, realm_id: RealmId) -> int | None:
        """Return the sibling that commits for the realm; None if this process does.

        All processes choose the same one while they see the same processes. If they do not, both
        commit, in turns of the clock.
        """
        chosen = committing(realm_id, self._channels.accepting())
        if chosen is None or chosen == self._channels.number:
            return None
        is_avoided = asyncio.get_running_loop().time() < self._avoided_until.get(chosen, 0.0)
        return None if is_avoided else chosen

    def forward(
        self,
        number: int,
        realm_id: RealmId,
        writes: Sequence[PortableWrite[Any]],
        *,
        valid_below: Position,
    ) -> Awaitable[ForwardedOutcome] | None:
        """Have writes of one class committed by this sibling. None if they cannot be sent.

        What is returned raises SiblingLostError if it does not answer.
        """
        kind = type(writes[0])
        request = next(self._requests)
        bodies = [msgspec.Raw(write.encoded(valid_below)) for write in writes]
        message = msgspec.json.encode(_Writes(request, realm_id, kind.portable_as, bodies))
        if not self._channels.send(number, WRITES, message):
            return None
        loop = asyncio.get_running_loop()
        waiting = _Waiting(number, loop.time() + PATIENCE_SECONDS, loop.create_future())
        self._waiting[request] = waiting
        self._check_later()
        return self._outcome(waiting, request, kind)

    async def _outcome(
        self, waiting: _Waiting, request: int, kind: type[PortableWrite[Any]]
    ) -> ForwardedOutcome:
        try:
            got = await waiting.answer
        finally:
            del self._waiting[request]
        if got.results is None:
            raise SiblingLostError("A sibling does not know what has become of its writes")
        results = [self._decoders[kind].decode(each) for each in got.results]
        self.forwarded += sum(result is not None for result in results)
        return ForwardedOutcome(got.epoch, got.position, results)

    def _check(self) -> None:
        """Give up on processes that have left, or do not answer; repeat while there are any."""
        self._checking = None
        now, accepting = asyncio.get_running_loop().time(), self._channels.accepting()
        for waiting in self._waiting.values():
            has_left = waiting.number not in accepting
            if (has_left or now >= waiting.deadline) and not waiting.answer.done():
                self._avoid(waiting.number, now, has_left=has_left)
                waiting.answer.set_exception(SiblingLostError("A sibling does not answer"))
        self._check_later()

    def _avoid(self, number: int, now: float, *, has_left: bool) -> None:
        if now >= self._avoided_until.get(number, 0.0):
            logger.warning("writer.sibling_lost", number=number, has_left=has_left)
        self._avoided_until[number] = now + AVOIDED_SECONDS

    def _check_later(self) -> None:
        if self._checking is None and self._waiting:
            loop = asyncio.get_running_loop()
            # In a context of its own: it is not the work of the request that begins it.
            self._checking = loop.call_later(CHECK_SECONDS, self._check, context=Context())

    async def drain(self) -> None:
        """Wait until what siblings have forwarded is answered."""
        if self._serving:
            await asyncio.wait(self._serving)

    def _on_results(self, _sender: int, body: bytes) -> None:
        got = _decode_results(body)
        waiting = self._waiting.get(got.request)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_result(got)

    def _on_writes(self, sender: int, body: bytes) -> None:
        task = asyncio.create_task(self._serve(sender, _decode_writes(body)))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, sender: int, asked: _Writes) -> None:
        assert self._commit is not None, "it serves"
        kind = self._portable[asked.portable_as]
        outcome = await self._commit(
            asked.realm_id, [kind.decoded(bytes(each)) for each in asked.writes]
        )
        results = None
        if outcome.results is not None:
            results = [msgspec.Raw(msgspec.json.encode(each)) for each in outcome.results]
        answer = _Results(asked.request, outcome.epoch, outcome.position, results)
        self._channels.send(sender, RESULTS, msgspec.json.encode(answer))
