"""Phones with the published app: devices, keys, tokens, and what reaches them."""

import asyncio
import base64
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from queue_processors.push_keeper import REGISTRATION_LIFETIME, PushKeeper
from queue_processors.push_registrations import handle as register_devices
from server.actions.push_devices import ASKED_AGAIN_AFTER, MAX_DEVICES
from server.domain.access import OWNER
from server.jobs import PushRegistration
from storage import push_devices
from storage.push_devices import DeviceRow
from testkit.clients.api import Client, LogIn
from testkit.clients.phone import Phone, token_id_of
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.services.push_bouncer import A_DAY, NOW, FakeBouncer

pytestmark = pytest.mark.asyncio

ADD = "/register_client_device"
REMOVE = "/remove_client_device"
REGISTER = "/mobile_push/register"
TEST = "/mobile_push/e2ee/test_notification"
ANDROID = "/users/me/android_gcm_reg_id"
APPLE = "/users/me/apns_device_token"
IPHONE = "ab" * 32
NOTHING = {
    "push_key_id": None,
    "push_token_id": None,
    "pending_push_token_id": None,
    "push_token_last_updated_timestamp": None,
    "push_registration_error_code": None,
}


async def devices(make: Make, client: Client) -> list[DeviceRow]:
    assert client.user is not None
    return await push_devices.of_user(make.connection, make.realm_id, client.user.user_id)


async def jobs(make: Make) -> list[PushRegistration]:
    """What the log asks the queue for."""
    rows = await make.connection.tuples(
        """
        SELECT body FROM event_log WHERE realm_id = %(realm_id)s AND kind = 'job'
         ORDER BY position
        """,
        realm_id=make.realm_id,
    )
    found = [msgspec.json.decode(bytes(body)) for (body,) in rows]
    return [
        msgspec.convert(each["job"], PushRegistration)
        for each in found
        if each["queue"] == PushRegistration.queue
    ]


async def work(server: Server, make: Make) -> None:
    """Do what a worker does of all that was asked for, and of some of it again."""
    for job in await jobs(make):
        await register_devices(server.app, job)


async def age(make: Make, by: timedelta) -> None:
    """Let time pass for tokens."""
    await make.connection.execute(
        """
        UPDATE push_devices SET push_token_changed_at = push_token_changed_at - %(by)s
         WHERE realm_id = %(realm_id)s
        """,
        realm_id=make.realm_id,
        by=by,
    )


@pytest.fixture
def phone_of(pushing: Server, log_in_there: LogIn, bouncer: FakeBouncer) -> Any:
    """`await phone_of(token="t", kind="apns")`: the app of a new user, which has registered."""

    async def phone_of(
        client: Client | None = None, *, token: str | None = "android", kind: str = "fcm"
    ) -> Phone:
        now = pushing.app.clock.now
        client = client or await log_in_there()
        phone = Phone(client, bouncer.public_key, lambda: now().timestamp(), kind, token)
        await phone.load()
        return phone

    return phone_of


async def shown(client: Client) -> dict[str, Any]:
    state = (await client.register(event_types=["device"])).state
    found: dict[str, Any] = state["devices"]
    return found


# -- devices


async def test_each_call_makes_a_device_that_is_its_users_alone(log_in: LogIn):
    client, other = await log_in(), await log_in()
    queue = await client.register(event_types=["device"])
    assert queue.state["devices"] == {}
    ids = [(await client.post(ADD))["device_id"] for _ in range(2)]
    assert len(set(ids)) == 2
    for device_id in ids:
        event = await queue.until("device")
        assert (event["op"], event["device_id"]) == ("add", device_id)
    assert await shown(client) == {str(device_id): NOTHING for device_id in ids}
    assert await shown(other) == {}
    assert str(ids[0]) in (await client.register()).state["devices"]


