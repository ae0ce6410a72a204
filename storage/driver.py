"""psycopg connections with one way to run statements: named parameters, prepared, rows as text.

psycopg provides the protocol, the pool, transactions, cancelling, and the conversion of values. Its
cursors and pipelines serve every use, and cost more CPU than most of our queries
(docs/adr/0031-statements.md).
"""

import asyncio
import os
import re
import secrets
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, LiteralString, TypeVar

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
from storage.message_bits import with_bits
from storage.refusals import shared_sessions, unconfirmed_writes
from storage.sockets import Sockets
from storage.statement_plans import Plans, StatementPlan

Made = TypeVar("Made")
Row = tuple[Any, ...]

CANCEL_SECONDS: Final = 5.0
CANCEL_TRIES: Final = 5

_CONFIRMATION: Final = (
    b"SELECT 1 / (current_setting('parley.session', true) IS NOT DISTINCT FROM $1)::int"
)
"""Fails in another connection's session."""
_TEXT: Final = 25
"""OID of the parameter's type."""
_WAITS_FOR_STANDBY: Final = "SyncRepWaitForLSN"
"""The function that Postgres names in the warning that a commit no longer waits for a standby."""
_NOT_PREPARED: Final = b"26000"

_PLACEHOLDER: Final = re.compile(r"%(?:%|\((\w+)\)([sb]))")
_FORMATS: Final = {"s": PyFormat.AUTO, "b": PyFormat.BINARY}


@dataclass(frozen=True, slots=True)
class _Query:
    """SQL in the form that Postgres takes, and the parameter for each of its numbers."""

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

    text = _PLACEHOLDER.sub(numbered, with_bits(sql))
    return _Query(text.encode(), tuple(numbers), tuple(formats[name] for name in numbers))


class Answer:
    """The result of a statement; in a pipeline, a result to come."""

    __slots__ = ("_connection", "confirms", "place", "plan", "result")

    def __init__(self, connection: "PgConnection", plan: StatementPlan | None) -> None:
        self._connection = connection
        self.plan = plan
        """The plan that this statement prepares."""
        self.confirms = False
        """Whether this asks for the session's marker."""
        self.place = 0
        """Its place among the pipelined statements of the connection."""
        self.result: PGresult | None = None

    async def rows(self, make: Callable[[Sequence[Any]], Made]) -> list[Made]:
        """Return its rows, or an empty list; raise the error of Postgres."""
        return self._connection.rows_of(await self.taken(), make)

    async def count(self) -> int:
        """Return the number of rows changed or returned."""
        return (await self.taken()).command_tuples or 0

    async def taken(self) -> PGresult:
        """Return the whole result, or raise its error."""
        if self.result is None:
            await self._connection.receive(self)
        assert self.result is not None
        if self.result.status not in _SUCCEEDED:
            raise self._connection.error_of(self.result)
        return self.result


_SUCCEEDED: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC)


