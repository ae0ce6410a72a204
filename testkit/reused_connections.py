"""Connections that one test after the other uses: a new one costs Postgres more than most tests.

Its backend has everything to learn: the catalogue, the functions, the plans of their statements.
"""

import select
from typing import Any, ClassVar, Final, Self

import psycopg
from psycopg.pq import ConnStatus, ExecStatus, PipelineStatus, TransactionStatus
from psycopg.pq.abc import PGconn
from typing_extensions import override

from storage.driver import PgConnection

RESET: Final = b"""
    RESET SESSION AUTHORIZATION; RESET ALL; DEALLOCATE ALL; CLOSE ALL; UNLISTEN *;
    SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES
"""
"""Does what DISCARD ALL does, but keeps the plans of functions."""

MAX_IDLE: Final = 6
"""As many as a server of the tests opens: tests run in parallel share the limit of Postgres."""

_CLOSED: Final = psycopg.pq.PGconn.connect_start(b"no address")
_CLOSED.finish()


class ReusedConnection(PgConnection):
    """A connection that leaves its session, reset, to the next one to the same database.

    Only a session at rest is reused, and only if its database is named in `idle`.
    """

    idle: ClassVar[dict[str, list[PGconn]]] = {}
    """The sessions at rest, by the address of their database."""

    _address = ""

    @classmethod
    def keep(cls, address: str) -> None:
        """Reuse the sessions of this database from now on."""
        cls.idle[address] = []

    @classmethod
    def discard(cls, address: str) -> None:
        """Close the sessions at rest, and reuse none any more."""
        for session in cls.idle.pop(address, []):
            session.finish()

    @classmethod
    def backends(cls, address: str) -> set[int]:
        """The processes of Postgres of the sessions at rest."""
        return {session.backend_pid for session in cls.idle.get(address, [])}

    @override
    @classmethod
    async def connect(cls, conninfo: str = "", *, autocommit: bool = False, **named: Any) -> Self:
        session = cls._session_at_rest(conninfo) if autocommit else None
        if session is None:
            connection = await super().connect(conninfo, autocommit=autocommit, **named)
        else:
            connection = cls(session)
            connection._autocommit = True
        connection._address = conninfo
        return connection

    @override
    async def close(self) -> None:
        idle, session = self.idle.get(self._address), self.pgconn
        is_kept = idle is not None and len(idle) < MAX_IDLE and self._is_at_rest()
        if idle is None or not is_kept or not _reset(session):
            await super().close()
            return
        if self._sockets is not None:
            self._sockets.leave(session.socket, self._owner)
        self._closed = True
        self.pgconn = _CLOSED
        idle.append(session)

    def _is_at_rest(self) -> bool:
        return (
            self.pgconn.status == ConnStatus.OK
            and self.pgconn.pipeline_status == PipelineStatus.OFF
            and self.pgconn.transaction_status == TransactionStatus.IDLE
        )

    @classmethod
    def _session_at_rest(cls, address: str) -> PGconn | None:
        idle = cls.idle.get(address, [])
        while idle:
            session = idle.pop()
            if not select.select([session.socket], [], [], 0)[0]:
                return session
            session.finish()  # what it has to say, unasked, is its goodbye
        return None


def _reset(session: PGconn) -> bool:
    done = session.exec_(RESET).status in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
    while session.notifies():
        pass
    return done
