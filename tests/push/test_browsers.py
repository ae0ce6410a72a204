"""Deliveries to browsers over HTTP: what push services get, and what their answers mean."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from server.domain.notifications import Reason
from server.egress import Egress, EgressRefusedError
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.push.browser_payloads import (
    MAX_SHORT_BYTES,
    BrowserNotification,
    message_to_browser,
    removals_from_browser,
)
from server.push.browsers import Browsers
from server.push.payloads import Addressee, PushedMessage
from server.push.service import PushServiceUnreachableError, ServiceFaultError
from server.push.vapid import Vapid
from server.push.web_encryption import MAX_BYTES
from server.settings.network_types import Destinations, Ports
from storage.ids import PushDeviceId, UserId
from storage.push_devices import BrowserDevice
from testkit.clock import StoppedClock
from testkit.services.browser_push import (
    Browser,
    BrowserPushService,
    bytes_of,
    pushing_to_browsers,
)

pytestmark = pytest.mark.asyncio

ADA = UserId(7)
TO = Addressee(
    user_id=7,
    language="en",
    realm_id=2,
    realm_uuid="5a1f6c1e-7a51-4c83-9d33-5e3d1a2b3c4d",
    realm_name="A realm",
    realm_url="https://chat.example.com",
    host="chat.example.com",
)
MESSAGE = PushedMessage(
    message_id=17,
    sent_at=datetime(2026, 3, 1, tzinfo=UTC),
    content="it is ready 🎉",
    sender_id=9,
    sender_email="ravi@example.com",
    sender_name="Ravi",
    sender_avatar_url="https://chat.example.com/avatar/9",
    reason=Reason.MENTIONED,
    channel=(46, "news"),
    topic="soup",
    href="/#narrow/channel/46-news/topic/soup/near/17",
)


def notice(message: PushedMessage = MESSAGE, *, hides: bool = False) -> BrowserNotification:
    return message_to_browser(TO, message, unread_count=3, hides=hides, is_silent=False)


def removal(*message_ids: int) -> list[BrowserNotification]:
    return list(removals_from_browser(TO, message_ids, unread_count=0))


def device(browser: Browser, number: int = 1, **parts: Any) -> BrowserDevice:
    whole = BrowserDevice(
        device_id=PushDeviceId(number),
        endpoint=browser.endpoint,
        public_key=browser.public_key,
        auth_secret=browser.auth,
        user_agent="Firefox",
        wants_removals=True,
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    return replace(whole, **parts)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest_asyncio.fixture
async def browsers(
    push_service: BrowserPushService, clock: StoppedClock
) -> AsyncIterator[Browsers]:
    push_service.clock = clock
    async with pushing_to_browsers(clock) as client:
        yield client


async def test_a_message_reaches_the_browser_encrypted_and_signed(
    push_service: BrowserPushService, browsers: Browsers
):
    browser = push_service.browser()
    outcome = await browsers.push(ADA, [notice()], [device(browser)])
    assert outcome.counts == {("web", "sent"): 1}
    [pushed] = browser.got
    assert pushed.payload == {
        "type": "message",
        "realm_url": "https://chat.example.com",
        "realm_name": "A realm",
        "user_id": 7,
        "message_ids": [17],
        "time": 1_772_323_200,
        "title": "#news > soup",
        "body": "Ravi mentioned you: it is ready 🎉",
        "icon": "https://chat.example.com/avatar/9",
        "url": "https://chat.example.com/#narrow/channel/46-news/topic/soup/near/17",
        "tag": pushed.payload["tag"],
        "silent": False,
        "unread_count": 3,
        "sender_id": 9,
        "sender_full_name": "Ravi",
        "recipient_type": "channel",
        "channel_id": 46,
        "channel_name": "news",
        "topic": "soup",
    }
    assert (pushed.headers["urgency"], pushed.headers["ttl"]) == ("high", "86400")
    [claims] = push_service.claims
    assert claims["sub"] == "mailto:admin@example.com"
    assert push_service.server_keys == {browsers.public_key}


async def test_pushes_one_after_the_other_share_a_connection(
    push_service: BrowserPushService, browsers: Browsers
):
    one, two = push_service.browser(), push_service.browser()
    for browser in (one, two, one):
        await browsers.push(ADA, [notice()], [device(browser)])
    assert (len(one.got), len(two.got), len(push_service.connections)) == (2, 1, 1)


async def test_neither_lengths_nor_topics_tell_the_service_what_is_said_where(
    push_service: BrowserPushService, browsers: Browsers
):
    one, two = push_service.browser(), push_service.browser()
    two.auth = bytes(reversed(two.auth))
    short, long = notice(), notice(replace(MESSAGE, content="x" * 190))
    elsewhere = notice(replace(MESSAGE, topic="bread"))
    for each in (short, long, elsewhere):
        await browsers.push(ADA, [each], [device(one), device(two, 2)])
    assert len(set(push_service.sizes)) == 1
    topics = [pushed.headers["topic"] for pushed in one.got]
    assert topics[0] == topics[1] != topics[2]
    assert not set(topics) & {pushed.headers["topic"] for pushed in two.got}
    tags = [pushed.payload["tag"] for pushed in one.got]
    assert tags[0] == tags[1] != tags[2]
    assert not set(topics) & set(tags)


async def test_a_browser_that_was_offline_gets_one_of_each_conversation_and_all_removals(
    push_service: BrowserPushService, browsers: Browsers
):
    browser = push_service.browser()
    notices = [notice(replace(MESSAGE, message_id=n)) for n in (1, 2)]
    notices.append(notice(replace(MESSAGE, message_id=3, topic="bread")))
    for each in [*notices, *removal(1), *removal(3)]:
        await browsers.push(ADA, [each], [device(browser)])
    assert [(p["type"], p["message_ids"]) for p in browser.pending] == [
        ("message", [2]),
        ("message", [3]),
        ("remove", [1]),
        ("remove", [3]),
    ]
    assert browser.got[-1].headers["urgency"] == "normal"


async def test_a_browser_that_must_show_everything_gets_no_removals(
    push_service: BrowserPushService, browsers: Browsers
):
    quiet, strict = push_service.browser(), push_service.browser()
    devices = [device(quiet), device(strict, 2, wants_removals=False)]
    outcome = await browsers.push(ADA, removal(1), devices)
    assert (len(quiet.got), len(strict.got)) == (1, 0)
    assert outcome.counts == {("web", "sent"): 1}
    assert (await browsers.push(ADA, removal(1), devices[1:])).counts == {}


@pytest.mark.parametrize("status", [404, 410])
async def test_a_subscription_that_has_ended_is_gone(
    push_service: BrowserPushService, browsers: Browsers, status: int
):
    browser, other = push_service.browser(), push_service.browser()
    push_service.answers = [(status, "", {})]
    outcome = await browsers.push(ADA, [notice()], [device(browser)])
    assert outcome.gone == {PushDeviceId(1)}
    push_service.gone = {browser.endpoint}
    outcome = await browsers.push(ADA, [notice()], [device(browser), device(other, 2)])
    assert outcome.gone == {PushDeviceId(1)}
    assert outcome.counts == {("web", "gone"): 1, ("web", "sent"): 1}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_a_service_that_asks_for_time_gets_it(
    push_service: BrowserPushService, browsers: Browsers, status: int
):
    browser, other = push_service.browser(), push_service.browser()
    push_service.answers = [(status, "", {"Retry-After": "120"})]
    with pytest.raises(ServiceFaultError) as raised:
        await browsers.push(ADA, [notice()], [device(browser)])
    assert raised.value.after_seconds == 120
    push_service.answers = [(status, "", {"Retry-After": "Sun, 01 Mar 2026 12:01:00 GMT"})]
    outcome = await browsers.push(ADA, [notice()], [device(browser), device(other, 2)])
    assert len(outcome.again) == 1
    assert outcome.again_after_seconds == 60
    assert len(browser.got) + len(other.got) == 1


@pytest.mark.parametrize("status", [301, 400, 401, 403, 406])
async def test_what_is_refused_is_given_up_and_logged_without_the_address_of_the_browser(
    push_service: BrowserPushService, browsers: Browsers, status: int
):
    browser = push_service.browser()
    headers = {"Location": f"{push_service.url}/elsewhere"} if status == 301 else {}
    said = json.dumps({"reason": "BadJwtToken"}) if status == 403 else browser.endpoint
    push_service.answers = [(status, said, headers)]
    with capture_logs() as lines:
        outcome = await browsers.push(ADA, [notice()], [device(browser)])
    assert outcome.counts == {("web", "refused"): 1}
    assert (outcome.gone, outcome.again) == (frozenset(), frozenset())
    [line] = lines
    assert (line["event"], line["user_id"]) == ("push.refused", ADA)
    word = " BadJwtToken" if status == 403 else ""
    assert line["reason"] == f"127.0.0.1 answers {status}{word}"
    assert "capability" not in str(lines)
    assert len(push_service.sizes) == 1


async def test_a_service_with_less_room_gets_a_shorter_payload(
    push_service: BrowserPushService, browsers: Browsers
):
    browser = push_service.browser()
    push_service.max_body = MAX_SHORT_BYTES + 103
    content = "грибы " * 60
    people = [(number, "П" * 90) for number in range(300)]
    long = notice(replace(MESSAGE, content=content, people=people, channel=None))
    assert len(long.payload) > MAX_SHORT_BYTES
    outcome = await browsers.push(ADA, [long], [device(browser)])
    assert outcome.counts == {("web", "sent"): 1}
    [payload] = browser.payloads
    assert (payload["title"], payload["body"]) == ("A realm", "New message")
    assert (payload["message_ids"], payload["tag"]) == ([17], json.loads(long.payload)["tag"])
    assert payload["url"] == "https://chat.example.com/message/17"
    push_service.max_body = 100
    outcome = await browsers.push(ADA, [long], [device(browser)])
    assert outcome.counts == {("web", "refused"): 1}


async def test_a_service_that_is_away_is_tried_again(
    push_service: BrowserPushService, browsers: Browsers
):
    browser = push_service.browser()
    push_service.stop()
    with pytest.raises(PushServiceUnreachableError):
        await browsers.push(ADA, [notice()], [device(browser)])


async def test_a_token_is_used_again_and_replaced_before_it_expires(
    push_service: BrowserPushService, browsers: Browsers, clock: StoppedClock
):
    browser = push_service.browser()
    for hours in (0, 1, 6, 13):
        clock.advance(timedelta(hours=hours))
        outcome = await browsers.push(ADA, [notice()], [device(browser)])
        assert outcome.counts == {("web", "sent"): 1}
    expiries = [claims["exp"] for claims in push_service.claims]
    assert expiries[0] == expiries[1] < expiries[2] < expiries[3]


async def test_the_same_secret_is_the_same_key(clock: StoppedClock):
    secret = bytes(range(1, 33))
    one, two, other = (
        Vapid(each, "mailto:a@example.com", clock) for each in (secret, secret, b"\xff" * 32)
    )
    assert one.public_key == two.public_key != other.public_key
    assert len(bytes_of(one.public_key)) == 65


# -- addresses


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "push",
        "http://push.example.com/x",
        "ftp://push.example.com/x",
        "https://name:password@push.example.com/x",
        "https://10.0.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/x",
        "https://2130706434:22/x",
        "https://push.example.com:22/x",
        "https://push.example.com/a b",
        "https://push.example.com/" + "x" * 2_048,
    ],
)
async def test_the_address_of_a_browser_is_a_public_one_with_tls(
    clock: StoppedClock, endpoint: str
):
    egress = Egress(Guard(Destinations("127.0.0.1/32"), Ports("443")), SystemResolver())
    # A name that is allowed lets other names be resolved first: then the guard refuses them.
    strict = Egress(Guard(Destinations(), Ports("443")), SystemResolver())
    for each in (egress, strict):
        client = Browsers(each, Vapid(bytes(32), "mailto:a@example.com", clock), clock)
        if "example.com:22" in endpoint and each is egress:
            continue
        with pytest.raises(EgressRefusedError):
            client.checked(endpoint)


async def test_the_address_is_normalized(clock: StoppedClock):
    egress = Egress(Guard(Destinations("127.0.0.1/32"), Ports("443")), SystemResolver())
    client = Browsers(egress, Vapid(bytes(32), "mailto:a@example.com", clock), clock)
    assert client.checked("https://PUSH.example.com:443/a?b#c") == "https://push.example.com/a?b"
    assert client.checked("https://грибы.example.com/x").isascii()
    assert client.checked("http://127.0.0.1:8080/x") == "http://127.0.0.1:8080/x"


async def test_an_address_that_is_no_longer_allowed_is_not_pushed_to(
    push_service: BrowserPushService, clock: StoppedClock
):
    browser = push_service.browser()
    egress = Egress(Guard(Destinations(), Ports("443")), SystemResolver())
    client = Browsers(egress, Vapid(bytes(32), "mailto:a@example.com", clock), clock)
    outcome = await client.push(ADA, [notice()], [device(browser)])
    assert outcome.counts == {("web", "refused"): 1}
    assert push_service.sizes == []


# -- payloads


@pytest.mark.parametrize("letter", ["x", "ж", "🍄", '"', "\x01"])
async def test_every_payload_fits_whatever_it_says(letter: str):
    message = replace(
        MESSAGE,
        content=letter * 10_000,
        sender_name=letter * 100,
        topic=letter * 60,
        channel=(2**40, letter * 60),
        group=(2**40, letter * 100),
        href="/#narrow/channel/" + "x" * 3_000,
        message_id=2**62,
    )
    direct = replace(
        message, channel=None, people=[(2**40 + n, letter * 100) for n in range(1_000)]
    )
    for each in (message, direct):
        made = notice(each)
        assert len(made.payload) <= MAX_BYTES
        assert len(made.short) <= MAX_SHORT_BYTES
        assert json.loads(made.payload)["message_ids"] == [2**62]
    for one in removals_from_browser(TO, range(2**62, 2**62 + 90), unread_count=10**6):
        assert len(one.payload) <= MAX_SHORT_BYTES
    ids = [id_ for each in removal(*range(90)) for id_ in json.loads(each.payload)["message_ids"]]
    assert ids == list(range(90))


async def test_hidden_content_is_in_no_payload():
    made = notice(hides=True)
    assert json.loads(made.payload)["body"] == "Ravi mentioned you: New message"
    assert b"ready" not in made.payload + made.short


async def test_a_direct_message_says_who_is_in_it():
    people = [(9, "Ravi"), (7, "Ada")]
    alone = replace(
        MESSAGE, channel=None, topic="", people=people, reason=Reason.DIRECT, href="/#narrow/dm/7,9"
    )
    payload = json.loads(notice(alone).payload)
    assert (payload["title"], payload["body"]) == ("Ravi", "it is ready 🎉")
    assert (payload["recipient_type"], payload["recipient_user_ids"]) == ("direct", [7, 9])
    assert "channel_id" not in payload
    three = replace(alone, people=[*people, (11, "Zoë")])
    payload = json.loads(notice(three).payload)
    assert (payload["title"], payload["body"]) == ("Ada, Ravi, Zoë", "Ravi: it is ready 🎉")
    assert payload["tag"] != json.loads(notice(alone).payload)["tag"]
