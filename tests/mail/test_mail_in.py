"""Email over LMTP and SMTP that becomes messages: taken once, or refused with a reason."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any, cast

import aiosmtplib
import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from server import mail_in
from server.domain.mail_addresses import DAYS_TO_ANSWER, MailAddresses, ToMessage
from server.domain.system_bots import EMAIL_GATEWAY
from server.mail.incoming import NO_SUBJECT
from server.mail_in import MAX_OF_ONE_PEER, MailRoom, taking_mail
from storage import users
from storage.ids import MessageId
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.server import Server, ServerFactory
from testkit.database import until_blocked_on_lock
from testkit.factories import Make
from testkit.services.mail_server import Certificate

pytestmark = pytest.mark.asyncio

ADA = "ada@example.com"


class Dialogue:
    """One session, line by line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def say(self, line: str | bytes) -> str:
        self._writer.write((line.encode() if isinstance(line, str) else line) + b"\r\n")
        return await self.answer()

    async def answer(self) -> str:
        """The last line of it."""
        async with asyncio.timeout(60):
            line = (await self._reader.readline()).decode("ascii").rstrip()
            while line[3:4] == "-":
                line = (await self._reader.readline()).decode("ascii").rstrip()
        return line

    async def hand_in(self, mail: bytes, *to: str, sender: str = ADA) -> list[str]:
        """The answers to the recipients that were not taken, else to the mail, one for each."""
        assert (await self.say(f"MAIL FROM:<{sender}>")).startswith("250")
        refused = [
            answer
            for address in to
            if not (answer := await self.say(f"RCPT TO:<{address}>")).startswith("250")
        ]
        if refused:
            await self.say("RSET")
            return refused
        assert (await self.say("DATA")).startswith("354")
        lines = mail.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        return [await self.say(lines + b"\r\n."), *[await self.answer() for _ in to[1:]]]


@dataclass
class Office:
    """A server that takes mail, and an organization of it."""

    server: Server
    port: int
    make: Make
    connect: Callable[..., Awaitable[Client]]
    gateway: UserRow

    @property
    def addresses(self) -> MailAddresses:
        assert self.server.app.mail_addresses is not None
        return self.server.app.mail_addresses

    async def client(self, row: UserRow) -> Client:
        return await self.connect(self.server, self.make.realm_id, row)

    def answering(self, row: UserRow, message_id: MessageId, *, days_ago: int = 0) -> str:
        """The address at which a user answers the message that was mailed to them."""
        today = self.server.app.clock.now().date().toordinal()
        target = ToMessage(self.make.realm_id, row.user_id, message_id, today - days_ago)
        return self.addresses.of_message(target)

    @asynccontextmanager
    async def dialogue(self, greeting: str = "LHLO test") -> AsyncIterator[Dialogue]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            one = Dialogue(reader, writer)
            assert (await one.answer()).startswith("220")
            assert (await one.say(greeting)).startswith("250")
            yield one
        finally:
            writer.close()

    async def deliver(self, mail: EmailMessage, to: str, sender: str = ADA) -> str:
        """The answer that the mail gets."""
        async with self.dialogue() as one:
            [answer] = await one.hand_in(mail.as_bytes(), to, sender=sender)
        return answer

    async def said(self) -> list[tuple[str, str, str, str]]:
        """All messages: sender, place, content, client."""
        return await self.make.connection.tuples(
            """
            SELECT u.full_name, coalesce(c.name || ' > ' || t.name, 'direct'), m.content, m.client
              FROM messages m
              JOIN users u ON u.realm_id = m.realm_id AND u.user_id = m.sender_id
              LEFT JOIN channels c ON c.realm_id = m.realm_id AND c.channel_id = m.channel_id
              LEFT JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
               AND m.channel_id IS NOT NULL
             WHERE m.realm_id = %(realm_id)s AND m.client = 'email' ORDER BY m.id
            """,
            realm_id=self.make.realm_id,
        )


@asynccontextmanager
async def opened(
    serving_with: ServerFactory, make: Make, connect: Any, **settings: Any
) -> AsyncIterator[Office]:
    given = {"mail_in_port": 0, "mail_in_address": "%s@chat.example.com", **settings}
    async with serving_with(**given) as server, taking_mail(server.app) as port:
        gateway = await make.system_bot(EMAIL_GATEWAY)
        yield Office(server, port, make, connect, gateway)


