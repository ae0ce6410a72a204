"""From what was missed to emails at a mail server."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from typing import Any, cast

import msgspec
import pytest
import pytest_asyncio

from queue_processors import email_notifications as processor
from queue_processors.email_batches import BatchKeeper
from queue_processors.email_notifications import (
    MAX_EMAILS,
    MAX_MESSAGES_SHOWN,
    MAX_REFUSALS,
    Post,
)
from queue_processors.processor import PermanentError
from server.actions.message_flags import change_flag
from server.app import App
from server.domain.mail_addresses import MailAddresses, ToMessage
from server.jobs import EmailNotifications
from server.mail.mailer import MailNotTakenNowError
from server.mail.smtp import SmtpMailer, open_smtp_mailer
from server.settings import load_settings
from storage import email_notifications, unconfirmed_addresses, users
from testkit.factories import new_realm, user_ids
from testkit.message_changes import Changes
from testkit.message_fanout import FanoutDesk
from testkit.realm_with_roles import Hall
from testkit.services.job_brokers import Place
from testkit.services.mail_server import Sink, listening

pytestmark = pytest.mark.asyncio


@dataclass
class Mailroom:
    """Mails batches as their processor does, without waiting until they are due."""

    desk: FanoutDesk
    sink: Sink
    mailer: SmtpMailer
    done: list[EmailNotifications] = field(default_factory=list)

    def post(self, **parts: Any) -> Post:
        stage = self.desk.hall.stage
        realm_cache = stage.realm_caches.of(self.desk.hall.make.realm_id)
        post = Post(
            database=stage.database,
            broker=self.desk.basket,
            clock=stage.clock,
            mailer=self.mailer,
            realm_cache=realm_cache,
            sender="noreply@chat.example.com",
            addresses=None,
        )
        return replace(post, **parts)

    async def jobs(self) -> list[EmailNotifications]:
        """Those that were asked for since the last time, due now."""
        await self.desk.catch_up()
        new = [job for job in self.desk.basket.of(EmailNotifications) if job not in self.done]
        self.done += new
        await self.hurry()
        return new

    async def hurry(self) -> None:
        async with self.desk.hall.stage.database.connection() as connection:
            await connection.execute("UPDATE email_batches SET due_at = now()")

    async def deliver(self) -> list[EmailMessage]:
        """The mails that arrive by that."""
        before = len(self.sink.mails)
        for job in await self.jobs():
            await self.post().handle(job)
        return self.sink.mails[before:]


@pytest_asyncio.fixture
async def mailroom(desk: FanoutDesk) -> AsyncIterator[Mailroom]:
    async with listening() as sink, open_smtp_mailer(sink.server()) as mailer:
        yield Mailroom(desk, sink, mailer)


def subjects(mails: list[EmailMessage]) -> list[str]:
    return [str(mail["Subject"]) for mail in mails]


def text_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


async def test_each_conversation_is_one_email(hall: Hall, changes: Changes, mailroom: Mailroom):
    await hall.make.channel("news", subscribers=hall.everyone)
    await changes.send(hall.member, "news", topic="soup", content="@**Other** first")
    await changes.send(hall.member, user_ids([hall.other]), content="alone?")
    await changes.send(hall.admin, "news", topic="soup", content="@**Other** second")
    await changes.send(hall.member, user_ids([hall.other, hall.admin]), content="we three")
    mails = await mailroom.deliver()

    others = [mail for mail in mails if "Other" in str(mail["To"])]
    assert subjects(others) == [
        "#news > soup",
        "Direct messages with Member",
        "Group direct messages with Admin and Member",
    ]
    soup = text_of(others[0])
    assert soup.index("first") < soup.index("second")
    assert "You get this because you were mentioned." in soup
    assert "alone?" not in soup
    assert sorted(str(mail["To"]) for mail in mails if mail not in others) == [
        f"Admin <{hall.admin.email}>",
        f"Member <{hall.member.email}>",  # follows the topic that they began
    ]
    assert await mailroom.deliver() == []


async def test_answers_go_to_the_conversation_where_mail_comes_in(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    addresses = MailAddresses("%s@in.example.com", b"k" * 32)
    await changes.send(hall.member, user_ids([hall.other]))
    sent = await changes.send(hall.member, user_ids([hall.other]))
    [job] = await mailroom.jobs()
    await mailroom.post(addresses=addresses).handle(job)
    [mail] = mailroom.sink.mails
    today = hall.stage.clock.now().date()
    read = addresses.read(mail["Reply-To"].addresses[0].addr_spec, today)
    assert read is not None
    realm_id, user_id = hall.make.realm_id, hall.other.user_id
    assert read.target == ToMessage(realm_id, user_id, sent, today.toordinal())
    assert "Reply to this email to reply in the conversation." in text_of(mail)
    assert "are not read" not in mail.as_string()

    await changes.send(hall.member, user_ids([hall.other]))
    [without] = await mailroom.deliver()
    assert "Reply-To" not in without
    assert "are not read" in text_of(without)


async def test_the_next_batch_joins_the_thread(hall: Hall, changes: Changes, mailroom: Mailroom):
    await changes.send(hall.member, user_ids([hall.other]))
    [first] = await mailroom.deliver()
    await changes.send(hall.member, user_ids([hall.other]))
    [second] = await mailroom.deliver()
    assert first["References"] == second["References"]
    assert first["Message-ID"] != second["Message-ID"]


async def test_a_batch_waits_until_it_is_due(hall: Hall, changes: Changes, mailroom: Mailroom):
    await mailroom.desk.want(hall.other, email_notifications_batching_period_seconds=172_800)
    await changes.send(hall.member, user_ids([hall.other]))
    await mailroom.desk.catch_up()
    [job] = mailroom.desk.basket.of(EmailNotifications)
    await mailroom.post().handle(job)
    assert mailroom.sink.mails == []
    [_, again] = [
        each for each in mailroom.desk.basket.published if each.queue == EmailNotifications.queue
    ]
    assert again.after_seconds == 86_400
    await mailroom.hurry()
    await mailroom.post().handle(job)
    assert len(mailroom.sink.mails) == 1


async def test_what_was_read_or_deleted_meanwhile_is_not_mailed(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.change_settings(can_delete_own_message_group="role:everyone")
    sent = [
        await changes.send(hall.member, user_ids([hall.other]), content=f"message {n}")
        for n in range(3)
    ]
    jobs = await mailroom.jobs()
    await hall.stage.write(change_flag, hall.actor(hall.other), [sent[0]], "add", "read")
    await changes.delete(hall.member, sent[1])
    for job in jobs:
        await mailroom.post().handle(job)
    [mail] = mailroom.sink.mails
    assert [f"message {n}" in text_of(mail) for n in range(3)] == [False, False, True]


async def test_a_mention_that_was_edited_away_is_not_mailed_by_the_following_that_it_caused(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.channel("news", subscribers=hall.everyone)
    everyone = [hall.other, hall.admin]
    content = " ".join(f"@**{each.full_name}**" for each in everyone)
    sent = await changes.send(hall.member, "news", topic="soup", content=content)
    jobs = await mailroom.jobs()
    assert len(jobs) == len(everyone)
    await changes.edit(hall.member, sent, f"@**{hall.admin.full_name}** alone")
    for job in jobs:
        await mailroom.post().handle(job)
    assert [str(mail["To"]) for mail in mailroom.sink.mails] == [f"Admin <{hall.admin.email}>"]

    # Of what comes later they hear, for they follow the topic.
    await changes.send(hall.member, "news", topic="soup", content="plain")
    assert {str(mail["To"]) for mail in await mailroom.deliver()} == {
        f"Admin <{hall.admin.email}>",
        f"Other <{hall.other.email}>",
    }


async def test_a_mention_removed_before_the_fanout_notifies_no_user(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.channel("news", subscribers=hall.everyone)
    sent = await changes.send(hall.member, "news", topic="soup", content="@**Other**")
    await changes.edit(hall.member, sent, "no mention")
    assert await mailroom.jobs() == []
    assert await mailroom.desk.noted() == []


async def test_who_followed_the_topic_before_hears_of_what_mentions_them_no_more(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.channel("news", subscribers=hall.everyone)
    await changes.send(hall.member, "news", topic="soup", content="@**Other**")
    sent = await changes.send(hall.member, "news", topic="soup", content="@**Other** again")
    await changes.edit(hall.member, sent, "again")
    mails = await mailroom.deliver()
    assert [str(mail["To"]) for mail in mails] == [f"Other <{hall.other.email}>"]
    assert "again" in text_of(mails[0])


async def test_nothing_is_mailed_to_who_has_left_or_wants_it_no_more(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await changes.send(hall.member, user_ids([hall.other, hall.guest, hall.admin]))
    jobs = await mailroom.jobs()
    await mailroom.desk.want(hall.other, enable_offline_email_notifications=False)
    await users.update_active(
        hall.make.connection, hall.make.realm_id, [hall.guest.user_id], active=False
    )
    for job in jobs:
        await mailroom.post().handle(job)
    assert [str(mail["To"]) for mail in mailroom.sink.mails] == [f"Admin <{hall.admin.email}>"]
    assert [each.email_batch_id for each in await mailroom.desk.noted()] == 3 * [None]


async def test_nothing_is_mailed_to_an_address_until_it_is_confirmed(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    connection, realm_id = hall.make.connection, hall.make.realm_id
    await users.update_email(
        connection, realm_id, hall.other.user_id, "other@example.com", confirmed=False
    )
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await mailroom.jobs()
    await mailroom.post().handle(job)
    assert mailroom.sink.mails == []
    await unconfirmed_addresses.confirm(connection, realm_id, hall.other.user_id)
    await changes.send(hall.member, user_ids([hall.other]))
    for job in await mailroom.jobs():
        await mailroom.post().handle(job)
    assert [str(mail["To"]) for mail in mailroom.sink.mails] == ["Other <other@example.com>"]


@pytest.mark.parametrize("owner", ["their own", "the organization's"])
async def test_content_is_hidden_where_settings_say_so(
    hall: Hall, changes: Changes, mailroom: Mailroom, owner: str
):
    await hall.make.channel("kitchen", subscribers=hall.everyone)
    await changes.send(hall.member, "kitchen", content="@**Other** onions")
    await changes.send(hall.member, user_ids([hall.other]), content="garlic")
    if owner == "their own":
        await mailroom.desk.want(hall.other, message_content_in_email_notifications=False)
    else:
        await hall.make.change_settings(message_content_allowed_in_email_notifications=False)
    [job] = await mailroom.jobs()
    connection = hall.make.connection
    await connection.execute("ALTER TABLE messages RENAME COLUMN rendered_content TO unread")
    try:
        await mailroom.post().handle(job)
    finally:
        await connection.execute("ALTER TABLE messages RENAME COLUMN unread TO rendered_content")
    [mail] = mailroom.sink.mails
    assert mail["Subject"] == "New messages"
    assert "2 new messages" in text_of(mail)
    whole = mail.as_string()
    assert not any(word in whole for word in ("onions", "garlic", "kitchen", "Member"))


@pytest.mark.parametrize(
    ("policy", "is_elsewhere", "named"),
    [(1, False, False), (1, True, True), (2, False, True), (3, True, False)],
)
async def test_the_organizations_name_is_in_the_subject_as_settings_say(
    hall: Hall,
    changes: Changes,
    mailroom: Mailroom,
    policy: int,
    *,
    is_elsewhere: bool,
    named: bool,
):
    if is_elsewhere:
        other_realm = await new_realm(hall.make.connection)
        await other_realm.user(email=hall.other.email.upper())
    await mailroom.desk.want(hall.other, realm_name_in_email_notifications_policy=policy)
    await changes.send(hall.member, user_ids([hall.other]))
    [mail] = await mailroom.deliver()
    prefix = "[A realm] " if named else ""
    assert mail["Subject"] == f"{prefix}Direct messages with Member"


async def test_very_much_is_cut_and_told(hall: Hall, changes: Changes, mailroom: Mailroom):
    for number in range(MAX_MESSAGES_SHOWN + 2):
        await changes.send(hall.member, user_ids([hall.other]), content=f"number {number} said")
    [mail] = await mailroom.deliver()
    text = text_of(mail)
    assert "(2 earlier messages not shown.)" in text
    assert "number 1 said" not in text
    assert "number 2 said" in text
    assert {each.email_batch_id for each in await mailroom.desk.noted()} == {None}


# -- what goes wrong


async def test_what_was_mailed_is_not_mailed_again_after_a_fault(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await changes.send(hall.member, user_ids([hall.other]))
    await changes.send(hall.member, user_ids([hall.other, hall.admin]))
    jobs = await mailroom.jobs()
    [job] = [each for each in jobs if each.user_id == hall.other.user_id]
    mailroom.sink.on_data = ["250 OK", "451 try later"]
    with pytest.raises(MailNotTakenNowError):
        await mailroom.post().handle(job)
    await mailroom.post().handle(job)
    await mailroom.post().handle(job)
    assert subjects(mailroom.sink.mails) == [
        "Direct messages with Member",
        "Group direct messages with Admin and Member",
    ]


async def test_what_comes_while_a_batch_is_tried_again_is_the_next_batch(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await changes.send(hall.member, user_ids([hall.other]), content="early")
    [job] = await mailroom.jobs()
    mailroom.sink.answers = ["450 busy"]
    with pytest.raises(MailNotTakenNowError):
        await mailroom.post().handle(job)
    await changes.send(hall.member, user_ids([hall.other]), content="late")
    [later] = await mailroom.jobs()
    assert later.batch_id != job.batch_id
    await mailroom.post().handle(job)
    await mailroom.post().handle(later)
    assert ["early" in text_of(mail) for mail in mailroom.sink.mails] == [True, False]
    assert "late" in text_of(mailroom.sink.mails[1])


async def undeliverable(hall: Hall) -> list[tuple[Any, ...]]:
    return await hall.make.connection.tuples(
        "SELECT address, times, reason FROM undeliverable_addresses"
    )


async def test_an_address_that_is_refused_is_noted_and_in_the_end_left_alone(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    for number in range(MAX_REFUSALS):
        mailroom.sink.answers = ["550 5.1.1 no such user"]
        await changes.send(hall.member, user_ids([hall.other]))
        assert await mailroom.deliver() == []
        assert await undeliverable(hall) == [
            (hall.other.email, number + 1, "550 5.1.1 no such user")
        ]
    await changes.send(hall.member, user_ids([hall.other]))
    assert await mailroom.deliver() == []
    assert mailroom.sink.answers == []

    connection = hall.make.connection
    await connection.execute(
        "UPDATE undeliverable_addresses SET refused_at = now() - interval '8 days'"
    )
    await changes.send(hall.member, user_ids([hall.other]))
    assert len(await mailroom.deliver()) == 1
    assert await undeliverable(hall) == []


async def test_a_new_address_is_tried_at_once(hall: Hall, mailroom: Mailroom):
    connection, realm_id = hall.make.connection, hall.make.realm_id
    user_id = hall.other.user_id
    for _ in range(MAX_REFUSALS):
        await email_notifications.refused(connection, realm_id, user_id, "old@example.com", "550")

    async def is_lost(address: str) -> bool:
        return await email_notifications.is_undeliverable(
            connection,
            realm_id,
            user_id,
            address,
            times=MAX_REFUSALS,
            within=processor.REFUSED_ADDRESS_PAUSE,
        )

    assert await is_lost("old@example.com")
    assert not await is_lost("new@example.com")


async def test_a_refused_mail_is_a_dead_letter_and_holds_up_no_other(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await changes.send(hall.member, user_ids([hall.other]))
    await changes.send(hall.member, user_ids([hall.other, hall.admin]))
    jobs = await mailroom.jobs()
    [job] = [each for each in jobs if each.user_id == hall.other.user_id]
    mailroom.sink.on_data = ["554 looks like spam"]
    with pytest.raises(PermanentError, match="looks like spam"):
        await mailroom.post().handle(job)
    assert subjects(mailroom.sink.mails) == ["Group direct messages with Admin and Member"]
    await mailroom.post().handle(job)  # replayed
    assert subjects(mailroom.sink.mails)[1:] == ["Direct messages with Member"]


async def test_a_refused_mail_about_a_read_message_is_not_mailed_by_replaying_it(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    message_id = await changes.send(hall.member, user_ids([hall.other]))
    [job] = await mailroom.jobs()
    mailroom.sink.on_data = ["554 looks like spam"]
    with pytest.raises(PermanentError, match="looks like spam"):
        await mailroom.post().handle(job)
    await hall.stage.write(change_flag, hall.actor(hall.other), [message_id], "add", "read")
    await mailroom.post().handle(job)
    assert mailroom.sink.mails == []


async def test_a_bad_link_is_mailed_as_its_text(hall: Hall, changes: Changes, mailroom: Mailroom):
    await changes.send(hall.member, user_ids([hall.other]), content="[x](http://[::1) said")
    [mail] = await mailroom.deliver()
    assert "said" in text_of(mail)


async def test_an_email_that_cannot_be_sent_for_a_fault_of_ours_holds_up_no_other(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    class Faulty:
        async def send(self, message: EmailMessage, address: str) -> None:
            if message["Subject"].startswith("Direct"):
                raise RuntimeError("a fault of ours")
            await mailroom.mailer.send(message, address)

    await changes.send(hall.member, user_ids([hall.other]))
    await changes.send(hall.member, user_ids([hall.other, hall.admin]))
    jobs = await mailroom.jobs()
    [job] = [each for each in jobs if each.user_id == hall.other.user_id]
    with pytest.raises(PermanentError, match="a fault of ours"):
        await mailroom.post(mailer=Faulty()).handle(job)
    assert subjects(mailroom.sink.mails) == ["Group direct messages with Admin and Member"]
    await mailroom.post().handle(job)
    assert subjects(mailroom.sink.mails)[1:] == ["Direct messages with Member"]


async def test_what_is_no_address_is_like_one_that_is_refused(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.connection.execute(
        "UPDATE users SET email = 'jürgen..x@example.com' WHERE user_id = %(id)s",
        id=hall.other.user_id,
    )
    await changes.send(hall.member, user_ids([hall.other]))
    assert await mailroom.deliver() == []
    [(address, times, _)] = await undeliverable(hall)
    assert (address, times) == ("jürgen..x@example.com", 1)
    assert [each.email_batch_id for each in await mailroom.desk.noted()] == [None]


async def test_of_very_many_conversations_the_newest_are_shown_and_the_rest_counted(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.channel("news", subscribers=hall.everyone)
    for number in range(MAX_EMAILS + 2):
        await changes.send(hall.member, "news", topic=f"{number}", content="@**Other** a")
    await changes.send(hall.member, "news", topic="0", content="@**Other** b")
    jobs = await mailroom.jobs()
    [job] = [each for each in jobs if each.user_id == hall.other.user_id]
    await mailroom.post().handle(job)
    *shown, last = mailroom.sink.mails
    assert subjects(shown) == [f"#news > {n}" for n in (0, *range(3, MAX_EMAILS + 2))]
    assert last["Subject"] == "More new messages"
    assert "2 more new messages" in text_of(last)
    noted = await mailroom.desk.noted()
    assert {n.email_batch_id for n in noted if n.user_id == hall.other.user_id} == {None}


# -- batches that were lost on their way


async def test_a_batch_with_a_lost_job_is_asked_for_again(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await changes.send(hall.member, user_ids([hall.other]), content="early")
    [lost] = await mailroom.jobs()
    keeper = BatchKeeper(hall.stage.database, mailroom.desk.basket)
    assert await keeper.look() == 0
    await changes.send(hall.member, user_ids([hall.other]), content="late")
    assert await mailroom.jobs() == []
    await hall.make.connection.execute("UPDATE email_batches SET due_at = now() - interval '1 day'")
    assert await keeper.look(at_once=1) == 1
    assert await keeper.look() == 0
    again = mailroom.desk.basket.of(EmailNotifications)[-1]
    assert again == lost
    await mailroom.post().handle(again)
    [mail] = mailroom.sink.mails
    assert all(word in text_of(mail) for word in ("early", "late"))


async def test_without_a_mail_server_batches_end_and_nothing_piles_up(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await mailroom.jobs()
    await mailroom.post(mailer=None).handle(job)
    assert [each.email_batch_id for each in await mailroom.desk.noted()] == [None]
    assert mailroom.sink.mails == []


async def test_links_lead_to_the_page_of_the_message(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.channel("news", subscribers=hall.everyone)
    first = await changes.send(hall.member, "news", topic="a.b/ü", content="@**Other**")
    second = await changes.send(hall.member, user_ids([hall.other]))
    texts = "\n".join(text_of(mail) for mail in await mailroom.deliver())
    for message_id in (first, second):
        assert f"/message/{message_id}\n" in texts
    assert "/account#notifications\n" in texts
    assert "/#" not in texts


# -- with a broker


async def test_failures_are_tried_again_by_the_broker(
    hall: Hall, changes: Changes, mailroom: Mailroom, place: Place
):
    await changes.send(hall.member, user_ids([hall.other]))
    await mailroom.jobs()
    [job] = [
        each for each in mailroom.desk.basket.published if each.queue == EmailNotifications.queue
    ]
    mailroom.sink.answers = ["450 busy"]
    impatient = replace(processor.PROCESSOR, pause_after=lambda _: 0.0)
    async with place.open() as broker:
        await broker.publish(msgspec.structs.replace(job, after_seconds=0.0))
        app = cast("App", _Parts(hall, broker, mailroom.mailer))
        working = asyncio.create_task(impatient.run(app, broker))
        try:
            async with asyncio.timeout(60):
                await mailroom.sink.arrived.wait()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    assert subjects(mailroom.sink.mails) == ["Direct messages with Member"]
    assert await undeliverable(hall) == []


class _Parts:
    """What the processor needs of an App."""

    def __init__(self, hall: Hall, jobs: Any, mailer: Any) -> None:
        self.database = hall.stage.database
        self.realm_caches = hall.stage.realm_caches
        self.clock = hall.stage.clock
        self.jobs = jobs
        self.mailer = mailer
        self.mail_addresses = None
        self.settings = load_settings(environ={"HOME": "/nonexistent"})


async def test_guests_read_no_name_of_people_whom_they_may_not_know(
    hall: Hall, changes: Changes, mailroom: Mailroom
):
    await hall.make.channel("news", subscribers=[hall.member, hall.guest])
    await hall.make.change_settings(can_access_all_users_group="role:members")
    await changes.send(hall.other, "news", content="@**Guest** from outside")
    await changes.send(hall.member, "news", content="@**Guest** from inside")
    [mail] = await mailroom.deliver()
    assert "Unknown user (" in text_of(mail)
    assert "Member (" in text_of(mail)
    assert "Other" not in mail.as_string()

    # A direct message to them comes from a user they have met by that.
    await changes.send(hall.other, user_ids([hall.guest]), content="hello")
    await changes.send(hall.other, "news", content="@**Guest** again")
    mails = await mailroom.deliver()
    assert any("Direct messages with Other" in subject for subject in subjects(mails))
    assert not any("Unknown" in mail.as_string() for mail in mails)
