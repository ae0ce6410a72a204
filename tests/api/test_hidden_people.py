"""What one may not know of others, asked for in every way there is."""

import hashlib
import json
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.user_settings import (
    ADMINISTRATORS,
    EVERYONE,
    MEMBERS,
    MODERATORS,
    NOBODY,
)
from storage import avatars, user_grants, users

pytestmark = pytest.mark.asyncio

CANARY = "canary-4711@hidden.example.com"
ROLES = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST)
LEAST = {EVERYONE: GUEST, MEMBERS: MEMBER, MODERATORS: MODERATOR, ADMINISTRATORS: ADMINISTRATOR}


@pytest_asyncio.fixture(params=[NOBODY, ADMINISTRATORS, MODERATORS, MEMBERS, EVERYONE])
async def visibility(request):
    return request.param


def knows(role, visibility):
    return role <= LEAST.get(visibility, 0)


async def shy(make, visibility):
    settings = {"email_address_visibility": visibility}
    return await make.user("Shy", email=CANARY, settings=settings)


async def test_no_action_of_a_user_tells_their_address(log_in, make, visibility):
    """Whatever they do, and whatever others ask."""
    cook = await shy(make, visibility)
    watching = {role: await make.user(role=role) for role in ROLES}
    bot = await make.user(bot_type=1, bot_owner=cook)
    everyone = [cook, *watching.values()]
    channel = await make.channel("kitchen", subscribers=everyone)
    client = await log_in(cook)
    clients = {role: await log_in(row) for role, row in watching.items()}
    queues = {role: await client.register() for role, client in clients.items()}

    sent = await client.post(
        "/messages", type="channel", to="kitchen", topic="soup", content="@**all** hello"
    )
    ids = [row.user_id for row in watching.values()]
    await client.post("/messages", type="direct", to=ids, content="psst")
    await client.post(f"/messages/{sent['id']}/reactions", emoji_name="octopus")
    await client.patch(f"/messages/{sent['id']}", content="hello again")
    await client.post("/typing", type="direct", op="start", to=ids)
    await client.post("/users/me/presence", status="active")
    await client.post("/users/me/status", status_text="cooking")
    await client.patch("/settings", full_name="Shy Cook", timezone="Europe/Berlin")
    await client.patch(f"/bots/{bot.user_id}", full_name="Oven")

    for role, other in clients.items():
        events: list[dict[str, Any]] = []
        while not any(event["type"] == "realm_user" for event in events):
            events += await queues[role].poll()
        told = [
            events,
            queues[role].state,
            (await other.register(client_gravatar=False)).state,
            (await other.register(slim_presence=True)).state,
            await other.get("/users", client_gravatar=False, include_custom_profile_fields=True),
            await other.get(f"/users/{cook.user_id}"),
            await other.get(f"/users/{cook.user_id}/presence"),
            await other.get("/realm/presence"),
            await other.get("/messages", anchor="newest", num_before=50, num_after=0),
            await other.get(f"/messages/{sent['id']}"),
            await other.get(f"/messages/{sent['id']}/history"),
            await other.get(f"/streams/{channel.channel_id}/members"),
        ]
        assert (CANARY in str(told)) == knows(role, visibility), role


async def test_a_hidden_address_finds_no_user(log_in, make, visibility):
    cook = await shy(make, visibility)
    watching = [await make.user(role=role) for role in ROLES]
    await make.channel("kitchen", subscribers=[cook, *watching])
    for row in watching:
        client = await log_in(row)
        may = knows(row.role, visibility)
        narrows = [
            [{"operator": operator, "operand": CANARY.upper()}]
            for operator in ("sender", "dm", "dm-including")
        ]
        page = {"anchor": "newest", "num_before": 1, "num_after": 0}
        asked = [
            await client.call("GET", f"/users/{CANARY}"),
            await client.call("GET", f"/users/{CANARY}/presence"),
            await client.call("POST", "/messages", type="direct", to=[CANARY], content="found you"),
            *[await client.call("GET", "/messages", narrow=each, **page) for each in narrows],
        ]
        if row.role != GUEST:
            subscriptions = [{"name": "kitchen"}]
            asked.append(
                await client.call(
                    "POST",
                    "/users/me/subscriptions",
                    subscriptions=subscriptions,
                    principals=[CANARY],
                )
            )
        # A user never seen has no presence: that is said only of known users.
        found = [answer.status == 200 or b"presence" in answer.content for answer in asked]
        assert found == [may] * len(found), (row.role, [answer.content for answer in asked])


