"""A bot that is mentioned in a channel open to it hears of it, wherever it is subscribed."""

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from server.domain.bots import EMBEDDED, GENERIC, OUTGOING_WEBHOOK
from testkit.clients.api import Client, Events

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def alice(log_in):
    return await log_in()


@pytest_asyncio.fixture
async def bot(log_in, make, alice):
    row = await make.user("Echo", bot_type=GENERIC, bot_owner=alice.user)
    return await log_in(row)


async def say(client: Client, channel, content: str) -> int:
    to = {"type": "channel", "to": channel.channel_id, "topic": "t"}
    sent: int = (await client.post("/messages", content=content, **to))["id"]
    return sent


async def heard(queue: Events, last: int) -> list[tuple[int, list[str]]]:
    """Ids and flags of the messages that come, up to the last."""
    found: list[tuple[int, list[str]]] = []
    while not found or found[-1][0] != last:
        found += [(event["message"]["id"], event["flags"]) for event in await queue.poll()]
    return found


async def test_a_bot_is_called_by_name_and_by_group(alice, bot, make):
    channel = await make.channel("general", subscribers=[alice.user])
    own = await make.channel("own", subscribers=[bot.user])
    await make.group("helpers", members=[bot.user])
    queue = await bot.register(event_types=["message"])
    await say(alice, channel, "no mention")
    await say(alice, channel, "`@**Echo**` and @_**Echo**, @**all**, @**topic**")
    named = await say(alice, channel, "@**Echo** hello")
    grouped = await say(alice, channel, "@*helpers* hello")
    there = await say(alice, own, "@**Echo** hello")
    assert await heard(queue, there) == [(each, ["mentioned"]) for each in (named, grouped, there)]
    answer = await bot.post("/messages", type="stream", to="general", topic="t", content="hello")
    assert answer["id"] > there


async def test_who_polls_later_hears_it_as_well(alice, bot, make, serving_with, connect):
    channel = await make.channel("general", subscribers=[alice.user])
    queue = await bot.register(event_types=["message"])
    named = await say(alice, channel, "@**Echo** hello")
    async with serving_with() as other:
        elsewhere = await connect(other, make.realm_id, bot.user)
        assert await heard(Events(elsewhere, queue.state), named) == [(named, ["mentioned"])]


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        ({"bot_type": GENERIC}, {"invite_only": True}),
        ({"bot_type": GENERIC, "role": GUEST}, {}),
        ({"bot_type": None}, {}),
        ({"bot_type": OUTGOING_WEBHOOK}, {}),
        ({"bot_type": EMBEDDED}, {}),
    ],
)
async def test_others_do_not(alice, log_in, make, facts, place):
    """People see mentions of channels that they are not in when they look there."""
    other = await log_in(await make.user("Echo", **facts))
    channel = await make.channel("general", subscribers=[alice.user], **place)
    queue = await other.register(event_types=["message"])
    await say(alice, channel, "@**Echo** hello")
    direct = await alice.post(
        "/messages", type="direct", to=[other.user.user_id], content="the last one"
    )
    assert await heard(queue, direct["id"]) == [(direct["id"], [])]
