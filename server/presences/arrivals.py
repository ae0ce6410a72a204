"""Immediate events of users who come online or become active."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from server.domain.access import GUEST
from server.domain.presence import Presence
from server.events.base import EVERYONE, MEMBERS, Audience, to_users
from server.events.presence import PresencesChanged
from server.realm_cache import RealmCache
from storage import shared_contacts, users
from storage.database import Database
from storage.ids import UserId

MAX_PUBLISHED_USERS: Final = 50
"""Maximum number of users per turn who are published at once; the others with their viewers' next
ping.

Every arrival is an event for every user: a whole realm coming back would be quadratic.
"""
MAX_BYTES: Final = 5_000
"""Maximum size of one event, so that the event bus carries it."""
MAX_GUESTS: Final = 100
"""Maximum number of guests per event, if each has to be listed."""

ArrivalEvent = tuple[PresencesChanged, Audience]


async def news_of(
    database: Database, realm_cache: RealmCache, come: Sequence[Presence], *, now: float
) -> list[ArrivalEvent]:
    """Return the events with their audiences; guests get only people that they may know."""
    come = come[:MAX_PUBLISHED_USERS]
    if not come:
        return []
    settings = await realm_cache.settings()
    if settings.guests_know_all_users(await realm_cache.groups()):
        return list(_events(come, EVERYONE, now))
    news = list(_events(come, MEMBERS, now))
    for guests, people in (await _known_to_guests(database, realm_cache, come)).items():
        for start in range(0, len(guests), MAX_GUESTS):
            news.extend(_events(people, to_users(*guests[start : start + MAX_GUESTS]), now))
    return news


async def _known_to_guests(
    database: Database, realm_cache: RealmCache, come: Iterable[Presence]
) -> dict[tuple[UserId, ...], list[Presence]]:
    """Return the people that guests know, by the guests who do."""
    people = {presence.user_id: presence for presence in come}
    async with database.connection() as connection:
        realm_id = realm_cache.realm_id
        guests = (await users.ids_by_role(connection, realm_id)).get(GUEST, ())
        if not guests:
            return {}
        known = await shared_contacts.known_to_each(
            connection, realm_id, list(people), among=guests
        )
    alike: dict[tuple[UserId, ...], list[Presence]] = defaultdict(list)
    for user_id, others in known.items():
        knowing = tuple(guest for guest in guests if guest in others)
        if knowing:
            alike[knowing].append(people[user_id])
    return alike


def _events(people: Iterable[Presence], audience: Audience, now: float) -> Iterator[ArrivalEvent]:
    """Yield as few events as can hold them."""
    some: list[Presence] = []
    size = 0
    for presence in people:
        more = len(msgspec.json.encode(presence))
        if some and size + more > MAX_BYTES:
            yield PresencesChanged(people=some, server_timestamp=now), audience
            some, size = [], 0
        some.append(presence)
        size += more
    yield PresencesChanged(people=some, server_timestamp=now), audience
