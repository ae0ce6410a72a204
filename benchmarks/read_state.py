"""`python -m benchmarks.read_state`: reading and marking with a million messages.

Loads a realm into a database of its own (about half a minute), measures the storage functions
through the driver, prints a table, and drops the database.
"""

import argparse
import asyncio
import json
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from storage import clock, history, message_flags, read_marks, read_state
from storage.database import Connection, Statement
from storage.driver import PgConnection
from storage.history import NEWEST, OLDEST, HistoryScope, HistoryWindow
from storage.ids import ChannelId, MessageId, RealmId, UserId
from storage.migrate import migrate

DEFAULT_URL = "postgresql://postgres@127.0.0.1:5432/postgres"
REALM = RealmId(1)
NEWEST_HUNDRED = HistoryWindow(anchor=NEWEST, before=100, after=0)

# Readers of the same realm who differ in what they have read.
UP_TO_DATE = UserId(1)
EVERYWHERE = UserId(2)
BEHIND = UserId(3)
BY_TOPIC = UserId(4)
AWAY = UserId(1001)
BUSY_CHANNEL = ChannelId(101)
BUSY_TOPIC = 2_000_000
MANY_UNREAD = 100_000
"""Unread messages of one topic after a long absence."""
NARROW = 5_000

# How many of the newest messages have not been seen by a vacuum yet.
FRESH = 5_000

PEOPLE = """
INSERT INTO realms (realm_id, subdomain, name, created_at) VALUES (1, '', 'A realm', now());
INSERT INTO realm_clock (realm_id) VALUES (1);
INSERT INTO users (realm_id, user_id, email, full_name, role, api_key, date_joined)
SELECT 1, u, 'user' || u, 'User ' || u, 400, md5(u::text), now() FROM generate_series(1, 1000) u;
INSERT INTO channels (realm_id, channel_id, name, created_at, invite_only,
                      history_public_to_subscribers)
SELECT 1, c, 'channel ' || c, now(), c % 10 IN (8, 9), c % 10 <> 9 FROM generate_series(1, 100) c;
INSERT INTO topics (realm_id, topic_id, channel_id, name)
SELECT 1, 1000 + t, 1 + t % 100, 'topic ' || t FROM generate_series(0, 699) t;
INSERT INTO subscriptions (realm_id, user_id, channel_id, active, spans, color)
SELECT 1, u, c, true, '{[1,)}', '#76ce90'
  FROM generate_series(1, 1000) u, generate_series(1, 100) c
 WHERE u = 2 OR (u IN (1, 3, 4) AND c <= 41) OR (u > 4 AND (u * 31 + c * 17) % 100 < 30);
INSERT INTO dm_groups (realm_id, dm_group_id, user_ids)
SELECT 1, 100000 + row_number() OVER (), ARRAY[least(a, b), greatest(a, b)]
  FROM (SELECT a, b FROM generate_series(1, 4) a, generate_series(5, 204) b
        UNION SELECT u, 5 + (u * 7 + n * 131) % 995
          FROM generate_series(5, 1000) u, generate_series(1, 10) n) AS pairs(a, b)
 WHERE a <> b GROUP BY least(a, b), greatest(a, b);
INSERT INTO dm_group_members (realm_id, user_id, dm_group_id)
SELECT realm_id, unnest(user_ids), dm_group_id FROM dm_groups;
ANALYZE;
"""

# Every second position is a message: other entries have the rest. Few topics have most messages,
# and one message in twelve is direct.
MESSAGES = """
INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id, origin_channel_id,
                      origin_conversation_id, sent_at, traits, client, content, rendered_content)
SELECT 1, 2 * n, CASE WHEN g.dm_group_id IS NULL THEN 5 + n * 7919 %% 996
                      ELSE g.user_ids[1 + n %% 2] END,
       p.channel_id, coalesce(g.dm_group_id, p.topic_id), p.channel_id,
       coalesce(g.dm_group_id, p.topic_id), now() - (%(last)s - n) * interval '30 seconds', 1,
       'website', left(t.words, p.length), '<p>' || left(t.words, p.length) || '</p>'
  FROM (SELECT n, 1 + topic %% 100 AS channel_id, 1000 + topic AS topic_id,
               (20 + n * 48271 %% 300)::integer AS length
          FROM (SELECT n, (700 * power((n * 16807 %% 2147483647) / 2147483647.0, 1.5))::bigint
                          %% 700 AS topic
                  FROM generate_series(%(first)s::bigint, %(last)s::bigint) n) AS drawn) AS q
 CROSS JOIN LATERAL (
       SELECT q.n %% 12 = 0 AS is_direct, CASE WHEN q.n %% 12 <> 0 THEN q.channel_id END AS
              channel_id, q.topic_id, q.length) AS p
  LEFT JOIN (SELECT dm_group_id, user_ids, row_number() OVER (ORDER BY dm_group_id) AS number
               FROM dm_groups) AS g
         ON p.is_direct AND g.number = 1 + q.n / 12 %% (SELECT count(*) FROM dm_groups)
 CROSS JOIN (SELECT repeat('lorem ipsum dolor sit amet consectetur ', 9) AS words) AS t
 ORDER BY n
"""

