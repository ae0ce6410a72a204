"""Measure every narrow and search in an organization with a million messages."""

from typing import Any, Final

import psycopg

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
from benchmarks.world import World

PEOPLE: Final = 1_000
CHANNELS: Final = 100
MESSAGES: Final = 1_000_000
TOPICS_A_CHANNEL: Final = 7
REQUESTS: Final = 50

SAYINGS: Final = 20_000
MAKE_SAYINGS: Final = """
    CREATE TEMPORARY TABLE sayings AS
    SELECT g AS n, text
      FROM generate_series(0, %(count)s - 1) AS g
     CROSS JOIN LATERAL (
        SELECT 'message ' || g || ' ' || string_agg(
                   translate(substr(md5(floor(5000 * random() ^ 3 + 0 * g)::text), 1, 3 + (n %% 5)),
                             '0123456789', 'ghijklmnop'), ' ') AS text
          FROM generate_series(1, 12) AS n) AS said
"""
"""A dozen words, some much more common than others."""
SENTENCE: Final = """
    (SELECT s.text FROM sayings s WHERE s.n = g * 7919 % 20000)
    || CASE WHEN g % 20000 = 0 THEN ' needle in haystacks' ELSE '' END
    || CASE WHEN g % 1000 = 0 THEN ' 数据库迁移完成' ELSE '' END
"""
"""Rare words besides."""

DECORATIONS: Final = (
    "UPDATE topics SET name = '✔ ' || name WHERE realm_id = %(realm)s AND name = 'topic 7'",
    """
    UPDATE messages SET traits = CASE WHEN id %% 400 = 0 THEN 48 ELSE 16 END
     WHERE realm_id = %(realm)s AND id %% 20 = 0
    """,
    """
    INSERT INTO reactions
    SELECT realm_id, id, %(first)s, 'unicode_emoji', '1f44d', 'thumbs_up', id FROM messages
     WHERE realm_id = %(realm)s AND id %% 100 = 7
    """,
    """
    INSERT INTO message_flags
    SELECT realm_id, %(first)s, id, CASE WHEN id %% 2000 = 3 THEN 2 ELSE 8 END FROM messages
     WHERE realm_id = %(realm)s AND id %% 1000 = 3
    """,
    """
    INSERT INTO user_topics
    SELECT realm_id, %(first)s, topic_id, 1 + 2 * (topic_id %% 2), now() FROM topics
     WHERE realm_id = %(realm)s AND topic_id %% 13 = 1
    """,
    """
    WITH made AS (
        INSERT INTO dm_groups (realm_id, user_ids)
        SELECT %(realm)s, ARRAY[%(first)s, %(first)s + g]::bigint[] FROM generate_series(1, 50) AS g
        RETURNING *
    ), members AS (
        INSERT INTO dm_group_members
        SELECT realm_id, unnest(user_ids), dm_group_id FROM made
    )
    UPDATE messages m SET channel_id = NULL, origin_channel_id = NULL,
           conversation_id = g.dm_group_id, origin_conversation_id = g.dm_group_id
      FROM (SELECT dm_group_id, row_number() OVER () AS n FROM made) AS g
     WHERE m.realm_id = %(realm)s AND m.id %% 100 = 51 AND m.id / 100 %% 50 + 1 = g.n
    """,
)
"""The measured narrows."""


def fill(database: psycopg.Connection[Any], count: int = MESSAGES) -> tuple[World, list[int]]:
    """The organization, and its channels."""
    world = worlds.fill(database, people=PEOPLE)
    channels = [worlds.channel(database, world, f"c{n}", PEOPLE) for n in range(CHANNELS)]
    database.execute(MAKE_SAYINGS, {"count": SAYINGS})
    database.execute("CREATE UNIQUE INDEX ON sayings (n)")
    database.execute("ANALYZE sayings")
    worlds.messages(
        database,
        world,
        channels,
        count=count,
        topics_a_channel=TOPICS_A_CHANNEL,
        content=SENTENCE,
    )
    names = {"realm": world.realm_id, "first": world.first_user_id}
    for statement in DECORATIONS:
        database.execute(statement, names)
    database.execute("VACUUM (ANALYZE) messages, topics, reactions, message_flags")
    return world, channels


def narrows(world: World, channels: list[int]) -> dict[str, list[dict[str, Any]]]:
    """Each by what it is called in the table of figures."""
    channel, topic = ("channel", channels[50]), ("topic", "topic 3")
    other = world.first_user_id + 7
    said: dict[str, list[tuple[str, Any]]] = {
        "everything": [],
        "channel": [channel],
        "channel, topic": [channel, topic],
        "topic in all channels": [topic],
        "channels:public": [("channels", "public")],
        "dm": [("dm", [other])],
        "dm-including": [("dm-including", [other])],
        "is:dm": [("is", "dm")],
        "is:starred": [("is", "starred")],
        "is:mentioned": [("is", "mentioned")],
        "is:alerted": [("is", "alerted")],
        "is:unread": [("is", "unread"), channel],
        "is:resolved": [("is", "resolved")],
        "is:followed": [("is", "followed")],
        "is:muted": [("is", "muted")],
        "has:link": [("has", "link")],
        "has:image": [("has", "image")],
        "has:image in a channel": [("has", "image"), channel],
        "has:reaction": [("has", "reaction")],
        "sender": [("sender", other)],
        "sender in a channel": [("sender", other), channel],
        "sender in a topic": [("sender", other), channel, topic],
        "mentions": [("mentions", world.first_user_id)],
        "-channel": [("-channel", channels[50])],
        "-sender": [("-sender", other)],
        "-is:dm": [("-is", "dm")],
        "-is:resolved": [("-is", "resolved")],
        "-is:muted": [("-is", "muted")],
        "-has:link": [("-has", "link")],
        "search, in every message": [("search", "message")],
        "search, common words": [("search", "cfc cfcd")],
        "search, rare": [("search", "needle")],
        "search, by stem": [("search", "haystack")],
        "search, part of a word": [("search", "eedl")],
        "search, phrase": [("search", '"needle in"')],
        "search, nothing": [("search", "nowhere")],
        "search, Chinese": [("search", "迁移")],
        "search in a channel": [("search", "needle"), channel],
        "search in a topic": [("search", "cfc"), channel, topic],
    }
    return {
        name: [{"operator": operator, "operand": operand} for operator, operand in terms]
        for name, terms in said.items()
    }


async def read(server: Server, world: World, channels: list[int]) -> dict[str, list[float]]:
    """How long each took, in seconds."""
    client = Client(server.port, world.email(1), worlds.API_KEY)
    taken: dict[str, list[float]] = {}
    for name, narrow in narrows(world, channels).items():
        request = client.request(
            "GET", "/messages", anchor="newest", num_before=100, num_after=0, narrow=narrow
        )
        for _ in range(3):
            await client.timed(request)
        taken[name] = [await client.timed(request) for _ in range(REQUESTS)]
    return taken
