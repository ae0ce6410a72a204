"""A bouncer over HTTP: what it is asked, and what its answers mean."""

import json
from typing import Any

import pytest
from nacl.public import PrivateKey

from server.actions.push_status import PushStatus
from server.push.bouncer import Bouncer
from server.push.sealing import sealed
from server.push.service import (
    DisallowedError,
    NeedsOperatorError,
    PlainNotification,
    PushRecipient,
    PushRefusedError,
    PushServiceUnreachableError,
    SealedNotice,
    ServiceFaultError,
    UnknownDeviceError,
    UnknownRealmError,
)
from storage.ids import PushDeviceId, UserId
from storage.push_devices import PlainDevice, SealedDevice
from testkit.services.push_bouncer import A_DAY, NOW, SERVER_KEY, FakeBouncer, asking

pytestmark = pytest.mark.asyncio

ADA = PushRecipient(
    "5a1f6c1e-7a51-4c83-9d33-5e3d1a2b3c4d", "11111111-2222-5333-8444-555555555555", UserId(7)
)
ANDROID = PlainDevice(PushDeviceId(1), "fcm", "android-1", None, is_registered=True)
IPHONE = PlainDevice(PushDeviceId(2), "apns", "ab" * 32, "com.example.app", is_registered=True)
NOTICE = PlainNotification(
    apple={"alert": {"title": "T"}, "custom": {"zulip": {"x": 1}}},
    android={"event": "message", "content": "hi"},
    is_urgent=True,
)


def sealed_device(bouncer_id: int, kind: Any = "fcm", account_id: int = 5) -> SealedDevice:
    key = bytes(PrivateKey.generate().public_key)
    return SealedDevice(PushDeviceId(bouncer_id), kind, account_id, key, bouncer_id)


def notice_for(device: SealedDevice) -> SealedNotice:
    return SealedNotice(device, sealed(device.public_key, {"type": "test"}))


async def test_registered_devices_get_what_is_theirs(bouncer: FakeBouncer):
    async with asking(bouncer) as client:
        for device in (ANDROID, IPHONE):
            await client.register(ADA, device)
            await client.register(ADA, device)
        outcome = await client.push(ADA, NOTICE, [ANDROID, IPHONE])
    assert bouncer.got("android-1") == [NOTICE.android]
    assert bouncer.got("ab" * 32) == [NOTICE.apple]
    assert bouncer.app_ids == {"ab" * 32: "com.example.app"}
    assert outcome.counts == {("fcm", "sent"): 1, ("apns", "sent"): 1}
    assert (outcome.gone, outcome.again) == (frozenset(), frozenset())
    assert outcome.status == PushStatus(enabled=True)


async def test_what_the_bouncer_has_dropped_is_gone(bouncer: FakeBouncer):
    bouncer.gone = {"android-1"}
    async with asking(bouncer) as client:
        await client.register(ADA, ANDROID)
        await client.register(ADA, IPHONE)
        outcome = await client.push(ADA, NOTICE, [ANDROID, IPHONE])
        assert outcome.gone == {ANDROID.device_id}
        assert outcome.counts == {("fcm", "gone"): 1, ("apns", "sent"): 1}


async def test_a_device_is_forgotten_and_twice_is_as_once(bouncer: FakeBouncer):
    async with asking(bouncer) as client:
        await client.register(ADA, ANDROID)
        await client.register(ADA, IPHONE)
        for _ in range(2):
            await client.unregister(ADA, "fcm", "android-1")
        assert [token for _, _, token in bouncer.phones] == ["ab" * 32]
        for _ in range(2):
            await client.forget(ADA)
        assert bouncer.phones == {}


async def test_a_test_notification_needs_a_known_device(bouncer: FakeBouncer):
    base = {"realm_name": "A realm"}
    async with asking(bouncer) as client:
        with pytest.raises(UnknownDeviceError):
            await client.test(ADA, base, NOTICE, ANDROID)
        await client.register(ADA, ANDROID)
        await client.test(ADA, base, NOTICE, ANDROID)
    assert bouncer.got("android-1") == [{"realm_name": "A realm", "event": "test"}]


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, "oops", ServiceFaultError),
        (502, "<html>", ServiceFaultError),
        (429, '{"code": "RATE_LIMIT_HIT", "msg": "later"}', ServiceFaultError),
        (401, '{"code": "INVALID_ZULIP_SERVER", "msg": "who?"}', NeedsOperatorError),
        (401, '{"code": "REMOTE_SERVER_DEACTIVATED", "msg": "no"}', NeedsOperatorError),
        (403, '{"code": "MISSING_REMOTE_REALM", "msg": "no"}', UnknownRealmError),
        (400, '{"code": "PUSH_NOTIFICATIONS_DISALLOWED", "msg": "plan"}', DisallowedError),
        (400, '{"code": "BAD_REQUEST", "msg": "no"}', PushRefusedError),
        (404, "<html>no such page</html>", NeedsOperatorError),
        (302, "", NeedsOperatorError),
        (200, '{"result": "success"}', ServiceFaultError),
        (200, "<html>", ServiceFaultError),
    ],
)
async def test_answers_mean_what_their_status_and_code_say(
    bouncer: FakeBouncer, status: int, body: str, error: type[Exception]
):
    bouncer.answers = [(status, body, {"Location": "http://127.0.0.1:1/"})]
    async with asking(bouncer) as client:
        with pytest.raises(error):
            await client.push(ADA, NOTICE, [ANDROID])


