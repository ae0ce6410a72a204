"""An organization in the middle of a working day, for pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from typing_extensions import override

from queue_processors import thumbnails
from server.domain.access import ADMINISTRATOR, GUEST, MODERATOR, OWNER
from server.domain.clock import SystemClock
from server.jobs import Thumbnails
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.drawings import chart, portrait
from testkit.factories import Make

NAME: Final = "Tidewater Maps"
VIEWER: Final = "Ada Okafor"
"""The user who is signed in on the pictures."""
PEOPLE: Final = {
    "Ada Okafor": OWNER,
    "Mateo Rossi": ADMINISTRATOR,
    "Yuki Tanaka": MODERATOR,
    "Priya Raman": 400,
    "Lars Nilsson": 400,
    "Zeynep Kaya": 400,
    "Noor Haddad": 400,
    "Tomasz Zieliński": 400,
    "Beatriz Lima": 400,
    "Samuel Osei": GUEST,
}
"""Roles by name."""
CHANNELS: Final = {
    "general": "What concerns all of us",
    "engineering": "The renderer, the tile server and what holds them up",
    "design": "How maps look, and what they say",
    "field-trips": "Plans of trips, and what the GPS says",
    "support": "Questions of users of the maps",
    "leadership": "Plans and people",
    "releases": "What has changed, for the world to read",
}
CHANNEL_COLORS: Final = {
    "general": "#7a8699",
    "engineering": "#2a6fdb",
    "design": "#b0477e",
    "field-trips": "#3f8f4f",
    "support": "#c8762b",
    "leadership": "#7a56c2",
    "releases": "#1b9aaa",
}

CODE: Final = """\
The slow part was decoding every tile twice. This keeps the newest ones:

```python
class TileCache:
    def __init__(self, limit: int = 512) -> None:
        self._tiles: OrderedDict[Key, Tile] = OrderedDict()
        self._limit = limit

    def get(self, key: Key) -> Tile | None:
        if key in self._tiles:
            self._tiles.move_to_end(key)  # newest last
        return self._tiles.get(key)
```"""
FORMULA: Final = """\
With a hit rate of $$h$$ the mean time falls to

```math
T = h \\cdot t_{\\text{memory}} + (1 - h) \\cdot t_{\\text{decode}}
```

At $$h = 0.92$$ that is **14 ms** instead of 61 ms."""
POLL: Final = "/poll When do we ship 4.2?\nThursday afternoon\nMonday morning\nAfter the field trip"


class MovedClock(SystemClock):
    """The system's clock, set to another moment."""

    def __init__(self, moment: datetime) -> None:
        self._offset = timedelta()
        self.move(moment)

    @override
    def now(self) -> datetime:
        return super().now() + self._offset

    def move(self, moment: datetime) -> None:
        self._offset = moment - super().now()


@cache
def afternoon() -> datetime:
    """Return today's twenty past two: the moment of the pictures."""
    return datetime.now(UTC).replace(hour=14, minute=20, second=0, microsecond=0)  # noqa: TID251


@dataclass
class LivelyRealm:
    """The organization, with the numbers by which pages are found."""

    server: Server
    make: Make
    clock: MovedClock
    users: dict[str, UserRow] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)
    channels: dict[str, int] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    """Ids of messages that were given a name."""

    @property
    def viewer(self) -> UserRow:
        return self.users[VIEWER]

    def topic(self, channel: str, topic: str) -> str:
        """Return the fragment of the topic's address."""
        escaped = topic.replace(" ", ".20").replace(",", ".2C").replace("?", ".3F")
        return f"#narrow/channel/{self.channels[channel]}-{channel}/topic/{escaped}"

    async def say(
        self, sender: str, ago: int, to: str | Sequence[str], content: str, *, topic: str = ""
    ) -> int:
        """Send a message, as of `ago` minutes before the pictures are taken."""
        self.clock.move(afternoon() - timedelta(minutes=ago))
        client = self.clients[sender]
        if isinstance(to, str):
            place: Mapping[str, Any] = {"type": "channel", "to": to, "topic": topic}
        else:
            place = {"type": "direct", "to": [self.users[name].user_id for name in to]}
        answer = await client.post("/messages", **place, content=content)
        return int(answer["id"])

    async def react(self, message: int, emoji: str, *names: str) -> None:
        for name in names:
            await self.clients[name].post(f"/messages/{message}/reactions", emoji_name=emoji)

    async def vote(self, message: int, votes: Mapping[str, Sequence[int]]) -> None:
        """Vote for options of a poll, by their index."""
        for name, options in votes.items():
            for index in options:
                await self.clients[name].post(
                    "/submessage",
                    message_id=message,
                    msg_type="widget",
                    content=f'{{"type":"vote","key":"canned,{index}","vote":1}}',
                )

    async def upload(self, sender: str, name: str, picture: bytes) -> str:
        answer = await self.clients[sender].upload("/user_uploads", file=(name, picture))
        return str(answer.succeeded()["url"])