READ = """
INSERT INTO reactions (realm_id, message_id, user_id, reaction_type, emoji_code, emoji_name,
                       position)
SELECT 1, id, 1 + id % 997, 'unicode_emoji', '1f44d', 'thumbs_up', id
  FROM messages WHERE id % 22 = 0;
UPDATE realm_clock SET position = (SELECT max(id) FROM messages);
-- Two have read everything, one all but 9,000 in some hundred topics ...
INSERT INTO channel_read (realm_id, user_id, channel_id, read)
SELECT 1, u, c, int8multirange(int8range(0, position, '[]'))
  FROM realm_clock, generate_series(1, 3) u, generate_series(0, 100) c
 WHERE u < 3 OR c = 0 OR c > 15;
INSERT INTO channel_read (realm_id, user_id, channel_id, read)
SELECT 1, 3, c, int8multirange(int8range(0, (
           SELECT min(id) FROM (SELECT id FROM messages WHERE channel_id BETWEEN 1 AND 15
                                 ORDER BY id DESC LIMIT 9000) AS newest)))
  FROM generate_series(1, 15) c;
-- ... and one reads topic by topic, has left the newest two of each, and was never folded.
INSERT INTO conversation_read (realm_id, user_id, conversation_id, read)
SELECT 1, 4, c.id, int8multirange(int8range(0, coalesce((
           SELECT id FROM messages WHERE conversation_id = c.id ORDER BY id DESC OFFSET 1 LIMIT 1),
           1)))
  FROM (SELECT topic_id AS id FROM topics
        UNION ALL SELECT dm_group_id FROM dm_group_members WHERE user_id = 4) AS c;
ANALYZE;
"""


BUSY = """
INSERT INTO users (realm_id, user_id, email, full_name, role, api_key, date_joined)
VALUES (1, %(away)s, 'away', 'Away', 400, 'away', now());
INSERT INTO channels (realm_id, channel_id, name, created_at)
VALUES (1, %(channel)s, 'busy', now());
INSERT INTO topics (realm_id, topic_id, channel_id, name)
VALUES (1, %(topic)s, %(channel)s, 'busy');
INSERT INTO subscriptions (realm_id, user_id, channel_id, active, spans, color)
VALUES (1, %(away)s, %(channel)s, true, '{[1,)}', '#76ce90');
INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id, origin_channel_id,
                      origin_conversation_id, sent_at, traits, client, content, rendered_content)
SELECT 1, position + 2 * n, 5 + n %% 996, %(channel)s, %(topic)s, %(channel)s, %(topic)s, now(), 1,
       'website', 'busy', '<p>busy</p>'
  FROM realm_clock, generate_series(1, %(count)s) n;
UPDATE realm_clock SET position = (SELECT max(id) FROM messages);
"""


@dataclass(frozen=True)
class Figure:
    name: str
    median_ms: float
    least_ms: float
    p90_ms: float


@contextmanager
def own_database(server_url: str) -> Iterator[str]:
    """A database that lives as long as the block."""
    name = sql.Identifier(f"parley_benchmark_{os.getpid()}")
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(name))
        try:
            yield psycopg.conninfo.make_conninfo(server_url, dbname=name.as_string(None).strip('"'))
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def load(url: str, messages: int) -> None:
    """The realm, its messages and what has been read."""
    migrate(url)
    with psycopg.connect(url, autocommit=True) as database:
        database.execute("SET synchronous_commit = off")
        database.execute("SELECT event_log_partitions(1)")
        database.execute(PEOPLE)
        fill = psycopg.ClientCursor(database)
        fill.execute(MESSAGES, {"first": 1, "last": messages - FRESH})
        database.execute("VACUUM ANALYZE")
        fill.execute(MESSAGES, {"first": messages - FRESH + 1, "last": messages})
        database.execute(READ)
        fill.execute(
            BUSY,
            {
                "away": AWAY,
                "channel": BUSY_CHANNEL,
                "topic": BUSY_TOPIC,
                "count": MANY_UNREAD,
            },
        )
        database.execute("VACUUM ANALYZE messages")


