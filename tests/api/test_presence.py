"""POST /users/me/presence and what one may ask about others' presence."""

import asyncio
import json
import math
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from server.actions.user_activation import deactivate_user
from server.domain.access import GUEST
from server.domain.presence import OFFLINE_AFTER_SECONDS
from server.domain.user_settings import ADMINISTRATORS
from server.presences.arrivals import MAX_PUBLISHED_USERS
from server.realm_cache import ROLL
from storage import presences
from storage.presences import Ping
from testkit.clock import StoppedClock
from testkit.factories import Make, new_realm
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio

MINUTE = timedelta(minutes=1)


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob", "Carol")]


@pytest.fixture
def clock():
    return StoppedClock()


@pytest_asyncio.fixture
async def clients(log_in, people):
    return [await log_in(person) for person in people]


def ids(answer):
    return sorted(int(user_id) for user_id in answer["presences"])


async def ping(client, **fields):
    """A ping as the newest clients send it, in a second in which nothing has been written yet."""
    [realm] = [
        realm
        for realm_id, realm in client.server.app.presences._realms.items()
        if await client.server.host_of(realm_id) == client.host
    ]
    realm._turned_at = -math.inf
    fields = {"status": "active", "last_update_id": -1, **fields}
    return await client.post("/users/me/presence", **fields)


@pytest_asyncio.fixture(autouse=True)
async def realm_presences(server, make):
    """Those of this server."""
    return server.app.presences.of(make.realm_id)


# -- the forms of the answer


async def test_ones_own_presence_shows_at_once(clients, people, clock):
    alice = clients[0]
    answer = await alice.post("/users/me/presence", status="active", last_update_id=-1)
    now = int(clock.now().timestamp())
    own = {"active_timestamp": now, "idle_timestamp": now}
    assert answer["presences"] == {str(people[0].user_id): own}
    assert answer["server_timestamp"] == clock.now().timestamp()
    assert answer["presence_last_update_id"] > 0


async def test_it_shows_at_once_while_it_waits_to_be_written(clients, people, realm_presences):
    """Within the second after a write nothing is written; what is said is shown all the same."""
    for client in clients:
        await client.post("/users/me/presence", status="active", ping_only=True)
    assert realm_presences.writes == 1
    answer = await clients[1].post("/users/me/presence", status="active", last_update_id=-1)
    assert ids(answer) == sorted(row.user_id for row in people)
    number = answer["presence_last_update_id"]
    again = await ping(clients[1], last_update_id=number)
    assert ids(again) == sorted(row.user_id for row in people[1:]), "with a number it comes again"
    assert again["presence_last_update_id"] > number


async def test_only_what_is_newer_is_sent(clients, people, clock):
    alice, bob, _ = clients
    first = await ping(alice)
    await ping(bob)
    clock.advance(timedelta(seconds=10))
    second = await ping(alice, last_update_id=first["presence_last_update_id"])
    assert ids(second) == [people[1].user_id]
    assert second["presence_last_update_id"] > first["presence_last_update_id"]
    third = await ping(alice, last_update_id=second["presence_last_update_id"])
    assert third["presences"] == {}
    assert third["presence_last_update_id"] == second["presence_last_update_id"]


async def test_each_minute_brings_who_pinged_in_it(clients, people, clock):
    number = -1
    for _ in range(3):
        clock.advance(MINUTE)
        for client in clients[1:]:
            await ping(client, ping_only=True)
        answer = await ping(clients[0], last_update_id=number)
        assert ids(answer) == sorted(row.user_id for row in people)
        assert answer["presence_last_update_id"] > number
        number = answer["presence_last_update_id"]


async def test_the_legacy_form_is_by_address(clients, people, clock):
    await ping(clients[1], status="idle")
    answer = await clients[0].post("/users/me/presence", status="active")
    now = int(clock.now().timestamp())
    shown = {"client": "website", "status": "active", "timestamp": now}
    assert answer["presences"][people[0].email] == {
        "aggregated": shown,
        "website": {**shown, "pushable": False},
    }
    assert answer["presences"][people[1].email]["aggregated"]["status"] == "idle"
    assert answer["presence_last_update_id"] > 0
    whole = await clients[0].post("/users/me/presence", status="active")
    assert whole["presences"] == answer["presences"], "without a number all comes each time"