async def make_lively(server: Server, make: Make, clock: MovedClock) -> LivelyRealm:
    """Fill the realm; the clock stands at the afternoon then."""
    realm = LivelyRealm(server, make, clock)
    await make.notification_bot()
    await _people(realm)
    await _channels(realm)
    await _yesterday(realm)
    await _morning(realm)
    await realm.clients[VIEWER].post("/mark_all_as_read")
    await _noon(realm)
    await _shrink_pictures(realm)
    clock.move(afternoon())
    await _present(realm)
    return realm


async def _people(realm: LivelyRealm) -> None:
    host = await realm.server.host_of(realm.make.realm_id)
    for index, (name, role) in enumerate(PEOPLE.items()):
        email = f"{name.split()[0].lower()}@tidewater.example"
        user = await realm.make.user(name, role=role, email=email)
        realm.users[name] = user
        realm.clients[name] = Client(realm.server, host, user.email, user.api_key, user)
        picture = portrait(index)
        answer = await realm.clients[name].upload("/users/me/avatar", file=("me.png", picture))
        answer.succeeded()


async def _channels(realm: LivelyRealm) -> None:
    ada = realm.clients[VIEWER]
    everyone = [user.user_id for user in realm.users.values()]
    few = [realm.users[name].user_id for name in (VIEWER, "Mateo Rossi", "Yuki Tanaka")]
    product = await ada.post("/channel_folders/create", name="Product", description="")
    for name, description in CHANNELS.items():
        answer = await ada.post(
            "/channels/create",
            name=name,
            description=description,
            subscribers=few if name == "leadership" else everyone,
            invite_only=name == "leadership",
            is_default_stream=name == "general",
            send_new_subscription_messages=False,
            folder_id=product["channel_folder_id"] if name in ("engineering", "design") else None,
        )
        realm.channels[name] = answer["id"]
    await ada.post(
        "/users/me/subscriptions/properties",
        subscription_data=[
            {"stream_id": realm.channels[name], "property": "color", "value": color}
            for name, color in CHANNEL_COLORS.items()
        ],
    )
    await ada.post(
        "/user_groups/create",
        name="cartographers",
        description="Draw the maps",
        members=[realm.users[name].user_id for name in ("Yuki Tanaka", "Noor Haddad")],
    )


async def _yesterday(realm: LivelyRealm) -> None:
    day = 24 * 60
    say = realm.say
    await say(
        "Mateo Rossi",
        day + 240,
        "general",
        "The new office has a **coffee machine** now.",
        topic="office",
    )
    await say(
        "Beatriz Lima", day + 236, "general", "Which of you filled it with cocoa?", topic="office"
    )
    trip = await say(
        "Lars Nilsson",
        day + 200,
        "field-trips",
        "We walked the whole shore path, 31 km. The track is uploaded.",
        topic="shore path",
    )
    await realm.react(trip, "tada", "Noor Haddad", "Priya Raman", VIEWER)
    await say(
        "Noor Haddad",
        day + 195,
        "field-trips",
        "Two footbridges are missing on our map. I'll add them.",
        topic="shore path",
    )
    await say(
        "Samuel Osei",
        day + 150,
        "support",
        "Can I print a map on A3 with its legend?",
        topic="printing",
    )
    await say(
        "Zeynep Kaya",
        day + 141,
        "support",
        "Yes: *Export › Paper size*. The legend moves to the back.",
        topic="printing",
    )
    await say(
        "Yuki Tanaka",
        day + 100,
        "leadership",
        "Budget for the second tile server is approved.",
        topic="budget",
    )
    await say(
        "Tomasz Zieliński",
        day + 60,
        "releases",
        "**4.1.3** is out: faster search, and names in Polish sort as they should.",
        topic="4.1",
    )
    await say(
        "Yuki Tanaka",
        day + 45,
        [VIEWER],
        "Shall we look at the colours of the contour lines tomorrow?",
    )
    await say(VIEWER, day + 44, ["Yuki Tanaka"], "Gladly. After lunch?")


