"""Connections of psycopg whose statements all go one way: named parameters, prepared, rows as text.

psycopg gives the protocol, the pool, transactions, cancelling, and turns values into parameters
and back. Its cursors and pipelines serve every use, and cost more of the processor than most of
what we ask (docs/adr/0031-statements.md).
"""

import asyncio
import os
import re
import secrets
import socket
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, LiteralString, NamedTuple, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.waiting import READY_R, WAIT_R, WAIT_RW, wait_async
from typing_extensions import override

from storage.lineage import Lineage
from storage.refusals import shared_sessions, unconfirmed_writes
from storage.sockets import Sockets

Made = TypeVar("Made")
Row = tuple[Any, ...]

PREPARED_AFTER: Final = 2
MAX_PREPARED: Final = 100
"""Statements that a connection keeps, the one that was not used for longest gives way."""
CANCEL_SECONDS: Final = 5.0

_CONFIRMATION: Final = (
    b"SELECT 1 / (current_setting('parley.session', true) IS NOT DISTINCT FROM $1)::int"
)
"""Fails in the session of another."""
_TEXT: Final = 25
"""The type of its parameter, by number."""
_WAITS_FOR_STANDBY: Final = "SyncRepWaitForLSN"
"""The function of Postgres that says that it waits for no standby any more."""
_NOT_PREPARED: Final = b"26000"

_PLACEHOLDER: Final = re.compile(r"%(?:%|\((\w+)\)([sb]))")
_FORMATS: Final = {"s": PyFormat.AUTO, "b": PyFormat.BINARY}


@dataclass(frozen=True, slots=True)
class _Query:
    """SQL as Postgres has it, and which parameters its numbers stand for."""

    text: bytes
    names: tuple[str, ...]
    formats: tuple[PyFormat, ...]


@lru_cache(maxsize=5_000)
def _query(sql: LiteralString) -> _Query:
    formats: dict[str, PyFormat] = {}
    numbers: dict[str, int] = {}

    def numbered(placeholder: re.Match[str]) -> str:
        name, kind = placeholder.groups()
        if name is None:
            return "%"
        formats[name] = _FORMATS[kind]
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    text = _PLACEHOLDER.sub(numbered, sql)
    return _Query(text.encode(), tuple(numbers), tuple(formats[name] for name in numbers))


class Answer:
    """What a statement gives; where statements are sent together, what it will have given."""

    __slots__ = ("_connection", "confirms", "place", "plan", "result")

    def __init__(self, connection: "PgConnection", plan: "_Plan | None") -> None:
        self._connection = connection
        self.plan = plan
        """What this prepares."""
        self.confirms = False
        """Whether this asks for the session's marker."""
        self.place = 0
        """Among all that the connection has sent together."""
        self.result: PGresult | None = None

    async def rows(self, make: Callable[[Sequence[Any]], Made]) -> list[Made]:
        """Return its rows, none where it has none to give. Raises what Postgres refused it with."""
        return self._connection.rows_of(await self.taken(), make)

    async def count(self) -> int:
        """Return how many rows it changed, or gave."""
        return (await self.taken()).command_tuples or 0

    async def taken(self) -> PGresult:
        """Return the whole of it, which has succeeded."""
        if self.result is None:
            await self._connection.receive(self)
        assert self.result is not None
        if self.result.status not in _SUCCEEDED:
            raise self._connection.error_of(self.result)
        return self.result


_SUCCEEDED: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC)