async def test_slim_presence_asks_for_the_modern_form(clients, people):
    for fields, key in (
        ({"slim_presence": True}, str(people[0].user_id)),
        ({"slim_presence": False}, people[0].email),
        ({"slim_presence": False, "last_update_id": -1}, str(people[0].user_id)),
        ({"slim_presence": False, "last_update_id": 0}, str(people[0].user_id)),
    ):
        answer = await clients[0].post("/users/me/presence", status="active", **fields)
        assert list(answer["presences"]) == [key]


async def test_ping_only_says_and_asks_nothing(clients, people):
    for number in (None, -1, 0, 7):
        answer = await clients[1].post(
            "/users/me/presence", status="active", ping_only=True, last_update_id=number
        )
        assert not answer.keys() & {"presences", "server_timestamp"}
        assert answer["presence_last_update_id"] == (-1 if number is None else number)
    assert people[1].user_id in ids(await ping(clients[0]))


async def test_the_number_never_falls(clients):
    """Not even for a client that has one from elsewhere."""
    answer = await ping(clients[0], last_update_id=2**60)
    assert answer["presence_last_update_id"] == 2**60
    for number in (0, 1):
        answer = await ping(clients[0], last_update_id=number)
        assert answer["presence_last_update_id"] >= number


async def test_without_a_number_and_without_data_it_is_minus_one(log_in, make):
    shy = await log_in(await make.user(settings={"presence_enabled": False}))
    for fields in ({}, {"slim_presence": True}, {"last_update_id": -1}):
        answer = await shy.post("/users/me/presence", status="active", **fields)
        assert answer["presences"] == {}
        assert answer["presence_last_update_id"] == -1


# -- what is shown


async def test_idle_moves_one_timestamp_and_active_both(clients, people, clock):
    def own(answer):
        shown = answer["presences"][str(people[0].user_id)]
        now = int(clock.now().timestamp())
        return now - shown["active_timestamp"], now - shown["idle_timestamp"]

    await ping(clients[0])
    clock.advance(MINUTE)
    assert own(await ping(clients[0], status="idle")) == (60, 0)
    clock.advance(MINUTE)
    assert own(await ping(clients[0], status="idle", new_user_input=True)) == (120, 0)
    clock.advance(timedelta(seconds=1))
    assert own(await ping(clients[0], new_user_input=False)) == (0, 0)


async def test_who_was_never_active_has_been_since_they_joined(clients, people):
    answer = await ping(clients[0], status="idle")
    shown = answer["presences"][str(people[0].user_id)]
    assert shown["active_timestamp"] == int(people[0].date_joined.timestamp())


async def test_history_has_a_limit(clients, people, clock):
    await ping(clients[0])
    await ping(clients[1])
    clock.advance(timedelta(days=13))
    assert ids(await ping(clients[0])) == sorted(row.user_id for row in people[:2])
    first = await ping(clients[2], history_limit_days=12)
    assert ids(first) == sorted([people[0].user_id, people[2].user_id])
    assert ids(await ping(clients[2], history_limit_days=0)) == ids(first)
    clock.advance(timedelta(days=2))
    assert people[1].user_id not in ids(await ping(clients[0]))
    assert people[1].user_id in ids(await ping(clients[0], history_limit_days=10**9))
    newer = await ping(clients[0], last_update_id=1, history_limit_days=1)
    assert people[1].user_id in ids(newer), "ignored where a number is passed"


async def test_what_two_clients_of_one_person_say_is_said_once(clients, realm_presences, clock):
    first = await ping(clients[0])
    writes = realm_presences.writes
    clock.advance(timedelta(seconds=54))
    for status in ("active", "idle"):
        answer = await ping(
            clients[0], status=status, last_update_id=first["presence_last_update_id"]
        )
        assert answer["presences"] == {}
        assert answer["presence_last_update_id"] == first["presence_last_update_id"]
    assert realm_presences.writes == writes