@pytest.mark.parametrize(("asked", "seconds"), [("7", 7.0), ("junk", 0.0), ("999999", 3_600.0)])
async def test_the_bouncer_says_how_long_it_wants_to_be_left_alone(
    bouncer: FakeBouncer, asked: str, seconds: float
):
    bouncer.answers = [(503, "", {"Retry-After": asked})]
    async with asking(bouncer) as client:
        with pytest.raises(ServiceFaultError) as caught:
            await client.push(ADA, NOTICE, [ANDROID])
    assert caught.value.after_seconds == seconds


async def test_a_bouncer_that_is_not_there_is_unreachable(bouncer: FakeBouncer):
    async with asking(bouncer) as client:
        bouncer.port = 1
    async with asking(bouncer) as client:
        with pytest.raises(PushServiceUnreachableError, match=r"127\.0\.0\.1"):
            await client.check()


async def test_a_wrong_key_needs_an_operator_and_is_in_no_error(bouncer: FakeBouncer):
    wrong = "w" * 64
    async with asking(bouncer, wrong) as client:
        with pytest.raises(NeedsOperatorError) as caught:
            await client.check()
    assert wrong not in repr(caught.value)


# -- encrypted


async def register_sealed(client: Bouncer, fake: FakeBouncer, **parts: Any) -> int:
    given = {
        "encrypted": fake.registration("secret-token"),
        "public_key": fake.public_key,
        **parts,
    }
    return await client.register_sealed(ADA.realm_uuid, 5, **given)


async def test_an_encrypted_device_has_a_number_and_twice_the_same(bouncer: FakeBouncer):
    async with asking(bouncer) as client:
        first = await register_sealed(client, bouncer)
        assert await register_sealed(client, bouncer) == first
    assert bouncer.sealed[first].registration["token"] == "secret-token"
    assert not any(b"secret-token" in body for body in bouncer.bodies)


async def test_a_registration_that_is_of_no_use_says_why(bouncer: FakeBouncer):
    late = bouncer.registration("t", timestamp=NOW - A_DAY - 1)
    cases = [
        ({"public_key": "AAAA"}, "INVALID_BOUNCER_PUBLIC_KEY"),
        ({"encrypted": "junk"}, "INVALID_ENCRYPTED_PUSH_REGISTRATION"),
        ({"encrypted": late}, "REQUEST_EXPIRED"),
    ]
    async with asking(bouncer) as client:
        for parts, code in cases:
            with pytest.raises(PushRefusedError) as caught:
                await register_sealed(client, bouncer, **parts)
            assert caught.value.code == code
        bouncer.knows_all_realms = False
        with pytest.raises(UnknownRealmError):
            await register_sealed(client, bouncer)


async def test_encrypted_notices_go_together_and_the_dead_are_told(bouncer: FakeBouncer):
    async with asking(bouncer) as client:
        first = await register_sealed(client, bouncer)
        encrypted = bouncer.registration("ab" * 32, "apns")
        second = await register_sealed(client, bouncer, encrypted=encrypted)
        devices = [sealed_device(first), sealed_device(second, "apns"), sealed_device(999)]
        notices = [notice_for(device) for device in devices]
        outcome = await client.push_sealed(ADA.realm_uuid, notices, is_removal=False)
        await client.push_sealed(ADA.realm_uuid, notices[:2], is_removal=True)
    assert outcome.gone == {999}
    assert outcome.counts == {("fcm", "sent"): 1, ("apns", "sent"): 1, ("fcm", "gone"): 1}
    android, iphone = bouncer.sealed[first].got, bouncer.sealed[second].got
    assert [each["fcm_priority"] for each in android] == ["high", "normal"]
    assert [each["http_headers"] for each in iphone] == [
        {"apns_priority": 10, "apns_push_type": "alert"},
        {"apns_priority": 5, "apns_push_type": "background"},
    ]
    assert iphone[0]["payload"]["aps"]["mutable-content"] == 1
    assert bouncer.requests.count("push/e2ee/notify") == 2


# -- the server


async def test_a_server_enrolls_changes_its_key_and_withdraws(bouncer: FakeBouncer):
    bouncer.servers = {}
    about = {"hostname": "chat.parley.test", "contact_email": "ops@parley.test"}
    async with asking(bouncer) as client:
        assert await client.enroll(**about, server_key=SERVER_KEY)
        assert not await client.enroll(**about, server_key=SERVER_KEY)
        assert not await client.enroll(**about, server_key=SERVER_KEY, new_key="n" * 64)
        with pytest.raises(NeedsOperatorError):
            await client.check()
    async with asking(bouncer, "n" * 64) as client:
        await client.check()
        with pytest.raises(PushRefusedError, match="administrator email"):
            await client.enroll(hostname="x", contact_email="ops@example.com", server_key="n" * 64)
        await client.withdraw()
    assert bouncer.servers == {}


async def test_organizations_are_made_known(bouncer: FakeBouncer):
    bouncer.can_push = False
    realm = {
        "id": 1,
        "uuid": ADA.realm_uuid,
        "uuid_owner_secret": "s",
        "host": "chat.parley.test",
        "url": "https://chat.parley.test",
        "name": "A realm",
        "org_type": 0,
        "date_created": 1.0,
        "deactivated": False,
        "authentication_methods": {"Email": True},
        "is_system_bot_realm": False,
    }
    async with asking(bouncer) as client:
        found = await client.introduce([realm])
    assert found == {ADA.realm_uuid: PushStatus(enabled=False)}
    assert json.loads(json.dumps(bouncer.realms[ADA.realm_uuid])) == realm
