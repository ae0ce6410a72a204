"""Connect to the primary, and refuse hosts that are unsafe to use (see `refusals`)."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, LiteralString
from weakref import WeakSet

import psycopg

from storage import lineage
from storage.connection_names import connection_name
from storage.driver import PgConnection
from storage.lineage import Host, Lineage
from storage.refusals import (
    RefusedError,
    older_database,
    shared_sessions,
    standby_database,
    unconfirmed_writes,
)
from storage.rights import REFUSALS, explained

logger = logging.getLogger(__name__)

CONNECT_SECONDS: Final = 10
SURVEY_MAX_AGE_SECONDS: Final = 10.0
"""Maximum age of the hosts' answers, if there are several hosts."""
KEEPALIVE: Final[dict[str, Any]] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "tcp_user_timeout": 15_000,
}
"""TCP settings by which a host that vanished is noticed: by probes, or by data that is not
acknowledged for so many milliseconds. Without them TCP retries for a quarter of an hour.
"""
OPTIONS: Final[LiteralString] = """
    SELECT pg_backend_pid(), set_config('parley.session', %(marker)s, false),
           set_config('jit', 'off', false), set_config('random_page_cost', '1.1', false),
           set_config('timezone', 'UTC', false),
           set_config('default_transaction_isolation', 'read committed', false)
"""
"""Set by a statement, because a pooler may refuse or drop options of the start packet.

JIT takes longer than any of our queries. A thousand ids are looked up one by one: pages are in
memory, and a table is long. The isolation level makes a write see what was committed before its
turn, whatever the database's default; and the time zone keeps the end of the year 9999 within the
range of Python.
"""
CLAIM: Final[LiteralString] = """
    SELECT r_generation, r_system, r_timeline, r_outcome
      FROM claim_lineage(%(generation)s, %(system)s, %(timeline)s, %(keeps_positions)s)
"""


STRICT: Final[LiteralString] = """
    SELECT current_setting('synchronous_standby_names'), set_config('parley.strict', 'on', false),
           set_config('synchronous_commit',
                      CASE current_setting('synchronous_commit')
                      WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)
"""
EMIT: Final[LiteralString] = "SELECT pg_logical_emit_message(true, 'parley', '')::text"
"""A commit without changes.

Once a standby has confirmed it, it has everything before it, also what was committed without a
confirmation and became visible after a restart.
"""
SESSION_POOLING_TRUST_SECONDS: Final = 60.0
"""How long a pooler is trusted to pool by session; each use of a connection checks as well."""
TRIAL_ROUNDS: Final = 3
TRIAL_SECONDS: Final = 5.0


async def sessions_are_shared(one: PgConnection, other: PgConnection) -> bool:
    """Return whether two connections share server sessions, as with a pooler in transaction mode.

    Each has set its marker; in a session of its own it finds that marker, and returns at once.
    """
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            for holder, visitor in [(one, other), (other, one)] * TRIAL_ROUNDS:
                async with holder.transaction():
                    if not (await _is_own(holder) and await _is_own(visitor)):
                        return True
    except (TimeoutError, psycopg.Error):  # it waits for a session, or has no transactions
        return True
    return False


async def _is_own(raw: PgConnection) -> bool:
    answer = await raw.ask("SELECT pg_backend_pid(), current_setting('parley.session', true)", {})
    return await answer.rows(tuple) == [(raw.backend, raw.marker)]


