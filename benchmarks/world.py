"""Fills an organization by SQL: people, channels, and a million messages in seconds."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import psycopg

from server.domain.passwords import Passwords

API_KEY = "k" * 32
PEOPLE_PREFIX = "bench"


@dataclass(frozen=True, slots=True)
class World:
    """The realm of the benchmark, and its people."""

    realm_id: int
    first_user_id: int
    people: int

    def email(self, number: int) -> str:
        return f"{PEOPLE_PREFIX}{number}@example.com"


def fill(database: psycopg.Connection[Any], *, people: int) -> World:
    """That many members with known API keys, in the organization that is there."""
    [realm_id] = database.execute("SELECT min(realm_id) FROM realms").fetchone() or [0]
    database.execute(
        """
        INSERT INTO users (realm_id, email, full_name, role, api_key, date_joined)
        SELECT %s, %s || g || '@example.com', 'Person ' || g, 400, %s, now()
          FROM generate_series(1, %s) AS g
        """,
        [realm_id, PEOPLE_PREFIX, API_KEY, people],
    )
    [first] = database.execute(
        "SELECT min(user_id) FROM users WHERE realm_id = %s AND email LIKE %s",
        [realm_id, f"{PEOPLE_PREFIX}%"],
    ).fetchone() or [0]
    database.execute("ANALYZE users")
    return World(realm_id, first, people)


def give_password(database: psycopg.Connection[Any], password: str) -> None:
    """Let all users made by `fill` sign in with this password."""
    with Passwords(1) as passwords:
        hashed = asyncio.run(passwords.hash(password))
    database.execute(
        "UPDATE users SET password_hash = %s WHERE email LIKE %s", [hashed, f"{PEOPLE_PREFIX}%"]
    )


def channel(
    database: psycopg.Connection[Any], world: World, name: str, subscribers: int, *, first: int = 0
) -> int:
    """A public channel with so many people from `first` on, subscribed from the beginning."""
    [channel_id] = database.execute(
        """
        INSERT INTO channels (realm_id, name, created_at, subscriber_count)
        VALUES (%s, %s, now(), %s) RETURNING channel_id
        """,
        [world.realm_id, name, subscribers],
    ).fetchone() or [0]
    database.execute(
        """
        INSERT INTO subscriptions (realm_id, user_id, channel_id, active, spans, color)
        SELECT %s, %s + g, %s, true, '{[1,)}', '#76ce90' FROM generate_series(0, %s - 1) AS g
        """,
        [world.realm_id, world.first_user_id + first, channel_id, subscribers],
    )
    database.execute("ANALYZE channels, subscriptions")
    return int(channel_id)


def messages(
    database: psycopg.Connection[Any],
    world: World,
    channel_ids: list[int],
    *,
    count: int,
    topics_a_channel: int,
    content: LiteralString = "'message ' || g % 1000",
) -> None:
    """That many messages, spread over the channels and their topics, below the clock.

    `content` is SQL for the text of message `g`. They are in the index of search, as its worker
    leaves it: what it does for a minute would be measured besides.
    """
    database.execute(KEEP_INDEXER_AWAY, {"realm": world.realm_id})
    [start] = database.execute(
        "SELECT position FROM realm_clock WHERE realm_id = %s", [world.realm_id]
    ).fetchone() or [0]
    database.execute(
        """
        INSERT INTO topics (realm_id, channel_id, name)
        SELECT %s, c, 'topic ' || t
          FROM unnest(%s::bigint[]) AS c, generate_series(1, %s) AS t
        """,
        [world.realm_id, channel_ids, topics_a_channel],
    )
    insert: LiteralString = """
        INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                              origin_channel_id, origin_conversation_id, sent_at, client, content,
                              rendered_content)
        SELECT %(realm)s, %(start)s + g, %(first)s + g %% %(people)s, t.channel_id, t.topic_id,
               t.channel_id, t.topic_id, now(), 'benchmark', said.text, '<p>' || said.text || '</p>'
          FROM generate_series(1::bigint, %(count)s) AS g
         CROSS JOIN LATERAL (SELECT @content AS text) AS said
          JOIN (SELECT topic_id, channel_id,
                       row_number() OVER (ORDER BY md5(topic_id::text)) - 1 AS n,
                       count(*) OVER () AS total
                  FROM topics WHERE realm_id = %(realm)s AND channel_id = ANY(%(channels)s)) AS t
            ON t.n = g %% t.total
        """
    database.execute(
        insert.replace("@content", content.replace("%", "%%")),
        {
            "realm": world.realm_id,
            "start": start,
            "first": world.first_user_id,
            "people": world.people,
            "count": count,
            "channels": channel_ids,
        },
    )
    database.execute(
        "UPDATE realm_clock SET position = position + %s, epoch = epoch + 1 WHERE realm_id = %s",
        [count, world.realm_id],
    )
    _index(database, world, start)
    database.execute("VACUUM (ANALYZE) messages, message_terms, topics, realm_clock")


KEEP_INDEXER_AWAY: Final = """
    INSERT INTO search_progress VALUES (%(realm)s, 9007199254740992, 'english')
    ON CONFLICT (realm_id) DO UPDATE SET indexed = excluded.indexed