@pytest_asyncio.fixture
async def office(serving_with: ServerFactory, make: Make, connect: Any) -> AsyncIterator[Office]:
    async with opened(serving_with, make, connect) as one:
        yield one


def mail(text: str = "Fine by me.", subject: str = "Re: soup", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ada Lovelace <ada@example.com>"
    message["To"] = "somewhere@example.com"
    message["Subject"] = subject
    message["Message-ID"] = "<1@mail.example.com>"
    for name, value in headers.items():
        del message[name.replace("_", "-")]
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


QUOTING = """\
Fine by *me*.

On Fri, May 1, 2026 at 12:00 PM Bob (Parley) <noreply@chat.example.com> wrote:

> soup?
"""


# -- answers


async def test_an_answer_is_said_where_the_message_is_now(office: Office):
    ada, bob = await office.make.user("Ada"), await office.make.user("Bob")
    news = await office.make.channel("news", subscribers=[ada, bob])
    soup = await office.make.topic(news, "soup")
    sent = await office.make.message(bob, soup)
    queue = await (await office.client(bob)).register(event_types=["message"])
    assert await office.deliver(mail(QUOTING), office.answering(ada, sent)) == "250 2.6.0 Taken"
    assert await office.said() == [("Ada", "news > soup", "Fine by *me*.", "email")]
    event = await queue.until("message")
    assert event["message"]["sender_id"] == ada.user_id
    assert event["flags"] == []

    moved = await office.make.topic(news, "stew")
    await office.make.connection.execute(
        "UPDATE messages SET conversation_id = %(to)s WHERE id = %(id)s",
        to=moved.topic_id,
        id=sent,
    )
    await office.deliver(mail("And now?"), office.answering(ada, sent).upper())
    assert (await office.said())[1] == ("Ada", "news > stew", "And now?", "email")


async def test_a_direct_message_is_answered_to_all_who_are_in_it(office: Office):
    ada, bob, cyd = [await office.make.user(name) for name in ("Ada", "Bob", "Cyd")]
    client = await office.client(bob)
    everyone = [row.user_id for row in (ada, bob, cyd)]
    sent = (await client.post("/messages", type="direct", to=everyone, content="x"))["id"]
    queue = await (await office.client(cyd)).register(event_types=["message"])
    assert (await office.deliver(mail(), office.answering(ada, sent))).startswith("250")
    event = await queue.until("message")
    assert sorted(r["id"] for r in event["message"]["display_recipient"]) == everyone


async def test_who_has_lost_the_right_meanwhile_is_refused(office: Office):
    ada, bob, gone = [await office.make.user(name) for name in ("Ada", "Bob", "Gone")]
    secret = await office.make.channel("secret", subscribers=[ada, bob, gone], invite_only=True)
    sent = await office.make.message(bob, await office.make.topic(secret, "t"))
    await office.make.unsubscribe(secret, [ada])
    await users.update_active(
        office.make.connection, office.make.realm_id, [gone.user_id], active=False
    )
    answers = {
        row.full_name: await office.deliver(mail(), office.answering(row, sent))
        for row in (ada, bob, gone)
    }
    assert answers["Ada"].startswith("550 5.7.1 The message that you answer is gone")
    assert answers["Bob"].startswith("250")
    assert answers["Gone"].startswith("550 5.7.1 This address is no longer valid")

    await office.make.archive(secret)
    answer = await office.deliver(mail("more"), office.answering(bob, sent))
    assert answer == "550 5.7.1 Not authorized to send to channel 'secret'"
    await office.make.connection.execute("UPDATE realms SET deactivated = true")
    answer = await office.deliver(mail("more"), office.answering(bob, sent))
    assert answer.startswith("550 5.7.1 This organization has been deactivated")
    assert len(await office.said()) == 1


async def test_forged_or_expired_addresses_are_refused(office: Office):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada])
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    target = ToMessage(office.make.realm_id, ada.user_id, sent, 2**20)
    forged = MailAddresses("%s@chat.example.com", b"another key").of_message(target)
    good = office.answering(ada, sent, days_ago=DAYS_TO_ANSWER)
    bad = [
        forged,
        office.answering(ada, sent, days_ago=DAYS_TO_ANSWER + 1),
        good.replace("@", "a@"),
        good.replace("example.com", "example.org"),
        "answer@chat.example.com",
        "@chat.example.com",
    ]
    assert all(
        office.addresses.read(each, office.server.app.clock.now().date()) is None for each in bad
    )
    for each in bad[:-1]:
        assert await office.deliver(mail(), each) == "550 5.1.1 There is no such address"
    assert (await office.deliver(mail(), good)).startswith("250")


