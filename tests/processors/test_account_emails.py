"""From what happens to an account to an email."""

from dataclasses import replace

import pytest

from queue_processors import account_emails
from queue_processors.processor import PermanentError
from server.domain.account_news import Deactivated
from server.jobs import AccountEmail
from server.mail.mailer import MailNotTakenNowError
from server.mail.smtp import open_smtp_mailer
from testkit.services.mail_server import listening

pytestmark = pytest.mark.asyncio


def job_for(make, *, comment="", address="cook@example.com", name="Cook") -> AccountEmail:
    news = Deactivated(comment=comment)
    return AccountEmail(realm_id=make.realm_id, address=address, full_name=name, news=news)


async def mailed(server, *jobs, answers=(), on_data=()):
    """The mails that come of these jobs, at a mail server that answers like this."""
    async with listening() as sink, open_smtp_mailer(sink.server()) as mailer:
        sink.answers, sink.on_data = list(answers), list(on_data)
        app = replace(server.app, mailer=mailer)
        for job in jobs:
            await account_emails.handle(app, job)
        return sink.mails


def bodies(mail) -> list[str]:
    return [part.get_content() for part in mail.walk() if not part.is_multipart()]


async def test_who_is_deactivated_is_told_with_the_comment(server, make):
    comment = "Thank you!\n<b>Bye</b> {{ 7 * 7 }}"
    [mail] = await mailed(server, job_for(make, comment=comment))
    assert mail["To"].addresses[0].addr_spec == "cook@example.com"
    assert mail["To"].addresses[0].display_name == "Cook"
    assert "has been deactivated" in mail["Subject"]
    assert mail["Auto-Submitted"] == "auto-generated"
    text, html = (body.replace("\r\n", "\n") for body in bodies(mail))
    assert "> Thank you!\n> <b>Bye</b> {{ 7 * 7 }}" in text
    assert "&lt;b&gt;Bye&lt;/b&gt; {{ 7 * 7 }}" in html


async def test_without_a_comment_the_mail_has_none(server, make):
    [mail] = await mailed(server, job_for(make))
    assert all("administrators" not in body for body in bodies(mail))


async def test_twice_is_one_mail_to_who_reads_it(server, make):
    job = job_for(make)
    one, same, other = await mailed(server, job, job, job_for(make))
    assert one["Message-ID"] == same["Message-ID"] != other["Message-ID"]


async def test_names_add_no_headers(server, make):
    [mail] = await mailed(server, job_for(make, name="Cook\r\nBcc: all@example.com"))
    assert mail["Bcc"] is None
    assert len(mail["To"].addresses) == 1


async def test_what_mail_servers_say_counts(server, make):
    """Later is later, no is no: for the address it is the end, for the mail a dead letter."""
    with pytest.raises(MailNotTakenNowError):
        await mailed(server, job_for(make), answers=["451 later"])
    with pytest.raises(PermanentError):
        await mailed(server, job_for(make), on_data=["554 no"])
    assert await mailed(server, job_for(make), answers=["550 nobody"]) == []
    assert await mailed(server, job_for(make, address="nobody")) == []


async def test_without_a_mail_server_nothing_is_sent(server, make):
    await account_emails.handle(replace(server.app, mailer=None), job_for(make))
