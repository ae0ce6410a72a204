"""Lineage of databases: which of several is the primary, and how that is found out."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from storage.connection_names import connection_name

SURVEY_TIMEOUT_SECONDS: Final = 3
"""Timeout for a host to report its lineage, if there are several."""
NEVER_SERVED: Final = -1
"""Generation of a database that no server of Parley has used yet."""
DEFAULT_PORT: Final = "5432"


@dataclass(frozen=True, slots=True)
class Lineage:
    """The lineage of a database.

    A restored or promoted database starts a new generation, higher than any before.
    """

    generation: int
    system: int
    """System identifier of the cluster."""
    timeline: int
    """Postgres starts a new one at each promotion."""

    def is_older_than(self, other: "Lineage | None") -> bool:
        """Return whether the other one is newer: what is written here would be lost there."""
        if other is None:
            return False
        if self.generation != other.generation:
            return self.generation < other.generation
        return self.system == other.system and self.timeline < other.timeline


@dataclass(frozen=True, slots=True)
class Host:
    """One of the hosts in the database's address, and its lineage."""

    name: str
    conninfo: str
    lineage: Lineage | None = None
    """None if it did not respond, or has no tables of Parley."""
    is_original: bool = False
    """Whether it is the original or a replica, not restored from a dump."""
    is_standby: bool = False
    error: psycopg.Error | None = None
    """Why it did not respond."""

    @property
    def rank(self) -> tuple[bool, bool, int, bool, int]:
        """Sort key: the highest is to be used."""
        found = self.lineage or Lineage(NEVER_SERVED, 0, 0)
        is_there = self.error is None
        return (
            is_there and not self.is_standby,
            not self.is_standby,
            found.generation,
            self.is_original,
            found.timeline,
        )


READ: Final[LiteralString] = """
    SELECT s.is_standby, s.system, coalesce((to_jsonb(d) ->> 'generation')::bigint, 0),
           CASE WHEN s.is_standby THEN d.timeline
                ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END,
           d.system_identifier, d.timeline
      FROM (SELECT pg_is_in_recovery() AS is_standby, system_identifier AS system
              FROM pg_control_system()) s
      LEFT JOIN database_identity d ON true
"""
"""Reads the lineage with any release's schema, also on a standby."""


def lineage_of(row: tuple[Any, ...]) -> Lineage:
    """Return the lineage in a row of READ."""
    is_standby, system, generation, timeline, recorded_system, recorded_timeline = row
    if recorded_system is None:
        return Lineage(NEVER_SERVED, system, timeline or 0)
    if is_standby:
        return Lineage(generation, recorded_system, recorded_timeline)
    return Lineage(generation, system, timeline)


def hosts_of(url: str) -> list[Host]:
    """Return the hosts in the address, each with an address of its own."""
    params = conninfo_to_dict(url)
    lists = {key: str(params.get(key) or "").split(",") for key in ("host", "hostaddr", "port")}
    count = max(map(len, lists.values()))
    if count == 1:
        return [Host(_name(params), url)]
    return [
        _host(params, {key: _nth(values, n) for key, values in lists.items()}) for n in range(count)
    ]


def survey(hosts: list[Host]) -> list[Host]:
    """Return the hosts with their lineages, asked concurrently; the primary first."""
    with ThreadPoolExecutor(len(hosts)) as threads:
        return sorted(threads.map(_asked, hosts), key=lambda host: host.rank, reverse=True)


def survey_of(url: str) -> list[Host]:
    """Return the surveyed hosts of an address; empty if it has one host, or cannot be parsed."""
    try:
        hosts = hosts_of(url)
    except psycopg.ProgrammingError:
        return []
    return survey(hosts) if len(hosts) > 1 else []


def leading(hosts: list[Host]) -> Lineage | None:
    """Return the newest lineage of a survey: the first host's."""
    found = [host.lineage for host in hosts if host.lineage is not None and not host.is_standby]
    return found[0] if found and found[0].generation > NEVER_SERVED else None


def _nth(values: list[str], number: int) -> str:
    return values[number] if number < len(values) else values[-1] if len(values) == 1 else ""


def _host(params: dict[str, Any], place: dict[str, str]) -> Host:
    rest = {key: value for key, value in params.items() if key not in place}
    own = rest | {key: value for key, value in place.items() if value}
    return Host(_name(own), make_conninfo("", **own))


def _name(params: dict[str, Any]) -> str:
    host = params.get("host") or params.get("hostaddr") or "the local socket"
    return f"{host}:{params.get('port') or DEFAULT_PORT}"


def _asked(host: Host) -> Host:
    try:
        with psycopg.connect(
            host.conninfo,
            autocommit=True,
            connect_timeout=SURVEY_TIMEOUT_SECONDS,
            fallback_application_name=connection_name("survey"),
        ) as connection:
            row = _read(connection)
    except psycopg.Error as error:
        return Host(host.name, host.conninfo, error=error)
    if row is None:
        return Host(host.name, host.conninfo)
    is_standby, system, _, _, recorded_system, _ = row
    return Host(
        host.name,
        host.conninfo,
        lineage=lineage_of(row),
        is_original=recorded_system == system,
        is_standby=is_standby,
    )


def _read(connection: psycopg.Connection[Any]) -> tuple[Any, ...] | None:
    """Return the row of READ; None if there are no tables of Parley."""
    try:
        return connection.execute(READ).fetchone()
    except psycopg.errors.UndefinedTable:
        return None