# -- channels


async def test_a_channels_address_posts_there_as_the_bot_and_says_who_wrote(office: Office):
    ada = await office.make.user("Ada")
    kitchen = await office.make.channel("Küche & Co", subscribers=[ada])
    client = await office.client(ada)
    address = (await client.get(f"/streams/{kitchen.channel_id}/email_address"))["email"]
    assert address.startswith("kuche-co.")
    assert address.endswith(".show-sender@chat.example.com")
    assert (await office.deliver(mail(subject="Fwd: [Re: soup] " + "x" * 80), address))[:3] == "250"
    [(sender, place, content, _)] = await office.said()
    assert sender == EMAIL_GATEWAY.full_name
    assert place == f"Küche & Co > [Re: soup] {'x' * 48}…"
    assert content.startswith("**From:** Ada Lovelace ")
    assert content.endswith("\n\nFine by me.")


async def test_addresses_of_oneself_and_ones_bot(office: Office):
    ada = await office.make.user("Ada")
    bot = await office.make.user("Robot", bot_type=1, bot_owner=ada)
    news = await office.make.channel("news", subscribers=[ada])
    client = await office.client(ada)

    async def address_of(row: UserRow) -> str:
        shown = await client.get(f"/streams/{news.channel_id}/email_address", sender_id=row.user_id)
        return str(shown["email"]).replace(".show-sender", "")

    for row in (ada, bot, office.gateway):
        answer = await office.deliver(mail("hi", subject=""), await address_of(row))
        assert answer.startswith("250")
    place = f"news > {NO_SUBJECT}"
    assert await office.said() == [
        (row.full_name, place, "hi", "email") for row in (ada, bot, office.gateway)
    ]
    robots = await address_of(bot)
    await office.make.connection.execute(
        "UPDATE users SET bot_owner_id = NULL WHERE user_id = %(id)s", id=bot.user_id
    )
    assert (await office.deliver(mail("more"), robots)).startswith("550")


async def test_the_bot_may_not_do_more_than_who_asked_for_the_address(office: Office):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada], invite_only=True)
    address = (await (await office.client(ada)).get(f"/streams/{news.channel_id}/email_address"))[
        "email"
    ]
    assert (await office.deliver(mail("first"), address)).startswith("250")
    await office.make.unsubscribe(news, [ada])
    assert (await office.deliver(mail("second"), address)).startswith("550 5.7.1")
    assert len(await office.said()) == 1


async def test_a_channel_without_topics_gets_mail_in_its_only_one(office: Office):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada], topics_policy="empty_topic_only")
    address = (await (await office.client(ada)).get(f"/streams/{news.channel_id}/email_address"))[
        "email"
    ]
    assert (await office.deliver(mail(), address)).startswith("250")
    assert [place for _, place, _, _ in await office.said()] == ["news > "]


# -- once, and never lost


async def test_the_same_mail_is_one_message(office: Office):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada])
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    to = office.answering(ada, sent)
    again = [await office.deliver(mail("hello"), to) for _ in range(3)]
    assert again == ["250 2.6.0 Taken"] * 3
    assert len(await office.said()) == 1
    await office.deliver(mail("hello", Message_ID="<2@mail.example.com>"), to)
    await office.deliver(mail("another text"), to)
    assert [content for _, _, content, _ in await office.said()] == [
        "hello",
        "hello",
        "another text",
    ]


async def test_a_mail_to_two_addresses_is_two_messages(office: Office):
    ada = await office.make.user("Ada")
    channels = [await office.make.channel(name, subscribers=[ada]) for name in ("news", "talk")]
    client = await office.client(ada)
    addresses = [
        (await client.get(f"/streams/{channel.channel_id}/email_address"))["email"]
        for channel in channels
    ]
    for address in (*addresses, *addresses):
        assert await office.deliver(mail("both"), address) == "250 2.6.0 Taken"
    sent = [await office.make.message(ada, await office.make.topic(channels[0], t)) for t in "ab"]
    for message_id in sent:
        await office.deliver(mail("both"), office.answering(ada, message_id))
    assert [place for _, place, _, _ in await office.said()] == [
        *("news > soup", "talk > soup", "news > a", "news > b")
    ]