async def _morning(realm: LivelyRealm) -> None:
    say = realm.say
    topic = "faster tiles"
    await say(
        "Priya Raman",
        262,
        "engineering",
        "Panning stutters on older phones. I measured it: three quarters of the time is decoding.",
        topic=topic,
    )
    url = await realm.upload("Priya Raman", "frames.png", chart())
    frames = await say(
        "Priya Raman", 260, "engineering", f"[Frame times, before and after]({url})", topic=topic
    )
    await realm.react(frames, "eyes", "Lars Nilsson", "Yuki Tanaka")
    await realm.react(frames, "chart", VIEWER, "Zeynep Kaya", "Mateo Rossi")
    code = await say("Lars Nilsson", 241, "engineering", CODE, topic=topic)
    await realm.react(code, "+1", VIEWER, "Priya Raman", "Mateo Rossi", "Tomasz Zieliński")
    await realm.react(code, "rocket", "Priya Raman")
    await say("Priya Raman", 233, "engineering", FORMULA, topic=topic)
    realm.messages["code"] = code
    await say(
        "Noor Haddad",
        200,
        "design",
        "Contour lines in the new palette, for the night map.",
        topic="night map",
    )


async def _noon(realm: LivelyRealm) -> None:
    """Write the messages that the viewer has not read, and a few of their own."""
    say = realm.say
    topic = "faster tiles"
    await say(
        VIEWER,
        52,
        "engineering",
        "Lovely. @**Lars Nilsson** does it hold with 512 tiles on a phone with 2 GB?",
        topic=topic,
    )
    await say(
        "Lars Nilsson", 47, "engineering", "It does: 38 MB at most. I'd ship it :+1:", topic=topic
    )
    poll = await say("Mateo Rossi", 41, "engineering", POLL, topic=topic)
    await realm.vote(
        poll,
        {
            VIEWER: [0],
            "Lars Nilsson": [0],
            "Priya Raman": [0, 1],
            "Yuki Tanaka": [1],
            "Tomasz Zieliński": [0],
        },
    )
    thanks = await say(
        "Yuki Tanaka",
        30,
        "engineering",
        "Thursday it is. @*cartographers*, please look at the tiles of the coast before.",
        topic=topic,
    )
    await realm.react(thanks, "+1", "Noor Haddad", "Mateo Rossi")
    await realm.clients[VIEWER].post(
        "/mark_topic_as_read", stream_id=realm.channels["engineering"], topic_name=topic
    )
    await say(
        "Noor Haddad",
        26,
        "design",
        f"@**{VIEWER}** the night map is ready for a look.",
        topic="night map",
    )
    await say(
        "Beatriz Lima",
        22,
        "support",
        "Two people ask how to share a map without an account.",
        topic="sharing",
    )
    await say(
        "Zeynep Kaya", 18, "support", "I'll write an answer that we can keep.", topic="sharing"
    )
    await say(
        "Tomasz Zieliński",
        15,
        "engineering",
        "The nightly build needs 11 minutes less since this morning.",
        topic="nightly build",
    )
    await say("Lars Nilsson", 9, [VIEWER, "Priya Raman"], "Lunch at the harbour tomorrow?")
    await say("Yuki Tanaka", 4, [VIEWER], "I have three variants of the contour lines for you.")


async def _present(realm: LivelyRealm) -> None:
    for name in ("Mateo Rossi", "Yuki Tanaka", "Priya Raman", "Lars Nilsson", "Noor Haddad"):
        await realm.clients[name].post("/users/me/presence", status="active", new_user_input=True)
    await realm.clients["Zeynep Kaya"].post("/users/me/presence", status="idle")
    await realm.clients["Lars Nilsson"].post(
        "/users/me/status", status_text="On the train until five", emoji_name="train"
    )
    await realm.clients["Noor Haddad"].post("/users/me/status", status_text="", emoji_name="art")


async def _shrink_pictures(realm: LivelyRealm) -> None:
    """Do what a worker would: make the small pictures that messages show."""
    jobs = await realm.make.connection.values(
        """
        SELECT convert_from(body, 'UTF8')::jsonb -> 'job' FROM event_log
         WHERE kind = 'job' AND convert_from(body, 'UTF8')::jsonb ->> 'queue' = %(queue)s
         ORDER BY position
        """,
        queue=Thumbnails.queue,
    )
    for job in jobs:
        await thumbnails.handle(realm.server.app, Thumbnails(**job))
