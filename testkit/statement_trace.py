"""A server's traffic to its database: statements and round trips, read off the wire."""

import asyncio
import re
import struct
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import psycopg

from testkit.services.proxy import proxy_to

TURNS = 5
MOST_TURNS = 40
"""How often each is counted: until most counts are the same, for something may come so late that
it counts for the next, and on a busy machine what usually shares a round trip may take two."""
WARM_UP = 10
"""A statement is prepared, which is a round trip of its own, when it has been used a few times."""
QUIET_SECONDS = 0.08
"""An act is over when there was no statement for so long, or for as long as it took itself."""
BY_ITSELF = re.compile(r"FROM clocks_now\(\$1::bigint\[\]\)\s*$")
"""A statement that a server sends each second, with requests or without."""


@dataclass
class _Line:
    """One connection: what has come of its next message, and what its statements say."""

    rest: bytes = b""
    has_begun: bool = False
    statements: dict[bytes, str] = field(default_factory=dict)
    bound: str = ""
    is_awaited: bool = False
    """Something has been asked, and not said yet that it is to be answered now."""
    is_by_itself: bool = False
    """Something has been asked BY_ITSELF."""


@dataclass
class Heard:
    statements: list[str] = field(default_factory=list)
    round_trips: int = 0


class Wiretap:
    """Reads the messages of Postgres' protocol that go to the database."""

    def __init__(self, url: str) -> None:
        self.url = url
        """The address through which a server's statements are recorded."""
        self.heard = Heard()
        self._lines: dict[object, _Line] = defaultdict(_Line)

    def hear(self, connection: object, data: bytes) -> None:
        line = self._lines[connection]
        line.rest += data
        while (end := _end(line)) is not None:
            message, line.rest = line.rest[:end], line.rest[end:]
            if line.has_begun:
                self._read(line, message[:1], message[5:])
            line.has_begun = True

    async def usual(self, act: Callable[[], Awaitable[object]]) -> Heard:
        """The usual statements of an act, which is repeated several times."""
        for _ in range(WARM_UP):
            await act()
        found: list[Heard] = []
        counts: Counter[tuple[int, int]] = Counter()
        while len(found) < TURNS or 2 * max(counts.values()) <= len(found) < MOST_TURNS:
            self.heard = Heard()
            begin = time.monotonic()
            await act()
            await self._quiet(max(QUIET_SECONDS, time.monotonic() - begin))
            found.append(self.heard)
            counts[_count(self.heard)] += 1
        self.heard = Heard()  # for what others ask from now on
        return min(found, key=lambda each: (-counts[_count(each)], *_count(each)))

    async def _quiet(self, seconds: float) -> None:
        """Some of what an act asks for is asked after its answer."""
        said = -1
        while said < len(self.heard.statements):
            said = len(self.heard.statements)
            await asyncio.sleep(seconds)

    def _read(self, line: _Line, kind: bytes, body: bytes) -> None:
        match kind:
            case b"Q":
                self.heard.statements.append(body[:-1].decode())
                self.heard.round_trips += 1
            case b"P":
                name, sql, _ = body.split(b"\0", 2)
                line.statements[name] = sql.decode()
            case b"B":
                _, name, _ = body.split(b"\0", 2)
                line.bound = line.statements[name]
            case b"E":
                if BY_ITSELF.search(line.bound):
                    line.is_by_itself = True
                    return
                self.heard.statements.append(line.bound)
                line.is_awaited = True
            case b"S":
                self.heard.round_trips += line.is_awaited or not line.is_by_itself
                line.is_awaited = line.is_by_itself = False
            case b"H":  # in a pipeline: what has been asked so far is waited for, if anything has
                self.heard.round_trips += line.is_awaited
                line.is_awaited = False


def _count(heard: Heard) -> tuple[int, int]:
    return heard.round_trips, len(heard.statements)


def _end(line: _Line) -> int | None:
    """The end of the next message, once all of it is there. The first one has no kind."""
    start = 1 if line.has_begun else 0
    if len(line.rest) < start + 4:
        return None
    [length] = struct.unpack_from("!i", line.rest, start)
    end = int(start + length)
    return end if len(line.rest) >= end else None


@asynccontextmanager
async def tapped(database_url: str) -> AsyncIterator[Wiretap]:
    """A way to the database on which everything is heard."""
    port = int(psycopg.conninfo.conninfo_to_dict(database_url).get("port") or 5432)
    async with proxy_to(port) as proxy:
        through = database_url.replace(f":{port}/", f":{proxy.port}/")
        plain = "&" if "?" in through else "?"
        wiretap = Wiretap(f"{through}{plain}sslmode=disable&gssencmode=disable")
        proxy.listener = wiretap.hear
        yield wiretap
