"""Which of several databases leads: the order of their lineages, and how each is found out."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

ASK_SECONDS: Final = 3
"""How long a host may take to say what it is, where there are several."""
NEVER_SERVED: Final = -1
"""The generation of a database that no server of Parley has used yet."""
DEFAULT_PORT: Final = "5432"


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a database is a continuation of.

    A restored or promoted database begins a new generation, which is higher than any before.
    """

    generation: int
    system: int
    """The identifier that Postgres gave the cluster."""
    timeline: int
    """Postgres begins a new one at each promotion."""

    def is_older_than(self, other: "Lineage | None") -> bool:
        """Return whether the other one leads: what is written here, it would never have."""
        if other is None:
            return False
        if self.generation != other.generation:
            return self.generation < other.generation
        return self.system == other.system and self.timeline < other.timeline


@dataclass(frozen=True, slots=True)
class Host:
    """One of the hosts that the address of the database names, and what it said of itself."""

    name: str
    conninfo: str
    lineage: Lineage | None = None
    """None: it did not answer, or has no tables of Parley."""
    is_original: bool = False
    """Whether it is a copy by replication or the original itself, and not what was loaded."""
    is_standby: bool = False
    error: psycopg.Error | None = None
    """Why it did not answer."""

    @property
    def rank(self) -> tuple[bool, bool, int, bool, int]:
        """The higher, the sooner it should be used."""
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
"""What a database is, on any release's schema, also on a standby."""


def lineage_of(row: tuple[Any, ...]) -> Lineage:
    """Return the lineage in a row of READ."""
    is_standby, system, generation, timeline, recorded_system, recorded_timeline = row
    if recorded_system is None:
        return Lineage(NEVER_SERVED, system, timeline or 0)
    if is_standby:
        return Lineage(generation, recorded_system, recorded_timeline)
    return Lineage(generation, system, timeline)


def hosts_of(url: str) -> list[Host]:
    """Return the hosts that the address names, each with an address of its own."""
    params = conninfo_to_dict(url)
    lists = {key: str(params.get(key) or "").split(",") for key in ("host", "hostaddr", "port")}
    count = max(map(len, lists.values()))
    if count == 1:
        return [Host(_name(params), url)]
    return [
        _host(params, {key: _nth(values, n) for key, values in lists.items()}) for n in range(count)
    ]


def survey(hosts: list[Host]) -> list[Host]:
    """Return what each host is, asked all at once; the one that leads first."""
    with ThreadPoolExecutor(len(hosts)) as threads:
        return sorted(threads.map(_asked, hosts), key=lambda host: host.rank, reverse=True)


def survey_of(url: str) -> list[Host]:
    """What each of the hosts of an address is; nothing where it names one, or cannot be read."""
    try:
        hosts = hosts_of(url)
    except psycopg.ProgrammingError:
        return []
    return survey(hosts) if len(hosts) > 1 else []


def leading(hosts: list[Host]) -> Lineage | None:
    """Return the newest lineage of a survey, whose first host leads."""
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
            host.conninfo, autocommit=True, connect_timeout=ASK_SECONDS
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
    """Return None where Parley has no tables."""
    try:
        return connection.execute(READ).fetchone()
    except psycopg.errors.UndefinedTable:
        return None
