"""From what was decided to what browsers show, and what becomes of subscriptions."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from typing_extensions import override

from queue_processors.processor import RetryLaterError
from queue_processors.push_notifications import Pusher
from server.actions.message_flags import change_flag
from server.actions.push_devices import add_token, drop_all_devices
from server.actions.web_push import MAX_BROWSERS, subscribe_browser
from server.domain.errors import UnauthorizedError
from server.jobs import PushNotification
from server.push.bouncer import Bouncer
from server.push.browsers import Browsers
from server.push.courier import Courier
from server.telemetry.metrics import Metrics
from storage import push_devices, sessions
from storage.ids import PushDeviceId
from storage.push_devices import BrowserDevice
from storage.users import UserRow
from testkit.factories import user_ids
from testkit.message_changes import Changes
from testkit.message_fanout import FanoutDesk
from testkit.realm_with_roles import Hall
from testkit.services.browser_push import Browser, BrowserPushService, pushing_to_browsers
from testkit.services.push_bouncer import FakeBouncer, asking

pytestmark = pytest.mark.asyncio


@dataclass
class BrowserDesk:
    """Pushes what message_fanout decides to browsers, and to phones if there is a bouncer."""

    desk: FanoutDesk
    service: BrowserPushService
    browsers: Browsers
    phones: Bouncer | None = None
    metrics: Metrics = field(default_factory=Metrics)
    done: int = 0

    @property
    def hall(self) -> Hall:
        return self.desk.hall

    @property
    def pusher(self) -> Pusher:
        courier = Courier(self.hall.realm_services(), self.phones, self.browsers, self.metrics)
        return Pusher(courier, self.desk.basket)

    async def subscribe(
        self, row: UserRow, browser: Browser | None = None, **parts: Any
    ) -> Browser:
        """Subscribe a browser of the user's, a new one if none is named."""
        browser = browser or self.service.browser()
        whole: dict[str, Any] = {
            "public_key": browser.public_key,
            "auth_secret": browser.auth,
            "user_agent": "Firefox",
            "wants_removals": True,
            "session": None,
            "now": self.hall.stage.clock.now(),
        }
        actor = self.hall.actor(row)
        await self.hall.stage.write(subscribe_browser, actor, browser.endpoint, **whole | parts)
        return browser

    async def sign_in(self, row: UserRow, digest: bytes, seconds: int = 600) -> bytes:
        async with self.hall.stage.database.connection() as connection:
            await sessions.insert(
                connection,
                self.hall.make.realm_id,
                row.user_id,
                digest,
                user_agent="Firefox",
                seconds=seconds,
            )
        return digest

    async def of(self, row: UserRow) -> list[BrowserDevice]:
        async with self.hall.stage.database.connection() as connection:
            rows = await push_devices.of_user(connection, self.hall.make.realm_id, row.user_id)
        return [each.browser for each in rows if each.browser is not None]

    async def endpoints(self, row: UserRow) -> list[str]:
        return [each.endpoint for each in await self.of(row)]

    async def jobs(self) -> list[PushNotification]:
        """Those that were asked for since the last time."""
        await self.desk.catch_up()
        return self.new_jobs()

    def new_jobs(self) -> list[PushNotification]:
        new = self.desk.basket.of(PushNotification)[self.done :]
        self.done += len(new)
        return new

    async def deliver(self) -> None:
        for job in await self.jobs():
            await self.pusher.handle(job)

    async def read(self, row: UserRow, *message_ids: int) -> None:
        actor = self.hall.actor(row)
        await self.hall.stage.write(change_flag, actor, list(message_ids), "add", "read")

    def counts(self) -> dict[str, float]:
        """The metric's values for browsers, by outcome."""
        text = self.metrics.text().decode()
        found = re.findall(r'parley_pushes_total\{kind="web",outcome="(\w+)"\} (\S+)', text)
        return {outcome: float(count) for outcome, count in found}


@pytest_asyncio.fixture
async def web(desk: FanoutDesk, push_service: BrowserPushService) -> AsyncIterator[BrowserDesk]:
    push_service.clock = desk.hall.stage.clock
    async with pushing_to_browsers(desk.hall.stage.clock) as browsers:
        yield BrowserDesk(desk, push_service, browsers)


# -- what browsers show


