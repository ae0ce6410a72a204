"""Mail to a real server on this machine: taken, refused, cut off, and kept secret."""

import asyncio
from email.message import EmailMessage

import pytest

from server.mail.mailer import AddressRefusedError, MailNotTakenNowError, MailRefusedError
from server.mail.smtp import SmtpMailer, open_smtp_mailer
from testkit.services.mail_server import Certificate, Sink, listening

pytestmark = pytest.mark.asyncio

ADA = "ada@example.com"


def mail(subject: str = "Hello") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Parley <parley@chat.example.com>"
    message["To"] = ADA
    message["Subject"] = subject
    message.set_content("Grüße, 你好, 🙂")
    return message


async def test_a_mail_arrives_as_it_was_written():
    async with listening() as sink, open_smtp_mailer(sink.server()) as mailer:
        await mailer.send(mail("Ünïcode"), ADA)
    [arrived] = sink.mails
    assert arrived["Subject"] == "Ünïcode"
    assert arrived.get_content().strip() == "Grüße, 你好, 🙂"
    assert sink.envelopes == [("parley@chat.example.com", [ADA])]


async def test_connections_are_kept_and_few():
    async with listening() as sink, open_smtp_mailer(sink.server(connections=2)) as mailer:
        await asyncio.gather(*[mailer.send(mail(str(n)), ADA) for n in range(20)])
        assert (len(sink.mails), mailer.connected) == (20, 2)
        assert sorted(int(m["Subject"]) for m in sink.mails) == list(range(20))


async def test_a_connection_that_died_meanwhile_costs_nothing():
    async with listening() as sink, open_smtp_mailer(sink.server(connections=1)) as mailer:
        await mailer.send(mail("first"), ADA)
        sink.hang_up()
        await mailer.send(mail("second"), ADA)
        assert [m["Subject"] for m in sink.mails] == ["first", "second"]


@pytest.mark.parametrize(
    ("answers", "on_data", "error"),
    [
        (["550 no such user"], [], AddressRefusedError),
        (["450 mailbox busy"], [], MailNotTakenNowError),
        ([], ["554 looks like spam"], MailRefusedError),
        ([], ["451 try later"], MailNotTakenNowError),
        (["421 going away"], [], MailNotTakenNowError),
    ],
)
async def test_refusals_are_told_apart_and_harm_no_other_mail(answers, on_data, error):
    async with listening() as sink, open_smtp_mailer(sink.server(connections=1)) as mailer:
        sink.answers, sink.on_data = answers, on_data
        with pytest.raises(error):
            await mailer.send(mail(), ADA)
        assert sink.mails == []
        await mailer.send(mail("next"), ADA)
        assert [m["Subject"] for m in sink.mails] == ["next"]


async def test_a_server_that_is_away_may_come_back():
    async with listening() as sink:
        gone = sink.server()
    async with open_smtp_mailer(gone) as mailer:
        with pytest.raises(MailNotTakenNowError):
            await mailer.send(mail(), ADA)


async def test_a_server_that_says_nothing_is_given_up():
    loop = asyncio.get_running_loop()
    silent = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0)
    mailer = SmtpMailer(Sink(port=silent.sockets[0].getsockname()[1]).server(timeout_seconds=0.2))
    with pytest.raises(MailNotTakenNowError, match=r"(?i)time"):
        await mailer.send(mail(), ADA)
    silent.close()
    await silent.wait_closed()


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_the_way_is_secret_and_the_server_is_who_it_says(
    security: str, certificate: Certificate
):
    serving = listening(tls=certificate.server, starttls=security == "starttls", password="p")
    async with serving as sink:
        trusting = sink.server(security=security, tls=certificate.client, user="u", password="p")
        async with open_smtp_mailer(trusting) as mailer:
            await mailer.send(mail(), ADA)
            await mailer.check()
        assert len(sink.mails) == 1
        strict = sink.server(security=security, user="u", password="p")
        async with open_smtp_mailer(strict) as mailer:
            with pytest.raises(MailNotTakenNowError, match=r"(?i)certificate"):
                await mailer.send(mail(), ADA)
    assert len(sink.mails) == 1


async def test_a_server_without_starttls_gets_nothing():
    async with listening() as sink, open_smtp_mailer(sink.server(security="starttls")) as mailer:
        with pytest.raises(MailNotTakenNowError):
            await mailer.send(mail(), ADA)
    assert sink.mails == []


async def test_a_wrong_password_is_no_fault_of_the_mail():
    async with listening(password="right") as sink:
        async with open_smtp_mailer(sink.server(user="u", password="right")) as mailer:
            await mailer.send(mail(), ADA)
        async with open_smtp_mailer(sink.server(user="u", password="wrong")) as mailer:
            with pytest.raises(MailNotTakenNowError):
                await mailer.send(mail(), ADA)
            with pytest.raises(MailNotTakenNowError):
                await mailer.check()
    assert len(sink.mails) == 1


async def test_long_headers_arrive_whole():
    long = mail()
    long["List-Unsubscribe"] = link = f"<https://chat.example.com/{'x' * 200}>"
    async with listening() as sink, open_smtp_mailer(sink.server()) as mailer:
        await mailer.send(long, ADA)
    [raw] = sink.raw
    assert f"List-Unsubscribe: {link}\r\n".encode() in raw