class PgConnection(psycopg.AsyncConnection[Row]):
    """A connection in autocommit mode, for one task at a time, on one loop."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.prepare_threshold = None  # psycopg deallocates all that is prepared, ours with it
        self.marker = secrets.token_hex(8)
        """Stands for this session: its settings hold it, and the names of what it prepares."""
        self.is_strict = False
        """Whether a commit counts only when a standby has confirmed it. Then no statement is
        cancelled: a commit that is would take place here alone, for all to see."""
        self._is_unreplicated = False
        self.is_pooled = False
        """Whether a pooler is in between."""
        self.is_unconfirmed = False
        """Whether the next statement is the first since the connection was borrowed: with it the
        session is asked for its marker, which a pooler may have exchanged for another."""
        self.on_shared: Callable[[], None] = lambda: None
        """Is called when this turns out to be another's session."""
        self.plans = Plans(self.marker)
        self.backend = 0
        """The process of Postgres at the other end, by its own word: a pooler makes up another."""
        self.lineage: Lineage | None = None
        """Of its database, where that is known."""
        self._values = Transformer(self)
        self._sockets: Sockets | None = None
        self._owner = object()
        """Stands for this connection among the sockets, without keeping it."""
        self._expected: deque[Answer] | None = None
        """What has been sent together and not come yet."""
        self._sent = self._flushed = 0
        """How many statements have been sent together, and how many Postgres is to answer now."""
        self._is_foreign = False
        self._failure: PGresult | None = None
        """Why what was sent together is not done."""

    async def ask(self, sql: LiteralString, params: Mapping[str, Any]) -> Answer:
        """Run one statement. Within `pipelined` it is only sent, and its answer comes later.

        `%(name)s` is a parameter, `%(name)b` one as bytes, `%%` a per cent sign.
        """
        if self.is_unconfirmed and not sql.startswith("BEGIN"):
            return await self._ask_confirmed(sql, params)
        query = _query(sql)
        values = self._values.dump_sequence([params[name] for name in query.names], query.formats)
        formats = self._values.formats
        plan = _Plan(query.text, self._values.types or ())
        name = self.plans.name_of(plan)
        if name is not None:
            return await self._send(partial(self.pgconn.send_query_prepared, name, values, formats))
        name = await self._newly_prepared(plan)
        if name is None:
            return await self._send(
                partial(self.pgconn.send_query_params, query.text, values, plan.types, formats)
            )
        answer = await self._send(partial(self.pgconn.send_query_prepared, name, values, formats))
        await self._keep_few_prepared()
        return answer

    def rows_of(self, result: PGresult, make: Callable[[Sequence[Any]], Made]) -> list[Made]:
        """Return the rows of an answer."""
        self._values.set_pgresult(result, set_loaders=True)
        return self._values.load_rows(0, result.ntuples, make)

    @asynccontextmanager
    async def pipelined(self) -> AsyncIterator[None]:
        """What is asked in this block is not waited for, but its answers where they are taken.

        If a statement fails, so do those after it, and the block at its end.
        """
        self.pgconn.enter_pipeline_mode()
        self._expected, self._failure = deque(), None
        try:
            yield
        except BaseException:
            with suppress(psycopg.Error):
                await self._end_pipeline()
            raise
        await self._end_pipeline()

    async def receive(self, answer: Answer) -> None:
        """Wait until the answer of what was sent is there."""
        if answer.place > self._flushed:
            self.pgconn.send_flush_request()
            self._flushed = self._sent
        await self.wait(self._received(answer))

    @override
    async def wait(
        self, gen: PQGen[Made], interval: float = 0.0, timeout: float | None = None
    ) -> Made:
        if timeout is not None:
            return await super().wait(gen, timeout=timeout)
        if self._sockets is None:
            self._sockets = Sockets.of_this_loop()
        try:
            wanted = next(gen)
            while True:
                ready = await self._sockets.ready(self.pgconn.socket, self._owner, wanted)
                wanted = gen.send(ready)
        except StopIteration as end:
            made: Made = end.value
            return made
        except asyncio.CancelledError:
            await self._cancel(gen)
            raise

    @override
    async def close(self) -> None:
        descriptor = -1 if self.closed else self.pgconn.socket
        await super().close()
        if self._sockets is not None:
            self._sockets.leave(descriptor, self._owner)

    def refuse_unconfirmed(self) -> None:
        """Treat a commit that no longer waited for a standby as one with an unknown outcome."""

        def notice(diagnostic: psycopg.errors.Diagnostic) -> None:
            if diagnostic.source_function == _WAITS_FOR_STANDBY:
                self._is_unreplicated = True

        self.add_notice_handler(notice)

    def _require_replicated(self) -> None:
        if self._is_unreplicated:
            self.pgconn.finish()
            raise unconfirmed_writes("the wait for it was ended")

    async def prepare_confirmation(self) -> None:
        """Prepare what asks the session for its marker. Within `pipelined`."""
        _ = await self._send(
            partial(self.pgconn.send_prepare, self._confirmation, _CONFIRMATION, [_TEXT])
        )

    def error_of(self, result: PGresult) -> psycopg.Error:
        """What Postgres refused a statement with; or that the session is not ours any more."""
        state = result.error_field(DiagnosticField.SQLSTATE)
        if self._is_foreign or state == _NOT_PREPARED:
            self._is_foreign = True
            self.on_shared()
            self.pgconn.finish()
            return shared_sessions()
        return error_from_result(result)

    async def _ask_confirmed(self, sql: LiteralString, params: Mapping[str, Any]) -> Answer:
        """Ask for the session's marker and run the statement, in one round trip.

        Where the marker is another's, the statement is not run.
        """
        self.is_unconfirmed = False
        if self._expected is None:
            async with self.pipelined():
                return await self._after_confirmation(sql, params)
        return await self._after_confirmation(sql, params)

    async def _after_confirmation(self, sql: LiteralString, params: Mapping[str, Any]) -> Answer:
        marker = [self.marker.encode()]
        answer = await self._send(
            partial(self.pgconn.send_query_prepared, self._confirmation, marker)
        )
        answer.confirms = True
        return await self.ask(sql, params)

    @property
    def _confirmation(self) -> bytes:
        return b"parley_%b" % self.marker.encode()

    def cut_off(self) -> None:
        """End the connection, also while in use: a statement fails as if the server had gone."""
        if not self.closed:
            with suppress(OSError), socket.socket(fileno=os.dup(self.pgconn.socket)) as connected:
                connected.shutdown(socket.SHUT_RDWR)

    async def _newly_prepared(self, plan: "_Plan") -> bytes | None:
        """Return the name of a statement that is now prepared; None if it is asked too seldom."""
        name = self.plans.new_name_of(plan)
        if name is None:
            return None
        try:
            answer = await self._send(
                partial(self.pgconn.send_prepare, name, plan.text, plan.types), plan
            )
            if self._expected is None:
                await answer.taken()
        except BaseException:
            self.plans.forget(plan)
            raise
        return name

    async def _keep_few_prepared(self) -> None:
        # After the statement that is new: a transaction of some isolation has to begin before
        # anything else, and in a pipeline this would be in it.
        excess = self.plans.excess()
        if excess is not None:
            await self._send(partial(self.pgconn.send_query_params, b"DEALLOCATE " + excess, None))

    async def _send(self, send: Callable[[], None], plan: "_Plan | None" = None) -> Answer:
        answer = Answer(self, plan)
        if self._expected is not None:
            send()
            self._expected.append(answer)
            self._sent = answer.place = self._sent + 1
            return answer
        async with self.lock:
            send()
            [answer.result] = await self.wait(execute(self.pgconn))
        self._require_replicated()
        return answer

    def _received(self, answer: Answer) -> PQGen[None]:
        pgconn, expected = self.pgconn, self._expected
        assert expected is not None, "an answer is taken where it was asked for"
        while pgconn.flush():
            if ((yield WAIT_RW) or 0) & READY_R:
                pgconn.consume_input()
        while answer.result is None:
            while pgconn.is_busy():
                if (yield WAIT_R):
                    pgconn.consume_input()
            result = pgconn.get_result()
            if result is not None:
                self._settle(expected.popleft(), result)
            elif pgconn.status == ConnStatus.BAD:
                raise psycopg.OperationalError("the connection is lost")

    def _settle(self, answer: Answer, result: PGresult) -> None:
        if result.status == ExecStatus.FATAL_ERROR:
            self._failure = result
            self._is_foreign = self._is_foreign or answer.confirms
        if result.status not in _SUCCEEDED and answer.plan is not None:
            self.plans.forget(answer.plan)
        if result.status == ExecStatus.PIPELINE_ABORTED and self._failure is not None:
            result = self._failure
        answer.result = result

    async def _end_pipeline(self) -> None:
        expected = self._expected
        assert expected is not None
        end = Answer(self, None)
        try:
            self.pgconn.pipeline_sync()
            expected.append(end)
            await self.wait(self._received(end))
        finally:
            self._expected = None
            # Whoever waits may be gone, and all answers be there nevertheless. A connection that
            # stays in this mode would never answer again.
            if end.result is not None:
                self.pgconn.exit_pipeline_mode()
            else:
                self.pgconn.finish()
        self._require_replicated()
        if self._failure is not None:
            raise self.error_of(self._failure)

    async def _cancel(self, gen: PQGen[Any]) -> None:
        """Nobody waits any more: let Postgres stop, or else leave the connection."""
        if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
            return
        if self.is_strict:
            self.pgconn.finish()
            return
        try:
            await self.cancel_safe(timeout=CANCEL_SECONDS)
            await wait_async(gen, self.pgconn.socket, interval=0.1, timeout=CANCEL_SECONDS)
        except psycopg.errors.QueryCanceled:
            pass
        except psycopg.Error:
            self.pgconn.finish()
        except BaseException:
            self.pgconn.finish()
            raise


