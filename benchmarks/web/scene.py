"""Organizations to open in the browser client."""

import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
from benchmarks.world import World

PASSWORD = "a password for the browser"
PEOPLE = 1_000
MANY_PEOPLE = 10_000
HISTORY = 100_000
TOPICS = 30
"""Each of some 3,300 messages; a narrow of the channel has them all."""
UNREAD = 9_000
UNREAD_CHANNELS = 20

CONTENT = """
    'Message ' || g || repeat(' says a little more than the one before it,', 1 + (g % 7)::int)
"""


class Scene:
    """A server with people, a channel with a long history, and much that is unread."""

    def __init__(self, server: Server, world: World, channel_id: int, newest: list[int]) -> None:
        self.server = server
        self.world = world
        self.channel_id = channel_id
        self.newest = newest
        """The newest message of each topic, of topic 1 first."""

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server.port}"

    @property
    def channel(self) -> str:
        return f"#narrow/channel/{self.channel_id}-history"

    def topic(self, number: int) -> str:
        return f"{self.channel}/topic/topic.20{number}"

    def client(self, number: int) -> Client:
        return Client(self.server.port, self.world.email(number), worlds.API_KEY)


def large(server: Server) -> Scene:
    """1,000 people, a history of 100,000 messages, and 9,000 others that are unread."""
    with server.database() as database:
        world = worlds.fill(database, people=PEOPLE)
        worlds.give_password(database, PASSWORD)
        channel_id = worlds.channel(database, world, "history", PEOPLE)
        worlds.messages(
            database, world, [channel_id], count=HISTORY, topics_a_channel=TOPICS, content=CONTENT
        )
        rows = database.execute(
            """
            SELECT max(m.id) FROM messages m JOIN topics t ON t.topic_id = m.conversation_id
             WHERE m.channel_id = %s GROUP BY t.name ORDER BY substr(t.name, 7)::int
            """,
            [channel_id],
        ).fetchall()
    scene = Scene(server, world, channel_id, [int(str(newest)) for (newest,) in rows])
    uvloop.run(_read_all(scene))
    with server.database() as database:
        others = [
            worlds.channel(database, world, f"unread {number}", PEOPLE)
            for number in range(UNREAD_CHANNELS)
        ]
        worlds.messages(database, world, others, count=UNREAD, topics_a_channel=5, content=CONTENT)
    return scene


async def _read_all(scene: Scene) -> None:
    await scene.client(1).post("/mark_all_as_read")


def crowded(server: Server) -> Scene:
    """10,000 people and a channel."""
    with server.database() as database:
        world = worlds.fill(database, people=MANY_PEOPLE)
        worlds.give_password(database, PASSWORD)
        channel_id = worlds.channel(database, world, "history", 100)
    return Scene(server, world, channel_id, [])