# -- what hangs on it


def with_files(text: str, *contents: bytes) -> EmailMessage:
    message = mail(text)
    for number, content in enumerate(contents):
        message.add_attachment(
            content, maintype="image", subtype="png", filename=f"../{number} ü.png"
        )
    return message


async def test_files_become_uploads_of_who_says_it_and_are_read_by_who_reads_it(office: Office):
    ada, bob = await office.make.user("Ada"), await office.make.user("Bob")
    news = await office.make.channel("news", subscribers=[ada, bob], invite_only=True)
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    given = with_files("Look", b"one", b"two")
    for _ in range(2):
        assert (await office.deliver(given, office.answering(ada, sent)))[:3] == "250"
    [(_, _, content, _)] = await office.said()
    listed = (await (await office.client(ada)).get("/attachments"))["attachments"]
    assert [each["name"] for each in listed] == ["1 ü.png", "0 ü.png"]
    assert all(len(each["messages"]) == 1 for each in listed)
    paths = [each["path_id"] for each in reversed(listed)]
    links = [f"[{n} ü\\.png](/user_uploads/{path})" for n, path in enumerate(paths)]
    assert content == "Look\n\n" + "\n".join(links)
    reader, stranger = await office.client(bob), await office.make.user("Stranger")
    assert (await reader.fetch(f"/user_uploads/{paths[1]}")).content == b"two"
    other = await office.client(stranger)
    assert (await other.fetch(f"/user_uploads/{paths[1]}")).status == 404


async def test_files_beyond_the_limits_are_named(
    serving_with: ServerFactory, make: Make, connect: Any
):
    async with opened(serving_with, make, connect, max_file_upload_mib=1) as office:
        ada = await office.make.user("Ada")
        news = await office.make.channel("news", subscribers=[ada])
        sent = await office.make.message(ada, await office.make.topic(news, "t"))
        given = with_files("Look", b"x" * (1 << 20), b"x" * (1 << 20) + b"y")
        assert (await office.deliver(given, office.answering(ada, sent)))[:3] == "250"
        await office.make.change_settings(upload_quota_mib=1)
        await office.deliver(with_files("More", b"z"), office.answering(ada, sent))
        first, second = [content for _, _, content, _ in await office.said()]
        assert first.endswith(")\n\n*Left out: 1 ü\\.png*")
        assert second == "More\n\n*Left out: 0 ü\\.png*"


async def test_files_of_refused_mail_have_no_owner(office: Office):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada])
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    await office.make.archive(news)
    assert (await office.deliver(with_files("x", b"y"), office.answering(ada, sent)))[:3] == "550"
    assert await office.make.connection.value("SELECT count(*) FROM attachments") == 0


async def test_what_cannot_be_written_now_is_to_come_again(office: Office):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada])
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    to = office.answering(ada, sent)
    await office.make.connection.execute("ALTER TABLE dm_groups RENAME TO nowhere")
    await office.make.connection.execute("ALTER TABLE topics RENAME TO elsewhere")
    try:
        with capture_logs() as logs:
            assert (await office.deliver(mail(), to)).startswith("451")
    finally:
        await office.make.connection.execute("ALTER TABLE nowhere RENAME TO dm_groups")
        await office.make.connection.execute("ALTER TABLE elsewhere RENAME TO topics")
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["mail_in.failed"]
    assert to.partition("@")[0] not in str(logs)
    assert (await office.deliver(mail(), to)).startswith("250")
    assert len(await office.said()) == 1


# -- circles