async def timed(name: str, times: int, action: Callable[[], Awaitable[Any]]) -> Figure:
    """The first calls, which plan, are left out."""
    taken = []
    for _ in range(times + 8):
        start = time.perf_counter()
        await action()
        taken.append((time.perf_counter() - start) * 1000)
    taken = sorted(taken[8:])
    return Figure(name, taken[len(taken) // 2], taken[0], taken[len(taken) * 9 // 10])


async def undone(connection: Connection, statement: Statement) -> None:
    """Run a write after the clock, then roll back."""
    async with connection.raw.transaction(force_rollback=True):
        await connection.run(clock.lock(REALM))
        await connection.run(statement)


async def measure_unread(connection: Connection, times: int) -> list[Figure]:
    cases = {
        "unread: nothing, 41 channels, 200 groups": UP_TO_DATE,
        "unread: nothing, 100 channels, 200 groups": EVERYWHERE,
        "unread: 9,000 in some hundred topics": BEHIND,
        "unread: two of each topic, never folded": BY_TOPIC,
    }
    figures = []
    for name, user_id in cases.items():
        found = await read_state.unread(connection, REALM, user_id)
        topics = len(found.conversations)
        figures.append(
            await timed(
                f"{name} ({found.count} in {topics})",
                times if user_id != BY_TOPIC else times // 10 + 1,
                partial(read_state.unread, connection, REALM, user_id),
            )
        )
    every = (await read_state.unread(connection, REALM, BY_TOPIC)).foldable
    folds = await read_state.folds(connection, REALM, BY_TOPIC, every)
    figures.append(
        await timed(
            "folds of all its channels",
            times // 10 + 1,
            lambda: read_state.folds(connection, REALM, BY_TOPIC, every),
        )
    )
    fold = read_state.fold(REALM, BY_TOPIC, folds)
    figures.append(await timed("writing them", times // 10 + 1, lambda: undone(connection, fold)))
    async with connection.raw.transaction():
        await connection.run(clock.lock(REALM))
        await connection.run(fold)
    figures.append(
        await timed(
            "unread: the same when folded",
            times,
            lambda: read_state.unread(connection, REALM, BY_TOPIC),
        )
    )
    return figures


async def measure_history(connection: Connection, times: int) -> list[Figure]:
    scopes = {
        "newest 100 of a topic": (UP_TO_DATE, HistoryScope(conversation_ids=[1002])),
        "newest 100 of a channel": (UP_TO_DATE, HistoryScope(channel_ids=[ChannelId(3)])),
        "newest 100 of a feed of 41 channels": (UP_TO_DATE, HistoryScope()),
        "newest 100 of a feed of 100 channels": (EVERYWHERE, HistoryScope()),
        "newest 100 direct messages": (UP_TO_DATE, HistoryScope(only_direct=True)),
        "newest 100 of a sender": (UP_TO_DATE, HistoryScope(sender_id=UserId(77))),
        "newest 100 of 9,000 unread": (BEHIND, HistoryScope(flags=("unread",))),
    }
    figures = [
        await timed(
            name,
            times,
            partial(history.page, connection, REALM, user_id, scope, NEWEST_HUNDRED, rendered=True),
        )
        for name, (user_id, scope) in scopes.items()
    ]
    figures.append(
        await timed(
            "first unread of a feed with 9,000",
            times,
            lambda: history.first_unread(connection, REALM, BEHIND, HistoryScope()),
        )
    )
    return figures


async def measure_marking(connection: Connection, times: int) -> list[Figure]:
    unread = await read_state.unread(connection, REALM, BEHIND)
    longest = max(unread.conversations, key=lambda each: len(each.message_ids))
    ids = longest.message_ids
    log: dict[str, Any] = {"audience": b"{}", "write_id": str(uuid.UUID(int=0))}

    def mark(some: list[MessageId]) -> Statement:
        reader = read_marks.ReadMarker(BEHIND, some, b"{}")
        return read_marks.mark_reads(REALM, [reader], write_id=log["write_id"])

    some_read = [
        row.id
        for row in (
            await history.page(
                connection, REALM, UP_TO_DATE, HistoryScope(), NEWEST_HUNDRED, rendered=False
            )
        ).rows
    ]
    statements = {
        "mark 1 message read": mark(ids[-1:]),
        "mark 100 messages of a topic read": mark(ids[-100:]),
        f"mark a topic read ({len(ids)} messages)": read_marks.mark_conversation_read(
            REALM, BEHIND, longest.conversation_id, **log
        ),
        "mark a channel read": read_marks.mark_channel_read(REALM, BEHIND, ChannelId(3), **log),
        f"mark everything read ({unread.count} messages)": read_marks.mark_all_read(
            REALM, BEHIND, **log
        ),
        "mark 100 messages unread": read_marks.mark_unread(
            REALM, UP_TO_DATE, some_read, empty_topic_name="general chat", **log
        ),
        "star 1 message": message_flags.change(
            REALM, UP_TO_DATE, some_read[:1], flag="starred", operation="add", **log
        ),
    }
    return [
        await timed(name, times, partial(undone, connection, statement))
        for name, statement in statements.items()
    ] + [
        await timed("(lock the clock, and roll back)", times, lambda: undone(connection, _NOTHING))
    ]


async def measure_much(connection: Connection, times: int) -> list[Figure]:
    """Marking 100,000 as read, and flags over a narrow of 5,000: found, then changed."""
    log: dict[str, Any] = {"audience": b"{}", "write_id": str(uuid.UUID(int=0))}
    statements = {
        "mark a topic": read_marks.mark_conversation_read(REALM, AWAY, BUSY_TOPIC, **log),
        "mark a channel": read_marks.mark_channel_read(REALM, AWAY, BUSY_CHANNEL, **log),
        "mark everything": read_marks.mark_all_read(REALM, AWAY, **log),
    }
    figures = [
        await timed(f"{name} read ({MANY_UNREAD:,})", times, partial(undone, connection, statement))
        for name, statement in statements.items()
    ]
    oldest = HistoryWindow(anchor=OLDEST, before=0, after=NARROW)
    scope = HistoryScope(conversation_ids=[BUSY_TOPIC])

    async def found() -> list[MessageId]:
        page = await history.page_of_ids(connection, REALM, AWAY, scope, oldest)
        return page.ids

    async def read_narrow() -> None:
        reader = read_marks.ReadMarker(AWAY, await found(), b"{}")
        statement = read_marks.mark_reads(REALM, [reader], write_id=log["write_id"])
        await undone(connection, statement)

    async def star_narrow() -> None:
        statement = message_flags.change(
            REALM, AWAY, await found(), flag="starred", operation="add", **log
        )
        await undone(connection, statement)

    figures.append(await timed(f"find a narrow of {NARROW:,}", times, found))
    figures.append(await timed(f"mark a narrow of {NARROW:,} read", times, read_narrow))
    figures.append(await timed(f"star a narrow of {NARROW:,}", times, star_narrow))
    return figures


_NOTHING = Statement("SELECT 1")


async def measure(url: str, times: int) -> list[Figure]:
    async with await PgConnection.connect(url, autocommit=True) as raw:
        connection = Connection(raw)
        return [
            *await measure_history(connection, times),
            *await measure_marking(connection, times),
            *await measure_much(connection, times // 10 + 1),
            *await measure_unread(connection, times),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.read_state", description=__doc__)
    parser.add_argument("--url", default=DEFAULT_URL, help="a server on which to make a database")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    with own_database(arguments.url) as url:
        load(url, arguments.messages)
        load_before = os.getloadavg()[0]
        figures = asyncio.run(measure(url, arguments.times))
    print(f"{arguments.messages:,} messages, load before {load_before:.1f}; milliseconds")
    width = max(len(figure.name) for figure in figures)
    print(f"{'':{width}}  median    least      p90")
    for each in figures:
        row = f"{each.median_ms:8.2f} {each.least_ms:8.2f} {each.p90_ms:8.2f}"
        print(f"{each.name:{width}} {row}")
    if arguments.json:
        found = {each.name: [each.median_ms, each.least_ms, each.p90_ms] for each in figures}
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
