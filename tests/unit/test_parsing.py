"""What the parsing process makes of mail, pages and payloads: the same as the functions do here."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.domain.webhook_payloads import Said
from server.mail import incoming
from server.parsing.parser import Parser, open_parser
from server.parsing.reading import read_webhook
from server.parsing.wire import MailOrder, WebhookOrder
from server.previews.page import PageMetadata, read_page

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAIL = (
    b"From: Ada <ada@example.com>\nSubject: Re: x\nContent-Type: multipart/mixed; boundary=b\n\n"
    b"--b\n\nhello\n> quote\n--b\nContent-Disposition: attachment; filename=a.bin\n"
    b"\n\x00\xff\n--b--\n"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def parser() -> AsyncIterator[Parser]:
    async with open_parser() as parser:
        yield parser


async def test_a_mail_is_read_for_each_kind_of_address(parser):
    wanted = [((), True), (("show-sender", "include-quotes"), False)]
    answer = await parser.mail(MailOrder(MAIL, wanted), share="ada")
    letter = incoming.read(MAIL)
    assert answer.headers == letter.headers
    assert list(answer.contents) == [
        incoming.content_of(letter, options, to_person=to_person) for options, to_person in wanted
    ]


async def test_a_mail_that_cannot_be_read_is_refused_for_all(parser):
    raw = b"a: b\n" * 20_000 + b"\nx"
    answer = await parser.mail(MailOrder(raw, [((), False)]), share="ada")
    assert answer.refusal == "This email has too many headers."


async def test_a_mail_that_says_nothing_is_refused_where_it_is_an_answer(parser):
    answer = await parser.mail(MailOrder(b"a: b\n\n", [((), True), ((), False)]), share="ada")
    assert answer.contents[0] == "This email says nothing."
    assert isinstance(answer.contents[1], incoming.Content)


async def test_a_page_and_its_oembed_are_read(parser):
    body = b"<title>The Rock</title><meta property='og:description' content='Big'>"
    where = {"url": "https://example.com/", "content_type": "text/html"}
    page = await parser.page(body, **where)
    assert page == read_page(body, **where) != PageMetadata()
    more = await parser.oembed(page, b'{"thumbnail_url": "/x.png"}', url="https://example.com/o")
    assert more.image == "https://example.com/x.png"


@pytest.mark.parametrize("kind", ["slack", "json"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "*hi*", "channel": "#ops"}',
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"blocks":[{"type":"rich_text","elements":['
        + b'{"type":"rich_text_list","elements":[' * 450
        + b"0"
        + b"]}" * 451
        + b"]}",
    ],
)
async def test_a_payload_says_the_same_there_and_here(parser, kind, body):
    order = WebhookOrder(kind, body, "{channel}", "Says {text|bold}")
    said = await parser.webhook(order, share=1)
    assert said == read_webhook(order)
    assert isinstance(said, Said)
