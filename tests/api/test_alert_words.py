"""Alert words over HTTP, and the messages in which they are found."""

import pytest
import pytest_asyncio

from server.domain.alert_words import MAX_WORDS

pytestmark = pytest.mark.asyncio

PATH = "/users/me/alert_words"


@pytest_asyncio.fixture
async def bob(log_in):
    return await log_in()


async def words(client):
    return (await client.get(PATH))["alert_words"]


async def test_words_are_added_and_taken_away(bob):
    queue = await bob.register(event_types=["alert_words"], fetch_event_types=["alert_words"])
    assert queue.state["alert_words"] == []
    answer = await bob.post(PATH, alert_words=["lunch", " Parley  chat", "LUNCH", ""])
    assert answer["alert_words"] == ["lunch", "Parley chat"] == await words(bob)
    [event] = await queue.poll()
    assert event["alert_words"] == ["lunch", "Parley chat"]

    answer = await bob.delete(PATH, alert_words=["LUNCH", "other"])
    assert answer["alert_words"] == ["Parley chat"] == await words(bob)
    [event] = await queue.poll()
    assert event["alert_words"] == ["Parley chat"]


async def test_a_change_without_effect_sends_no_event(bob):
    await bob.post(PATH, alert_words=["a"])
    queue = await bob.register(event_types=["alert_words"])
    assert (await bob.post(PATH, alert_words=["A", " "]))["alert_words"] == ["a"]
    assert (await bob.delete(PATH, alert_words=["b"]))["alert_words"] == ["a"]
    assert (await bob.post(PATH, alert_words=[]))["alert_words"] == ["a"]
    assert await queue.poll(dont_block=True) == []


@pytest.mark.parametrize("bad", [["x" * 101], [f"w{n}" for n in range(MAX_WORDS + 1)]])
async def test_what_is_too_much_is_refused_whole(bob, bad):
    (await bob.call("POST", PATH, alert_words=["good", *bad])).refused()
    assert await words(bob) == []


@pytest.mark.parametrize("bad", ["no list", "[1]", "{}", ["a\0b"]])
async def test_bad_parameters(bob, bad):
    for method in ("POST", "DELETE"):
        answer = await bob.call(method, PATH, alert_words=bad)
        assert answer.status == 400


async def test_no_other_user_sees_or_hears_of_them(bob, log_in):
    carol = await log_in()
    queue = await carol.register(event_types=["alert_words"])
    await bob.post(PATH, alert_words=["secret"])
    assert await words(carol) == []
    assert await queue.poll(dont_block=True) == []


async def test_messages_with_a_word_are_flagged_for_whom_they_reach(bob, log_in, make):
    alice, carol = await log_in(), await log_in()
    channel = await make.channel(subscribers=[alice.user, bob.user], invite_only=True)
    queue = await bob.register(event_types=["message"])
    for client in (bob, carol):
        await client.post(PATH, alert_words=["lunch"])

    async def say(content):
        fields = {"type": "channel", "to": channel.channel_id, "topic": "t"}
        return (await alice.post("/messages", content=content, **fields))["id"]

    found, _ = await say("LUNCH, anyone?"), await say("lunchtime")
    [first, second] = [await queue.until("message") for _ in range(2)]
    assert "has_alert_word" in first["flags"]
    assert "has_alert_word" not in second["flags"]
    page = await bob.get(
        "/messages", anchor="newest", num_before=9, num_after=0, narrow=[["is", "alerted"]]
    )
    assert [message["id"] for message in page["messages"]] == [found]
    flags = (await alice.get(f"/messages/{found}"))["message"]["flags"]
    assert "has_alert_word" not in flags

    await bob.delete(PATH, alert_words=["lunch"])
    later = await say("lunch again")
    assert "has_alert_word" not in (await bob.get(f"/messages/{later}"))["message"]["flags"]
