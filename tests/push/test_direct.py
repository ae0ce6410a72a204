"""Straight to the makers of phones, over HTTP and HTTP/2, with keys of one's own."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
import pytest_asyncio
from joserfc.jwk import ECKey, RSAKey

from server.push import web
from server.push.apns import Apns, key_of
from server.push.direct import Direct
from server.push.fcm import Fcm, account_of
from server.push.service import (
    NeedsOperatorError,
    PlainNotification,
    PushRefusedError,
    PushServiceUnreachableError,
    ServiceFaultError,
    UnknownDeviceError,
)
from storage.ids import PushDeviceId
from storage.push_devices import PlainDevice
from testkit.clock import StoppedClock
from testkit.services.mail_server import Certificate
from testkit.services.push_services import (
    TOPIC,
    FakeApns,
    FakeFcm,
    Late,
    apns_client,
    appling,
    fcm_client,
    fcm_error,
    googling,
)
from tests.push.test_bouncer import ADA

pytestmark = pytest.mark.asyncio

TOKEN = "ab" * 32
ANDROID = PlainDevice(PushDeviceId(1), "fcm", "android-1", None, is_registered=False)
IPHONE = PlainDevice(PushDeviceId(2), "apns", TOKEN, TOPIC, is_registered=False)
NOTICE = PlainNotification(
    apple={"alert": {"title": "T"}, "badge": 3, "custom": {"zulip": {"x": 1}}},
    android={"event": "message", "zulip_message_id": 17, "content": "hi"},
    is_urgent=True,
    collapse_key="c" * 64,
)
REMOVAL = PlainNotification(
    apple={"badge": 0, "custom": {"zulip": {}}}, android={}, is_urgent=False
)


@dataclass
class Makers:
    clock: StoppedClock
    google: FakeFcm
    apple: FakeApns
    fcm: Fcm
    apns: Apns

    @property
    def direct(self) -> Direct:
        return Direct(self.fcm, self.apns)


@pytest_asyncio.fixture
async def makers(
    google_key: RSAKey, apple_key: ECKey, certificate: Certificate
) -> AsyncIterator[Makers]:
    clock = StoppedClock()
    async with (
        googling(google_key, clock) as google,
        appling(apple_key, clock, certificate) as apple,
        fcm_client(google) as fcm,
        apns_client(apple, certificate.client) as apns,
    ):
        yield Makers(clock, google, apple, fcm, apns)


# -- both


async def test_each_kind_of_device_is_told_in_its_own_way(makers: Makers):
    outcome = await makers.direct.push(ADA, NOTICE, [ANDROID, IPHONE])
    [message] = makers.google.messages
    assert message["token"] == "android-1"
    assert message["data"] == {"event": "message", "zulip_message_id": "17", "content": "hi"}
    assert message["android"]["priority"] == "high"
    [(token, headers, payload)] = makers.apple.got
    assert payload == {"aps": {"alert": {"title": "T"}, "badge": 3}, "zulip": {"x": 1}}
    assert (token, headers["apns-topic"], headers["apns-priority"]) == (TOKEN, TOPIC, "10")
    assert headers["apns-collapse-id"] == "c" * 64
    day = makers.clock.now() + timedelta(days=1)
    assert headers["apns-expiration"] == str(int(day.timestamp()))
    assert outcome.counts == {("fcm", "sent"): 1, ("apns", "sent"): 1}


async def test_a_removal_wakes_the_app_but_not_the_user(makers: Makers):
    await makers.direct.push(ADA, REMOVAL, [ANDROID, IPHONE])
    [(_, headers, payload)] = makers.apple.got
    assert headers["apns-priority"] == "5"
    assert payload["aps"] == {"badge": 0, "content-available": 1}
    assert makers.google.messages[0]["android"]["priority"] == "normal"


async def test_devices_that_are_gone_are_told_and_harm_no_other(makers: Makers):
    makers.google.gone, makers.apple.gone = {"android-2"}, {"cd" * 32}
    others = [
        replace(ANDROID, device_id=PushDeviceId(3), token="android-2"),
        replace(ANDROID, device_id=PushDeviceId(4), token="not a token"),
        replace(IPHONE, device_id=PushDeviceId(5), token="cd" * 32),
        replace(IPHONE, device_id=PushDeviceId(6), token="ab"),
    ]
    outcome = await makers.direct.push(ADA, NOTICE, [ANDROID, IPHONE, *others])
    assert outcome.gone == {3, 4, 5, 6}
    assert outcome.again == frozenset()
    assert (len(makers.google.messages), len(makers.apple.got)) == (1, 1)


async def test_who_could_not_be_told_now_is_named_while_others_were(makers: Makers):
    makers.google.answers = [(429, {}, {"Retry-After": "40"})]
    outcome = await makers.direct.push(ADA, NOTICE, [ANDROID, IPHONE])
    assert outcome.again == {ANDROID.device_id}
    assert outcome.again_after_seconds == 40.0
    assert outcome.counts == {("fcm", "later"): 1, ("apns", "sent"): 1}
    makers.google.answers = [(503, {}, {})]
    with pytest.raises(ServiceFaultError):
        await makers.direct.push(ADA, NOTICE, [ANDROID])


async def test_without_a_key_for_it_a_kind_is_not_reached(makers: Makers):
    direct = Direct(makers.fcm, None)
    assert direct.kinds == {"fcm"}
    outcome = await direct.push(ADA, NOTICE, [IPHONE])
    assert (outcome.counts, makers.apple.got) == ({}, [])


async def test_a_test_says_what_is_wrong(makers: Makers):
    await makers.direct.test(ADA, {}, NOTICE, ANDROID)
    makers.google.gone = {"android-1"}
    with pytest.raises(UnknownDeviceError):
        await makers.direct.test(ADA, {}, NOTICE, ANDROID)
    await makers.direct.check()


# -- Google


async def test_one_access_token_serves_until_shortly_before_its_end(makers: Makers):
    for minutes in (0, 30, 28, 2):
        makers.clock.advance(timedelta(minutes=minutes))
        await makers.fcm.send("android-1", {}, is_urgent=True)
    assert len(makers.google.access_tokens) == 2


async def test_many_at_once_ask_for_one_access_token_and_share_a_refusal(makers: Makers):
    async def send() -> None:
        await makers.fcm.send("android-1", {}, is_urgent=True)

    makers.google.token_answers = [(503, {}, {})]
    found = await asyncio.gather(*(send() for _ in range(9)), return_exceptions=True)
    assert {type(each) for each in found} == {ServiceFaultError}
    await asyncio.gather(*(send() for _ in range(9)))
    assert (len(makers.google.access_tokens), len(makers.google.messages)) == (1, 9)


async def test_an_access_token_that_was_withdrawn_is_replaced_at_once(makers: Makers):
    await makers.fcm.send("android-1", {}, is_urgent=True)
    makers.google.access_tokens.append("another")
    await makers.fcm.send("android-1", {}, is_urgent=True)
    assert len(makers.google.messages) == 2


async def test_a_late_refusal_leaves_the_access_token_that_came_meanwhile(makers: Makers):
    await makers.fcm.send("android-1", {}, is_urgent=True)
    makers.google.access_tokens.append("another")
    makers.google.late = late = Late()
    first = asyncio.create_task(makers.fcm.send("android-1", {}, is_urgent=True))
    await late.waits.wait()
    await makers.fcm.send("android-1", {}, is_urgent=True)
    late.go.set()
    await first
    assert len(makers.google.messages) == 3
    assert makers.google.access_tokens == ["access-0", "another", "access-2"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (fcm_error(404, "NOT_FOUND", "UNREGISTERED"), UnknownDeviceError),
        (fcm_error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), UnknownDeviceError),
        (fcm_error(403, "PERMISSION_DENIED"), NeedsOperatorError),
        (fcm_error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"), NeedsOperatorError),
        (fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"), PushRefusedError),
        (fcm_error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), ServiceFaultError),
        (fcm_error(500, "INTERNAL", "INTERNAL"), ServiceFaultError),
        (fcm_error(503, "UNAVAILABLE", "UNAVAILABLE"), ServiceFaultError),
    ],
)
async def test_what_google_answers(makers: Makers, answer, error: type[Exception]):
    makers.google.answers = [answer, answer]
    with pytest.raises(error):
        await makers.fcm.send("android-1", {}, is_urgent=True)


async def test_a_message_that_is_too_big_is_refused(makers: Makers):
    with pytest.raises(PushRefusedError):
        await makers.fcm.send("android-1", {"content": "x" * 4_096}, is_urgent=True)
    assert makers.google.messages == []


async def test_a_service_account_that_is_not_accepted_needs_an_operator(
    makers: Makers, google_key: RSAKey
):
    makers.google.key = RSAKey.generate_key(2048)
    with pytest.raises(NeedsOperatorError):
        await makers.fcm.check()
    makers.google.key = google_key
    makers.google.token_answers = [(503, {}, {})]
    with pytest.raises(ServiceFaultError):
        await makers.fcm.check()
    await makers.fcm.check()


async def test_files_that_are_no_keys_are_refused(makers: Makers, apple_key: ECKey):
    for text in ("", "{}", makers.google.credentials(private_key="junk")):
        with pytest.raises(NeedsOperatorError):
            account_of(text)
    public = apple_key.as_pem(private=False).decode()
    other_curve = ECKey.generate_key("P-384").as_pem(private=True).decode()
    for text in ("", "junk", public, other_curve):
        with pytest.raises(NeedsOperatorError):
            key_of(text)


# -- Apple


async def test_one_provider_token_serves_for_less_than_an_hour(makers: Makers):
    for minutes in (0, 25, 25):
        makers.clock.advance(timedelta(minutes=minutes))
        await makers.apns.send(TOKEN, TOPIC, {"aps": {}}, is_urgent=True)
    assert len(makers.apple.provider_tokens) == 2
    assert len(makers.apple.connections) == 1


async def test_an_expired_provider_token_is_replaced_at_once(makers: Makers):
    await makers.apns.send(TOKEN, TOPIC, {"aps": {}}, is_urgent=True)
    makers.clock.step(timedelta(hours=2))
    await makers.apns.send(TOKEN, TOPIC, {"aps": {}}, is_urgent=True)
    assert len(makers.apple.provider_tokens) == 2


@pytest.mark.parametrize(
    ("status", "reason", "error"),
    [
        (410, "Unregistered", UnknownDeviceError),
        (410, "ExpiredToken", UnknownDeviceError),
        (400, "BadDeviceToken", UnknownDeviceError),
        (400, "DeviceTokenNotForTopic", UnknownDeviceError),
        (400, "TopicDisallowed", PushRefusedError),
        (400, "BadTopic", PushRefusedError),
        (413, "PayloadTooLarge", PushRefusedError),
        (403, "InvalidProviderToken", NeedsOperatorError),
        (403, "ExpiredProviderToken", NeedsOperatorError),
        (429, "TooManyRequests", ServiceFaultError),
        (500, "InternalServerError", ServiceFaultError),
        (503, "Shutdown", ServiceFaultError),
    ],
)
async def test_what_apple_answers(makers: Makers, status: int, reason: str, error: type[Exception]):
    makers.apple.answers = [(status, {"reason": reason}, {})] * 2
    with pytest.raises(error):
        await makers.apns.send(TOKEN, TOPIC, {"aps": {}}, is_urgent=True)


async def test_apple_refuses_other_apps_and_too_much(makers: Makers):
    with pytest.raises(PushRefusedError, match="TopicDisallowed"):
        await makers.apns.send(TOKEN, "com.example.other", {"aps": {}}, is_urgent=True)
    with pytest.raises(PushRefusedError, match="PayloadTooLarge"):
        await makers.apns.send(TOKEN, TOPIC, {"x": "x" * 4_096}, is_urgent=True)


async def test_a_connection_that_apple_has_ended_costs_one_try_at_most(makers: Makers):
    await makers.apns.send(TOKEN, TOPIC, {"aps": {}}, is_urgent=True)
    makers.apple.hang_up()
    try:
        await makers.apns.send(TOKEN, TOPIC, {"aps": {}}, is_urgent=True)
    except PushServiceUnreachableError:
        await makers.apns.send(TOKEN, TOPIC, {"aps": {}}, is_urgent=True)
    assert len(makers.apple.got) == 2


async def test_an_untrusted_certificate_is_refused(makers: Makers, apple_key: ECKey):
    async with web.client(makers.apple.url, http2=True) as http:
        apns = Apns(http, apple_key, key_id="A" * 10, team_id="B" * 10, clock=makers.clock)
        with pytest.raises(PushServiceUnreachableError):
            await apns.check()
    assert makers.apple.got == []
