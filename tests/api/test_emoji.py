"""The table of emoji to which register points."""

import json

import pytest

from server.domain.addresses import API_PREFIX
from tests.fixtures import contract

pytestmark = pytest.mark.asyncio


async def test_register_points_to_all_emoji_by_their_codes(log_in, spectator):
    registered = await (await log_in()).post("/register", fetch_event_types=["realm"])
    path = registered["server_emoji_data_url"].partition(API_PREFIX)[2]

    answer = await (await spectator()).send("GET", "/emoji_data")

    assert path == "/emoji_data"

    body = json.loads(answer.content)
    assert answer.status == 200
    assert "octopus" in body["code_to_names"]["1f419"]
    contract.validate_mobile(body, "object", "ServerEmojiData")
