"""Each parameter of each endpoint with values that something might choke on."""

import asyncio
import re
import types
from typing import Any, Literal, Union, get_args, get_origin

import pytest

from server.api.endpoint import FileUpload
from server.api.params import readers
from server.api.routes import ROUTES
from server.domain.addresses import API_PREFIX
from testkit.clients.api import Client, Events

INTEGERS = (
    0,
    -1,
    2**31,
    2**31 - 1,
    -(2**31) - 1,
    2**53,
    2**63 - 1,
    -(2**63),
    2**63,
    10**40,
    -(10**12),
)
NASTY: tuple[str, ...] = (
    "",
    " ",
    "\0",
    "\t\n\r\x0b\x1f\x7f\u200b\u202e\ufeff\U0010ffff",
    "x" * 20_000,
    "ä" * 300,
    "%s %(a)s {} {0} \\ ' \" ; --",
    "(no topic)",
    "null",
    "true",
    "1.5",
    "1e999",
    "NaN",
    '"',
    '"\\u0000"',
    '"\\ud800"',
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "[null]",
    '[""]',
    '["\\u0000"]',
    '[{"name":""}]',
    '[{"operator":"channel","operand":"\\u0000"}]',
    '[["", ""]]',
    '{"direct_members":[-1],"direct_subgroups":[9223372036854775807]}',
    "[" * 2000,
    "[" + "1," * 5_000 + "1]",
    *map(str, INTEGERS),
    *(f"[{number}]" for number in INTEGERS),
)

OF_FEW_VALUES: tuple[str, ...] = ("", "\0", "null", "true", "0", "1", "2", '"x"', "[{}]")
"""For a parameter with few accepted values, already tried at some endpoint: parsing
refuses all others in the same way."""
OF_NUMBERS: tuple[str, ...] = ("", "1.5", "[1]", *map(str, INTEGERS))
"""For a number, of which it is the same."""

ELSEWHERE: dict[str, dict[str, Any]] = {
    "POST /messages": {"queue_id": None},
    "POST /typing": {"to": None},
    "DELETE /users/me/subscriptions": {"subscriptions": ["general"]},
}
"""Values that differ from those of the same name for other endpoints."""


@pytest.fixture
def sound(log_in, make):
    """A client, and values by name under which most requests succeed."""

    async def sound() -> tuple[Client, dict[str, Any]]:
        user, other = await make.user(role=100), await make.user()
        channel = await make.channel("general", subscribers=[user, other])
        client = await log_in(user)
        queue: Events = await client.register(event_types=["message"])
        where = {"type": "channel", "to": "general", "topic": "t"}
        sent = await client.post("/messages", **where, content="c")
        return client, {
            **where,
            "anchor": "newest",
            "content": "c",
            "dont_block": True,
            "email": other.email,
            "emoji_name": "octopus",
            "flag": "starred",
            "last_event_id": -1,
            "message_id": sent["id"],
            "messages": [sent["id"]],
            "name": "another",
            "num_after": 0,
            "num_before": 1,
            "op": "add",
            "password": "wrong",
            "queue_id": queue.queue_id,
            "stream": "general",
            "stream_id": channel.channel_id,
            "subscribers": [other.user_id],
            "subscriptions": [{"name": "general"}],
            "user_id": other.user_id,
            "username": "nobody@example.com",
        }

    return sound


JSON_ROUTES = [
    route
    for route in ROUTES
    if not route.at_root and not (isinstance(route.body, FileUpload) and not route.body.is_optional)
]


_tried: set[object] = set()


@pytest.mark.asyncio
@pytest.mark.parametrize("route", JSON_ROUTES, ids=lambda route: f"{route.method} {route.path}")
async def test_no_value_is_too_nasty(route, sound):
    client, values = await sound()
    values |= ELSEWHERE.get(f"{route.method} {route.path}", {})
    model = route.params.model_fields
    names = [name for name, field in model.items() if field.is_required() or name in values]
    base = {name: values[name] for name in names if name in values}
    in_path = {*re.findall(r"\{(\w+)\}", route.path)}
    fields = {name: value for name, value in base.items() if name not in in_path}

    few = asyncio.Semaphore(8)

    async def ask(name: str, nasty: str) -> None:
        path = route.path.format(**{key: values.get(key, 1) for key in in_path})
        async with few:
            answer = await client.call(route.method, path, **{**fields, name: nasty})
        assert answer.status < 500, (name, nasty, answer.content)

    for reader in readers(route.params):
        kind = route.params.model_fields[reader.name].annotation
        nasty_values = _nasty_values(kind)
        for name in reader.names:
            if name not in in_path:
                await asyncio.gather(*(ask(name, nasty) for nasty in nasty_values))


def _nasty_values(kind: object) -> tuple[str, ...]:
    """The values to try for a parameter of this type; all of them the first time."""
    if kind not in _tried:
        _tried.add(kind)
        return NASTY
    if _consists_of(kind, bool, types.NoneType, Literal):
        return OF_FEW_VALUES
    if _consists_of(kind, int, types.NoneType):
        return OF_NUMBERS
    return NASTY


def _consists_of(kind: object, *kinds: object) -> bool:
    if get_origin(kind) in (Union, types.UnionType):
        return all(_consists_of(each, *kinds) for each in get_args(kind))
    return kind in kinds or get_origin(kind) in kinds


@pytest.mark.asyncio
async def test_no_path_is_too_nasty(sound):
    client, _ = await sound()
    for route in ROUTES:
        if "{" in route.path:
            for nasty in ("0", "9" * 30, str(2**63), "%00", "%FF", "%F0%9F%90%99", "a%2Fb", "."):
                path = re.sub(r"\{\w+\}", nasty, route.path)
                answer = await client.send(
                    route.method, path, prefix="" if route.at_root else API_PREFIX
                )
                assert answer.status < 500, (path, answer.content)