async def test_administrators_do_not_read_it_in_the_log_of_changes(log_in, make):
    boss = await make.user(role=ADMINISTRATOR)
    await user_grants.grant(make.connection, make.realm_id, boss.user_id, create_users=True)
    client = await log_in(boss)
    fields = {"email": CANARY, "full_name": "Shy", "password": "correct horse battery"}
    made = await client.post("/users", **fields)
    assert CANARY in str(await client.get("/realm/audit_log"))
    [row] = await users.by_ids(make.connection, make.realm_id, [made["user_id"]])
    await (await log_in(row)).patch("/settings", email_address_visibility=NOBODY)
    entries = await client.get("/realm/audit_log")
    assert CANARY not in str(entries)
    assert "user_created" in str(entries)


# -- guests who may know only people they have met


@pytest_asyncio.fixture
async def guest(make, log_in):
    """Has met Neighbour, in `kitchen`, and not Stranger."""
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    return await log_in(await make.user("Guest", role=GUEST))


async def neighbour_and_stranger(make, guest):
    neighbour, stranger = await make.user("Neighbour"), await make.user("Stranger")
    await make.channel("kitchen", subscribers=[guest.user, neighbour])
    return neighbour, stranger


async def test_such_a_guest_cannot_write_to_a_stranger(guest, make, log_in):
    neighbour, stranger = await neighbour_and_stranger(make, guest)
    gone = await make.user("Gone", is_active=False)
    bot = await make.user("Bot", bot_type=1, bot_owner=stranger)
    for to in ([stranger.user_id], [neighbour.user_id, stranger.user_id], [stranger.email]):
        answer = await guest.call("POST", "/messages", type="direct", to=to, content="hi")
        assert answer.refused()["msg"] == (
            f"Invalid email '{stranger.email}'"
            if to == [stranger.email]
            else f"Invalid user ID {stranger.user_id}"
        )
    answer = await guest.call("POST", "/messages", type="direct", to=[gone.user_id], content="hi")
    assert "Gone" not in answer.refused()["msg"]
    for to in (neighbour, bot, guest.user):
        await guest.post("/messages", type="direct", to=[to.user_id], content="hi")
    later = {"scheduled_delivery_timestamp": 4_000_000_000}
    fields = {"type": "direct", "to": [stranger.user_id], "content": "hi", **later}
    (await guest.call("POST", "/scheduled_messages", **fields)).refused()

    # The recipient of a message has met the guest.
    other = await log_in(stranger)
    await other.post("/messages", type="direct", to=[guest.user.user_id], content="hello")
    await guest.post("/messages", type="direct", to=[stranger.user_id], content="hi")


async def test_such_a_guest_does_not_learn_addresses_by_typing(guest, make):
    neighbour, stranger = await neighbour_and_stranger(make, guest)
    typing = {"type": "direct", "op": "start"}
    (await guest.call("POST", "/typing", to=[stranger.user_id], **typing)).refused()
    await guest.post("/typing", to=[neighbour.user_id], **typing)


async def test_such_a_guest_does_not_learn_names_by_mentions(guest, make, log_in):
    neighbour, stranger = await neighbour_and_stranger(make, guest)
    for row, is_known in ((neighbour, True), (stranger, False)):
        for content in (f"@**|{row.user_id}**", f"@**{row.full_name}**"):
            shown = (await guest.post("/messages/render", content=content))["rendered"]
            assert ("user-mention" in shown) == is_known
            assert is_known or row.full_name in content or row.full_name not in shown
    member = await log_in()
    shown = await member.post("/messages/render", content=f"@**|{stranger.user_id}**")
    assert "Stranger" in shown["rendered"]


HIDDEN_NAME = "Quillon Canary"
HIDDEN_ADDRESS = "quillon-4711@hidden.example.com"
HIDDEN_PICTURE = "avatars/5/canary-picture.png"
UNKNOWN = "Unknown user"