async def test_a_device_is_removed_once_and_by_its_user(log_in: LogIn, make: Make):
    client, other = await log_in(), await log_in()
    device_id = (await client.post(ADD))["device_id"]
    queue = await client.register(event_types=["device"])
    for wrong in (device_id + 1, 0, -1, 2**63 - 1):
        answer = await client.call("POST", REMOVE, device_id=wrong)
        assert answer.refused()["msg"] == "Invalid `device_id`"
    (await other.call("POST", REMOVE, device_id=device_id)).refused()
    (await client.call("POST", REMOVE)).refused("REQUEST_VARIABLE_MISSING")
    await client.post(REMOVE, device_id=device_id)
    (await client.call("POST", REMOVE, device_id=device_id)).refused()
    event = await queue.until("device")
    assert (event["op"], event["device_id"]) == ("remove", device_id)
    assert await devices(make, client) == []


async def test_phones_with_tokens_and_browsers_are_no_client_devices(log_in: LogIn, make: Make):
    client = await log_in()
    await client.post(ANDROID, token="legacy")
    [row] = await devices(make, client)
    assert await shown(client) == {}
    (await client.call("POST", REMOVE, device_id=row.device_id)).refused()
    assert len(await devices(make, client)) == 1


async def test_bots_have_no_devices(log_in: LogIn, make: Make):
    bot = await log_in(await make.user(bot_type=1, bot_owner=await make.user()))
    (await bot.call("POST", ADD)).refused()
    for path in (REMOVE, REGISTER):
        (await bot.call("POST", path, device_id=1)).refused()


async def test_devices_without_notifications_make_room_for_others(phone_of: Any, make: Make):
    phone = await phone_of()
    queue = await phone.client.register(event_types=["device"])
    await phone.client.post(ANDROID, token="legacy")
    made = [(await phone.client.post(ADD))["device_id"] for _ in range(MAX_DEVICES)]
    kept = {row.device_id for row in await devices(make, phone.client)}
    assert len(kept) == MAX_DEVICES
    assert phone.device_id in kept
    assert kept.isdisjoint(made[:2])
    assert kept.issuperset(made[2:])
    gone = []
    for _ in range(MAX_DEVICES + 2):
        event = await queue.until("device")
        gone += [event["device_id"]] if event["op"] == "remove" else []
    assert gone == made[:2]
    assert str(made[0]) not in await shown(phone.client)


# -- registering


async def test_without_a_bouncer_nothing_is_registered(log_in: LogIn):
    client = await log_in()
    device_id = (await client.post(ADD))["device_id"]
    answer = await client.call("POST", REGISTER, device_id=device_id)
    answer.refused("PUSH_SERVICE_NOT_CONFIGURED")


@pytest.mark.parametrize(("kind", "token"), [("fcm", "android"), ("apns", IPHONE)])
async def test_the_app_registers_and_gets_what_it_alone_reads(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer, kind: str, token: str
):
    begun = int(pushing.app.clock.now().timestamp())
    phone = await phone_of(token=token, kind=kind)
    assert phone.refusals == []
    assert [set(each) for each in phone.requests] == [
        {
            *("push_key", "push_key_id", "token_kind", "token_id"),
            *("bouncer_public_key", "encrypted_push_registration"),
        }
    ]
    assert (await phone.follow())["op"] == "add"
    pending = await phone.follow()
    assert pending["push_key_id"] == phone.keys[0].key_id
    assert pending["pending_push_token_id"] == token_id_of(token)
    assert begun <= pending["push_token_last_updated_timestamp"] <= phone.now()
    assert "push_token_id" not in pending
    (await phone.client.call("POST", TEST)).refused("NO_ACTIVE_PUSH_DEVICE")
    for _ in range(2):
        await work(pushing, make)
    active = await phone.follow()
    assert active["push_token_id"] == token_id_of(token)
    assert active["pending_push_token_id"] is None
    assert phone.state == await shown(phone.client)
    assert phone.queue is not None
    assert await phone.queue.poll(dont_block=True) == []

    await phone.client.post(TEST, device_id=phone.device_id)
    [taken] = bouncer.tokens.values()
    assert taken.registration["token"] == token
    [delivery] = taken.got
    assert phone.shown(delivery) is None  # the app shows no tests
    if kind == "apns":
        assert phone.alert(delivery) == "New notification"
    assert not any(token.encode() in body for body in bouncer.bodies)
    await phone.load()
    assert len(phone.requests) == 1


