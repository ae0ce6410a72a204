"""Emails fit the screen of a phone, whatever people have written: nothing scrolls sideways."""

from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from server.mail.missed_messages import MailedMessage, about, without_content
from testkit.clients.browser import Page
from testkit.sample_mails import HEAD, MAILS, NOON, conversation, parts
from tests.acceptance.test_joining_pages import WIDER

LONG = "w" * 300
CELLS = "".join(f"<td>column-{n}-{'x' * 20}</td>" for n in range(20))
CONTENT = f"""
<p>{LONG}</p><p><a href="https://example.com/{LONG}">https://example.com/{LONG}</a></p>
<p><code>{LONG}</code></p><pre><code>{LONG}</code></pre>
<table><thead><tr>{CELLS}</tr></thead><tbody><tr>{CELLS}</tr></tbody></table>
<p><img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='2000' height='9'/>"
 width="2000" height="9"></p>
<blockquote><blockquote><p>{LONG}</p></blockquote></blockquote><ul><li><ul><li>{LONG}</li></ul></li></ul>
<h1>{LONG}</h1><p>{"字" * 200}</p>
<p><math><mrow>{"<mi>alpha</mi><mo>+</mo>" * 60}<mi>x</mi></mrow></math></p>
"""
MISSED: dict[str, Callable[[], EmailMessage]] = {
    "missed": lambda: about(
        HEAD,
        conversation(
            title=f"#{LONG} > {LONG}", messages=[MailedMessage(LONG, NOON, "", CONTENT)], earlier=3
        ),
    ),
    "hidden": lambda: without_content(HEAD, count=2, batch_id=1, last_id=9),
}


@pytest.mark.asyncio
async def test_no_mail_is_wider_than_a_phone(page: Page, tmp_path: Path):
    await page.look_like(width=390, still=True)
    wide = {}
    for number, (name, mail) in enumerate({**MAILS, **MISSED}.items()):
        path = tmp_path / f"{number}.html"
        path.write_text(parts(mail())[1])
        await page.go(path.as_uri())
        assert await page.run("innerWidth") == 390, name
        if over := await page.run(WIDER):
            wide[name] = over
    assert wide == {}
