"""The list of people that registers share: exact at each register's own position."""

import json
from dataclasses import replace

import pytest
from typing_extensions import override

from server.actions.user_activation import deactivate_user
from server.actions.users import NewUser, create_users
from server.domain.access import GUEST, OWNER
from server.domain.actor import Actor
from server.domain.realm_settings import RealmSettings
from server.domain.user_settings import ADMINISTRATORS
from server.events.base import ClientView
from server.initial_state import people
from server.initial_state.base import Snapshot
from storage import realms, users
from storage.database import Connection
from storage.ids import Position
from testkit.oracles.agreement import SERVER

pytestmark = pytest.mark.asyncio

COOK = NewUser(email="cook@example.com", full_name="Cook")
"""A user who comes later."""


class Counting(Connection):
    """Counts the rows that are read through it."""

    __slots__ = ("rows",)

    def __init__(self, raw) -> None:
        super().__init__(raw)
        self.rows = 0

    @override
    async def many(self, row, sql, **params):
        found = await super().many(row, sql, **params)
        self.rows += len(found)
        return found


class Registers:
    """Reads the list as registers do, each in a snapshot of its own."""

    def __init__(self, stage, make):
        self.stage, self.make = stage, make
        self.realm_cache = stage.realm_caches.of(make.realm_id)

    async def snapshot(self, connection, user, view) -> Snapshot:
        realm = await realms.by_id(connection, self.make.realm_id)
        assert realm is not None
        [row] = await users.by_ids(connection, self.make.realm_id, [user.user_id])
        return Snapshot(
            connection=connection,
            realm_id=self.make.realm_id,
            position=Position(0),
            actor=Actor(self.make.realm_id, row),
            realm=realm,
            settings=RealmSettings.of(realm.settings),
            graph=await self.realm_cache.groups_of(connection, realm),
            address=self.realm_cache.address_of(realm),
            realm_cache=self.realm_cache,
            server=SERVER,
            web_push_public_key="",
            view=view,
            fetch_types=None,
        )

    async def read_at(self, snapshot):
        lists = await people.lists(snapshot)
        return {
            kind: {u["full_name"]: u for u in json.loads(bytes(raw))} for kind, raw in lists.items()
        }

    async def read(self, user, **view):
        async with self.stage.database.snapshot() as connection:
            return await self.read_at(await self.snapshot(connection, user, ClientView(**view)))

    async def create(self, *new):
        writer = self.stage.writers.of(self.make.realm_id)
        now = self.stage.clock.now()
        return await writer.write(lambda tx: create_users(tx, new, now=now))

    async def deactivate(self, user_id):
        writer = self.stage.writers.of(self.make.realm_id)
        now = self.stage.clock.now()
        return await writer.write(lambda tx: deactivate_user(tx, user_id, now=now))


@pytest.fixture
def registers(stage, make):
    return Registers(stage, make)


async def test_changes_since_the_last_register_are_in_the_next(registers, make):
    owner = await make.user("Olga", role=OWNER)
    assert set((await registers.read(owner))["active"]) == {"Olga"}

    [cook] = await registers.create(COOK)
    assert set((await registers.read(owner))["active"]) == {"Olga", "Cook"}

    await registers.deactivate(cook.user_id)
    lists = await registers.read(owner)
    assert (set(lists["active"]), set(lists["inactive"])) == ({"Olga"}, {"Cook"})


async def test_only_what_changed_is_read_again(registers, make, stage):
    owner = await make.user(role=OWNER)
    await registers.read(owner)

    for number in range(3):
        new = replace(COOK, email=f"cook{number}@example.com", full_name=f"Cook {number}")
        await registers.create(new)
        async with stage.database.snapshot() as connection:
            counting = Counting(connection.raw)
            snapshot = await registers.snapshot(connection, owner, ClientView())
            lists = await registers.read_at(replace(snapshot, connection=counting))

        assert len(lists["active"]) == 2 + number
        assert counting.rows == 1


async def test_an_older_snapshot_sees_what_was_then(registers, make, stage):
    owner = await make.user("Olga", role=OWNER)
    await registers.read(owner)
    async with stage.database.snapshot() as connection:
        older = await registers.snapshot(connection, owner, ClientView())
        [cook] = await registers.create(COOK)
        now = await registers.read(owner)
        then = await registers.read_at(older)
        again = await registers.read(owner)

    assert set(then["active"]) == {"Olga"}
    assert now == again
    assert now["active"]["Cook"]["user_id"] == cook.user_id


async def test_who_begins_to_hide_an_address_hides_it_from_the_next_register(registers, make):
    owner, guest = await make.user(role=OWNER), await make.user(role=GUEST)
    await registers.read(owner)
    await registers.read(guest)

    await registers.create(replace(COOK, settings={"email_address_visibility": ADMINISTRATORS}))

    told_owner = (await registers.read(owner))["active"]["Cook"]
    told_guest = (await registers.read(guest))["active"]["Cook"]
    assert told_owner["delivery_email"] == COOK.email
    assert told_guest["delivery_email"] is None


async def test_viewers_and_clients_of_all_kinds_get_theirs(registers, make):
    cook = await make.user("Cook", settings={"email_address_visibility": ADMINISTRATORS})
    viewers = [cook, await make.user(role=OWNER), await make.user(role=GUEST)]

    for _ in range(2):
        for viewer in viewers:
            for client_gravatar in (True, False):
                shown = await registers.read(viewer, client_gravatar=client_gravatar)
                person = shown["active"]["Cook"]
                assert (person["delivery_email"] is None) == (viewer is viewers[2])
                assert (person["avatar_url"] is None) == client_gravatar
