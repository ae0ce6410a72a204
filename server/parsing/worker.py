"""The parsing process: parses emails, pages and payloads of webhooks."""

from collections.abc import Sequence
from typing import Final

import msgspec

from server.integrations.registry import read_delivery
from server.mail import incoming
from server.parsing import wire
from server.parsing.reading import read_webhook
from server.previews import page
from server.runtime.sandbox_worker import serve

MEMORY_BYTES: Final = 1 << 30


def main() -> None:
    serve(
        msgspec.msgpack.Decoder(wire.Order).decode,
        lambda order: msgspec.msgpack.encode(answer(order)),
        cpu_seconds=lambda order: wire.CPU_SECONDS[type(order)],
        memory_bytes=MEMORY_BYTES,
    )


def answer(order: wire.Order) -> object:
    """Handle a request."""
    match order:
        case wire.MailOrder():
            return read_mail(order)
        case wire.PageOrder():
            return page.read_page(order.body, url=order.url, content_type=order.content_type)
        case wire.OembedOrder():
            return page.with_oembed(order.page, order.body, url=order.url)
        case wire.WebhookOrder():
            return read_webhook(order)
        case wire.IntegrationOrder():
            return read_delivery(order.name, order.body, order.headers, order.options)


def read_mail(order: wire.MailOrder) -> wire.MailAnswer:
    """Return the email for each of its addresses."""
    try:
        letter = incoming.read(order.raw)
    except incoming.UnreadableError as error:
        return wire.MailAnswer(refusal=str(error))
    contents = [
        _content(letter, options, to_person=to_person) for options, to_person in order.wanted
    ]
    return wire.MailAnswer(letter.headers, contents)


def _content(
    letter: incoming.OpenLetter, options: Sequence[str], *, to_person: bool
) -> incoming.Content | str:
    try:
        return incoming.content_of(letter, options, to_person=to_person)
    except incoming.UnreadableError as error:
        return str(error)


if __name__ == "__main__":
    main()
