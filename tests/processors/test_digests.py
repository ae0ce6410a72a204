"""Once a week, people who were away are mailed what happened in their channels."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from queue_processors import digest_emails, shipper
from queue_processors.digest_keeper import DigestKeeper
from queue_processors.processor import PermanentError
from queue_processors.shipper import jobs_of
from server.actions import digests as actions
from server.domain.access import GUEST
from server.domain.unsubscribing import DIGESTS, PURPOSE, subscriber_of
from server.jobs import DigestEmails
from server.mail.mailer import MailNotTakenNowError
from storage import server_keys, shipping, users
from storage.database import Database
from storage.shipping import CursorRow
from storage.users import UserRow
from testkit.clients.server import Server, serve
from testkit.clock import StoppedClock
from testkit.factories import Make
from testkit.services.mail_server import Sink, listening

pytestmark = pytest.mark.asyncio

TUESDAY = datetime(2026, 5, 5, 9, 0, tzinfo=UTC)


@dataclass
class Press:
    """Asks for digests and mails them, as the keeper and the processor do."""

    server: Server
    make: Make
    sink: Sink
    clock: StoppedClock

    async def jobs(self) -> list[DigestEmails]:
        """All that the log has asked for."""
        async with self.server.app.database.connection() as connection:
            lagging = await shipping.lagging(connection, shard=0, shards=1, limit=100)
            [realm] = [row for row in lagging if row.realm_id == self.make.realm_id]
            entries = await shipping.entries_between(
                connection,
                CursorRow(self.make.realm_id, 0, 0),  # type: ignore[arg-type]
                realm.caught_up,
                kinds=list(shipper.TRANSLATIONS),
                without_body=(),
                limit=10_000,
            )
        jobs = jobs_of(self.make.realm_id, entries)
        return [
            msgspec.json.decode(job.body, type=DigestEmails)
            for job in jobs
            if job.queue == DigestEmails.queue
        ]

    async def look(self) -> int:
        return await DigestKeeper(self.server.app).look()

    async def deliver(self) -> list[EmailMessage]:
        """The mails that arrive when all jobs are done, also those that were done before."""
        before = len(self.sink.mails)
        for job in await self.jobs():
            await digest_emails.handle(self.server.app, job)
        return self.sink.mails[before:]

    async def say(self, sender: UserRow, channel: Any, topic: str, *contents: str) -> None:
        place = await self.make.topic(channel, topic)
        sent_at = self.clock.now() - timedelta(days=1)
        for content in contents:
            await self.make.message(sender, place, content=content, sent_at=sent_at)


def text_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


@pytest_asyncio.fixture
async def press(database: Database, database_url: str, make: Make) -> AsyncIterator[Press]:
    await make.change_settings(digest_emails_enabled=True, digest_weekday=1)
    clock = StoppedClock(TUESDAY)
    async with listening() as sink:
        mail: dict[str, Any] = {"smtp_host": "127.0.0.1", "smtp_port": sink.port}
        async with serve(database_url, clock=clock, **mail, smtp_security="none") as server:
            yield Press(server, make, sink, clock)


async def test_who_was_away_reads_what_is_hot_in_their_channels(press: Press):
    make = press.make
    ada, bob = await make.user("Ada"), await make.user("Bob")
    news = await make.channel("news", subscribers=[ada, bob])
    other = await make.channel("other", subscribers=[bob])
    secret = await make.channel("secret", subscribers=[bob], invite_only=True)
    await press.say(bob, news, "soup", "onions", "garlic")
    await press.say(bob, other, "elsewhere", "not hers")
    await press.say(bob, secret, "hidden", "unshared")
    await make.connection.execute("UPDATE channels SET created_at = %(at)s", at=TUESDAY)

    assert await press.look() == 2
    to_ada = next(mail for mail in await press.deliver() if "Ada" in str(mail["To"]))
    assert str(to_ada["Subject"]) == "What happened at A realm"
    said = text_of(to_ada)
    assert "#news > soup (Messages this week: 2, people: 1)" in said
    assert said.index("onions") < said.index("garlic")
    assert "New channels: #other, #news" in said
    assert not any(word in to_ada.as_string() for word in ("not hers", "unshared", "secret"))
    key = await server_keys.key_for(make.connection, PURPOSE)
    link = str(to_ada["List-Unsubscribe"]).strip("<>")
    found = subscriber_of(key, link.rpartition("/")[2])
    assert found == (make.realm_id, ada.user_id, DIGESTS)
    assert to_ada["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


async def test_an_address_that_is_not_confirmed_gets_none(press: Press):
    make = press.make
    ada, bob = await make.user("Ada"), await make.user("Bob")
    news = await make.channel("news", subscribers=[ada, bob])
    await press.say(bob, news, "soup", "onions", "garlic")
    await users.update_email(
        make.connection, make.realm_id, ada.user_id, "ada@example.com", confirmed=False
    )
    assert await press.look() == 2
    assert [str(mail["To"]) for mail in await press.deliver()] == [f"Bob <{bob.email}>"]


async def test_it_is_sent_once_whatever_is_done_twice(press: Press):
    make = press.make
    ada, bob = await make.user("Ada"), await make.user("Bob")
    news = await make.channel("news", subscribers=[ada, bob])
    await press.say(bob, news, "soup", "onions")
    assert [await press.look() for _ in range(3)] == [2, 0, 0]
    assert len(await press.jobs()) == 1
    press.sink.on_data.append("451 later")
    with pytest.raises(MailNotTakenNowError):
        await press.deliver()
    first = await press.deliver()
    assert await press.deliver() == []
    press.clock.advance(timedelta(hours=5))
    assert await press.look() == 0
    assert len(press.sink.mails) == len(first)
    press.clock.advance(timedelta(days=7))
    await press.say(bob, news, "stew", "again")
    assert await press.look() == 2
    [again] = [mail for mail in await press.deliver() if "Ada" in str(mail["To"])]
    assert again["Message-ID"] not in {mail["Message-ID"] for mail in first}


async def test_only_on_the_day_and_only_where_settings_say_so(press: Press):
    await press.make.user("Ada")
    press.clock.advance(timedelta(days=1))
    assert await press.look() == 0
    press.clock.advance(-timedelta(days=1, hours=8))
    assert await press.look() == 0
    press.clock.advance(timedelta(hours=8))
    await press.make.change_settings(digest_emails_enabled=False)
    assert await press.look() == 0
    await press.make.change_settings(digest_emails_enabled=True)
    assert await press.look() == 1


async def test_who_was_here_or_wants_none_or_is_new_or_gone_gets_none(press: Press):
    make = press.make
    here, seen = await make.user("Here"), await make.user("Seen")
    await make.user("Unwilling", settings={"enable_digest_emails": False})
    await make.user("Gone", is_active=False)
    await make.user("Bot", bot_type=1, bot_owner=here)
    new = await make.user("New")
    away = await make.user("Away")
    execute = make.connection.execute
    yesterday = TUESDAY - timedelta(days=1)
    await execute(
        """
        INSERT INTO presences (realm_id, user_id, active_at, seen_at, update_id)
        VALUES (%(realm_id)s, %(user_id)s, %(at)s, %(at)s, 1)
        """,
        realm_id=make.realm_id,
        user_id=here.user_id,
        at=yesterday,
    )
    await execute(
        """
        INSERT INTO user_activity (realm_id, user_id, client, what, count, last_at)
        VALUES (%(realm_id)s, %(user_id)s, 'website', 'messages', 1, %(at)s)
        """,
        realm_id=make.realm_id,
        user_id=seen.user_id,
        at=yesterday,
    )
    await execute(
        "UPDATE users SET date_joined = %(at)s WHERE user_id = %(id)s", at=yesterday, id=new.user_id
    )
    await press.look()
    assert [job.user_ids for job in await press.jobs()] == [(away.user_id,)]


async def test_many_are_asked_for_in_bounded_batches(press: Press, monkeypatch):
    monkeypatch.setattr(actions, "USERS_PER_JOB", 3)
    monkeypatch.setattr("queue_processors.digest_keeper.USERS_PER_JOB", 3)
    people = await press.make.users(7)
    assert await press.look() == 7
    asked = [job.user_ids for job in await press.jobs()]
    assert [len(each) for each in asked] == [3, 3, 1]
    assert sorted(u for each in asked for u in each) == sorted(row.user_id for row in people)


async def test_what_is_muted_read_or_not_to_be_shown_is_left_out(press: Press):
    make = press.make
    ada, bob = await make.user("Ada"), await make.user("Bob")
    shy = await make.user("Shy", settings={"message_content_in_email_notifications": False})
    guest = await make.user("Guest", role=GUEST)
    news, muted = [
        await make.channel(name, subscribers=[ada, bob, shy]) for name in ("news", "muted")
    ]
    await press.say(bob, news, "soup", "onions")
    await press.say(bob, muted, "stew", "garlic")
    await make.connection.execute(
        "UPDATE subscriptions SET is_muted = true WHERE channel_id = %(id)s", id=muted.channel_id
    )
    await press.look()
    mails = {str(mail["To"]).split()[0]: mail for mail in await press.deliver()}
    assert "garlic" not in mails["Ada"].as_string()
    assert "onions" in text_of(mails["Ada"])
    assert "channels: conversations: 1, messages: 1." in text_of(mails["Shy"])
    assert not any(word in mails["Shy"].as_string() for word in ("onions", "news", "soup", "Bob"))
    assert guest.full_name not in mails


async def test_it_is_in_the_readers_language(press: Press):
    ada = await press.make.user("Ada", settings={"default_language": "de"})
    bob = await press.make.user("Bob")
    news = await press.make.channel("news", subscribers=[ada, bob])
    await press.say(bob, news, "soup", "onions")
    await press.look()
    [mail] = [mail for mail in await press.deliver() if "Ada" in str(mail["To"])]
    assert str(mail["Subject"]) == "Was bei A realm los war"
    html = mail.get_body(("html",))
    assert html is not None
    assert '<html lang="de" dir="ltr">' in str(html.get_content())


async def test_a_digest_that_cannot_be_made_holds_up_no_other(press: Press):
    make = press.make
    ada, bob, eve = await make.user("Ada"), await make.user("Bob"), await make.user("Eve")
    news = await make.channel("news", subscribers=[ada, bob, eve])
    await press.say(eve, news, "soup", "onions")
    broken = "UPDATE users SET settings = %(settings)s::jsonb WHERE user_id = %(user_id)s"
    await make.connection.execute(broken, settings='{"default_language": 5}', user_id=ada.user_id)
    await press.look()
    with pytest.raises(PermanentError):
        await press.deliver()
    assert [str(mail["To"].addresses[0].display_name) for mail in press.sink.mails] == [
        "Bob",
        "Eve",
    ]
    await make.connection.execute(broken, settings="{}", user_id=ada.user_id)
    [mail] = await press.deliver()
    assert mail["To"].addresses[0].display_name == "Ada"


async def test_guests_read_no_name_of_people_whom_they_may_not_know(press: Press):
    make = press.make
    await make.change_settings(can_access_all_users_group="role:members")
    guest, stranger, met = await make.user("Gus", role=GUEST), *await make.users(2)
    news = await make.channel("news", subscribers=[guest, met])
    await press.say(stranger, news, "soup", "onions")
    await press.say(met, news, "stew", "garlic")
    await press.look()
    mail = next(mail for mail in await press.deliver() if "Gus" in str(mail["To"]))
    assert stranger.full_name not in mail.as_string()
    assert "Unknown user (" in text_of(mail)
    assert f"{met.full_name} (" in text_of(mail)