def hidden_in(told):
    """What of the stranger is in it that only those may know who have met them."""
    gravatar = hashlib.md5(HIDDEN_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    secrets = (HIDDEN_NAME, HIDDEN_ADDRESS, "canary-picture", gravatar)
    return [secret for secret in secrets if secret in str(told)]


@pytest_asyncio.fixture(params=["with an avatar", "without one"])
async def quillon(request, make):
    """A user who hides nothing: all who may know them know all of it."""
    row = await make.user(HIDDEN_NAME, email=HIDDEN_ADDRESS)
    if request.param == "with an avatar":
        await avatars.update(
            make.connection,
            make.realm_id,
            row.user_id,
            avatar_key=HIDDEN_PICTURE,
            avatar_version=2,
        )
        [row] = await users.by_ids(make.connection, make.realm_id, [row.user_id])
    return row


async def busy_stranger(log_in, channel, stranger):
    """Does in a public channel what one may do there without being in it; their message."""
    client = await log_in(stranger)
    sent = await client.post(
        "/messages", type="channel", to=channel.name, topic="soup", content="/poll hot?\nyes\nno"
    )
    vote = {"type": "vote", "key": "canned,0", "vote": 1}
    await client.post(
        "/submessage", message_id=sent["id"], msg_type="widget", content=json.dumps(vote)
    )
    text = await client.post(
        "/messages", type="channel", to=channel.name, topic="soup", content="with salt"
    )
    await client.post(f"/messages/{text['id']}/reactions", emoji_name="octopus")
    await client.patch(f"/messages/{text['id']}", content="with pepper")
    await client.post(
        "/typing", type="stream", op="start", stream_id=channel.channel_id, topic="soup"
    )
    return text["id"]


async def all_that_is_read(client, message_id, channel, stranger):
    """Every answer in which people are shown."""
    page = {"anchor": "newest", "num_before": 50, "num_after": 0}
    await client.post(f"/messages/{message_id}/reactions", emoji_name="heart")
    return [
        (await client.register(client_gravatar=False)).state,
        (await client.register(slim_presence=True, client_gravatar=True)).state,
        await client.get("/messages", client_gravatar=False, **page),
        await client.get("/messages", **page),
        await client.get("/messages", narrow=[["sender", stranger.user_id]], **page),
        await client.get("/messages", narrow=[["search", "pepper"]], **page),
        await client.get("/messages", message_ids=[message_id]),
        await client.get(f"/messages/{message_id}"),
        await client.get(f"/messages/{message_id}/history"),
        await client.get(f"/messages/{message_id}/read_receipts"),
        await client.get("/users", client_gravatar=False),
        await client.get(f"/streams/{channel.channel_id}/members"),
        await client.get(f"/users/me/{channel.channel_id}/topics"),
        await client.get("/realm/presence"),
        await client.get("/user_groups"),
        (await client.fetch(f"/avatar/{stranger.user_id}")).headers["Location"],
        (await client.fetch(f"/avatar/{stranger.user_id}/medium")).headers["Location"],
    ]


async def test_no_answer_tells_such_a_guest_who_a_stranger_is(guest, make, log_in, quillon):
    await make.change_settings(enable_read_receipts=True)
    channel = await make.channel("kitchen", subscribers=[guest.user])
    message_id = await busy_stranger(log_in, channel, quillon)
    told = await all_that_is_read(guest, message_id, channel, quillon)
    assert hidden_in(told) == []
    [shown] = [m for m in told[2]["messages"] if m["id"] == message_id]
    address = f"user{quillon.user_id}@"
    assert shown["sender_full_name"] == UNKNOWN
    assert shown["sender_email"].startswith(address)
    assert shown["sender_id"] == quillon.user_id
    assert shown["content"] == "<p>with pepper</p>"
    [reactor] = [r["user"] for r in shown["reactions"] if r["emoji_name"] == "octopus"]
    assert (reactor["full_name"], reactor["email"]) == (UNKNOWN, shown["sender_email"])

    # Members, and the guest once they have met, see them.
    member = await log_in()
    told = await all_that_is_read(member, message_id, channel, quillon)
    assert {HIDDEN_NAME, HIDDEN_ADDRESS} <= set(hidden_in(told))
    await make.subscribe(channel, [quillon])
    told = await guest.get("/messages", anchor="newest", num_before=9, num_after=0)
    assert {HIDDEN_NAME, HIDDEN_ADDRESS} <= set(hidden_in(told))
    await make.unsubscribe(channel, [quillon])
    told = await guest.get("/messages", anchor="newest", num_before=9, num_after=0)
    assert hidden_in(told) == []


async def test_no_answer_tells_such_a_guest_whether_an_address_is_used(
    guest, make, log_in, quillon
):
    """Not by what is refused, and not by what is found."""
    channel = await make.channel("kitchen", subscribers=[guest.user])
    await busy_stranger(log_in, channel, quillon)
    unused = HIDDEN_ADDRESS.replace("4711", "4712")

    async def answers(client, address):
        page = {"anchor": "newest", "num_before": 5, "num_after": 0}
        operators = ("sender", "dm", "dm-including", "mentions", "-sender")
        direct = {"type": "direct", "to": [address], "content": "hi"}
        asked: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/messages", direct),
            ("POST", "/messages", {**direct, "to": f"{client.user.email},{address}"}),
            ("GET", f"/users/{address}", {}),
            ("GET", f"/users/{address}/presence", {}),
            *[("GET", "/messages", {**page, "narrow": [[o, address]]}) for o in operators],
            ("GET", "/messages/matches_narrow", {"msg_ids": [1], "narrow": [["sender", address]]}),
            (
                "POST",
                "/messages/flags/narrow",
                {
                    **page,
                    "op": "add",
                    "flag": "starred",
                    "narrow": [{"operator": "sender", "operand": address}],
                },
            ),
            ("POST", "/messages/render", {"content": f"@**{address}**"}),
        ]
        found = [await client.call(method, path, **fields) for method, path, fields in asked]
        found.append(await client.fetch(f"/avatar/{address}"))
        return [(a.status, a.content.decode().replace(address, "ADDRESS")) for a in found]

    assert await answers(guest, HIDDEN_ADDRESS) == await answers(guest, unused)
    member = await log_in()
    assert await answers(member, HIDDEN_ADDRESS) != await answers(member, unused)