"""
INDEX: Final = """
    WITH said AS MATERIALIZED (
        SELECT rendered_content, search_text(rendered_content) AS text FROM messages
         WHERE realm_id = %(realm)s AND id > %(above)s GROUP BY rendered_content
    ), words AS MATERIALIZED (
        SELECT s.*, search_words('english', s.text) AS words FROM said s
    )
    INSERT INTO message_terms (realm_id, message_id, words, text)
    SELECT m.realm_id, m.id, w.words, w.text FROM messages m JOIN words w USING (rendered_content)
     WHERE m.realm_id = %(realm)s AND m.id > %(above)s
"""
"""The words of a text take longer than all else: many messages say the same."""
INDEX_IS_UP_TO_DATE: Final = """
    UPDATE search_progress p SET indexed = c.position FROM realm_clock c
     WHERE p.realm_id = %(realm)s AND c.realm_id = p.realm_id
"""


def _index(database: psycopg.Connection[Any], world: World, above: int) -> None:
    """Make the index of search anew, with what is above the position: at once, it is soon done."""
    [definition] = database.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'message_terms_keys'"
    ).fetchone() or [""]
    database.execute("DROP INDEX message_terms_keys")
    database.execute(INDEX, {"realm": world.realm_id, "above": above})
    database.execute("SET maintenance_work_mem = '512MB'")
    database.execute(definition)
    database.execute("RESET maintenance_work_mem")
    database.execute("ALTER INDEX message_terms_keys ALTER COLUMN 1 SET STATISTICS 0")
    database.execute(INDEX_IS_UP_TO_DATE, {"realm": world.realm_id})


def phones(database: psycopg.Connection[Any], world: World, count: int) -> None:
    """A phone for each of the first people, which a bouncer knows."""
    database.execute(
        """
        INSERT INTO push_devices (realm_id, user_id, kind, token, bouncer_id, created_at)
        SELECT %s, %s + g, 'fcm', 'token-' || g, 1, now() FROM generate_series(0, %s - 1) AS g
        """,
        [world.realm_id, world.first_user_id, count],
    )
    database.execute("ANALYZE push_devices")


def let_time_pass(database: psycopg.Connection, world: World, positions: int) -> None:
    """Append so many empty entries, each in a transaction of its own."""
    database.execute(
        f"""
        DO $$ BEGIN
            FOR turn IN 1..{positions:d} LOOP
                PERFORM clock_lock({world.realm_id:d});
                PERFORM append_entry({world.realm_id:d}, 'tick', '', '{{}}', gen_random_uuid());
                PERFORM clock_advance({world.realm_id:d});
                COMMIT;
            END LOOP;
        END $$
        """
    )


def queues(database: psycopg.Connection[Any], world: World, count: int) -> list[str]:
    """An event queue for each of the first people, which listens to messages."""
    rows = database.execute(
        """
        INSERT INTO event_queues (realm_id, queue_id, user_id, epoch, base, params,
                                  lifespan_seconds, last_seen_at)
        SELECT realm_id, 'bench-' || lpad(g::text, 26, '0'), %s + g, epoch, position,
               '{"event_types": ["message"]}', 86400, now()
          FROM realm_clock, generate_series(0, %s - 1) AS g
         WHERE realm_id = %s
        RETURNING queue_id
        """,
        [world.first_user_id, count, world.realm_id],
    ).fetchall()
    database.execute("ANALYZE event_queues")
    return sorted(str(queue_id) for (queue_id,) in rows)