async def test_a_mention_is_shown_in_each_browser(hall: Hall, changes: Changes, web: BrowserDesk):
    channel = await hall.make.channel("news & soup", subscribers=hall.everyone)
    one, two = await web.subscribe(hall.other), await web.subscribe(hall.other)
    message_id = await changes.send(
        hall.member, "news & soup", topic="грибы/2", content="@**Other** it is **ready** :tada:"
    )
    await web.deliver()
    assert one.payloads == two.payloads
    [shown] = one.payloads
    address = (await hall.stage.realm_caches.of(hall.make.realm_id).address()).url
    expected = {
        "type": "message",
        "realm_url": address,
        "realm_name": "A realm",
        "user_id": hall.other.user_id,
        "message_ids": [message_id],
        "time": int(hall.stage.clock.now().timestamp()),
        "title": "#news & soup > грибы/2",
        "body": "Member mentioned you: @Other it is ready 🎉",
        "silent": False,
        "unread_count": 1,
        "sender_id": hall.member.user_id,
        "sender_full_name": "Member",
        "recipient_type": "channel",
        "channel_id": channel.channel_id,
        "channel_name": "news & soup",
        "topic": "грибы/2",
    }
    assert expected.items() <= shown.items()
    assert set(shown) - set(expected) == {"icon", "tag", "url"}
    assert shown["icon"].startswith("https://")
    assert shown["url"] == (
        f"{address}/#narrow/channel/{channel.channel_id}-news-.26-soup/topic/"
        f".D0.B3.D1.80.D0.B8.D0.B1.D1.8B.2F2/near/{message_id}"
    )
    assert web.counts() == {"sent": 2}


