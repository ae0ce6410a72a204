"""The organizations of a history, created on the server."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server.actions.realms import create_realm
from server.actions.users import NewUser, create_users
from server.app import App, open_app
from server.domain.access import EVERYONE_GROUP, MEMBERS_GROUP
from server.domain.realm_settings import RealmSettings
from server.main import serving
from server.runtime.sockets import open_sockets
from server.settings import load_settings
from storage import users
from testkit.faults.http import Client, InFlight
from testkit.leaks.model import (
    ADMINISTRATOR,
    GUEST,
    MEMBER,
    MODERATOR,
    OWNER,
    SPECTATOR,
    Group,
    Model,
    User,
)
from testkit.leaks.server_clients import ServerClients
from testkit.leaks.shown_people import DOMAIN, address_of, name_of

ROOT_DOMAIN = DOMAIN
BOT = 1


@dataclass(frozen=True, slots=True)
class Founding:
    """The initial state of an organization."""

    roles: tuple[int, ...]
    bots: frozenset[int] = frozenset()
    groups: tuple[tuple[frozenset[int], frozenset[int]], ...] = ()
    """The people of each group, and the groups nested in it."""
    guests_know_all_users: bool = True


FOUNDINGS: Final = (
    Founding(
        roles=(
            *(OWNER, ADMINISTRATOR, MODERATOR, MEMBER, MEMBER, MEMBER),
            *(GUEST, GUEST, MEMBER, MEMBER),
        ),
        bots=frozenset({8}),
        groups=(
            (frozenset({3}), frozenset()),
            (frozenset({4}), frozenset({0})),
            (frozenset({2, 6}), frozenset({1})),
        ),
    ),
    Founding(
        roles=(OWNER, MEMBER, MEMBER, GUEST, GUEST),
        groups=((frozenset({1}), frozenset()),),
        guests_know_all_users=False,
    ),
)


def imagine(founding: Founding) -> Model:
    """The model of such an organization."""
    model = Model(guests_know_all_users=founding.guests_know_all_users)
    for number, role in enumerate(founding.roles):
        model.users[number] = User(number, role, is_bot=number in founding.bots)
    for number, (people, nested) in enumerate(founding.groups):
        model.groups[number] = Group(set(people), set(nested))
    return model


@dataclass(frozen=True, slots=True)
class Place:
    """A serving process inside this one."""

    app: App
    port: int


@asynccontextmanager
async def serve(database_url: str) -> AsyncIterator[Place]:
    """The server on a migrated database, with limits off."""
    settings = load_settings(
        environ={},
        overrides={
            "database_url": database_url,
            "data": Path("/nonexistent"),
            "root_domain": ROOT_DOMAIN,
            "rate_limits": False,
            "web_public_channels": True,
        },
    )
    async with open_app(settings) as app:
        [socket] = open_sockets("127.0.0.1", 0)
        port: int = socket.getsockname()[1]
        async with serving(app, [socket]):
            yield Place(app, port)


async def found(place: Place, subdomain: str, founding: Founding) -> ServerClients:
    """A new organization with its people and groups."""
    app = place.app
    now = app.clock.now()
    knowing = EVERYONE_GROUP if founding.guests_know_all_users else MEMBERS_GROUP
    settings = RealmSettings(
        enable_spectator_access=True,
        enable_read_receipts=True,
        can_access_all_users_group=knowing,
    )
    async with app.database.transaction() as connection:
        realm = await create_realm(
            connection,
            name=subdomain,
            owner=NewUser(email=address_of(0), full_name=name_of(0)),
            now=now,
            subdomain=subdomain,
            settings=settings,
        )
    owner_id = realm.owner.user_id
    new = [
        NewUser(
            email=address_of(number),
            full_name=name_of(number),
            role=role,
            bot_type=BOT if number in founding.bots else None,
            bot_owner_id=owner_id if number in founding.bots else None,
        )
        for number, role in enumerate(founding.roles)
        if number
    ]
    writer = app.writers.of(realm.realm_id)
    created = [realm.owner, *await writer.write(lambda tx: create_users(tx, new, now=now))]
    clients = ServerClients(app, realm.realm_id)
    async with app.database.connection() as connection:
        rows = await users.by_ids(connection, realm.realm_id, [each.user_id for each in created])
    by_id = {row.user_id: row for row in rows}
    clients.clients[SPECTATOR] = _client(place, subdomain, SPECTATOR, "", "")
    for number, account in enumerate(created):
        clients.users.add(number, account.user_id)
        clients.rows[number] = by_id[account.user_id]
        clients.clients[number] = _client(place, subdomain, number, account.email, account.api_key)
    await _found_groups(clients, founding)
    return clients


def _client(place: Place, subdomain: str, number: int, email: str, api_key: str) -> Client:
    host = f"{subdomain}.{ROOT_DOMAIN}"
    rng = random.Random(number)
    return Client((place.port,), email, api_key, InFlight(), rng, host=host)


async def _found_groups(clients: ServerClients, founding: Founding) -> None:
    async with clients.app.database.transaction() as connection:
        for number, (people, nested) in enumerate(founding.groups):
            group_id: int = await connection.value(
                "INSERT INTO user_groups (realm_id, name, deactivated)"
                " VALUES (%(realm_id)s, %(name)s, false) RETURNING group_id",
                realm_id=clients.realm_id,
                name=f"group {number}",
            )
            clients.groups.add(number, group_id)
            await connection.execute(
                "INSERT INTO group_members (realm_id, group_id, user_id)"
                " SELECT %(realm_id)s, %(group_id)s, unnest(%(ids)s::bigint[])",
                realm_id=clients.realm_id,
                group_id=group_id,
                ids=clients.users.of(sorted(people)),
            )
            await connection.execute(
                "INSERT INTO group_subgroups (realm_id, group_id, subgroup_id)"
                " SELECT %(realm_id)s, %(group_id)s, unnest(%(ids)s::bigint[])",
                realm_id=clients.realm_id,
                group_id=group_id,
                ids=clients.groups.of(sorted(nested)),
            )
    clients.app.realm_caches.of(clients.realm_id).forget_everything()