@pytest.mark.parametrize(
    ("headers", "sender", "answer", "channel"),
    [
        ({"Auto_Submitted": "auto-replied (vacation)"}, ADA, "550", "550"),
        ({"X_Autoreply": "yes"}, ADA, "550", "550"),
        ({"Precedence": "auto_reply"}, ADA, "550", "550"),
        ({"Auto_Submitted": "auto-generated"}, ADA, "550", "250"),
        ({"List_Id": "<cooks.example.com>"}, ADA, "550", "250"),
        ({"Precedence": "bulk"}, ADA, "550", "250"),
        ({"Auto_Submitted": "no"}, ADA, "250", "250"),
        ({}, "", "550", "550"),
        ({"Message_ID": "<missed.1.2.3.77@{domain}>"}, ADA, "550", "550"),
        ({"Message_ID": "<hidden.5@{domain}>"}, ADA, "550", "550"),
        ({"List_Id": "<notifications.{domain}>"}, ADA, "550", "550"),
        ({"Message_ID": "<missed.1.2.3.77@elsewhere.example.com>"}, ADA, "250", "250"),
    ],
)
async def test_automatic_mail_is_no_answer_and_our_own_is_refused(
    office: Office, headers: dict[str, str], sender: str, answer: str, channel: str
):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada])
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    domain = (await office.server.app.realm_caches.of(office.make.realm_id).address()).domain
    given = {name: value.format(domain=domain) for name, value in headers.items()}
    address = (await (await office.client(ada)).get(f"/streams/{news.channel_id}/email_address"))[
        "email"
    ]
    to_person = await office.deliver(mail(**given), office.answering(ada, sent), sender)
    to_channel = await office.deliver(mail(**given), address, sender)
    assert (to_person[:3], to_channel[:3]) == (answer, channel)


# -- sessions


async def test_each_recipient_has_an_answer_of_its_own(office: Office):
    ada, bob = await office.make.user("Ada"), await office.make.user("Bob")
    news = await office.make.channel("news", subscribers=[ada, bob], invite_only=True)
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    await office.make.unsubscribe(news, [bob])
    async with office.dialogue() as one:
        answers = await one.hand_in(
            mail().as_bytes(), office.answering(ada, sent), office.answering(bob, sent)
        )
        assert [answer[:3] for answer in answers] == ["250", "550"]
        assert (await one.say("QUIT")).startswith("221")


async def test_over_smtp_recipients_come_one_by_one(
    serving_with: ServerFactory, make: Make, connect: Any, certificate: Certificate
):
    more = {
        "mail_in_protocol": "smtp",
        "mail_in_certificate": certificate.folder / "certificate.pem",
        "mail_in_key": certificate.folder / "key.pem",
    }
    async with opened(serving_with, make, connect, **more) as office:
        ada, bob = await office.make.user("Ada"), await office.make.user("Bob")
        news = await office.make.channel("news", subscribers=[ada, bob])
        sent = await office.make.message(ada, await office.make.topic(news, "t"))
        to = [office.answering(row, sent) for row in (ada, bob)]
        async with office.dialogue("EHLO test") as one:
            assert (await one.hand_in(mail().as_bytes(), *to)) == ["452 4.5.3 Too many recipients"]
        client = aiosmtplib.SMTP(
            hostname="127.0.0.1",
            port=office.port,
            start_tls=True,
            tls_context=certificate.client,
        )
        async with client:
            for address in to:
                await client.send_message(mail("Grüße 🙂"), sender=ADA, recipients=[address])
        assert [content for _, _, content, _ in await office.said()] == ["Grüße 🙂"] * 2

        crowd = [await asyncio.open_connection("127.0.0.1", office.port) for _ in range(10)]
        first = [(await reader.readline())[:3] for reader, _ in crowd]
        assert first.count(b"220") == MAX_OF_ONE_PEER
        assert first.count(b"421") == 10 - MAX_OF_ONE_PEER
        for _, writer in crowd:
            writer.close()


async def test_too_much_is_refused_and_a_line_without_end_is_cut_off(
    serving_with: ServerFactory, make: Make, connect: Any
):
    async with opened(serving_with, make, connect, mail_in_max_mib=1) as office:
        ada = await office.make.user("Ada")
        news = await office.make.channel("news", subscribers=[ada])
        sent = await office.make.message(ada, await office.make.topic(news, "t"))
        to = office.answering(ada, sent)
        assert (await office.deliver(mail("x" * 900 + "\n"), to))[:3] == "250"
        large = mail("\n".join(["x" * 900] * 1300))
        async with office.dialogue() as one:
            answers = await one.hand_in(large.as_bytes(), to, to.upper())
            assert [answer[:3] for answer in answers] == ["552", "552"]
            [answer] = await one.hand_in(mail("y").as_bytes(), to)
            assert answer.startswith("250")
        reader, writer = await asyncio.open_connection("127.0.0.1", office.port)
        with suppress(ConnectionError):
            for _ in range(64):
                writer.write(b"x" * 65_536)
                await writer.drain()
        with suppress(ConnectionError):
            async with asyncio.timeout(60):
                await reader.read()
        assert reader.at_eof() or reader.exception()
        writer.close()
        assert (await office.deliver(mail("after all"), to)).startswith("250")


