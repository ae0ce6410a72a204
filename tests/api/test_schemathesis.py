"""Requests made from the API's own description, sound and broken: none is too much for it."""

import asyncio
import json
import threading
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, cast

import hypothesis
import pytest
import schemathesis
import uvloop
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from server.domain.access import OWNER
from server.domain.addresses import API_PREFIX
from storage.database import Connection
from storage.driver import PgConnection
from testkit.clients.api import basic
from testkit.clients.server import ROOT_DOMAIN, serve
from testkit.factories import new_realm
from testkit.oracles import openapi

EXAMPLES = 5
"""Of each kind and operation: this is a check, not a search."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
PATIENCE_SECONDS = 20

schema = schemathesis.openapi.from_dict(openapi.document())
OPERATIONS: dict[str, Any] = {
    found.label: found for found in (cast("Any", r).ok() for r in schema.get_all_operations())
}


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and the headers of a user who may do everything there."""

    url: str
    headers: dict[str, str]


@pytest.fixture(scope="module")
def target(database_url: str) -> Iterator[Target]:
    with in_a_thread(database_url) as found:
        yield found


@contextmanager
def in_a_thread(database_url: str) -> Iterator[Target]:
    """A server beside the test, which asks it by blocking calls."""
    started = threading.Event()
    found: list[Target] = []
    ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        async with target_on(database_url) as target:
            found.append(target)
            stop = asyncio.Event()
            ends.append((asyncio.get_running_loop(), stop))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: uvloop.run(run()), daemon=True)
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    try:
        yield found[0]
    finally:
        [(loop, stop)] = ends
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_SECONDS)


@asynccontextmanager
async def target_on(database_url: str) -> AsyncIterator[Target]:
    async with (
        await PgConnection.connect(database_url, autocommit=True) as raw,
        serve(database_url) as server,
    ):
        make = await new_realm(Connection(raw))
        user = await make.user(role=OWNER)
        for name in ("general", "other"):
            await make.channel(name, subscribers=[user])
        host = await server.host_of(make.realm_id)
        headers = {"Host": host, "Authorization": basic(user.email, user.api_key)}
        assert host.endswith(ROOT_DOMAIN)
        yield Target(server.url + API_PREFIX, headers)


def as_form(body: Any) -> dict[str, Any]:
    """What to send instead, if the body has fields: everything but text is JSON here."""
    if not isinstance(body, dict):
        return {}
    fields = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()
    }
    return {"data": fields}


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_is_too_much(label: str, target: Target):
    operation = OPERATIONS[label]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        broken = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(cases | broken)
    def ask(case: Any) -> None:
        response = case.call(
            base_url=target.url,
            headers=target.headers,
            timeout=PATIENCE_SECONDS,
            **as_form(case.body),
        )
        case.validate_response(response, checks=CHECKS)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask()
