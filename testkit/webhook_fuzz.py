"""Deliveries of webhooks that are nearly those of services: samples, changed at random."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from server.domain.errors import DomainError
from server.domain.markdown import render
from server.domain.webhook_payloads import Said
from server.integrations.base import Message, Outcome
from server.integrations.registry import integrations, read_delivery
from server.integrations.templates import TemplateError, parse
from server.parsing.reading import read_webhook
from server.parsing.wire import WebhookOrder
from testkit.integration_samples import SAMPLES
from testkit.markdown.realm import STYLE, Realm

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e308, "", "x" * 5_000, "\u202e@**all**", "```", [], {}, [None], [[]]),
    *({"a": {}}, "a\nb", 2**70, "]( javascript:alert(1))", "> \\@**all**", "@**Ada Byron**"),
    *("@*support* @**topic**", "x\n\n# OUT\n\n@**everyone**", "\0\u2028\ufeff", "`@**all**`"),
    *("9" * 400, "1e999", float("1e-320"), "/poll @**all**", "<!-- @**all**", "https://["),
)
OUT = "OUT"
"""A heading that must stay within a quotation."""
PIECES = (
    *("{", "}", "{{", "|", ".", "*", "name", "commits", "id", "first 2", 'join "\\n"', " "),
    *("default x", "link url", "0", "-1", "bold", "quote", "block", "@", "**all**", "\n# "),
)
GENERAL = ("json", "slack_incoming")
COMPOSED = ("homeassistant", "ifttt", "zapier")
"""Services in which people compose the message, in Markdown: it is not quoted."""


@dataclass(frozen=True, slots=True)
class FuzzedDelivery:
    """What is sent to a service's address."""

    service: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)


@cache
def samples() -> list[tuple[str, dict[str, Any]]]:
    """Return all samples, with the names of their services."""
    paths = [path for path in sorted(SAMPLES.glob("*/*.json")) if path.name != "headers.json"]
    return [(path.parent.name, json.loads(Path(path).read_text())) for path in paths]


def random_delivery(random: Random) -> FuzzedDelivery:
    """Return a sample with changes: of its values, of its bytes, or of its headers."""
    service, sample = random.choice(samples())
    headers, options = dict(sample.get("headers", {})), dict(sample.get("options", {}))
    body = json.dumps(broken(sample["body"], random)).encode()
    kind = random.random()
    if kind < 0.15:
        body = _torn(body, random)
    elif kind < 0.2:
        body = json.dumps({"padding": "x" * random.choice((1_000, 20_000)), **_object(body)})[
            :60_000
        ].encode()
    elif kind < 0.3:
        headers = {name: random.choice((value, "", "x", "ping")) for name, value in headers.items()}
        service = random.choice(list(integrations()))
    elif kind < 0.4:
        service = random.choice(GENERAL)
        if service == "json":
            options = {
                name: "".join(random.choices(PIECES, k=random.randint(0, 8)))
                for name in ("topic_template", "text_template")
            }
    return FuzzedDelivery(service, body, headers, options)


def check(delivery: FuzzedDelivery) -> str:
    """Read the delivery, and return the outcome's name. Raises whatever is wrong."""
    if delivery.service in GENERAL:
        return _check_general(delivery)
    headers = {name.lower(): value for name, value in delivery.headers.items()}
    outcome: Outcome = read_delivery(
        delivery.service, delivery.body, headers, dict(delivery.options)
    )
    if isinstance(outcome, Message):
        assert isinstance(outcome.topic, str)
        check_content(outcome.content, is_composed=delivery.service in COMPOSED)
    return type(outcome).__name__


def _check_general(delivery: FuzzedDelivery) -> str:
    kind = "json" if delivery.service == "json" else "slack"
    topic, text = (delivery.options.get(f"{name}_template") for name in ("topic", "text"))
    try:
        for template in (topic, text):
            parse(template or "")
    except TemplateError:
        return "TemplateError"
    said: Said = read_webhook(WebhookOrder(kind, delivery.body, topic, text))  # type: ignore[arg-type]
    try:
        said.check()
    except DomainError:
        return "Refused"
    return "Said"


def check_content(content: str, *, is_composed: bool = False) -> None:
    """Assert that text of the service mentions no one, and does not leave its quotation.

    A message that is composed has none to leave.
    """
    rendered = render(content[:10_000], Realm(), STYLE)
    assert not rendered.channel_wildcard, content
    assert not rendered.topic_wildcard, content
    assert not rendered.mentioned_user_ids, content
    assert not rendered.mentioned_group_ids, content
    tree = LexborHTMLParser(rendered.html)
    for heading in [] if is_composed else tree.css("h1"):
        above, node = set(), heading.parent
        while node is not None:
            above.add(node.tag)
            node = node.parent
        assert OUT not in heading.text() or "blockquote" in above, content


def broken(value: Any, random: Random) -> Any:
    """Return the value with some of its parts replaced or removed."""
    copy = json.loads(json.dumps(value))
    for _ in range(random.randint(1, 4)):
        places = list(_places_of(copy))
        if not places:
            return deepcopy(random.choice(ODD_VALUES))
        parent, key = random.choice(places)
        if random.random() < 0.2:
            del parent[key]
        else:
            parent[key] = deepcopy(random.choice(ODD_VALUES))
    return copy


def _places_of(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(items) if isinstance(value, dict | list) else ():
        yield value, key
        if isinstance(each, dict | list):
            yield from _places_of(each)


def _object(body: bytes) -> dict[str, Any]:
    found = json.loads(body)
    return found if isinstance(found, dict) else {"value": found}


def _torn(body: bytes, random: Random) -> bytes:
    """Return the bytes cut, repeated, nested or with some of them replaced."""
    at = random.randrange(len(body) + 1)
    match random.randrange(5):
        case 0:
            return body[:at]
        case 1:
            return body[:at] + random.randbytes(random.randint(1, 8)) + body[at:]
        case 2:
            return b"[" * random.choice((3, 900, 5_000)) + body
        case 3:
            return body[:at] + body
        case _:
            return body.replace(b'"', random.choice((b"'", b'"\\ud800', b'"\x00')), 3)
