"""Zapier and IFTTT: messages that people compose there of what other services say."""

from collections.abc import Callable
from typing import Final

from server.integrations.base import Category, Delivery, Ignored, Integration, Message, Outcome
from server.integrations.markdown import one_line, without_mentions


def _reader(topic_keys: tuple[str, ...]) -> Callable[[Delivery], Outcome]:
    def read(delivery: Delivery) -> Outcome:
        payload = delivery.payload
        if payload["type"].text() == "auth":
            return Ignored("auth", "The address was checked.")
        topic = payload.first(*topic_keys).required_text()
        content = payload["content"].required_text()
        return Message(one_line(topic), without_mentions(content))

    return read


_BODY: Final = '{"topic": "…", "content": "…"}'

INTEGRATIONS: Final = (
    Integration(
        name="zapier",
        display_name="Zapier",
        category=Category.AUTOMATION,
        read=_reader(("topic", "subject")),
        setup=(
            "In the zap, add the action *Webhooks by Zapier*, *POST*.\n"
            "Paste `{url}` as *URL*, choose *json* as *Payload Type*, and add the fields `topic`"
            " and `content` under *Data*; the content is Markdown.\n"
            "Test the action, and publish the zap."
        ),
    ),
    Integration(
        name="ifttt",
        display_name="IFTTT",
        category=Category.AUTOMATION,
        read=_reader(("topic",)),
        setup=(
            "In the applet, choose *Webhooks*, *Make a web request* as *Then That*.\n"
            "Paste `{url}` as *URL*, and choose *POST* and *application/json*.\n"
            f"As *Body*, write `{_BODY}`: the content is Markdown."
        ),
    ),
)