async def test_a_stranger_is_found_by_what_stands_for_their_address(guest, make, log_in, quillon):
    """Clients narrow by the address that messages show."""
    channel = await make.channel("kitchen", subscribers=[guest.user])
    message_id = await busy_stranger(log_in, channel, quillon)
    page = {"anchor": "newest", "num_before": 50, "num_after": 0}
    shown = (await guest.get("/messages", **page))["messages"]
    [address] = {m["sender_email"] for m in shown if m["id"] == message_id}
    found = (await guest.get("/messages", narrow=[["sender", address]], **page))["messages"]
    assert message_id in [message["id"] for message in found]


# -- the same in events


async def until_the_end(queue):
    """All events up to the message that says so."""
    events: list[dict[str, Any]] = []
    while not any(e["type"] == "message" and e["message"]["content"] == "end" for e in events):
        events += await queue.poll()
    return events


CAPABILITIES = {"stream_typing_notifications": True, "empty_topic_name": True}


async def listening(client, **fields):
    return await client.register(client_capabilities=CAPABILITIES, client_gravatar=False, **fields)


async def test_no_event_tells_such_a_guest_who_a_stranger_is(guest, make, log_in, quillon):
    neighbour = await make.user("Neighbour")
    channel = await make.channel("kitchen", subscribers=[guest.user, neighbour])
    member = await log_in(neighbour)
    clients = {"guest": guest, "member": member}
    queues = {name: await listening(client) for name, client in clients.items()}
    await busy_stranger(log_in, channel, quillon)
    stranger = await log_in(quillon)
    await stranger.post("/typing", type="direct", op="start", to=[guest.user.user_id])
    await stranger.post(
        "/typing", type="direct", op="start", to=[guest.user.user_id, neighbour.user_id]
    )
    await member.post("/messages", type="channel", to="kitchen", topic="soup", content="end")

    told = {name: await until_the_end(queue) for name, queue in queues.items()}
    assert hidden_in(told["guest"]) == []
    shown = {"message", "reaction", "typing", "submessage", "update_message"}
    assert shown <= {event["type"] for event in told["guest"]}
    by_kind = {event["type"]: event for event in told["guest"]}
    [message] = [
        e["message"] for e in told["guest"] if e.get("message", {}).get("content") == "with salt"
    ]
    address = message["sender_email"]
    assert address.startswith(f"user{quillon.user_id}@")
    assert message["sender_full_name"] == by_kind["reaction"]["user"]["full_name"] == UNKNOWN
    assert by_kind["reaction"]["user"]["email"] == address
    typing = [event for event in told["guest"] if event["type"] == "typing"]
    assert [event["sender"]["email"] for event in typing] == [address] * 3
    assert neighbour.email in str(typing)
    # What the message event shows is what history shows.
    [kept] = (await guest.get("/messages", message_ids=[message["id"]], client_gravatar=False))[
        "messages"
    ]
    names = ("sender_full_name", "sender_email", "avatar_url", "sender_id")
    assert [kept[name] for name in names] == [message[name] for name in names]
    assert {HIDDEN_NAME, HIDDEN_ADDRESS} <= set(hidden_in(told["member"]))