async def test_many_pings_are_one_write(log_in, make, realm_presences, clock):
    crowd = [await log_in(row) for row in await make.users(20)]
    await crowd[0].post("/users/me/presence", status="active")
    before = await presence_writes(make)
    await asyncio.gather(
        *[each.post("/users/me/presence", status="active", ping_only=True) for each in crowd]
    )
    assert await presence_writes(make) == before, "the second is not over"
    clock.advance(timedelta(seconds=1))
    answer = await crowd[0].post("/users/me/presence", status="active", last_update_id=-1)
    assert len(answer["presences"]) == 20
    assert await presence_writes(make) == before + 1


async def presence_writes(make: Make) -> int:
    """How many numbers have been given out."""
    value = await make.connection.value(
        "SELECT last_update_id FROM presence_clocks WHERE realm_id = %(realm_id)s",
        realm_id=make.realm_id,
    )
    return int(value or 0)


async def test_what_waits_is_written_by_itself(serving_with, connect, make, people):
    """Without another request: the second passes."""
    async with serving_with() as server:
        for row in people:
            client = await connect(server, make.realm_id, row)
            await client.post("/users/me/presence", status="active", ping_only=True)
        while await written(make) < len(people):  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(0.01)


async def written(make: Make) -> int:
    """Of how many people presence is written."""
    return len(await presences.changed_since(make.connection, make.realm_id, -1))


async def test_registers_share_one_look_at_all_users(clients, server, make):
    """Only what is newer is read where all users are in memory already."""
    realm_cache = server.app.realm_caches.of(make.realm_id)
    await ping(clients[0])
    roll = realm_cache.recall(ROLL)
    for client in clients:
        await client.post("/register", fetch_event_types=["presence"])
    assert realm_cache.recall(ROLL) is roll
    server.forget(make.realm_id)
    await clients[0].post("/register", fetch_event_types=["message"])
    assert realm_cache.recall(ROLL) is None, "who does not ask does not pay"
    await clients[0].post("/register")
    assert realm_cache.recall(ROLL).last_update_id == roll.last_update_id


async def test_only_who_is_shown_otherwise_makes_it_be_read_anew(clients, people, server, make):
    realm_cache = server.app.realm_caches.of(make.realm_id)
    queue = await clients[0].register(event_types=["realm_user"])
    await ping(clients[0])
    roll = realm_cache.recall(ROLL)
    await clients[0].patch("/settings", full_name="Alicia")
    await queue.until("realm_user", "update")
    assert realm_cache.recall(ROLL) is roll
    await clients[0].patch("/settings", email_address_visibility=ADMINISTRATORS)
    event = await queue.until("realm_user", "update")
    answer = await ping(clients[1], last_update_id=None)
    assert event["person"]["new_email"] in answer["presences"]
    assert people[0].email not in answer["presences"]


async def test_what_a_register_sees_is_kept_for_no_other(clients, people, server, make):
    """It may be of a moment before a user was deactivated, or renamed."""
    realm_cache = server.app.realm_caches.of(make.realm_id)
    await ping(clients[0])
    roll = realm_cache.recall(ROLL)
    known = roll.last_update_id
    seen_at = server.app.clock.now()
    elsewhere = Ping(people[1].user_id, seen_at, seen_at)
    await make.connection.run(presences.record(make.realm_id, [elsewhere]))
    state = await clients[0].post("/register", fetch_event_types=["presence"], slim_presence=True)
    assert ids(state) == sorted(row.user_id for row in people[:2])
    assert state["presence_last_update_id"] > known
    assert realm_cache.recall(ROLL) is roll
    assert (roll.last_update_id, roll.of(people[1].user_id)) == (known, None)


async def test_a_ping_takes_no_position(clients, make):
    before = await make.position()
    await ping(clients[0])
    assert await make.position() == before