async def test_a_token_is_replaced_and_the_former_one_serves_until_then(
    pushing: Server, phone_of: Any, make: Make
):
    phone = await phone_of(token="one")
    await work(pushing, make)
    for _ in range(3):
        await phone.follow()
    await phone.take_token("two")
    assert set(phone.requests[-1]).isdisjoint({"push_key", "push_key_id"})
    event = await phone.follow()
    assert event["pending_push_token_id"] == token_id_of("two")
    assert {"push_token_id", "push_key_id"}.isdisjoint(event)
    [row] = await devices(make, phone.client)
    assert row.encrypted is not None
    assert base64.b64encode(row.encrypted.token_id).decode() == token_id_of("one")
    await work(pushing, make)
    assert (await phone.follow())["push_token_id"] == token_id_of("two")


async def test_a_key_is_replaced_even_while_a_token_is_pending(phone_of: Any, make: Make):
    phone = await phone_of()
    secret = base64.b64encode(b"\x31" + bytes(range(32))).decode()
    for _ in range(2):
        await phone.client.post(REGISTER, device_id=phone.device_id, push_key_id=0, push_key=secret)
    events = [await phone.follow() for _ in range(3)]
    assert {name for name in events[2] if name.startswith("pu")} == {"push_key_id"}
    [row] = await devices(make, phone.client)
    assert (row.push_key_id, row.push_key) == (0, bytes(range(32)))
    assert len(await jobs(make)) == 1
    assert phone.queue is not None
    assert await phone.queue.poll(dont_block=True) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Missing parameters: must provide either all push key fields, all token fields, or"),
        ({"push_key_id": 1}, "Missing parameters"),
        ({"token_kind": "fcm", "token_id": "AAAAAAAAAAA="}, "Missing parameters"),
        ({"push_key_id": 1, "push_key": "MQ=="}, "Invalid `push_key`"),
        ({"push_key_id": 1, "push_key": "?"}, "Invalid `push_key`"),
        ({"push_key_id": 1, "push_key": "A" * 44}, "Invalid `push_key`"),
        ({"push_key_id": 2**32, "push_key": "A" * 44}, "push_key_id"),
        ({"push_key_id": -1, "push_key": "A" * 44}, "push_key_id"),
        ({"push_key_id": 1, "push_key": "MQ" + "A" * 42}, "No push registration exists to rotate"),
        ({"token_id": "not base64"}, "`token_id` is not Base64 encoded"),
        ({"token_id": "AAAA"}, "Invalid `token_id`"),
        ({"token_kind": "web"}, "token_kind"),
        ({"token_kind": "fcm"}, "No push registration exists to rotate token for."),
        ({"encrypted_push_registration": "x" * 40_001}, "encrypted_push_registration"),
    ],
)
async def test_what_is_no_registration_says_why_and_changes_nothing(
    phone_of: Any, make: Make, fields: dict[str, Any], message: str
):
    phone = await phone_of(token=None)
    assert phone.requests == []
    if fields.keys() & {"token_id", "token_kind", "encrypted_push_registration"}:
        given = {} if "Missing" in message else phone.token_fields("t")
        fields = {**given, **fields}
    answer = await phone.client.call("POST", REGISTER, device_id=phone.device_id, **fields)
    assert message in answer.body["msg"]
    assert answer.status == 400
    assert await shown(phone.client) == {str(phone.device_id): NOTHING}
    assert await jobs(make) == []


async def test_the_device_is_ones_own(phone_of: Any, make: Make):
    phone, other = await phone_of(token=None), await phone_of(token=None)
    fields = {"push_key_id": 1, "push_key": phone.keys[0].text, **phone.token_fields("t")}
    for device_id in (other.device_id, other.device_id + 1, 0):
        answer = await phone.client.call("POST", REGISTER, device_id=device_id, **fields)
        assert answer.refused()["msg"] == "Invalid `device_id`"
    (await phone.client.call("POST", REGISTER, **fields)).refused("REQUEST_VARIABLE_MISSING")
    assert await jobs(make) == []


async def test_while_a_token_is_pending_another_waits_and_not_for_ever(
    pushing: Server, phone_of: Any, make: Make
):
    phone = await phone_of(token="one")
    await phone.take_token("two")
    assert phone.refusals == ["A registration for the device already in progress."]
    await age(make, ASKED_AGAIN_AFTER)
    await phone.take_token("two")
    assert len(phone.refusals) == 1
    await work(pushing, make)  # of both: the bouncer's answer about the former is not heeded
    assert (await shown(phone.client))[str(phone.device_id)]["push_token_id"] == token_id_of("two")