class Connector:
    """Connects to the primary among the hosts of an address.

    Each connection is checked once, in the round trip that sets its options: its database may not
    be older than the newest lineage that this process knows of. With `serves`, a database that was
    restored or promoted starts a new generation.
    """

    def __init__(
        self,
        url: str,
        *,
        serves: bool = False,
        strict: bool = False,
        connection_class: type[PgConnection] = PgConnection,
    ) -> None:
        """Create a connector; with `strict` a commit waits for a standby's confirmation."""
        self._connection_class = connection_class
        self._serves = serves
        self._strict = strict
        self._named = lineage.hosts_of(url)
        self._hosts = self._named
        """The hosts, the primary first."""
        self._surveyed_at: float | None = None
        self._surveying: asyncio.Task[None] | None = None
        self._is_suspect = False
        """Whether a pooler was found to share sessions between connections."""
        self._sessions_tried_at = -SESSION_POOLING_TRUST_SECONDS
        self._connections: WeakSet[PgConnection] = WeakSet()
        self.seen: Lineage | None = None
        """The newest lineage that this process knows of."""
        self.trouble: Exception | None = None
        """Error of the last attempt to connect; None after a success."""
        self.refused: dict[str, RefusedError] = {}
        """Hosts that are refused, with the error."""
        self.on_newer: Callable[[], None] = lambda: None
        """Callback for a lineage that is newer than all before."""

    @property
    def has_several_hosts(self) -> bool:
        return len(self._hosts) > 1

    @property
    def refused_briefly(self) -> list[str]:
        """Return the refused hosts, by their place in the address, and why."""
        names = [host.name for host in self._named]
        return [
            f"database {names.index(name) + 1} of {len(names)}: {error.brief}"
            for name, error in sorted(self.refused.items())
            if name in names
        ]

    async def connect(self, **named: Any) -> PgConnection:
        """Return a checked connection in autocommit mode; raise psycopg.Error if there is none."""
        await self._survey_if_stale()
        first: Exception | None = None
        for host in self._hosts:
            try:
                connection = await self._connect_to(host, **named)
            except psycopg.Error as error:
                if first is None or isinstance(error, RefusedError):
                    first = error
            else:
                self.trouble = None
                return connection
        assert first is not None
        self.trouble = first
        raise first

    def learn(self, news: Lineage) -> bool:
        """Take note of a lineage; return whether it is newer than all before.

        Connections to an older one are closed, also while in use.
        """
        if self.seen is not None and not self.seen.is_older_than(news):
            return False
        is_change = self.seen is not None
        self.seen = news
        self._surveyed_at = None
        if is_change:
            fields = {"generation": news.generation, "timeline": news.timeline}
            logger.warning("database.newer_primary", extra={"fields": fields})
            self._cut_off_older()
        self.on_newer()
        return is_change

    async def survey(self) -> None:
        """Ask all hosts for their lineage, and put the primary first."""
        hosts = await asyncio.to_thread(lineage.survey, self._hosts)
        self._hosts = hosts
        self._surveyed_at = asyncio.get_running_loop().time()
        if leading := lineage.leading(hosts):
            self.learn(leading)
        self._surveyed_at = asyncio.get_running_loop().time()
        for host in hosts:
            self._note(host)

    async def watch(self) -> None:
        """Survey all hosts periodically until cancelled: an old primary may come back."""
        while True:
            await asyncio.sleep(SURVEY_MAX_AGE_SECONDS)
            await self.survey()

    async def _survey_if_stale(self) -> None:
        if not self.has_several_hosts:
            return
        now = asyncio.get_running_loop().time()
        if self._surveyed_at is not None and now < self._surveyed_at + SURVEY_MAX_AGE_SECONDS:
            return
        if self._surveying is None or self._surveying.done():
            self._surveying = asyncio.create_task(self.survey())
        await asyncio.shield(self._surveying)

    def _note(self, host: Host) -> None:
        """Remember, and log once, that this host has an older lineage than the primary."""
        found = host.lineage
        if found is not None and not host.is_standby and found.is_older_than(self.seen):
            assert self.seen is not None
            self._refuse(host, older_database(host.name, found, self.seen))
        elif host.error is None:
            self.refused.pop(host.name, None)

    def _refuse(self, host: Host, error: RefusedError) -> None:
        before = self.refused.get(host.name)
        if before is None or str(before) != str(error):
            fields = {"host": host.name, "reason": str(error)}
            logger.error("database.host_refused", extra={"fields": fields})
        self.refused[host.name] = error

    async def _connect_to(self, host: Host, **named: Any) -> PgConnection:
        options: dict[str, Any] = {
            "connect_timeout": CONNECT_SECONDS,
            "fallback_application_name": connection_name("pool"),
            **KEEPALIVE,
            **named,
        }
        raw = await self._connection_class.connect(host.conninfo, autocommit=True, **options)
        try:
            await self._check(raw, host)
        except REFUSALS as error:
            sentence = explained(error, raw.info)
            await raw.close()
            raise RefusedError(sentence, brief="a right is missing") from error
        except BaseException as error:
            if isinstance(error, RefusedError):
                self._refuse(host, error)
            await raw.close()
            raise
        self.refused.pop(host.name, None)
        self._connections.add(raw)
        return raw

    async def _check(self, raw: PgConnection, host: Host) -> None:
        if self._serves and raw.info.parameter_status("in_hot_standby") == "on":
            raise standby_database(host.name)
        try:
            async with asyncio.timeout(CONNECT_SECONDS if self._strict else None):
                found, outcome = await self._prepared(raw)
        except TimeoutError as error:
            raise unconfirmed_writes("no standby confirms a write in time") from error
        raw.is_strict = self._strict
        raw.lineage = found
        raw.on_shared = self._suspect
        # Postgres sends its own number at the start, a pooler one that stands for its client.
        raw.is_pooled = raw.backend != raw.info.backend_pid
        if raw.is_pooled or self._is_suspect:
            await self._refuse_shared_sessions(raw, host)
        if found is None:
            return
        if outcome == "older" or found.is_older_than(self.seen):
            assert self.seen is not None
            raise older_database(host.name, found, self.seen)
        if outcome == "renewed":
            logger.warning("database.epoch_renewed")
        elif outcome == "kept":
            logger.warning("database.standby_promoted")
        if found.generation > lineage.NEVER_SERVED:
            self.learn(found)

    async def _require_standby(self, raw: PgConnection) -> None:
        """Make each commit of the session wait for a standby; refuse a server that would not."""
        raw.refuse_unconfirmed()
        [[names, *_]] = await (await raw.ask(STRICT, {})).rows(tuple)
        if not names:
            raise unconfirmed_writes("synchronous_standby_names is empty")

    def _suspect(self) -> None:
        """Treat the pooler as sharing sessions: connect only after a check."""
        self._is_suspect = True
        self.trouble = shared_sessions()
        for raw in self._connections:
            raw.cut_off()

    async def _refuse_shared_sessions(self, raw: PgConnection, host: Host) -> None:
        """Find out whether the pooler keeps one session for each connection; refuse it if not."""
        now = asyncio.get_running_loop().time()
        if not self._is_suspect and now < self._sessions_tried_at + SESSION_POOLING_TRUST_SECONDS:
            return
        other = await PgConnection.connect(
            host.conninfo,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            fallback_application_name=connection_name("pooler check"),
        )
        async with other:
            [[other.backend, *_]] = await (await other.ask(OPTIONS, {"marker": other.marker})).rows(
                tuple
            )
            if await sessions_are_shared(raw, other):
                self._is_suspect = True
                raise shared_sessions()
        self._is_suspect = False
        self._sessions_tried_at = now

    async def _prepared(self, raw: PgConnection) -> tuple[Lineage | None, str]:
        """Set the session's options.

        Return the database's lineage and the result of claiming it.
        """
        if self._strict:
            await self._require_standby(raw)
        try:
            async with raw.pipelined():
                options = await raw.ask(OPTIONS, {"marker": raw.marker})
                await raw.prepare_confirmation()
                answer = await raw.ask(*self._question())
                if self._strict:
                    await raw.ask(EMIT, {})
        except psycopg.errors.UndefinedTable:
            if self._serves:
                raise
            # Prepared statements stay, and settings do not.
            options, answer = await raw.ask(OPTIONS, {"marker": raw.marker}), None
        [[raw.backend, *_]] = await options.rows(tuple)
        if answer is None:
            return None, "read"
        [row] = await answer.rows(tuple)
        if self._serves:
            *found, outcome = row
            return Lineage(*found), outcome
        return lineage.lineage_of(row), "read"

    def _question(self) -> tuple[LiteralString, dict[str, Any]]:
        if not self._serves:
            return lineage.READ, {}
        seen = self.seen
        return CLAIM, {
            "generation": None if seen is None else seen.generation,
            "system": None if seen is None else seen.system,
            "timeline": None if seen is None else seen.timeline,
            "keeps_positions": self._strict,
        }

    def _cut_off_older(self) -> None:
        for raw in self._older(self._connections):
            raw.cut_off()

    def _older(self, connections: Iterable[PgConnection]) -> list[PgConnection]:
        return [
            raw
            for raw in connections
            if not raw.closed and raw.lineage is not None and raw.lineage.is_older_than(self.seen)
        ]