# -- who takes part


async def test_bots_have_no_presence(clients, log_in, make, people):
    bot_row = await make.user(bot_type=1, bot_owner=people[0])
    bot = await log_in(bot_row)
    answer = await bot.call("POST", "/users/me/presence", status="active")
    assert answer.refused("BAD_REQUEST")["msg"] == "This endpoint does not accept bot requests."
    for key in (bot_row.user_id, bot_row.email):
        answer = await clients[0].call("GET", f"/users/{key}/presence")
        answer.refused("BAD_REQUEST")
    await ping(clients[0])
    assert people[0].email in (await bot.get("/realm/presence"))["presences"]


async def test_who_does_not_want_it_is_shown_offline_and_still_sees(clients, people, clock):
    alice, bob, _ = clients
    await ping(bob)
    await bob.patch("/settings", presence_enabled=False)
    shown = (await ping(alice))["presences"][str(people[1].user_id)]
    now = int(clock.now().timestamp())
    assert {now - at for at in shown.values()} == {OFFLINE_AFTER_SECONDS + 1}
    one = await alice.get(f"/users/{people[1].user_id}/presence")
    clients = ("aggregated", "website")
    assert {one["presence"][each]["status"] for each in clients} == {"offline"}

    clock.advance(MINUTE)
    assert people[0].user_id in ids(await ping(bob))
    unchanged = (await ping(alice))["presences"][str(people[1].user_id)]
    assert unchanged == shown, "pings of theirs say nothing"

    await bob.patch("/settings", presence_enabled=True)
    shown = (await ping(alice))["presences"][str(people[1].user_id)]
    assert set(shown.values()) == {int(clock.now().timestamp())}


async def test_a_choice_reaches_clients_that_ask_for_what_is_newer(clients, people):
    await ping(clients[1])
    number = (await ping(clients[0]))["presence_last_update_id"]
    await clients[1].patch("/settings", presence_enabled=False)
    answer = await ping(clients[0], last_update_id=number)
    assert ids(answer) == [people[1].user_id]


async def test_a_ping_that_waits_is_not_shown_of_who_has_just_chosen_not_to(clients, people):
    for client in clients[:2]:
        await client.post("/users/me/presence", status="active", ping_only=True)
    await clients[1].patch("/settings", presence_enabled=False)
    answer = await clients[0].post("/users/me/presence", status="active", last_update_id=-1)
    assert ids(answer) == [people[0].user_id]
    assert ids(await ping(clients[0])) == [people[0].user_id], "nor is it written"


async def test_the_deactivated_are_not_shown(clients, people, server, make):
    for client in clients:
        await ping(client)
    now = server.app.clock.now()
    writer = server.app.writers.of(make.realm_id)
    await writer.write(lambda tx: deactivate_user(tx, people[2].user_id, now=now))
    answer = await clients[0].post("/users/me/presence", status="active", last_update_id=-1)
    assert ids(answer) == sorted(row.user_id for row in people[:2])
    assert people[2].email not in (await clients[0].get("/realm/presence"))["presences"]
    for key in (people[2].user_id, people[2].email):
        (await clients[0].call("GET", f"/users/{key}/presence")).refused("BAD_REQUEST")


async def test_an_organization_may_switch_it_off(clients, people, make, server):
    await ping(clients[1])
    await make.change_settings(presence_disabled=True)
    server.forget(make.realm_id)
    for number in (-1, 5):
        answer = await clients[0].post("/users/me/presence", status="active", last_update_id=number)
        assert (answer["presences"], answer["presence_last_update_id"]) == ({}, number)
    assert (await clients[0].get("/realm/presence"))["presences"] == {}
    answer = await clients[0].call("GET", f"/users/{people[1].user_id}/presence")
    answer.refused("BAD_REQUEST")
    state = await clients[0].post("/register", fetch_event_types=["presence"])
    assert (state["presences"], state["presence_last_update_id"]) == ({}, -1)


