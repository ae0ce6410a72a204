"""The organization that the clients use, created directly in the database."""

import random
import secrets
from dataclasses import dataclass, field

import psycopg
from psycopg.types.json import Jsonb

REALM = 1
EVERYONE = 1
"""The channel that no user leaves: its last message ends the run for every queue."""
FINISH_TOPIC = "topic 0"
KEEPER = 1
"""The owner: in every channel, and lets others into the private ones."""
OWNER, MEMBER, GUEST = 100, 400, 600
BATCHING_SECONDS = 2
GUEST_EVERY = 5
"""One user in so many is a guest."""
ROLE_GROUPS = (
    "nobody",
    "owners",
    "administrators",
    "moderators",
    "fullmembers",
    "members",
    "everyone",
    "internet",
)


@dataclass(frozen=True, slots=True)
class User:
    user_id: int
    email: str
    api_key: str
    role: int

    @property
    def is_guest(self) -> bool:
        return self.role == GUEST


@dataclass(frozen=True, slots=True)
class Channel:
    channel_id: int
    name: str
    is_private: bool


@dataclass(frozen=True, slots=True)
class World:
    """The users and channels, and the subscriptions before anything happens."""

    users: list[User]
    channels: list[Channel]
    members: dict[int, frozenset[int]] = field(default_factory=dict)
    """User ids by channel id."""
    away: int = 0
    """The number of users, the last ones, without a client: they get emails."""

    @property
    def present(self) -> list[User]:
        return self.users[: len(self.users) - self.away]

    @property
    def absent(self) -> list[User]:
        return self.users[len(self.users) - self.away :]


def imagine(rng: random.Random, *, users: int, public: int, private: int, away: int = 0) -> World:
    """Draw a world; each user is in about half of its channels, and all are in the first."""
    people = [
        User(
            number,
            f"u{number}@example.org",
            secrets.token_hex(16),
            OWNER if number == KEEPER else GUEST if number % GUEST_EVERY == 0 else MEMBER,
        )
        for number in range(1, users + away + 1)
    ]
    channels = [Channel(EVERYONE, "everyone", is_private=False)]
    channels += [Channel(n, f"public {n}", is_private=False) for n in range(2, public + 2)]
    first = len(channels) + 1
    channels += [Channel(n, f"private {n}", is_private=True) for n in range(first, first + private)]
    members = {
        channel.channel_id: frozenset(
            user.user_id
            for user in people
            if channel.channel_id == EVERYONE or user.user_id == KEEPER or rng.random() < 0.5
        )
        for channel in channels
    }
    return World(people, channels, members, away)


def create(url: str, world: World) -> None:
    """Write the world into a migrated database."""
    with psycopg.connect(url) as database:
        database.execute(
            "INSERT INTO realms (realm_id, subdomain, name, created_at, settings)"
            " VALUES (%s, '', 'Faults', now(), %s)",
            [REALM, Jsonb({"push_notifications_enabled": True})],
        )
        database.execute("INSERT INTO realm_clock (realm_id) VALUES (%s)", [REALM])
        for name in ROLE_GROUPS:
            database.execute(
                "INSERT INTO user_groups (realm_id, name, is_system_group) VALUES (%s, %s, true)",
                [REALM, f"role:{name}"],
            )
        for user in world.users:
            _create_user(database, user)
        for channel in world.channels:
            _create_channel(database, channel, world.members[channel.channel_id])
        for sequence, used in (
            ("realms_realm_id_seq", REALM),
            ("user_ids", len(world.users)),
            ("channel_ids", len(world.channels)),
        ):
            database.execute("SELECT setval(%s::regclass, %s)", [sequence, used])


def _create_user(database: psycopg.Connection, user: User) -> None:
    database.execute(
        "INSERT INTO users (realm_id, user_id, email, full_name, role, api_key, settings,"
        " date_joined) VALUES (%s, %s, %s, %s, %s, %s, %s, now())",
        [
            *(REALM, user.user_id, user.email, f"User {user.user_id}", user.role, user.api_key),
            Jsonb({"email_notifications_batching_period_seconds": BATCHING_SECONDS}),
        ],
    )


def _create_channel(
    database: psycopg.Connection, channel: Channel, members: frozenset[int]
) -> None:
    database.execute(
        "INSERT INTO channels (realm_id, channel_id, name, invite_only, created_at)"
        " VALUES (%s, %s, %s, %s, now())",
        [REALM, channel.channel_id, channel.name, channel.is_private],
    )
    database.execute(
        "INSERT INTO subscriptions (realm_id, user_id, channel_id, active, spans, color)"
        " SELECT %s, m, %s, true, '{[1,)}', '#aabbcc' FROM unnest(%s::bigint[]) m",
        [REALM, channel.channel_id, sorted(members)],
    )