async def test_a_registration_of_which_nothing_is_heard_ends_with_an_error(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    keeper = PushKeeper(pushing.app)
    await keeper.expire()
    await age(make, REGISTRATION_LIFETIME)
    for _ in range(2):
        await keeper.expire()
    events = [await phone.follow() for _ in range(3)]
    assert events[2]["push_registration_error_code"] == "REQUEST_EXPIRED"
    assert "pending_push_token_id" not in events[2]
    assert phone.queue is not None
    assert await phone.queue.poll(dont_block=True) == []
    await work(pushing, make)  # late, but heard: nothing is lost
    state = (await shown(phone.client))[str(phone.device_id)]
    assert state["push_token_id"] == token_id_of("android")
    assert state["push_registration_error_code"] is None
    assert len(bouncer.tokens) == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"bouncer_public_key": "AAAA"}, "INVALID_BOUNCER_PUBLIC_KEY"),
        ({"encrypted_push_registration": "junk"}, "BAD_REQUEST"),
        ({"token_id": "AAAAAAAAAAA="}, "BAD_REQUEST"),
        ({"late": True}, "REQUEST_EXPIRED"),
    ],
)
async def test_what_the_bouncer_refuses_for_good_is_told_and_sent_again(
    pushing: Server,
    phone_of: Any,
    make: Make,
    fields: dict[str, Any],
    code: str,
):
    phone = await phone_of(token=None)
    late = fields.pop("late", False)
    now = phone.now
    phone.now = lambda: NOW - A_DAY - 1 if late else now()
    given = {**phone.token_fields("android"), **fields}
    key = {"push_key_id": phone.keys[0].key_id, "push_key": phone.keys[0].text}
    await phone.client.post(REGISTER, device_id=phone.device_id, **key, **given)
    await work(pushing, make)
    events = [await phone.follow() for _ in range(3)]
    assert events[2]["push_registration_error_code"] == code
    assert phone.me is not None
    assert phone.me["pending_push_token_id"] == given["token_id"]
    fields["late"] = late
    phone.now, phone.token = now, "android"
    await phone.load()
    assert (await shown(phone.client))[str(phone.device_id)]["push_registration_error_code"] is None
    await register_devices(pushing.app, (await jobs(make))[-1])
    state = (await shown(phone.client))[str(phone.device_id)]
    assert state["push_token_id"] == token_id_of("android")


async def test_a_repetition_costs_nothing_and_counts_as_a_confirmation(
    pushing: Server, phone_of: Any, make: Make
):
    phone = await phone_of()
    await work(pushing, make)
    await phone.load()
    assert len(phone.requests) == 1
    await age(make, REGISTRATION_LIFETIME * 31)
    earliest = int(phone.now())
    for _ in range(2):
        await phone.load()
    assert len(phone.requests) == 2
    assert len(await jobs(make)) == 1
    state = (await shown(phone.client))[str(phone.device_id)]
    assert earliest <= state["push_token_last_updated_timestamp"] <= int(phone.now())