async def test_other_organizations_are_other_worlds(clients, people, server, connect, make):
    other = await new_realm(make.connection)
    stranger = await other.user("Stranger")
    client = await connect(server, other.realm_id, stranger)
    await ping_of(server, other, client)
    await ping(clients[0])
    answer = await clients[0].post("/users/me/presence", status="active", last_update_id=-1)
    assert ids(answer) == [people[0].user_id]
    assert list((await client.get("/realm/presence"))["presences"]) == [stranger.email]
    for key in (stranger.user_id, stranger.email):
        (await clients[0].call("GET", f"/users/{key}/presence")).refused("BAD_REQUEST")


async def ping_of(server, realm, client):
    await client.post("/users/me/presence", status="active", ping_only=True)
    await server.app.presences.of(realm.realm_id).settle()


# -- guests


@pytest_asyncio.fixture
async def limited(make, people, log_in, server):
    """A guest who may know only people they meet: Alice, in a channel."""
    guest = await make.user("Guest", role=GUEST)
    await make.change_settings(can_access_all_users_group="role:members")
    await make.channel("meeting", subscribers=[people[0], guest])
    server.forget(make.realm_id)
    return await log_in(guest)


async def test_guests_see_whom_they_know(limited, clients, people):
    for client in clients:
        await ping(client)
    own, alice = limited.user, people[0]
    assert ids(await ping(limited)) == sorted([own.user_id, alice.user_id])
    everyone = (await limited.get("/realm/presence"))["presences"]
    assert set(everyone) == {own.email, alice.email}
    assert (await limited.get(f"/users/{alice.user_id}/presence"))["presence"]
    for key in (people[1].user_id, people[1].email):
        (await limited.call("GET", f"/users/{key}/presence")).refused("BAD_REQUEST")
    for slim, keys in (
        (True, {str(own.user_id), str(alice.user_id)}),
        (False, {own.email, alice.email}),
    ):
        state = await limited.post("/register", fetch_event_types=["presence"], slim_presence=slim)
        assert set(state["presences"]) == keys
    assert len(ids(await ping(clients[0]))) == 4


async def test_an_operator_may_let_guests_see_all_users(clock, serving_with, connect, make, people):
    guest = await make.user("Guest", role=GUEST)
    await make.change_settings(can_access_all_users_group="role:members")
    async with serving_with(
        clock=clock, can_access_all_users_group_limits_presence=False
    ) as server:
        alice = await connect(server, make.realm_id, people[0])
        await ping_of(server, make, alice)
        client = await connect(server, make.realm_id, guest)
        answer = await client.post("/users/me/presence", status="active", slim_presence=True)
        assert ids(answer) == sorted([guest.user_id, people[0].user_id])
        shown = set((await client.get("/realm/presence"))["presences"])
        host = (await server.host_of(make.realm_id)).partition(":")[0]
        hidden = f"user{people[0].user_id}@{host}"
        assert shown == {guest.email, hidden}, "but not their addresses"
        await server.app.presences.of(make.realm_id).settle()
        state = await client.post("/register", fetch_event_types=["presence"])
        assert set(state["presences"]) == shown


async def test_spectators_see_no_presence(make, serving_with, connect, people):
    await make.change_settings(enable_spectator_access=True)
    async with serving_with(web_public_channels=True) as server:
        await ping_of(server, make, await connect(server, make.realm_id, people[0]))
        anonymous = await connect(server, make.realm_id)
        state = await anonymous.post("/register", fetch_event_types=["presence", "user_status"])
        assert (state["presences"], state["user_status"]) == ({}, {})
        answer = await anonymous.call("POST", "/users/me/presence", status="active")
        answer.refused("UNAUTHORIZED", 401)


# -- one person