async def test_direct_messages_lead_to_their_conversation(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    message_id = await changes.send(hall.member, user_ids([hall.other]), content="alone?")
    await web.deliver()
    [shown] = browser.payloads
    pair = sorted(user_ids([hall.member, hall.other]))
    assert (shown["title"], shown["body"]) == ("Member", "alone?")
    assert shown["recipient_user_ids"] == pair
    people = ",".join(map(str, pair))
    assert shown["url"].endswith(f"/#narrow/dm/{people}-dm/near/{message_id}")


async def test_users_decide_about_content_and_sound(hall: Hall, changes: Changes, web: BrowserDesk):
    await hall.make.channel("news", subscribers=hall.everyone)
    browser = await web.subscribe(hall.other)
    await web.desk.want(hall.other, pm_content_in_desktop_notifications=False, enable_sounds=False)
    await changes.send(hall.member, user_ids([hall.other]), content="garlic")
    await changes.send(hall.member, "news", content="@**Other** onions")
    await web.deliver()
    direct, mention = browser.payloads
    assert (direct["body"], direct["silent"]) == ("New message", True)
    assert mention["body"] == "Member mentioned you: @Other onions"


async def test_a_realm_that_hides_content_from_bouncers_shows_it_encrypted(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    await hall.make.change_settings(require_e2ee_push_notifications=True)
    browser = await web.subscribe(hall.other)
    await changes.send(hall.member, user_ids([hall.other]), content="garlic")
    await web.deliver()
    assert browser.payloads[0]["body"] == "garlic"


async def test_guests_do_not_learn_names_that_are_hidden_from_them(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    await hall.make.channel("news", subscribers=[hall.member, hall.guest])
    browser = await web.subscribe(hall.guest)
    await hall.make.change_settings(can_access_all_users_group="role:members")
    await hall.unsubscribe(hall.member, "news")
    await changes.send(hall.member, "news", content="@**Guest** two")
    await web.deliver()
    [shown] = browser.payloads
    assert shown["sender_full_name"] == "Unknown user"
    assert "Member" not in str(shown)


async def test_messages_read_elsewhere_are_withdrawn(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    sent = [await changes.send(hall.member, user_ids([hall.other])) for _ in range(3)]
    await web.deliver()
    await web.read(hall.other, *sent[:2])
    await web.deliver()
    *shown, removal = browser.payloads
    assert [each["message_ids"] for each in shown] == [[each] for each in sent]
    assert len({each["tag"] for each in shown}) == 1
    assert (removal["type"], removal["message_ids"]) == ("remove", sent[:2])
    assert (removal["unread_count"], removal["user_id"]) == (1, hall.other.user_id)
    assert [each["type"] for each in browser.pending] == ["message", "remove"]


async def test_a_message_read_while_it_is_sent_is_withdrawn_at_once(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    message_id = await changes.send(hall.member, user_ids([hall.other]))
    [job] = await web.jobs()
    parts = {"once": True}

    @dataclass(frozen=True)
    class Slow(Courier):
        @override
        async def deliver(self, *args: Any) -> Any:
            outcome = await super().deliver(*args)
            if parts.pop("once", False):
                await web.read(hall.other, message_id)
            return outcome

    courier = web.pusher.courier
    slow = Slow(courier.services, courier.phones, courier.browsers, courier.metrics)
    await Pusher(slow, web.desk.basket).handle(job)
    assert [each["type"] for each in browser.payloads] == ["message", "remove"]


async def test_a_job_that_is_repeated_after_a_kill_shows_nothing_twice(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await web.jobs()

    class KilledError(BaseException):
        """The process dies after the push service has accepted the notification."""

    @dataclass(frozen=True)
    class Killed(Courier):
        @override
        async def deliver(self, *args: Any) -> Any:
            await super().deliver(*args)
            raise KilledError

    courier = web.pusher.courier
    killed = Killed(courier.services, courier.phones, courier.browsers, courier.metrics)
    with pytest.raises(KilledError):
        await Pusher(killed, web.desk.basket).handle(job)
    await web.pusher.handle(job)
    first, second = browser.got
    assert first.payload == second.payload
    assert first.headers["topic"] == second.headers["topic"]
    assert len(browser.pending) == 1


# -- one decision, several ways


async def test_phones_and_browsers_get_the_same_messages(
    hall: Hall, changes: Changes, web: BrowserDesk, bouncer: FakeBouncer
):
    browser = await web.subscribe(hall.other)
    now = hall.stage.clock.now()
    await hall.stage.write(add_token, hall.actor(hall.other), "fcm", "android", None, now=now)
    async with asking(bouncer) as web.phones:
        sent = [await changes.send(hall.member, user_ids([hall.other])) for _ in range(2)]
        await web.deliver()
        bouncer.answers = [(503, "", {})]
        sent.append(await changes.send(hall.member, user_ids([hall.other])))
        await web.deliver()
        [rest] = web.new_jobs()
        await web.pusher.handle(rest)
    assert [each["zulip_message_id"] for each in bouncer.got("android")] == sent
    assert [each["message_ids"] for each in browser.payloads] == [[each] for each in sent]


async def test_phones_that_no_service_reaches_cause_no_jobs(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    now = hall.stage.clock.now()
    await hall.stage.write(add_token, hall.actor(hall.other), "fcm", "android", None, now=now)
    await web.subscribe(hall.admin)
    fanout = web.desk.fanout(push_kinds=frozenset({"web"}))
    await changes.send(hall.member, user_ids([hall.other, hall.admin]))
    for job in await web.desk.shipped():
        await fanout.handle(job)
    assert [job.user_id for job in web.new_jobs()] == [hall.admin.user_id]


async def test_only_browsers_that_failed_are_tried_again(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    one, two = await web.subscribe(hall.other), await web.subscribe(hall.other)
    web.service.answers = [(429, "", {"Retry-After": "30"})]
    await changes.send(hall.member, user_ids([hall.other]))
    await web.deliver()
    assert len(one.got) + len(two.got) == 1
    [rest] = web.new_jobs()
    assert len(rest.devices) == 1
    await web.pusher.handle(rest)
    assert (len(one.got), len(two.got)) == (1, 1)
    assert web.counts() == {"sent": 2, "later": 1}


async def test_a_job_that_failed_for_every_browser_is_retried_when_the_service_says(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    web.service.answers = [(503, "", {"Retry-After": "90"})]
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await web.jobs()
    with pytest.raises(RetryLaterError) as raised:
        await web.pusher.handle(job)
    assert raised.value.after_seconds == 90
    await web.pusher.handle(job)
    assert len(browser.got) == 1


async def test_subscriptions_that_have_ended_are_deleted(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    old, new = await web.subscribe(hall.other), await web.subscribe(hall.other)
    web.service.gone = {old.endpoint}
    await changes.send(hall.member, user_ids([hall.other]))
    await web.deliver()
    assert await web.endpoints(hall.other) == [new.endpoint]
    assert web.counts() == {"sent": 1, "gone": 1}


async def test_a_refusal_is_given_up_and_the_subscription_stays(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    web.service.answers = [(403, "", {})]
    await changes.send(hall.member, user_ids([hall.other]))
    await web.deliver()
    assert (web.new_jobs(), web.counts()) == ([], {"refused": 1})
    assert await web.endpoints(hall.other) == [browser.endpoint]


# -- subscriptions


async def test_a_subscription_is_kept_once_with_its_latest_keys(hall: Hall, web: BrowserDesk):
    browser = await web.subscribe(hall.other)
    [first] = await web.of(hall.other)
    await web.subscribe(hall.other, browser, auth_secret=b"another 16 bytes", wants_removals=False)
    [second] = await web.of(hall.other)
    assert second.device_id == first.device_id
    assert (second.auth_secret, second.wants_removals) == (b"another 16 bytes", False)


async def test_a_browser_in_which_another_account_signs_in_is_moved(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    [before] = await web.of(hall.other)
    await changes.send(hall.member, user_ids([hall.other]), content="for Other")
    [job] = await web.jobs()
    await web.subscribe(hall.admin, browser)
    assert await web.of(hall.other) == []
    [after] = await web.of(hall.admin)
    assert after.device_id != before.device_id
    await web.pusher.handle(job)
    assert browser.got == []
    await changes.send(hall.member, user_ids([hall.admin]), content="for Admin")
    await web.deliver()
    assert [each["user_id"] for each in browser.payloads] == [hall.admin.user_id]


async def test_the_oldest_of_too_many_browsers_is_unsubscribed_and_no_phone(
    hall: Hall, web: BrowserDesk
):
    now = hall.stage.clock.now()
    await hall.stage.write(add_token, hall.actor(hall.other), "fcm", "android", None, now=now)
    subscribed = [(await web.subscribe(hall.other)).endpoint for _ in range(MAX_BROWSERS)]
    last = await web.subscribe(hall.other)
    assert await web.endpoints(hall.other) == [*subscribed[1:], last.endpoint]
    await web.subscribe(hall.other, web.service.browsers[subscribed[1]])
    assert len(await web.of(hall.other)) == MAX_BROWSERS
    async with hall.stage.database.connection() as connection:
        rows = await push_devices.of_user(connection, hall.make.realm_id, hall.other.user_id)
    assert sum(row.plain is not None for row in rows) == 1


async def test_a_subscription_ends_with_its_session(hall: Hall, changes: Changes, web: BrowserDesk):
    one, two = [await web.sign_in(hall.other, bytes([n]) * 32) for n in (1, 2)]
    first = await web.subscribe(hall.other, session=one)
    second = await web.subscribe(hall.other, session=two)
    async with hall.stage.database.connection() as connection:
        await sessions.end(connection, hall.make.realm_id, one)
    assert await web.endpoints(hall.other) == [second.endpoint]
    await changes.send(hall.member, user_ids([hall.other]))
    await web.deliver()
    assert (len(first.got), len(second.got)) == (0, 1)
    async with hall.stage.database.connection() as connection:
        await connection.execute(
            "UPDATE sessions SET ends_at = now() WHERE token_digest = %(digest)s", digest=two
        )
    assert await web.of(hall.other) == []


@pytest.mark.parametrize("session", ["unknown", "another's", "expired"])
async def test_nothing_is_subscribed_in_a_session_that_has_ended(
    hall: Hall, web: BrowserDesk, session: str
):
    digest = bytes(32)
    if session == "another's":
        await web.sign_in(hall.admin, digest)
    if session == "expired":
        await web.sign_in(hall.other, digest, seconds=-1)
    with pytest.raises(UnauthorizedError):
        await web.subscribe(hall.other, session=digest)
    assert await web.of(hall.other) == []


async def test_a_new_api_key_ends_subscriptions_without_a_session_alone(
    hall: Hall, web: BrowserDesk
):
    session = await web.sign_in(hall.other, bytes(32))
    await web.subscribe(hall.other)
    kept = await web.subscribe(hall.other, session=session)
    writer = hall.stage.writers.of(hall.make.realm_id)
    assert await writer.write(lambda tx: drop_all_devices(tx, [hall.other.user_id])) == 0
    assert await web.endpoints(hall.other) == [kept.endpoint]


async def test_jobs_for_browsers_that_are_gone_do_nothing(
    hall: Hall, changes: Changes, web: BrowserDesk
):
    browser = await web.subscribe(hall.other)
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await web.jobs()
    rest = PushNotification(
        realm_id=job.realm_id,
        user_id=job.user_id,
        message_ids=job.message_ids,
        reason=job.reason,
        devices=(PushDeviceId(2**40),),
    )
    await web.pusher.handle(rest)
    hall.stage.clock.advance(timedelta(days=1))
    assert browser.got == []
