"""What bots keep from one run to the next."""

import asyncio

import pytest

from server.actions.bot_storage import MAX_CHARACTERS, MAX_KEY_LENGTH
from storage import bot_storage
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


async def put(client, values):
    return await client.call("PUT", "/bot_storage", storage=values)


async def kept(client, **fields):
    return (await client.get("/bot_storage", **fields))["storage"]


async def test_what_is_kept_is_there(log_in, make):
    bot = await log_in(await make.user(bot_type=1))
    (await put(bot, {"a": "one", "b": "", "ключ": "😀" * 10})).succeeded()
    (await put(bot, {"a": "two"})).succeeded()
    assert await kept(bot) == {"a": "two", "b": "", "ключ": "😀" * 10}
    assert await kept(bot, keys=["a"]) == {"a": "two"}
    assert await kept(bot, keys=[]) == {}

    await bot.delete("/bot_storage", keys=["a"])
    assert set(await kept(bot)) == {"b", "ключ"}
    (await put(bot, {})).succeeded()
    await bot.delete("/bot_storage")
    assert await kept(bot) == {}
    await bot.delete("/bot_storage")


async def test_what_is_not_there_is_told_and_nothing_else_goes(log_in):
    bot = await log_in(bot_type=1)
    await put(bot, {"a": "one"})
    for method in ("GET", "DELETE"):
        answer = await bot.call(method, "/bot_storage", keys=["a", "b"])
        assert answer.refused()["msg"] == "Key does not exist."
    assert await kept(bot) == {"a": "one"}


async def test_each_has_their_own(log_in, make, connect, server):
    one, other = await log_in(bot_type=1), await log_in(bot_type=1)
    elsewhere = await new_realm(make.connection)
    namesake = await elsewhere.user(email=one.email, bot_type=1)
    stranger = await connect(server, elsewhere.realm_id, namesake)
    for number, client in enumerate((one, other, stranger)):
        await put(client, {"a": str(number)})
    await other.delete("/bot_storage")
    assert [await kept(client) for client in (one, other, stranger)] == [{"a": "0"}, {}, {"a": "2"}]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"k" * (MAX_KEY_LENGTH + 1): "x"}, "REQUEST_VARIABLE_INVALID"),
        ({"a\0": "x"}, "REQUEST_VARIABLE_INVALID"),
        ({"a": "\0"}, "REQUEST_VARIABLE_INVALID"),
        ({"a": 1}, "REQUEST_VARIABLE_INVALID"),
        ({"a": {"b": "c"}}, "REQUEST_VARIABLE_INVALID"),
        (["a"], "REQUEST_VARIABLE_INVALID"),
        (None, "REQUEST_VARIABLE_MISSING"),
    ],
)
async def test_what_cannot_be_kept_is_refused(log_in, values, code):
    bot = await log_in(bot_type=1)
    (await put(bot, values)).refused(code)
    assert await kept(bot) == {}


async def test_the_longest_key_is_kept(log_in):
    bot = await log_in(bot_type=1)
    await put(bot, {"😀" * MAX_KEY_LENGTH: "x"})
    assert await kept(bot) == {"😀" * MAX_KEY_LENGTH: "x"}


async def test_the_limit_is_for_all_that_a_bot_keeps(log_in, make):
    bot = await log_in(bot_type=1)
    large = {"large": "x" * (MAX_CHARACTERS - 20_000 - 5)}
    await bot_storage.put(make.connection, make.realm_id, bot.user.user_id, large)
    half = "x" * 9_999
    answers = await asyncio.gather(*(put(bot, {name: half}) for name in "abc"))
    assert sorted(answer.status for answer in answers) == [200, 200, 400]
    [refused] = [answer.refused()["msg"] for answer in answers if answer.status == 400]
    assert refused == (
        "Request exceeds storage limit by 10000 characters. The limit is 10000000 characters."
    )
    (await put(bot, {"large": "small", "d": half})).succeeded()