async def test_one_person_by_id_and_by_address(clients, people, clock):
    await ping(clients[1])
    now = int(clock.now().timestamp())
    shown = {"status": "active", "timestamp": now}
    for key in (people[1].user_id, people[1].email, people[1].email.upper()):
        answer = await clients[0].get(f"/users/{key}/presence")
        times = {"active_timestamp": now, "idle_timestamp": now}
        assert answer["presence"] == {"aggregated": shown, "website": shown, **times}
    clock.advance(timedelta(seconds=OFFLINE_AFTER_SECONDS + 1))
    answer = await clients[0].get(f"/users/{people[1].user_id}/presence")
    assert answer["presence"]["aggregated"] == {"status": "offline", "timestamp": now}


async def test_one_person_shows_before_their_ping_is_written(clients, people):
    for client in clients[:2]:
        await client.post("/users/me/presence", status="idle", ping_only=True)
    answer = await clients[2].get(f"/users/{people[1].user_id}/presence")
    assert answer["presence"]["website"]["status"] == "idle"


async def test_unknown_and_hidden_users_are_refused(clients, people):
    for key in (people[1].user_id, 10**9, 0, "nobody@example.com", "me"):
        answer = await clients[0].call("GET", f"/users/{key}/presence")
        answer.refused("BAD_REQUEST")


# -- register


async def test_register_holds_what_a_ping_would_answer(clients, people, clock):
    for client in clients[1:]:
        await ping(client)
    for slim in (True, False):
        state = await clients[0].post(
            "/register", fetch_event_types=["presence"], slim_presence=slim
        )
        contract.validate_register(state, ["presence"])
        asked = {"last_update_id": -1} if slim else {"last_update_id": None}
        answer = await ping(clients[1], **asked)
        assert state["presences"] == answer["presences"]
        assert state["presence_last_update_id"] == answer["presence_last_update_id"]
        assert state["server_timestamp"] == clock.now().timestamp()
    clock.advance(timedelta(days=3))
    state = await clients[0].post(
        "/register", fetch_event_types=["presence"], presence_history_limit_days=2
    )
    assert state["presences"] == {}


async def test_a_client_goes_on_from_register(clients, people):
    await ping(clients[1])
    state = await clients[0].post("/register", slim_presence=True)
    await ping(clients[2])
    answer = await ping(clients[0], last_update_id=state["presence_last_update_id"])
    assert ids(answer) == sorted([people[0].user_id, people[2].user_id])


# -- events


@pytest_asyncio.fixture
async def queues(clients):
    """Of each kind of client one; they are Carol's."""
    capabilities = {"simplified_presence_events": True}
    kinds: tuple[dict[str, Any], ...] = (
        {"client_capabilities": capabilities},
        {"slim_presence": True},
        {},
    )
    queues = [await clients[2].register(event_types=["presence"], **kind) for kind in kinds]
    for queue in queues:
        await queue.poll(dont_block=True)
    return queues


async def heard(queues):
    return [await queue.poll(dont_block=True) for queue in queues]


async def test_who_comes_is_told_at_once(clients, queues, people, clock):
    await ping(clients[0])
    [modern], [slim], [legacy] = await heard(queues)
    now = int(clock.now().timestamp())
    user_id = people[0].user_id
    assert modern["presences"] == {str(user_id): {"active_timestamp": now, "idle_timestamp": now}}
    shown = {"client": "website", "status": "active", "timestamp": now, "pushable": False}
    for event in (slim, legacy):
        assert (event["user_id"], event["presence"]) == (user_id, {"website": shown})
        assert event["server_timestamp"] == clock.now().timestamp()
    assert "email" not in slim
    assert legacy["email"] == people[0].email


async def test_only_being_more_there_is_told(clients, queues, clock):
    """A ping that does not raise a user's status is told with the pings of others."""
    steps = [
        ("idle", MINUTE, 1),
        ("idle", MINUTE, 0),
        ("active", MINUTE, 1),
        ("active", MINUTE, 0),
        ("idle", MINUTE, 0),
        ("idle", timedelta(seconds=OFFLINE_AFTER_SECONDS), 0),
        ("active", timedelta(seconds=OFFLINE_AFTER_SECONDS + 1), 1),
        ("active", timedelta(days=1), 1),
    ]
    for status, after, told in steps:
        clock.advance(after)
        await ping(clients[0], status=status)
        assert [len(events) for events in await heard(queues)] == [told] * 3, (status, after)


