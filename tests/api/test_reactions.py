"""Reactions over HTTP: which emoji, on which messages, told to which users."""

import asyncio

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from server.domain.user_settings import NOBODY
from testkit.database import until_blocked_on_lock
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio

TADA = {"emoji_name": "tada", "emoji_code": "1f389", "reaction_type": "unicode_emoji"}


@pytest_asyncio.fixture
async def message_id(make: Make, people, channel):
    return await make.message(people[0], await make.topic(channel, "t"))


@pytest_asyncio.fixture
async def bob(log_in, people, message_id):
    return await log_in(people[1])


def react(client, message_id, /, **fields):
    return client.call("POST", f"/messages/{message_id}/reactions", **fields)


def unreact(client, message_id, /, **fields):
    return client.call("DELETE", f"/messages/{message_id}/reactions", **fields)


async def reactions(client, message_id):
    return (await client.get(f"/messages/{message_id}"))["message"]["reactions"]


async def test_a_reaction_is_told_and_kept(log_in, people, bob, message_id):
    alice = await log_in(people[0])
    queue = await alice.register(event_types=["reaction"])
    (await react(bob, message_id, emoji_name="tada")).succeeded()
    [added] = await queue.poll()
    told = {name: added[name] for name in TADA}
    assert (added["op"], told) == ("add", TADA)
    assert (added["message_id"], added["user_id"]) == (message_id, people[1].user_id)
    [kept] = await reactions(alice, message_id)
    assert kept["user_id"] == people[1].user_id
    assert {name: kept[name] for name in TADA} == TADA

    (await unreact(bob, message_id, emoji_name="tada")).succeeded()
    [removed] = await queue.poll()
    assert (removed["op"], {name: removed[name] for name in TADA}) == ("remove", TADA)
    assert await reactions(alice, message_id) == []


async def test_history_says_by_name_who_has_reacted(log_in, make, people, bob, message_id):
    shy = await make.user("Shy", settings={"email_address_visibility": NOBODY})
    alice, client = await log_in(people[0]), await log_in(shy)
    more = await make.channel("more", subscribers=[people[0]])
    await make.message(people[0], await make.topic(more, "t"))
    for each in (client, bob):
        (await react(each, message_id, emoji_name="tada")).succeeded()

    page = await alice.get("/messages", anchor="newest", num_before=9, num_after=0)

    [shown] = [each for each in page["messages"] if each["id"] == message_id]
    assert shown["reactions"] == await reactions(alice, message_id)
    first, second = [each["user"] for each in shown["reactions"]]
    assert (first["id"], first["full_name"]) == (shy.user_id, "Shy")
    assert first["email"].startswith(f"user{shy.user_id}@")
    assert second == {
        "id": people[1].user_id,
        "email": people[1].email,
        "full_name": people[1].full_name,
        "is_mirror_dummy": False,
    }
    assert [each["reactions"] for each in page["messages"] if each["id"] != message_id] == [[]]


async def test_the_same_twice_is_refused(bob, message_id):
    (await react(bob, message_id, **TADA)).succeeded()
    for fields in (TADA, {"emoji_name": "tada"}, {**TADA, "emoji_name": "party_popper"}):
        (await react(bob, message_id, **fields)).refused("REACTION_ALREADY_EXISTS")
    (await react(bob, message_id, emoji_name="heart")).succeeded()
    assert len(await reactions(bob, message_id)) == 2


async def test_what_is_not_there_is_not_taken_off(log_in, people, bob, message_id):
    (await react(bob, message_id, **TADA)).succeeded()
    alice = await log_in(people[0])
    (await unreact(alice, message_id, **TADA)).refused("REACTION_DOES_NOT_EXIST")
    (await unreact(bob, message_id, emoji_name="heart")).refused("REACTION_DOES_NOT_EXIST")
    (await unreact(bob, message_id, **TADA, unknown=["x"])).succeeded()
    (await unreact(bob, message_id, **TADA)).refused("REACTION_DOES_NOT_EXIST")


async def test_an_emoji_is_taken_off_by_name_or_code(bob, message_id):
    for named in (
        {"emoji_name": "tada"},
        {"emoji_code": "1f389"},
        {"emoji_code": "1f389", "reaction_type": "unicode_emoji"},
        TADA,
    ):
        (await react(bob, message_id, emoji_name="tada")).succeeded()
        (await unreact(bob, message_id, **named)).succeeded()
    (await unreact(bob, message_id)).refused("BAD_REQUEST")
    (await unreact(bob, message_id, emoji_name="no such emoji")).refused("BAD_REQUEST")


async def test_the_first_reaction_names_the_emoji(log_in, people, bob, message_id):
    (await react(bob, message_id, **{**TADA, "emoji_name": "party_popper"})).succeeded()
    alice = await log_in(people[0])
    (await react(alice, message_id, emoji_name="tada")).succeeded()
    names = [each["emoji_name"] for each in await reactions(alice, message_id)]
    assert names == ["party_popper", "party_popper"]
    (await unreact(alice, message_id, emoji_name="tada")).succeeded()