async def test_what_a_session_holds_is_counted_until_it_is_answered(
    serving_with: ServerFactory, make: Make, connect: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mail_in, "MAX_HELD_BYTES", 0)  # twice the largest mail, then
    async with opened(serving_with, make, connect, mail_in_max_mib=1) as office:
        ada = await office.make.user("Ada")
        news = await office.make.channel("news", subscribers=[ada])
        sent = await office.make.message(ada, await office.make.topic(news, "t"))
        to = office.answering(ada, sent)
        good, large = [mail("\n".join(["x" * 900] * lines)).as_bytes() for lines in (1_100, 1_300)]
        async with office.dialogue() as one, office.dialogue() as two:
            # Refused mail is no longer in memory.
            assert (await one.hand_in(large, to))[0].startswith("552")
            async with office.server.app.database.transaction() as holding:
                await holding.execute("SELECT FROM realms FOR UPDATE")
                answer = asyncio.create_task(one.hand_in(good, to))
                await until_blocked_on_lock(holding)
                # What is being written is held, and there is no room for more.
                with suppress(ConnectionError):
                    assert await two.hand_in(large, to) == [""]
            assert await answer == ["250 2.6.0 Taken"]


async def test_one_home_is_one_peer(serving_with: ServerFactory, make: Make, connect: Any):
    async with opened(serving_with, make, connect, mail_in_protocol="smtp") as office:
        room = MailRoom(office.server.app, office.addresses)
        homes = [f"2001:db8::{n}" for n in range(MAX_OF_ONE_PEER + 1)]
        admitted = [room.admit(cast("Any", object()), address) for address in homes]
        assert admitted == [True] * MAX_OF_ONE_PEER + [False]
        assert room.admit(cast("Any", object()), "2001:db8:0:1::1")


async def test_an_address_takes_so_much_in_a_while(
    serving_with: ServerFactory, make: Make, connect: Any
):
    more = {"rate_limits": True, "rate_limit_mail": "2/600"}
    async with opened(serving_with, make, connect, **more) as office:
        ada, bob = await office.make.user("Ada"), await office.make.user("Bob")
        news = await office.make.channel("news", subscribers=[ada, bob])
        sent = await office.make.message(ada, await office.make.topic(news, "t"))
        answers = [
            await office.deliver(mail(f"{number}"), office.answering(ada, sent))
            for number in range(3)
        ]
        assert [answer[:3] for answer in answers] == ["250", "250", "450"]
        assert (await office.deliver(mail("x"), office.answering(bob, sent)))[:3] == "250"


async def test_what_is_no_mail_is_refused(office: Office):
    ada = await office.make.user("Ada")
    news = await office.make.channel("news", subscribers=[ada])
    sent = await office.make.message(ada, await office.make.topic(news, "t"))
    to = office.answering(ada, sent)
    nothing = b"From: \xff\xfe <>\nContent-Type: multipart/mixed; boundary=\n\n--\n\x00"
    async with office.dialogue() as one:
        for raw in (b"", nothing, b"\n\n", b"Subject: only\n\n   \n"):
            [answer] = await one.hand_in(raw, to)
            assert answer.startswith("550")
        [answer] = await one.hand_in(mail().as_bytes(), to)
        assert answer.startswith("250")


async def test_what_has_come_is_answered_though_the_server_stops(
    serving_with: ServerFactory, make: Make, connect: Any
):
    async with serving_with(mail_in_port=0) as server:
        taking = taking_mail(server.app)
        office = Office(server, await taking.__aenter__(), make, connect, await make.user("None"))
        ada = await make.user("Ada")
        news = await make.channel("news", subscribers=[ada])
        sent = await make.message(ada, await make.topic(news, "t"))
        async with office.dialogue() as one, office.dialogue() as idle:
            async with server.app.database.transaction() as holding:
                await holding.execute("SELECT FROM realms FOR UPDATE")
                answer = asyncio.create_task(
                    one.hand_in(mail().as_bytes(), office.answering(ada, sent))
                )
                await until_blocked_on_lock(holding)
                closing = asyncio.create_task(taking.__aexit__(None, None, None))
                await until_port_is_closed(office.port)
            assert await answer == ["250 2.6.0 Taken"]
            await closing
            assert await idle.answer() == ""
        assert len(await office.said()) == 1


async def until_port_is_closed(port: int) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionError:
                return
            writer.close()