async def test_who_come_together_are_told_together(log_in, make, queues, clock, realm_presences):
    crowd = [await log_in(row) for row in await make.users(10)]
    await crowd[0].post("/users/me/presence", status="active")
    await heard(queues)
    for each in crowd[1:]:
        await each.post("/users/me/presence", status="active", ping_only=True)
    assert await heard(queues) == [[], [], []]
    await realm_presences.settle()
    modern, slim, legacy = await heard(queues)
    assert [len(event["presences"]) for event in modern] == [9]
    assert len(slim) == len(legacy) == 9


async def test_of_a_whole_organization_that_comes_back_some_are_told(make, queues, log_in, clock):
    rows = await make.users(MAX_PUBLISHED_USERS + 10)
    there = queues[0].client.server.app.presences.of(make.realm_id)
    first = await log_in(rows[0])
    await first.post("/users/me/presence", status="active")
    await heard(queues)
    for row in rows[1:]:
        await there.ping(row, active=True)
    await there.settle()
    modern, _, _ = await heard(queues)
    assert sum(len(event["presences"]) for event in modern) == MAX_PUBLISHED_USERS
    answer = await first.post("/users/me/presence", status="active", last_update_id=-1)
    assert len(answer["presences"]) == len(rows), "of the others clients hear when they ask"


async def test_guests_are_told_of_whom_they_know(limited, clients, people):
    queue = await limited.register(event_types=["presence"], slim_presence=True)
    await queue.poll(dont_block=True)
    await ping(clients[1])
    await ping(clients[0])
    events = await queue.poll(dont_block=True)
    assert [event["user_id"] for event in events] == [people[0].user_id]


async def test_events_are_small_enough_for_the_bus(make, clients, people, queues, clock):
    """Long addresses: one event on the bus carries fewer people."""
    letters = "ä" * 180
    rows = [await make.user(email=f"{number}{letters}@example.com") for number in range(40)]
    there = clients[0].server.app.presences.of(make.realm_id)
    for row in rows:
        await there.ping(row, active=True)
    await there.settle()
    modern, _, _ = await heard(queues)
    assert len(modern) > 2
    told = {user_id for event in modern for user_id in event["presences"]}
    assert told == {str(row.user_id) for row in rows}


# -- several processes


async def test_processes_tell_each_other(clients, people, clock, serving_with, connect, make):
    async with serving_with(clock=clock) as second:
        there = await connect(second, make.realm_id, people[1])
        queue = await there.register(event_types=["presence"], slim_presence=True)
        await queue.poll(dont_block=True)
        first = await ping(clients[0])
        assert (await queue.poll())[0]["user_id"] == people[0].user_id
        number = first["presence_last_update_id"]

        answer = await there.post("/users/me/presence", status="active", last_update_id=number)
        assert ids(answer) == [people[1].user_id]
        clock.advance(timedelta(seconds=1))
        answer = await clients[0].post("/users/me/presence", status="active", last_update_id=number)
        assert ids(answer) == [people[1].user_id], "a second later it is known here too"