async def test_an_app_that_is_a_month_old_has_another_key_and_reads_both(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    await work(pushing, make)
    await phone.client.post(TEST)
    phone.keys[0].created_at -= 31 * A_DAY
    await phone.load()
    await phone.client.post(TEST)
    assert phone.requests[-1].keys() == {"push_key", "push_key_id"}
    [taken] = bouncer.tokens.values()
    assert [each["push_key_id"] for each in taken.got] == [str(key.key_id) for key in phone.keys]
    for delivery in taken.got:
        assert phone.shown(delivery) is None


async def test_a_removed_device_is_not_registered_any_more(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    await phone.log_out()
    await work(pushing, make)
    assert bouncer.tokens == {}
    assert await devices(make, phone.client) == []


async def test_a_device_that_is_removed_while_the_bouncer_is_asked_stays_away(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    bouncer.held = asyncio.Event()
    working = asyncio.create_task(work(pushing, make))
    async with asyncio.timeout(10):
        await bouncer.holding.wait()
        await phone.log_out()
        bouncer.held.set()
        await working
    assert await devices(make, phone.client) == []


async def test_a_dead_token_is_forgotten_and_its_key_kept(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    await work(pushing, make)
    for _ in range(3):
        await phone.follow()
    bouncer.gone = {"android"}
    (await phone.client.call("POST", TEST)).refused("NO_ACTIVE_PUSH_DEVICE")
    event = await phone.follow()
    assert event["push_token_id"] is None
    assert phone.me is not None
    assert phone.me["push_key_id"] == phone.keys[0].key_id
    bouncer.gone = set()
    await phone.load()
    assert set(phone.requests[-1]).isdisjoint({"push_key", "push_key_id"})
    await register_devices(pushing.app, (await jobs(make))[-1])
    await phone.client.post(TEST)


async def test_a_token_of_which_the_service_says_that_it_was_sent_and_is_dead_is_dead(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    await work(pushing, make)
    answer = {
        "result": "success",
        "msg": "",
        "android_successfully_sent_count": 1,
        "apple_successfully_sent_count": 0,
    }
    dead = {**answer, "delete_token_ids": [token_id_of("android")]}
    unsent = {**answer, "android_successfully_sent_count": 0, "delete_token_ids": []}
    bouncer.answers_to["push/e2ee/notify"] = [
        (200, json.dumps(each), dict[str, str]()) for each in (unsent, dead)
    ]
    (await phone.client.call("POST", TEST)).refused("INTERNAL_SERVER_ERROR_ON_BOUNCER", 502)
    for _ in range(2):
        (await phone.client.call("POST", TEST)).refused("NO_ACTIVE_PUSH_DEVICE")
    [row] = await devices(make, phone.client)
    assert row.encrypted is None
    assert bouncer.requests.count("push/e2ee/notify") == 2


async def test_a_token_belongs_to_one_device_of_a_user(
    pushing: Server, phone_of: Any, log_in_there: LogIn, make: Make, bouncer: FakeBouncer
):
    other = await phone_of(token=IPHONE, kind="apns")  # another account on the same phone
    former = await phone_of(token=IPHONE, kind="apns")
    await work(pushing, make)
    for _ in range(3):
        await former.follow()
    again = await phone_of(former.client, token=IPHONE, kind="apns")
    await work(pushing, make)
    [*_, event] = [await former.follow() for _ in range(4)]
    assert event == {
        "id": event["id"],
        "type": "device",
        "op": "update",
        "device_id": former.device_id,
        "push_token_id": None,
    }
    assert former.me["push_key_id"] == former.keys[0].key_id
    await former.client.post(TEST)
    [taken] = bouncer.tokens.values()
    assert len(taken.got) == 1
    now = await shown(former.client)
    assert now[str(again.device_id)]["push_token_id"] == token_id_of(IPHONE)
    await other.client.post(TEST)

    await make.connection.execute(
        """
        UPDATE push_devices SET push_token_id = o.push_token_id FROM push_devices o
         WHERE push_devices.device_id = %(former)s AND o.device_id = %(again)s
        """,
        former=former.device_id,
        again=again.device_id,
    )
    await former.client.post(REGISTER, device_id=again.device_id, **again.token_fields(IPHONE))
    assert (await shown(former.client))[str(former.device_id)]["push_token_id"] is None


# -- beside other forms


@pytest.mark.parametrize(
    ("path", "more", "kind", "token", "stored"),
    [
        (ANDROID, {}, "fcm", "Same", "Same"),
        (APPLE, {"appid": "com.example.app"}, "apns", IPHONE.upper(), IPHONE),
    ],
)
async def test_a_phone_is_not_notified_twice(
    pushing: Server,
    phone_of: Any,
    log_in_there: LogIn,
    make: Make,
    bouncer: FakeBouncer,
    path: str,
    more: dict[str, Any],
    kind: str,
    token: str,
    stored: str,
):
    client = await log_in_there()
    await client.post(path, token=token, **more)
    await client.post(ANDROID, token="another phone")
    await work(pushing, make)
    phone = await phone_of(client, token=token, kind=kind)
    assert stored in {row.token for row in await devices(make, client)}
    await work(pushing, make)
    assert {row.token for row in await devices(make, client)} == {None, "another phone"}
    await work(pushing, make)
    assert {name for _, _, name in bouncer.phones} == {"another phone"}
    assert phone.refusals == []


async def test_the_older_form_goes_on_beside(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    older = {
        "token_kind": "fcm",
        "push_account_id": 5,
        "push_public_key": base64.b64encode(bytes(range(32))).decode(),
        "bouncer_public_key": bouncer.public_key,
        "encrypted_push_registration": bouncer.registration("other"),
    }
    for name in older:
        if name != "push_account_id":
            answer = await phone.client.call("POST", REGISTER, **{**older, name: None})
            assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == name
    await phone.client.post(REGISTER, **older)
    await work(pushing, make)
    state = (await phone.client.register(event_types=["device", "push_device"])).state
    assert list(state["devices"]) == [str(phone.device_id)]
    assert list(state["push_devices"]) == ["5"]
    await phone.client.post(TEST)
    [sealed], [client] = bouncer.sealed.values(), bouncer.tokens.values()
    assert [len(sealed.got), len(client.got)] == [1, 1]
    await phone.client.post(TEST, push_account_id=5)
    await phone.client.post(TEST, device_id=phone.device_id)
    assert [len(sealed.got), len(client.got)] == [2, 2]
    for wrong in ({"device_id": 1}, {"push_account_id": phone.device_id}):
        (await phone.client.call("POST", TEST, **wrong)).refused("NO_ACTIVE_PUSH_DEVICE")


@pytest.mark.parametrize("generation", ["accounts", "tokens"])
async def test_a_bouncer_of_one_generation_reaches_its_phones(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer, generation: Any
):
    bouncer.generation = generation
    phone = await phone_of()
    await phone.client.post(
        REGISTER,
        token_kind="fcm",
        push_account_id=5,
        push_public_key=base64.b64encode(bytes(range(32))).decode(),
        bouncer_public_key=bouncer.public_key,
        encrypted_push_registration=bouncer.registration("other"),
    )
    await work(pushing, make)
    await phone.client.post(TEST)
    state = (await phone.client.register(event_types=["device", "push_device"])).state
    [client], [account] = state["devices"].values(), state["push_devices"].values()
    reached = len(bouncer.tokens), len(bouncer.sealed)
    if generation == "tokens":
        assert reached == (1, 0)
        assert client["push_token_id"] == token_id_of("android")
        assert account["error_code"] == "INVALID_ENCRYPTED_PUSH_REGISTRATION"
    else:
        assert reached == (0, 1)
        assert client["push_registration_error_code"] == "BAD_REQUEST"
        assert account["status"] == "active"


# -- the account


async def test_another_api_key_ends_registrations_and_devices_stay(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    phone = await phone_of()
    await work(pushing, make)
    answer = await phone.client.post("/users/me/api_key/regenerate")
    [row] = await devices(make, phone.client)
    assert (row.client is not None, row.push_key, row.encrypted) == (True, None, None)
    assert not bouncer.requests[-1].endswith("notify")
    phone.client = replace(phone.client, api_key=answer["api_key"])
    await phone.load()
    assert phone.refusals == []
    await work(pushing, make)
    await phone.client.post(TEST)


async def test_who_is_deactivated_gets_nothing_any_more(
    pushing: Server, phone_of: Any, make: Make, bouncer: FakeBouncer
):
    await make.user(role=OWNER)
    phone = await phone_of()
    await phone.client.delete("/users/me")
    await work(pushing, make)
    assert bouncer.tokens == {}
    [row] = await devices(make, phone.client)
    assert (row.push_key, row.pending_push_token_id) == (None, None)


async def test_where_only_encryption_is_allowed_a_test_in_the_clear_says_so(
    log_in_there: LogIn, make: Make, bouncer: FakeBouncer
):
    await make.change_settings(require_e2ee_push_notifications=True)
    client = await log_in_there()
    await client.post(ANDROID, token="legacy")
    answer = await client.call("POST", "/mobile_push/test_notification")
    assert "end-to-end encryption only" in answer.refused()["msg"]
    assert bouncer.got("legacy") == []
