"""Mail that is not sent: the folder that keeps it, and the pages that show it."""

import asyncio
import os
from contextlib import suppress
from email.message import EmailMessage

import pytest
import pytest_asyncio
from tornado.httpclient import AsyncHTTPClient

from server.mail import folder
from server.mail.folder import MailFolder
from server.mail.mailer import Mailer, MailNotTakenNowError
from server.operator.mail_folder import folder_pages
from server.runtime.sockets import LAST_PORT, open_sockets

pytestmark = pytest.mark.asyncio


def mail(number: int, subject: str = "Hello") -> EmailMessage:
    message = EmailMessage()
    message["Message-ID"] = f"<{number}@example.com>"
    message["From"], message["To"] = "Parley <noreply@example.com>", "Ada <ada@example.com>"
    message["Subject"] = subject
    message.set_content(f"text {number} <&")
    message.add_alternative(f"<p>html {number}</p><script>alert(1)</script>", subtype="html")
    return message


@pytest.fixture
def kept(tmp_path) -> MailFolder:
    return MailFolder(tmp_path / "emails")


@pytest_asyncio.fixture
async def get(kept):
    """Asks for a page, by another name of the machine if one is given."""
    async with folder_pages(kept, 0) as address:

        async def ask(path, method="GET", **headers):
            client = AsyncHTTPClient()
            return await client.fetch(
                address.rstrip("/") + path,
                method=method,
                headers=headers,
                raise_error=False,
                allow_nonstandard_methods=True,
            )

        yield ask


async def test_the_newest_are_kept_and_the_same_only_once(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "KEPT", 3)
    mailer: Mailer = kept
    for number in (1, 2, 3, 4):
        await mailer.send(mail(number), "ada@example.com")
        [path] = [p for p in (tmp_path / "emails").iterdir() if f"text {number}" in p.read_text()]
        os.utime(path, (number, number))
    await mailer.send(mail(3, "Again"), "ada@example.com")
    found = kept.newest_first()
    assert [each.text.strip() for each in found] == ["text 3 <&", "text 4 <&", "text 2 <&"]
    assert found[0].message["Subject"] == "Again"
    assert (tmp_path / "emails").stat().st_mode & 0o077 == 0


async def test_mails_that_come_together_are_all_kept_and_shown(kept):
    async def read_on() -> None:
        while True:
            await asyncio.to_thread(kept.newest_first)

    reading = asyncio.create_task(read_on())
    await asyncio.gather(
        *(kept.send(mail(number % 3), "ada@example.com") for number in range(60)),
    )
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    assert len(kept.newest_first()) == 3


async def test_a_mail_that_has_gone_meanwhile_is_not_shown(kept, tmp_path):
    await kept.send(mail(1), "ada@example.com")
    (tmp_path / "emails" / "0123456789abcdef.eml").symlink_to("nowhere")
    assert len(kept.newest_first()) == 1
    assert kept.named("0123456789abcdef") is None


async def test_a_folder_that_cannot_be_written_takes_mail_later(tmp_path):
    (tmp_path / "emails").write_text("a file")
    with pytest.raises(MailNotTakenNowError, match="File exists"):
        await MailFolder(tmp_path / "emails").send(mail(1), "ada@example.com")


async def test_pages_show_what_is_kept(kept, get):
    assert "There is none yet" in (await get("/")).body.decode()
    await kept.send(mail(1, "Soup & <b>bread</b>"), "ada@example.com")
    [one] = kept.newest_first()
    page = (await get("/")).body.decode()
    assert "Soup &amp; &lt;b&gt;bread&lt;/b&gt;" in page
    assert f'href="/{one.name}"' in page
    shown = await get(f"/{one.name}")
    assert "text 1 &lt;&amp;" in shown.body.decode()
    assert "alert" not in shown.body.decode()
    assert 'sandbox="allow-popups allow-popups-to-escape-sandbox"' in shown.body.decode()
    html = await get(f"/{one.name}/html")
    assert "<p>html 1</p>" in html.body.decode()
    assert html.headers["Content-Security-Policy"].startswith("sandbox allow-popups")
    assert "default-src 'none'" in html.headers["Content-Security-Policy"]
    assert "allow-scripts" not in html.headers["Content-Security-Policy"]


async def test_links_of_its_text_can_be_followed(kept, get):
    message = EmailMessage()
    message["Subject"], message["Message-ID"] = "Join", "<1@parley.test>"
    message.set_content("Join: http://x.example/join/1.a?b=1&c=2 <d>\n")
    await kept.send(message, "ada@example.com")
    [one] = kept.newest_first()
    shown = (await get(f"/{one.name}")).body.decode()
    assert 'href="http://x.example/join/1.a?b=1&amp;c=2"' in shown
    assert "<d>" not in shown


async def test_the_folder_is_closed_to_all_others(get):
    assert (await get("/", Host="evil.example.com")).code == 403
    assert (await get("/", Host="[")).code in (400, 403)
    assert (await get("/", Host="localhost:9")).code == 200
    for path in ("/0123456789abcdef", "/../../etc/passwd", "/x", "/0123456789abcdef/html"):
        assert (await get(path)).code == 404
    assert (await get("/", method="DELETE")).code == 405


async def test_after_the_last_port_comes_any(kept):
    async with folder_pages(kept, LAST_PORT + 1) as address:
        assert kept.shown_at == address
        assert 0 < int(address.rsplit(":", 1)[1].rstrip("/")) <= LAST_PORT


async def test_another_port_is_taken_if_one_is_used(kept):
    [socket] = open_sockets("127.0.0.1", 0)
    wanted = socket.getsockname()[1]
    async with folder_pages(kept, wanted) as address:
        assert int(address.rsplit(":", 1)[1].rstrip("/")) > wanted
    socket.close()
