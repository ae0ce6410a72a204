"""The cost of the fan-out decision for a message to very many people."""

import time
from typing import Any

import psycopg
import uvloop

from benchmarks import world as worlds
from queue_processors.message_fanout import Fanout
from server.domain.clock import SystemClock
from server.jobs import MessageFanout
from server.messaging.job_broker import OutgoingJob
from server.realm_cache import RealmCaches
from storage.database import open_database
from storage.ids import MessageId, RealmId

SUBSCRIBERS = 10_000
WISHES = {
    "10 want a push": "user_id %% 1000 = 0",
    "no notifications": "false",
}
MESSAGES = 60


class Nowhere:
    """A broker that forgets what it is given."""

    async def publish(self, *jobs: OutgoingJob) -> None:
        del jobs


def decide(database: psycopg.Connection[Any], url: str) -> dict[str, list[float]]:
    """Seconds for each message, by what its readers want."""
    world = worlds.fill(database, people=SUBSCRIBERS)
    worlds.phones(database, world, SUBSCRIBERS)
    taken = {}
    for name, wish in WISHES.items():
        channel_id = worlds.channel(database, world, name, SUBSCRIBERS)
        database.execute(
            f"UPDATE subscriptions SET push_notifications = ({wish}) WHERE channel_id = %s",
            [channel_id],
        )
        database.execute("VACUUM (ANALYZE) subscriptions, users")
        taken[name] = uvloop.run(_decide_often(database, url, world, channel_id))
    return taken


async def _decide_often(
    database: psycopg.Connection[Any], url: str, world: worlds.World, channel_id: int
) -> list[float]:
    worlds.messages(database, world, [channel_id], count=MESSAGES, topics_a_channel=1)
    rows = database.execute(
        "SELECT id FROM messages WHERE channel_id = %s ORDER BY id DESC LIMIT %s",
        [channel_id, MESSAGES],
    ).fetchall()
    realm_id = RealmId(world.realm_id)
    taken = []
    async with open_database(url) as pool:
        realm_cache = RealmCaches(pool, SystemClock()).of(realm_id)
        fanout = Fanout(
            pool,
            Nowhere(),
            realm_cache,
            realm_id,
            hands_to=frozenset({"push_notifications"}),
            push_kinds=frozenset({"apns", "fcm", "web"}),
        )
        for [message_id] in rows:
            started = time.perf_counter()
            await fanout.handle(MessageFanout(realm_id=realm_id, sent=(MessageId(message_id),)))
            taken.append(time.perf_counter() - started)
    return taken[10:]