async def test_the_emoji_of_the_protocol_itself(bob, message_id):
    (await react(bob, message_id, emoji_name="zulip")).succeeded()
    [kept] = await reactions(bob, message_id)
    assert kept["reaction_type"] == "zulip_extra_emoji"
    (await unreact(bob, message_id, emoji_name="zulip")).succeeded()


async def test_an_emoji_is_called_as_the_client_calls_it(bob, message_id):
    """These are names of zulip-terminal's: one that is not ours, and one of another emoji here."""
    for name, code in (("like", "1f44d"), ("dizzy", "1f635")):
        (await react(bob, message_id, emoji_name=name, emoji_code=code)).succeeded()


async def test_what_is_no_emoji_is_refused(bob, message_id):
    for fields in (
        {"emoji_name": "no such emoji"},
        {"emoji_name": ""},
        {"emoji_name": "tada", "emoji_code": "zz"},
        {"emoji_name": "tada", "emoji_code": "1F389"},
        {"emoji_name": "T a", "emoji_code": "1f389"},
        {"emoji_name": "<b>", "emoji_code": "1f389"},
        {"emoji_name": "tada", "reaction_type": "realm_emoji"},
        {"emoji_name": "tada", "reaction_type": "nonsense"},
    ):
        (await react(bob, message_id, **fields)).refused("BAD_REQUEST")
    body = (await react(bob, message_id)).refused("REQUEST_VARIABLE_MISSING")
    assert body["var_name"] == "emoji_name"
    assert await reactions(bob, message_id) == []


async def test_one_reacts_to_what_one_may_read(log_in, make, people, bob, message_id):
    """A stranger to the channel may read it; it comes into their history."""
    stranger = await log_in()
    (await react(stranger, message_id, emoji_name="tada")).succeeded()
    flags = (await stranger.get(f"/messages/{message_id}"))["message"]["flags"]
    assert "historical" in flags
    (await react(await log_in(role=GUEST), message_id, emoji_name="tada")).refused("BAD_REQUEST")
    closed = await make.channel(subscribers=people[:1], invite_only=True)
    hidden = await make.message(people[0], await make.topic(closed, "t"))
    for number in (hidden, 10**9, 0):
        (await react(bob, number, emoji_name="tada")).refused("BAD_REQUEST")
        (await unreact(bob, number, emoji_name="tada")).refused("BAD_REQUEST")


async def test_direct_messages_get_reactions_from_their_people(log_in, people, bob, message_id):
    alice = await log_in(people[0])
    sent = await alice.post("/messages", type="direct", to=[people[1].user_id], content="x")
    carol = await log_in()
    queues = [await each.register(event_types=["reaction"]) for each in (alice, bob, carol)]
    (await react(bob, sent["id"], emoji_name="tada")).succeeded()
    assert [len(await queue.poll(dont_block=True)) for queue in queues] == [1, 1, 0]
    (await react(carol, sent["id"], emoji_name="tada")).refused("BAD_REQUEST")


async def test_another_realms_message_has_another_owner(log_in, make, bob, message_id):
    elsewhere = await new_realm(make.connection)
    stranger = await elsewhere.user()
    topic = await elsewhere.topic(await elsewhere.channel(subscribers=[stranger]), "t")
    last = message_id
    while last <= message_id:
        last = await elsewhere.message(stranger, topic)
    (await react(bob, last, emoji_name="tada")).refused("BAD_REQUEST")


async def test_who_has_left_hears_of_reactions_to_what_they_keep(bob, message_id, log_in, people):
    queue = await bob.register(event_types=["reaction"])
    (await bob.call("DELETE", "/users/me/subscriptions", subscriptions=["general"])).succeeded()
    alice = await log_in(people[0])

    for client, name in ((bob, "heart"), (alice, "smile")):
        (await react(client, message_id, emoji_name=name)).succeeded()
        assert (await queue.until("reaction"))["emoji_name"] == name


async def test_who_reacts_to_what_they_never_received_hears_of_it(log_in, message_id):
    carol = await log_in(full_name="Carol")
    queue = await carol.register(event_types=["reaction"])
    (await react(carol, message_id, emoji_name="heart")).succeeded()
    [event] = await queue.poll()
    assert event["emoji_name"] == "heart"


async def test_reacting_fails_in_a_channel_one_is_being_removed_from(
    make, people, log_in, database
):
    alice, bob = people[:2]
    secret = await make.channel("secret", invite_only=True, subscribers=[alice, bob])
    there = await make.message(alice, await make.topic(secret, "t"))
    client = await log_in(bob)
    async with database.transaction() as removal:
        where = {"realm_id": make.realm_id, "channel_id": secret.channel_id}
        await removal.execute(
            "SELECT FROM channels WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s"
            " FOR NO KEY UPDATE",
            **where,
        )
        reacting = asyncio.create_task(react(client, there, emoji_name="tada"))
        await until_blocked_on_lock(removal)
        await removal.execute(
            "UPDATE subscriptions SET active = false WHERE realm_id = %(realm_id)s"
            " AND channel_id = %(channel_id)s AND user_id = %(user_id)s",
            **where,
            user_id=bob.user_id,
        )
    (await reacting).refused()
