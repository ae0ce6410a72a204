"""The table of emoji to which register points, and the picture of the server's own one."""

import json
import re

import pytest

from server.domain.addresses import API_PREFIX
from testkit.images import opened
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio

PICTURE = "/static/generated/emoji/images/emoji/unicode/zulip.png"


async def test_register_points_to_all_emoji_by_their_codes(log_in, spectator):
    registered = await (await log_in()).post("/register", fetch_event_types=["realm"])
    path = registered["server_emoji_data_url"].partition(API_PREFIX)[2]

    answer = await (await spectator()).send("GET", "/emoji_data")

    assert path == "/emoji_data"

    body = json.loads(answer.content)
    assert answer.status == 200
    assert "octopus" in body["code_to_names"]["1f419"]
    contract.validate_mobile(body, "object", "ServerEmojiData")


async def test_all_see_the_picture_of_the_servers_own_emoji(log_in, spectator):
    rendered = (await (await log_in()).post("/messages/render", content=":zulip:"))["rendered"]

    answer = await (await spectator()).fetch(PICTURE)

    assert re.findall('src="([^"]+)"', rendered) == [PICTURE]
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/png")
    assert opened(answer.content).size == (64, 64)
