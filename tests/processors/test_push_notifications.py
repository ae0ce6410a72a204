"""From what was decided to what phones show."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
import pytest_asyncio
from nacl.public import PrivateKey, SealedBox
from typing_extensions import override

from queue_processors import push_notifications as processor
from queue_processors.processor import PermanentError, RetryLaterError
from queue_processors.push_notifications import Pusher
from queue_processors.push_registrations import Registrar
from queue_processors.reshipping import Reshipper
from server.actions.client_devices import (
    PushKey,
    TokenRegistration,
    add_device,
    register_push,
    token_id_of,
)
from server.actions.message_flags import change_flag
from server.actions.push_devices import add_token, register_device
from server.app import App
from server.domain.realm_settings import RealmSettings
from server.jobs import MessageFanout, PushNotification, PushRegistration
from server.push.bouncer import Bouncer
from server.push.browsers import Browsers
from server.push.courier import Courier
from server.push.service import NeedsOperatorError
from server.settings import load_settings
from server.telemetry.metrics import Metrics
from storage import avatars, push_devices, users
from storage.ids import MessageId, Position
from storage.push_devices import DeviceRow, Kind
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.phone import Key, Phone
from testkit.factories import user_ids
from testkit.message_changes import Changes
from testkit.message_fanout import FanoutDesk
from testkit.realm_with_roles import Hall
from testkit.services.browser_push import pushing_to_browsers
from testkit.services.job_brokers import Place
from testkit.services.push_bouncer import Answer, FakeBouncer, asking

pytestmark = pytest.mark.asyncio

IPHONE = "ab" * 32
KEY = PrivateKey.generate()
ACCOUNT = 2**61


@dataclass
class PushDesk:
    """Pushes what message_fanout decides, through a bouncer."""

    desk: FanoutDesk
    bouncer: FakeBouncer
    client: Bouncer
    browsers: Browsers
    metrics: Metrics = field(default_factory=Metrics)
    done: int = 0

    @property
    def hall(self) -> Hall:
        return self.desk.hall

    @property
    def courier(self) -> Courier:
        return Courier(self.hall.realm_services(), self.client, self.browsers, self.metrics)

    def pusher(self) -> Pusher:
        return Pusher(self.courier, self.desk.basket)

    async def phone(self, row: UserRow, token: str, kind: Kind = "fcm") -> None:
        """Give a user a phone."""
        app = "com.example.app" if kind == "apns" else None
        now = self.hall.stage.clock.now()
        await self.hall.stage.write(add_token, self.hall.actor(row), kind, token, app, now=now)

    async def sealed_phone(self, row: UserRow, token: str, kind: Kind = "fcm") -> None:
        """One that is sent what it alone can read."""
        await self.hall.stage.run(
            register_device,
            self.hall.actor(row),
            kind,
            ACCOUNT,
            bytes(KEY.public_key),
            registration=self.bouncer.registration(token, kind),
            bouncer_key=self.bouncer.public_key,
            now=self.hall.stage.clock.now(),
        )
        [asked] = self.hall.told("job")
        job = msgspec.json.decode(asked.event.job, type=PushRegistration)
        await Registrar(self.courier).handle(job)

    async def devices(self, row: UserRow) -> list[DeviceRow]:
        async with self.hall.stage.database.connection() as connection:
            return await push_devices.of_user(connection, self.hall.make.realm_id, row.user_id)

    async def jobs(self) -> list[PushNotification]:
        """Those that were asked for since the last time."""
        await self.desk.catch_up()
        new = self.desk.basket.of(PushNotification)[self.done :]
        self.done += len(new)
        return new

    async def deliver(self) -> None:
        for job in await self.jobs():
            await self.pusher().handle(job)

    async def read(self, row: UserRow, *message_ids: int) -> None:
        hall = self.hall
        await hall.stage.write(change_flag, hall.actor(row), list(message_ids), "add", "read")

    async def client_phone(self, row: UserRow, token: str, kind: Kind = "fcm") -> Phone:
        """The published app, which reads what it alone can read."""
        actor, clock = self.hall.actor(row), self.hall.stage.clock
        address = (await self.hall.stage.realm_caches.of(self.hall.make.realm_id).address()).url
        client = cast("Client", SimpleNamespace(user=row))
        phone = Phone(client, self.bouncer.public_key, lambda: clock.now().timestamp(), kind, token)
        phone.realm_url = address
        phone.device_id = await self.hall.stage.write(add_device, actor, now=clock.now())
        phone.keys = [Key(0.0)]
        fields = phone.token_fields(token)
        token_id = token_id_of(token)
        await self.hall.stage.run(
            register_push,
            actor,
            phone.device_id,
            PushKey(phone.keys[0].key_id, phone.keys[0].secret),
            TokenRegistration(
                kind, token_id, fields["encrypted_push_registration"], self.bouncer.public_key
            ),
            now=clock.now(),
        )
        [asked] = self.hall.told("job")
        job = msgspec.json.decode(asked.event.job, type=PushRegistration)
        await Registrar(self.courier).handle(job)
        return phone

    def handed_over(self, token: str) -> list[dict[str, Any]]:
        """What Apple and Google have handed to the app with this token."""
        phones = self.bouncer.tokens.values()
        [got] = [phone.got for phone in phones if phone.registration["token"] == token]
        return got

    def opened(self) -> list[dict[str, Any]]:
        """What the only encrypted phone has got, decrypted."""
        [phone] = self.bouncer.sealed.values()
        box = SealedBox(KEY)
        return [
            json.loads(box.decrypt(base64.b64decode(each["payload"]["encrypted_data"])))
            for each in phone.got
        ]


@pytest_asyncio.fixture
async def pushes(desk: FanoutDesk, bouncer: FakeBouncer) -> AsyncIterator[PushDesk]:
    async with (
        asking(bouncer) as client,
        pushing_to_browsers(desk.hall.stage.clock) as browsers,
    ):
        yield PushDesk(desk, bouncer, client, browsers)


# -- shipped again


async def test_a_push_that_was_lost_is_handed_over_again_and_one_that_was_not_stays(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await hall.make.channel("news", subscribers=hall.everyone)
    await pushes.phone(hall.other, "android")
    lost = await changes.send(hall.member, "news", content="@**Other** lost")
    [_] = await pushes.jobs()
    await changes.send(hall.member, "news", content="@**Other** shown")
    await pushes.deliver()
    reshipper = Reshipper(hall.stage.database, pushes.desk.basket)
    realm_id = hall.make.realm_id
    async with hall.stage.database.connection() as connection:
        await connection.execute(
            """
            INSERT INTO shipper_cursors (realm_id, position, epoch)
            SELECT realm_id, position, epoch FROM clocks_now(ARRAY[%(realm_id)s::bigint])
            """,
            realm_id=realm_id,
        )
    seen = len(pushes.desk.basket.of(MessageFanout))
    for found in ([lost], []):
        await reshipper.ship(realm_id, Position(0))
        fanouts = pushes.desk.basket.of(MessageFanout)[seen:]
        seen += len(fanouts)
        assert fanouts
        for job in fanouts:
            await pushes.desk.handle(job)
        again = pushes.desk.basket.of(PushNotification)[pushes.done :]
        pushes.done += len(again)
        assert [job.message_ids for job in again] == [(each,) for each in found]
        for job in again:
            await pushes.pusher().handle(job)
    assert len(pushes.bouncer.got("android")) == 2


# -- what phones show


async def test_a_mention_is_shown_on_each_phone(hall: Hall, changes: Changes, pushes: PushDesk):
    channel = await hall.make.channel("news", subscribers=hall.everyone)
    await pushes.phone(hall.other, "android")
    await pushes.phone(hall.other, IPHONE, "apns")
    message_id = await changes.send(
        hall.member, "news", topic="soup", content="@**Other** it is **ready** :tada:"
    )
    await pushes.deliver()

    [android] = pushes.bouncer.got("android")
    address = (await hall.stage.realm_caches.of(hall.make.realm_id).address()).url
    expected = {
        "event": "message",
        "zulip_message_id": message_id,
        "realm_id": hall.make.realm_id,
        "realm_name": "A realm",
        "realm_uri": address,
        "realm_url": address,
        "user_id": hall.other.user_id,
        "sender_id": hall.member.user_id,
        "sender_email": hall.member.email,
        "sender_full_name": "Member",
        "recipient_type": "stream",
        "stream": "news",
        "stream_id": channel.channel_id,
        "topic": "soup",
        "content": "@Other it is ready 🎉",
        "time": int(hall.stage.clock.now().timestamp()),
    }
    assert expected.items() <= android.items()
    assert android["sender_avatar_url"].startswith("https://")
    assert set(android) - set(expected) == {"server", "sender_avatar_url"}

    [iphone] = pushes.bouncer.got(IPHONE)
    assert iphone["alert"] == {
        "title": "#news > soup",
        "subtitle": "Member mentioned you:",
        "body": "@Other it is ready 🎉",
    }
    assert (iphone["badge"], iphone["sound"]) == (1, "default")
    assert iphone["custom"]["zulip"]["message_ids"] == [message_id]


async def test_the_senders_picture_has_an_address_that_phones_can_fetch(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    realm_id = hall.make.realm_id
    key = f"avatars/{realm_id}/face.png"
    await avatars.update(
        hall.make.connection, realm_id, hall.member.user_id, avatar_key=key, avatar_version=2
    )
    await pushes.phone(hall.other, "android")
    await pushes.sealed_phone(hall.other, "secret-token")
    await changes.send(hall.member, user_ids([hall.other]), content="hush")
    await pushes.deliver()
    address = (await hall.stage.realm_caches.of(realm_id).address()).url
    for [told] in (pushes.bouncer.got("android"), pushes.opened()):
        assert told["sender_avatar_url"] == f"{address}/user_avatars/{realm_id}/avatars/face.png"


async def test_direct_messages_say_who_is_in_them(hall: Hall, changes: Changes, pushes: PushDesk):
    await pushes.phone(hall.other, "android")
    await pushes.phone(hall.other, IPHONE, "apns")
    await changes.send(hall.member, user_ids([hall.other]), content="alone?")
    await changes.send(hall.member, user_ids([hall.other, hall.admin]), content="we three")
    await pushes.deliver()
    alone, three = pushes.bouncer.got("android")
    assert (alone["recipient_type"], "pm_users" in alone) == ("private", False)
    members = sorted(user_ids([hall.member, hall.other, hall.admin]))
    assert three["pm_users"] == ",".join(map(str, members))
    alone, three = pushes.bouncer.got(IPHONE)
    assert (alone["alert"]["title"], alone["alert"]["subtitle"]) == ("Member", "")
    assert three["alert"]["title"] == "Admin, Member, Other"
    assert three["alert"]["subtitle"] == "Member:"
    assert [alone["badge"], three["badge"]] == [2, 2]


async def test_groups_and_wildcards_are_named_in_the_readers_language(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await hall.make.channel("news", subscribers=hall.everyone)
    group_id = await hall.make.group("cooks", members=[hall.other])
    await pushes.phone(hall.other, IPHONE, "apns")
    await pushes.desk.want(hall.other, default_language="de")
    await changes.send(hall.member, "news", topic="a", content="@*cooks* hurry")
    await changes.send(hall.admin, "news", topic="b", content="@**all** hurry")
    await pushes.deliver()
    first, second = pushes.bouncer.got(IPHONE)
    assert first["alert"]["subtitle"] == "Member hat @cooks erwähnt:"
    told = first["custom"]["zulip"]
    assert told["mentioned_user_group_name"] == "cooks"
    assert told["mentioned_user_group_id"] == group_id
    assert second["alert"]["subtitle"] == "Admin hat alle erwähnt:"


async def test_an_encrypted_phone_alone_reads_what_it_gets(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    channel = await hall.make.channel("news", subscribers=hall.everyone)
    await pushes.sealed_phone(hall.other, "secret-token")
    seen = len(pushes.bouncer.bodies)
    first = await changes.send(hall.member, "news", content="@**Other** hush")
    await changes.send(hall.member, user_ids([hall.other]), content="hush")
    await pushes.deliver()
    await pushes.read(hall.other, first)
    await pushes.deliver()
    bodies = b"".join(pushes.bouncer.bodies[seen:])
    for word in (b"hush", b"news", b"Member", b"secret-token", b"A realm"):
        assert word not in bodies
    mention, direct, removal = pushes.opened()
    assert (mention["type"], mention["content"]) == ("message", "@Other hush")
    assert mention["channel_id"] == channel.channel_id
    assert (mention["recipient_type"], mention["topic"]) == ("channel", "t")
    pair = sorted(user_ids([hall.member, hall.other]))
    assert (direct["recipient_type"], direct["recipient_user_ids"]) == ("direct", pair)
    assert (removal["type"], removal["message_ids"]) == ("remove", [first])


@pytest.mark.parametrize(("kind", "token"), [("fcm", "android"), ("apns", IPHONE)])
async def test_the_published_app_alone_reads_what_it_gets(
    hall: Hall, changes: Changes, pushes: PushDesk, kind: Kind, token: str
):
    channel = await hall.make.channel("news", subscribers=hall.everyone)
    await hall.make.change_settings(require_e2ee_push_notifications=True)
    phone = await pushes.client_phone(hall.other, token, kind)
    seen = len(pushes.bouncer.bodies)
    first = await changes.send(hall.member, "news", topic="soup", content="@**Other** hush")
    await changes.send(hall.member, user_ids([hall.other]), content="\u5bc2 hush")
    await pushes.deliver()
    await pushes.read(hall.other, first)
    await pushes.deliver()
    bodies = b"".join(pushes.bouncer.bodies[seen:])
    for word in ("hush", "news", "soup", "Member", "A realm", "\u5bc2", token):
        assert word.encode() not in bodies
        assert json.dumps(word).strip('"').encode() not in bodies
        assert base64.b64encode(word.encode()).rstrip(b"=") not in bodies
    handed = pushes.handed_over(token)
    mention, direct, removal = [phone.shown(each) for each in handed]
    assert mention is not None
    assert (mention["type"], mention["content"]) == ("message", "@Other hush")
    assert (mention["channel_id"], mention["topic"]) == (channel.channel_id, "soup")
    assert direct is not None
    assert direct["content"] == "\u5bc2 hush"
    assert direct["recipient_user_ids"] == sorted(user_ids([hall.member, hall.other]))
    assert removal is not None
    assert (removal["type"], removal["message_ids"]) == ("remove", [first])
    if kind == "apns":
        assert [phone.alert(each) for each in handed] == ["@Other hush", "\u5bc2 hush", None]
        [sent] = pushes.bouncer.tokens.values()
        pushed = [each["http_headers"]["apns_push_type"] for each in sent.requests]
        assert pushed == ["alert", "alert", "background"]


async def test_a_dead_token_is_forgotten_and_others_get_theirs(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.client_phone(hall.other, "dead")
    phone = await pushes.client_phone(hall.other, "alive")
    await pushes.sealed_phone(hall.other, "older")
    pushes.bouncer.gone = {"dead"}
    for content in ("one", "two"):
        await changes.send(hall.member, user_ids([hall.other]), content=content)
        await pushes.deliver()
    shown = [phone.shown(each) for each in pushes.handed_over("alive")]
    assert [each and each["content"] for each in shown] == ["one", "two"]
    assert [each["content"] for each in pushes.opened()] == ["one", "two"]
    dead, alive, _ = await pushes.devices(hall.other)
    assert (dead.push_token_id, dead.push_key is not None) == (None, True)
    assert alive.encrypted is not None


@pytest.mark.parametrize("only", [True, False])
async def test_where_the_organization_wants_it_nothing_leaves_in_the_clear(
    hall: Hall, changes: Changes, pushes: PushDesk, *, only: bool
):
    await hall.make.change_settings(require_e2ee_push_notifications=only)
    await pushes.phone(hall.other, "android")
    await pushes.phone(hall.other, IPHONE, "apns")
    await pushes.sealed_phone(hall.other, "secret-token")
    message_id = await changes.send(hall.member, user_ids([hall.other]), content="garlic")
    await pushes.deliver()
    await pushes.read(hall.other, message_id)
    await pushes.deliver()
    assert pushes.bouncer.requests.count("push/notify") == (0 if only else 2)
    assert [len(pushes.bouncer.got(each)) for each in ("android", IPHONE)] == [0 if only else 2] * 2
    assert [each["type"] for each in pushes.opened()] == ["message", "remove"]
    assert any(b"garlic" in body for body in pushes.bouncer.bodies) != only


async def test_guests_are_not_told_the_names_of_hidden_users(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await hall.make.channel("news", subscribers=[hall.member, hall.guest])
    await pushes.phone(hall.guest, "android")
    await hall.make.change_settings(can_access_all_users_group="role:members")
    await changes.send(hall.member, "news", content="@**Guest** one")
    await pushes.deliver()
    await hall.unsubscribe(hall.member, "news")
    await changes.send(hall.member, "news", content="@**Guest** two")
    await pushes.deliver()
    known, unknown = pushes.bouncer.got("android")
    assert known["sender_full_name"] == "Member"
    assert unknown["sender_full_name"] == "Unknown user"
    assert hall.member.email not in json.dumps(unknown)


# -- what is not shown, or no longer


async def test_what_was_read_deleted_or_lost_from_sight_meanwhile_is_not_shown(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await hall.make.channel("secret", subscribers=hall.everyone, invite_only=True)
    await hall.make.change_settings(can_delete_own_message_group="role:everyone")
    await pushes.phone(hall.other, "android")
    sent = [
        await changes.send(hall.member, user_ids([hall.other]), content=f"message {n}")
        for n in range(3)
    ]
    await changes.send(hall.member, "secret", content="@**Other** hidden")
    jobs = await pushes.jobs()
    assert len(jobs) == 4
    await pushes.read(hall.other, sent[0])
    await changes.delete(hall.member, sent[1])
    await hall.unsubscribe(hall.admin, "secret", people=[hall.other])
    for job in jobs:
        await pushes.pusher().handle(job)
    assert [each["content"] for each in pushes.bouncer.got("android")] == ["message 2"]


async def test_nothing_is_shown_to_who_has_left_or_wants_it_no_more(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    for row, token in ((hall.other, "a"), (hall.admin, "b"), (hall.guest, "c")):
        await pushes.phone(row, token)
    await changes.send(hall.member, user_ids([hall.other, hall.admin, hall.guest]))
    jobs = await pushes.jobs()
    await pushes.desk.want(hall.other, enable_offline_push_notifications=False)
    await users.update_active(
        hall.make.connection, hall.make.realm_id, [hall.guest.user_id], active=False
    )
    for job in jobs:
        await pushes.pusher().handle(job)
    assert [len(pushes.bouncer.got(token)) for token in "abc"] == [0, 1, 0]


async def test_what_is_read_elsewhere_is_taken_back(hall: Hall, changes: Changes, pushes: PushDesk):
    await pushes.phone(hall.other, "android")
    await pushes.phone(hall.other, IPHONE, "apns")
    sent = [await changes.send(hall.member, user_ids([hall.other])) for _ in range(3)]
    await pushes.deliver()
    await pushes.read(hall.other, *sent[:2])
    await pushes.deliver()
    *_, android = pushes.bouncer.got("android")
    assert android["event"] == "remove"
    assert android["zulip_message_ids"] == ",".join(map(str, sent[:2]))
    *_, iphone = pushes.bouncer.got(IPHONE)
    assert "alert" not in iphone
    assert iphone["badge"] == 1
    assert iphone["custom"]["zulip"]["zulip_message_ids"] == ",".join(map(str, sent[:2]))


async def test_what_is_read_while_it_is_sent_is_taken_back_at_once(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "android")
    message_id = await changes.send(hall.member, user_ids([hall.other]))
    [job] = await pushes.jobs()
    whole = pushes.pusher()
    parts = {"once": True}

    @dataclass(frozen=True)
    class Slow(Courier):
        @override
        async def deliver(self, *args: Any) -> Any:
            outcome = await super().deliver(*args)
            if parts.pop("once", False):
                await pushes.read(hall.other, message_id)
            return outcome

    courier = whole.courier
    slow = Slow(courier.services, courier.phones, courier.browsers, courier.metrics)
    await Pusher(slow, pushes.desk.basket).handle(job)
    events = [each["event"] for each in pushes.bouncer.got("android")]
    assert events == ["message", "remove"]


async def test_very_many_are_taken_back_in_pieces(hall: Hall, changes: Changes, pushes: PushDesk):
    await pushes.phone(hall.other, "android")
    await pushes.sealed_phone(hall.other, "secret-token")
    ids = tuple(MessageId(10**15 + n) for n in range(300))
    job = PushNotification(
        realm_id=hall.make.realm_id, user_id=hall.other.user_id, message_ids=ids, op="remove"
    )
    await pushes.pusher().handle(job)
    told = [each["zulip_message_ids"].split(",") for each in pushes.bouncer.got("android")]
    assert sorted(int(each) for piece in told for each in piece) == list(ids)
    assert [each for piece in pushes.opened() for each in piece["message_ids"]] == list(ids)


# -- what goes wrong


async def test_phones_that_are_gone_are_forgotten(hall: Hall, changes: Changes, pushes: PushDesk):
    await pushes.phone(hall.other, "old")
    await pushes.phone(hall.other, "new")
    await pushes.sealed_phone(hall.other, "secret-token")
    pushes.bouncer.gone = {"old", *pushes.bouncer.sealed}
    await changes.send(hall.member, user_ids([hall.other]))
    await pushes.deliver()
    assert [row.token for row in await pushes.devices(hall.other)] == ["new"]
    text = pushes.metrics.text().decode()
    assert 'parley_pushes_total{kind="fcm",outcome="gone"} 2.0' in text
    assert 'parley_pushes_total{kind="fcm",outcome="sent"} 1.0' in text


async def test_a_bouncer_that_cannot_now_is_asked_again_and_says_when(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "android")
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await pushes.jobs()
    pushes.bouncer.answers = [(503, "", {"Retry-After": "90"})]
    with pytest.raises(RetryLaterError) as caught:
        await pushes.pusher().handle(job)
    assert caught.value.after_seconds == 90
    await pushes.pusher().handle(job)
    assert len(pushes.bouncer.got("android")) == 1


async def test_who_was_told_is_not_told_again_because_another_was_not(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "android")
    await pushes.sealed_phone(hall.other, "secret-token")
    await changes.send(hall.member, user_ids([hall.other]), content="first")
    await pushes.deliver()  # the phones are known by now
    await changes.send(hall.member, user_ids([hall.other]), content="second")
    [job] = await pushes.jobs()
    pushes.bouncer.answers = [(500, "", {})]  # to whichever of the two requests comes first
    await pushes.pusher().handle(job)
    [rest] = await pushes.jobs()
    assert len(rest.devices) == 1
    await pushes.pusher().handle(rest)
    assert [each["content"] for each in pushes.bouncer.got("android")] == ["first", "second"]
    assert [each["content"] for each in pushes.opened()] == ["first", "second"]
    assert await pushes.jobs() == []


async def test_what_may_go_later_is_not_lost_because_something_else_is_refused(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "android")
    await pushes.sealed_phone(hall.other, "secret-token")
    await Registrar(pushes.courier).handle(
        PushRegistration(
            realm_id=hall.make.realm_id,
            user_id=hall.other.user_id,
            device_id=(await pushes.devices(hall.other))[0].device_id,
        )
    )
    await changes.send(hall.member, user_ids([hall.other]), content="hush")
    [job] = await pushes.jobs()
    refused: Answer = (400, '{"code": "BAD_REQUEST", "msg": "no"}', {})
    pushes.bouncer.answers_to["push/notify"] = [refused]
    pushes.bouncer.answers_to["push/e2ee/notify"] = [(503, "", {"Retry-After": "40"})]
    await pushes.pusher().handle(job)
    [rest] = await pushes.jobs()
    assert rest.devices == ((await pushes.devices(hall.other))[1].device_id,)
    [published] = [each for each in pushes.desk.basket.published if b'"devices"' in each.body]
    assert published.after_seconds == 40
    await pushes.pusher().handle(rest)
    assert [each["content"] for each in pushes.opened()] == ["hush"]
    assert pushes.bouncer.got("android") == []

    pushes.bouncer.answers_to["push/notify"] = [refused]
    pushes.bouncer.answers_to["push/e2ee/notify"] = [refused]
    with pytest.raises(PermanentError):
        await pushes.pusher().handle(job)
    pushes.bouncer.answers_to["push/notify"] = [(500, "", {"Retry-After": "5"})]
    pushes.bouncer.answers_to["push/e2ee/notify"] = [(503, "", {"Retry-After": "50"})]
    with pytest.raises(RetryLaterError) as caught:
        await pushes.pusher().handle(job)
    assert caught.value.after_seconds == 50


async def test_a_bouncer_with_a_nonsensical_response_is_asked_again(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "android")
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await pushes.jobs()
    pushes.bouncer.answers = [(200, "no gzip", {"Content-Encoding": "gzip"})]
    with pytest.raises(RetryLaterError, match="DecodingError"):
        await pushes.pusher().handle(job)
    await pushes.pusher().handle(job)
    assert len(pushes.bouncer.got("android")) == 1


async def test_what_a_bouncer_will_never_take_is_dead(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "android")
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await pushes.jobs()
    await Registrar(pushes.courier).handle(await registration_of(pushes, hall.other))
    pushes.bouncer.answers = [(400, '{"code": "BAD_REQUEST", "msg": "no"}', {})]
    with pytest.raises(PermanentError, match="BAD_REQUEST"):
        await pushes.pusher().handle(job)
    pushes.bouncer.answers = [(401, '{"code": "INVALID_ZULIP_SERVER", "msg": "no"}', {})]
    with pytest.raises(NeedsOperatorError):
        await pushes.pusher().handle(job)


async def registration_of(pushes: PushDesk, row: UserRow) -> PushRegistration:
    [device] = await pushes.devices(row)
    return PushRegistration(
        realm_id=pushes.hall.make.realm_id, user_id=row.user_id, device_id=device.device_id
    )


async def test_an_organization_that_may_not_push_is_told_so_and_again_when_it_may(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    async def settings() -> RealmSettings:
        return await hall.stage.realm_caches.afresh(hall.make.realm_id).settings()

    await pushes.phone(hall.other, "android")
    await changes.send(hall.member, user_ids([hall.other]))
    hall.stage.happened.clear()
    await pushes.deliver()
    assert (await settings()).push_notifications_enabled
    [told] = hall.told("realm/update")
    assert (told.event.property, told.event.value) == ("push_notifications_enabled", True)

    pushes.bouncer.can_push = False
    await changes.send(hall.member, user_ids([hall.other]))
    await pushes.deliver()
    assert not (await settings()).push_notifications_enabled
    assert len(pushes.bouncer.got("android")) == 1

    pushes.bouncer.can_push = True
    await changes.send(hall.member, user_ids([hall.other]))
    await pushes.deliver()
    assert (await settings()).push_notifications_enabled
    assert len(pushes.bouncer.got("android")) == 2


async def test_a_phone_that_was_removed_while_it_was_registered_is_forgotten_there(
    hall: Hall, pushes: PushDesk
):
    await pushes.phone(hall.other, "android")
    job = await registration_of(pushes, hall.other)
    [device] = await pushes.devices(hall.other)
    async with hall.stage.database.connection() as connection:
        await push_devices.delete(
            connection, hall.make.realm_id, hall.other.user_id, [device.device_id]
        )
    await Registrar(pushes.courier).handle(job)
    assert pushes.bouncer.phones == {}


async def test_a_phone_that_the_bouncer_does_not_take_keeps_nothing_from_the_others(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "bad")
    await pushes.phone(hall.other, "good")
    await changes.send(hall.member, user_ids([hall.other]))
    pushes.bouncer.answers = [(400, '{"code": "BAD_REQUEST", "msg": "Invalid token"}', {})]
    await pushes.deliver()
    assert [row.token for row in await pushes.devices(hall.other)] == ["good"]
    assert len(pushes.bouncer.got("good")) == 1


async def test_who_comes_back_keeps_the_phones_that_they_have_registered_since(
    hall: Hall, changes: Changes, pushes: PushDesk
):
    await pushes.phone(hall.other, "old")
    await Registrar(pushes.courier).handle(await registration_of(pushes, hall.other))
    realm_id, user_id = hall.make.realm_id, hall.other.user_id
    await push_devices.delete_of_users(hall.make.connection, realm_id, [user_id])
    await pushes.phone(hall.other, "new")
    await Registrar(pushes.courier).handle(await registration_of(pushes, hall.other))
    gone = PushRegistration(realm_id=realm_id, user_id=user_id, all_gone=True)
    await Registrar(pushes.courier).handle(gone)
    await changes.send(hall.member, user_ids([hall.other]))
    await pushes.deliver()
    assert [token for _, _, token in pushes.bouncer.phones] == ["new"]
    assert len(pushes.bouncer.got("new")) == 1


# -- with a broker


async def test_failures_are_tried_again_by_the_broker(
    hall: Hall, changes: Changes, pushes: PushDesk, place: Place
):
    await pushes.phone(hall.other, "android")
    await changes.send(hall.member, user_ids([hall.other]))
    await pushes.jobs()
    [job] = [each for each in pushes.desk.basket.published if each.queue == PushNotification.queue]
    pushes.bouncer.answers = [(503, "", {}), (500, "", {})]
    impatient = replace(processor.PROCESSOR, pause_after=lambda _: 0.0)
    async with place.open() as broker:
        await broker.publish(job)
        app = cast("App", _Parts(hall, broker, pushes))
        working = asyncio.create_task(impatient.run(app, broker))
        try:
            async with asyncio.timeout(60):
                await pushes.bouncer.arrived.wait()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    assert len(pushes.bouncer.got("android")) == 1


class _Parts:
    """What the processor needs of an App."""

    def __init__(self, hall: Hall, jobs: Any, pushes: PushDesk) -> None:
        self.jobs = jobs
        self.pushes = pushes.client
        self.settings = load_settings(environ={"HOME": "/nonexistent"})
        self._hall = hall
        self._courier = pushes.courier

    def courier(self, services: Any) -> Courier:
        return replace(self._courier, services=services)

    def uncached_realm_services(self, _: int) -> Any:
        return self._hall.realm_services()