class _Plan(NamedTuple):
    """What Postgres keeps of a statement: one plan for each set of types of its parameters."""

    text: bytes
    types: tuple[int, ...]


class Plans:
    """Which statements a connection has prepared, or has been asked for."""

    def __init__(self, prefix: str) -> None:
        """`prefix`: in another session nothing is prepared under names that begin so."""
        self._prefix = prefix.encode()
        self.after = PREPARED_AFTER
        """A statement that has been asked so often is prepared when it is asked again."""
        self._asked: OrderedDict[_Plan, int] = OrderedDict()
        self._names: OrderedDict[_Plan, bytes] = OrderedDict()
        self._count = 0

    def name_of(self, plan: _Plan) -> bytes | None:
        """By what name it is prepared."""
        name = self._names.get(plan)
        if name is not None:
            self._names.move_to_end(plan)
        return name

    def new_name_of(self, plan: _Plan) -> bytes | None:
        """By what name it is to be prepared now; None if it has not been asked often enough."""
        times = self._asked.pop(plan, 0)
        if times < self.after:
            self._asked[plan] = times + 1
            if len(self._asked) > MAX_PREPARED:
                self._asked.popitem(last=False)
            return None
        self._count += 1
        name = self._names[plan] = b"parley_%b_%d" % (self._prefix, self._count)
        return name

    def excess(self) -> bytes | None:
        """Return the name of one that is not kept any more."""
        return self._names.popitem(last=False)[1] if len(self._names) > MAX_PREPARED else None

    def forget(self, plan: _Plan) -> None:
        """It could not be prepared."""
        self._names.pop(plan, None)
