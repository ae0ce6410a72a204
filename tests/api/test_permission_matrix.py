"""Every endpoint for all users and each kind of object: what is permitted, and nothing else."""

from dataclasses import replace

import pytest

from server.api.routes import ROUTES
from server.domain.access import OWNER
from testkit.clients.api import Client
from testkit.factories import new_realm
from tests.api.permissions.asking import ask, name_of
from tests.api.permissions.expectations import ALL, ROWS, Row
from tests.api.permissions.world import World

NO_ACCOUNT = "x-"
OFF = {"POST /dev_fetch_api_key", "GET /dev_list_users", "POST /jwt/fetch_api_key"}
"""Features that the operator has to switch on: refused to all alike."""


def test_every_endpoint_has_its_row():
    """Say in expectations.py who may call it: from the protocol, not from what it does."""
    routes, rows = {name_of(route) for route in ROUTES}, {row.endpoint for row in ROWS}
    assert routes - rows == set(), "endpoints without a row"
    assert rows - routes == set(), "rows without an endpoint"


def test_every_row_says_who_is_meant():
    for row in ROWS:
        assert row.rule
        assert row.allowed, row.endpoint
        for letters in row.allowed.values():
            assert set(letters) <= set(ALL), row.endpoint


async def wrong(world: World, client: Client, who: str, row: Row, kind: str) -> str | None:
    """What is not as it should be, or None."""
    # Those without an account ask for what is the member's.
    values = await row.objects(world, "m" if who in NO_ACCOUNT else who, kind)
    before = await world.make.position()
    answer = await ask(client, row.endpoint, {**values, **row.fields})
    said = f"{row.endpoint} of {kind} by {who}: {answer.status} {answer.content[:200]!r}"
    if who in row.allowed[kind]:
        if kind == row.idle and await world.make.position() != before:
            return f"it has done something: {said}"
        return None if answer.status in {200, 201, 204, 302} else f"refused: {said}"
    if answer.status not in ({401} if who in NO_ACCOUNT and not is_open(row) else {400, 401, 404}):
        return f"not refused: {said}"
    if await world.make.position() != before:
        return f"refused, but something has changed: {said}"
    return None


def is_open(row: Row) -> bool:
    """Whether people without an account are refused for what they ask, not for who they are."""
    return row.endpoint in OFF or any(
        set(letters) & set(NO_ACCOUNT)
        for each in ROWS
        for letters in each.allowed.values()
        if each.endpoint == row.endpoint
    )


@pytest.mark.asyncio
async def test_users_may_what_the_protocol_says_and_nothing_else(serving_with, make, connect):
    async with serving_with(web_public_channels=True, smtp_host="127.0.0.1") as server:
        world = await World.of(server, make, connect, "here")
        elsewhere = await (await new_realm(make.connection)).user(role=OWNER)
        clients = {
            **{letter: world.clients[letter] for letter in "OAMmgb"},
            "x": replace(await connect(server, make.realm_id, elsewhere), user=None),
            "-": await connect(server, make.realm_id),
        }

        found = [
            await wrong(world, client, who, row, kind)
            for row in ROWS
            for kind in row.allowed
            for who, client in clients.items()
        ]

    problems = [each for each in found if each is not None]
    assert not problems, "\n".join(problems)