async def test_each_event_shows_people_as_they_were_known_at_its_position(
    guest, make, log_in, quillon
):
    """A guest meets a user, loses sight of them, and meets them by a direct message.

    Whether the guest's queue waits meanwhile, or catches up in the end, also in another process.
    """
    host = await make.user("Host", role=ADMINISTRATOR)
    await make.channel("kitchen", subscribers=[guest.user, host])
    await make.channel("cellar", subscribers=[host])
    client, stranger = await log_in(host), await log_in(quillon)
    behind, awake = await listening(guest), await listening(guest)
    seen: list[dict[str, Any]] = []

    async def stranger_says(content):
        fields = {"type": "channel", "to": "kitchen", "topic": "soup", "content": content}
        await stranger.post("/messages", **fields)
        while not any(e.get("message", {}).get("content") == content for e in seen):
            seen.extend(await awake.poll())

    async def subscribe(channel, row):
        await client.post(
            "/users/me/subscriptions", subscriptions=[{"name": channel}], principals=[row.user_id]
        )

    async def unsubscribe(channel, row):
        await client.delete(
            "/users/me/subscriptions", subscriptions=[channel], principals=[row.user_id]
        )

    await stranger_says("1 unknown")
    await subscribe("kitchen", quillon)
    await stranger_says("2 known")
    await unsubscribe("kitchen", quillon)
    await stranger_says("3 unknown")
    await subscribe("cellar", quillon)
    await subscribe("cellar", guest.user)
    await stranger_says("4 known")
    await unsubscribe("cellar", guest.user)
    await stranger_says("5 unknown")
    await stranger.post("/messages", type="direct", to=[guest.user.user_id], content="hello")
    await stranger_says("6 known")
    await stranger_says("end")

    for events in (seen, await until_the_end(behind)):
        names = {
            e["message"]["content"]: e["message"]["sender_full_name"]
            for e in events
            if e["type"] == "message" and e["message"]["sender_id"] == quillon.user_id
        }
        assert names == {
            "1 unknown": UNKNOWN,
            "2 known": HIDDEN_NAME,
            "3 unknown": UNKNOWN,
            "4 known": HIDDEN_NAME,
            "5 unknown": UNKNOWN,
            "hello": HIDDEN_NAME,
            "6 known": HIDDEN_NAME,
            "end": HIDDEN_NAME,
        }


async def test_narrowed_queues_find_a_stranger_only_by_what_stands_for_them(
    guest, make, log_in, quillon
):
    await make.channel("kitchen", subscribers=[guest.user])
    page = {"anchor": "newest", "num_before": 5, "num_after": 0}
    stranger = await log_in(quillon)
    said = {"type": "channel", "to": "kitchen", "topic": "soup"}
    await stranger.post("/messages", **said, content="first")
    [shown] = (await guest.get("/messages", **page))["messages"]
    operands = [HIDDEN_ADDRESS, shown["sender_email"], quillon.user_id]
    queues = [
        await guest.register(narrow=[["sender", each]], event_types=["message"])
        for each in operands
    ]
    await stranger.post("/messages", **said, content="second")
    found = [await queue.poll(dont_block=True) for queue in queues]
    assert [len(events) for events in found] == [0, 1, 1]


async def test_a_queue_of_an_older_release_is_masked_too(guest, make, log_in, quillon):
    await make.channel("kitchen", subscribers=[guest.user])
    queue = await guest.register(event_types=["message"])
    await make.connection.execute(
        "UPDATE event_queues SET params = params - 'knows_everybody' WHERE realm_id = %(r)s",
        r=make.realm_id,
    )
    stranger = await log_in(quillon)
    await stranger.post("/messages", type="channel", to="kitchen", topic="soup", content="end")
    assert hidden_in(await until_the_end(queue)) == []


async def test_bots_are_known_to_all(guest, make, log_in):
    owner = await make.user("Owner")
    await make.channel("kitchen", subscribers=[guest.user])
    queue = await guest.register(event_types=["message"])
    names = ("Old Bot", "New Bot")
    bots = [await make.user(names[0], bot_type=1, bot_owner=owner)]
    made = await (await log_in(owner)).post("/bots", full_name=names[1], short_name="new")
    bots += await users.by_ids(make.connection, make.realm_id, [made["user_id"]])
    for row, content in zip(bots, ("hi", "end"), strict=True):
        client = await log_in(row)
        await client.post("/messages", type="channel", to="kitchen", topic="soup", content=content)
    events = await until_the_end(queue)
    assert tuple(event["message"]["sender_full_name"] for event in events) == names