class PgConnection(psycopg.AsyncConnection[Row]):
    """A connection in autocommit mode, for one task at a time, on one event loop."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.prepare_threshold = None  # psycopg deallocates all that is prepared, ours with it
        self.marker = secrets.token_hex(8)
        """Identifies this session: its settings hold it, and the names of its prepared statements.
        """
        self.is_strict = False
        """Whether a commit waits for a standby.

        Then no statement is cancelled: a cancelled commit would take place here alone, visible to
        all.
        """
        self._is_unreplicated = False
        self.is_pooled = False
        """Whether there is a pooler in between."""
        self.is_unconfirmed = False
        """Whether the next statement is the first since checkout: with it the session is asked for
        its marker, because a pooler may have exchanged the session.
        """
        self.on_shared: Callable[[], None] = lambda: None
        """Callback for a session that turns out to be another connection's."""
        self.plans = Plans(self.marker)
        self.backend = 0
        """Process id of the backend by its own answer: a pooler makes up another."""
        self.lineage: Lineage | None = None
        """Lineage of its database, if known."""
        self._values = Transformer(self)
        self._sockets: Sockets | None = None
        self._owner = object()
        """Key of this connection among the sockets, without a reference to it."""
        self._expected: deque[Answer] | None = None
        """Answers that were sent in a pipeline and are still to come."""
        self._sent = self._flushed = 0
        """Number of statements sent in the pipeline, and of those that Postgres was asked to
        answer.
        """
        self._is_foreign = False
        self._failure: PGresult | None = None
        """The error that aborted the pipeline."""

    async def ask(self, sql: LiteralString, params: Mapping[str, Any]) -> Answer:
        """Run one statement. Within `pipelined` it is only sent, and answered later.

        `%(name)s` is a parameter, `%(name)b` a binary one, `%%` a per cent sign, `{NAME}` bits
        of storage/message_bits.py.
        """
        if self.is_unconfirmed and not sql.startswith("BEGIN"):
            return await self._ask_confirmed(sql, params)
        query = _query(sql)
        values = self._values.dump_sequence([params[name] for name in query.names], query.formats)
        formats = self._values.formats
        plan = StatementPlan(query.text, self._values.types or ())
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
        """Return the rows of a result."""
        self._values.set_pgresult(result, set_loaders=True)
        return self._values.load_rows(0, result.ntuples, make)

    @asynccontextmanager
    async def pipelined(self) -> AsyncIterator[None]:
        """Send the statements of this block without waiting; wait only where an answer is read.

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
        """Wait for the answer of a pipelined statement."""
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
        """Raise an error of unknown outcome for a commit that no longer waited for a standby."""

        def notice(diagnostic: psycopg.errors.Diagnostic) -> None:
            if diagnostic.source_function == _WAITS_FOR_STANDBY:
                self._is_unreplicated = True

        self.add_notice_handler(notice)

    def _require_replicated(self) -> None:
        if self._is_unreplicated:
            self.pgconn.finish()
            raise unconfirmed_writes("the wait for it was ended")

    async def prepare_confirmation(self) -> None:
        """Prepare the statement that asks for the session's marker. Within `pipelined`."""
        _ = await self._send(
            partial(self.pgconn.send_prepare, self._confirmation, _CONFIRMATION, [_TEXT])
        )

    def error_of(self, result: PGresult) -> psycopg.Error:
        """Return the error of a failed statement, or that the session is another's."""
        state = result.error_field(DiagnosticField.SQLSTATE)
        if self._is_foreign or state == _NOT_PREPARED:
            self._is_foreign = True
            self.on_shared()
            self.pgconn.finish()
            return shared_sessions()
        return error_from_result(result)

    async def _ask_confirmed(self, sql: LiteralString, params: Mapping[str, Any]) -> Answer:
        """Ask for the session's marker and run the statement, in one round trip.

        If the marker is another's, the statement is not run.
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
        """Close the connection, also while in use: a statement fails as if the server had gone."""
        if not self.closed:
            with suppress(OSError), socket.socket(fileno=os.dup(self.pgconn.socket)) as connected:
                connected.shutdown(socket.SHUT_RDWR)

    async def _newly_prepared(self, plan: StatementPlan) -> bytes | None:
        """Return the name of a statement to be prepared now; None if it is used too seldom."""
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
        # After the new statement: a transaction with an isolation level has to begin before
        # anything else, and in a pipeline this would be in it.
        excess = self.plans.excess()
        if excess is not None:
            await self._send(partial(self.pgconn.send_query_params, b"DEALLOCATE " + excess, None))

    async def _send(self, send: Callable[[], None], plan: StatementPlan | None = None) -> Answer:
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
            # The waiting task may be gone even though all answers arrived. A connection left in
            # this mode would never answer again.
            if end.result is not None:
                self.pgconn.exit_pipeline_mode()
            else:
                self.pgconn.finish()
        self._require_replicated()
        if self._failure is not None:
            raise self.error_of(self._failure)

    async def _ends(self, gen: PQGen[Any], seconds: float) -> bool:
        """Wait until the statement has ended; False if it takes longer.

        In a task of its own: in one that was cancelled before, as the caller's mostly was,
        `asyncio.timeout` of Python 3.11.2 and older raises no TimeoutError.
        """
        waiting = asyncio.ensure_future(wait_async(gen, self.pgconn.socket, interval=0.1))
        try:
            done, _ = await asyncio.wait([waiting], timeout=seconds)
        finally:
            waiting.cancel()
        if not done:
            await asyncio.wait([waiting])
            return False
        waiting.result()
        return True

    async def _cancel(self, gen: PQGen[Any]) -> None:
        """Cancel a statement that no task waits for; if that fails, close the connection."""
        if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
            return
        if self.is_strict:
            self.pgconn.finish()
            return
        try:
            for _ in range(CANCEL_TRIES):
                # Postgres ignores a request that arrives before it has begun the statement.
                await self.cancel_safe(timeout=CANCEL_SECONDS)
                if await self._ends(gen, CANCEL_SECONDS / CANCEL_TRIES):
                    return
            self.pgconn.finish()
        except psycopg.errors.QueryCanceled:
            pass
        except psycopg.Error:
            self.pgconn.finish()
        except BaseException:
            self.pgconn.finish()
            raise
