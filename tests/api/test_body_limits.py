"""What is larger than it may be, or made of too many parts, is refused before it is parsed."""

import json
import time

import pytest

from tests.api.test_external import JSON, SLACK, hook

__all__ = ["hook"]
pytestmark = pytest.mark.asyncio

MIB = 1 << 20


@pytest.mark.parametrize("path", [SLACK, JSON])
async def test_a_webhook_takes_a_mebibyte(hook, path):
    answer = await hook(path, {"text": "x" * MIB})
    answer.refused(status=413)
    (await hook(path, {"text": "x" * (MIB - 100)})).succeeded()


@pytest.mark.parametrize(
    "raw", [b"[" * (MIB - 1), b'{"blocks":[' + b"[]," * 349_000 + b"0]}", b"{" + b'"a":' * 260_000]
)
async def test_hostile_payloads_do_not_occupy_the_server(hook, raw):
    await hook(SLACK, None, raw=raw)  # starts the process, and is answered
    began = time.process_time()
    assert (await hook(SLACK, None, raw=raw)).status == 400
    assert time.process_time() - began < 0.5


async def test_large_payloads_say_what_small_ones_say(hook):
    padded = {"text": "*hello*", "padding": "x" * 100_000}
    (await hook(SLACK, padded)).succeeded()
    page = await hook.member.get(
        "/messages", anchor="newest", num_before=1, num_after=0, apply_markdown=False
    )
    assert page["messages"][-1]["content"] == "**hello**"


async def test_too_many_items_are_refused_before_they_are_read(hook):
    for value in ("[" + "1," * 60_000 + "1]", "[" * 20_000, json.dumps(["[]"] * 30_000)):
        answer = await hook.member.call("POST", "/users/me/alert_words", alert_words=value)
        answer.refused("REQUEST_VARIABLE_INVALID")