async def test_no_update_is_missed_between_processes(people, clock, serving_with, connect, make):
    """Clients that hop from process to process end with what a register says."""
    rows = await make.users(12)
    async with serving_with(clock=clock) as one, serving_with(clock=clock) as two:
        clients = [
            [await connect(server, make.realm_id, row) for server in (one, two)] for row in rows
        ]
        held: list[dict[str, Any]] = [{} for _ in rows]
        numbers = [-1] * len(rows)
        for turn in range(6):
            for number, hops in enumerate(clients):
                client = hops[(turn + number) % 2]
                answer = await client.post(
                    "/users/me/presence",
                    status="active" if (turn + number) % 3 else "idle",
                    last_update_id=numbers[number],
                )
                assert answer["presence_last_update_id"] >= numbers[number]
                numbers[number] = answer["presence_last_update_id"]
                held[number] |= answer["presences"]
                if number % 4 == 0:
                    clock.advance(timedelta(milliseconds=400))
            clock.advance(MINUTE)
        for server in (one, two):
            await server.app.presences.of(make.realm_id).settle()
            await server.app.presences.of(make.realm_id).settle()
        truth = await clients[0][0].post(
            "/register", fetch_event_types=["presence"], slim_presence=True
        )
        for number, hops in enumerate(clients):
            answer = await hops[0].post(
                "/users/me/presence",
                status="idle",
                last_update_id=numbers[number],
            )
            held[number] |= answer["presences"]
        after = await clients[0][0].post(
            "/register", fetch_event_types=["presence"], slim_presence=True
        )
        assert len(truth["presences"]) == len(rows)
        for mine in held:
            stale = {key for key, shown in truth["presences"].items() if mine[key] != shown}
            newer = {key for key in stale if mine[key] == after["presences"][key]}
            assert {
                key
                for key in stale - newer
                if mine[key]["idle_timestamp"] < truth["presences"][key]["idle_timestamp"]
            } == set()


async def test_what_waits_is_written_when_a_server_stops(
    people, clock, serving_with, connect, make, clients
):
    async with serving_with(clock=clock) as second:
        for row in people[1:]:
            there = await connect(second, make.realm_id, row)
            await there.post("/users/me/presence", status="active", ping_only=True)
    assert set(ids(await ping(clients[0]))) == {row.user_id for row in people}


async def test_what_a_killed_server_has_not_written_comes_with_the_next_ping(
    clients, people, clock, serving_with, connect, make
):
    async with serving_with(clock=clock) as second:
        first = await connect(second, make.realm_id, people[1])
        await first.post("/users/me/presence", status="active", ping_only=True)
        late = await connect(second, make.realm_id, people[2])
        seen = await late.post("/users/me/presence", status="active", last_update_id=-1)
        number = seen["presence_last_update_id"]
        assert people[2].user_id in ids(seen)
        second.app.presences.of(make.realm_id)._pending.clear()  # as a kill would
    clock.advance(MINUTE)
    answer = await ping(clients[0], last_update_id=number)
    assert people[2].user_id not in ids(answer)
    late_again = await ping(clients[2], last_update_id=number)
    assert people[2].user_id in ids(late_again)
    assert late_again["presence_last_update_id"] > number


async def test_what_cannot_be_written_now_is_written_with_the_next_turn(
    clients, people, clock, make
):
    await ping(clients[0])
    await clients[1].post("/users/me/presence", status="active", ping_only=True)
    await make.connection.execute("ALTER TABLE presences RENAME TO presences_away")
    clock.advance(timedelta(seconds=1))
    answer = await clients[2].call("POST", "/users/me/presence", status="active")
    assert answer.status == 500
    await make.connection.execute("ALTER TABLE presences_away RENAME TO presences")
    assert set(ids(await ping(clients[0]))) == {row.user_id for row in people}


# -- what is wrong


async def test_what_is_wrong_or_missing_is_named(clients, realm_presences):
    answer = await clients[0].call("POST", "/users/me/presence")
    assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == "status"
    for name, value in (
        ("status", "offline"),
        ("status", ""),
        ("status", "ACTIVE"),
        ("last_update_id", "-2"),
        ("last_update_id", "x"),
        ("last_update_id", "1.5"),
        ("last_update_id", str(2**70)),
        ("history_limit_days", "-1"),
        ("history_limit_days", "many"),
        ("ping_only", "2"),
        ("slim_presence", "maybe"),
        ("new_user_input", "1"),
    ):
        answer = await clients[0].call(
            "POST", "/users/me/presence", **{"status": "active", name: value}
        )
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name, value
    assert realm_presences.writes == 0, "nothing of it has counted"


async def test_unknown_parameters_are_ignored(clients):
    answer = await ping(clients[0], mood="good")
    assert answer["ignored_parameters_unsupported"] == ["mood"]
    assert json.dumps(answer["presences"])
