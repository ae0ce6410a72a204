"""What one may not know of others, asked for in every way there is."""

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
from storage import users

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


async def test_nothing_that_somebody_does_tells_their_address(log_in, make, visibility):
    """Whatever they do, and whatever others ask."""
    cook = await shy(make, visibility)
    watching = {role: await make.user(role=role) for role in ROLES}
    bot = await make.user(bot_type=1, bot_owner=cook)
    everybody = [cook, *watching.values()]
    channel = await make.channel("kitchen", subscribers=everybody)
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


async def test_nobody_is_found_by_an_address_that_one_may_not_know(log_in, make, visibility):
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
        # Whom nobody has seen has no presence: that is said of who is known only.
        found = [answer.status == 200 or b"presence" in answer.content for answer in asked]
        assert found == [may] * len(found), (row.role, [answer.content for answer in asked])


async def test_administrators_do_not_read_it_in_the_log_of_changes(log_in, make):
    boss = await make.user(role=ADMINISTRATOR)
    await users.grant(make.connection, make.realm_id, boss.user_id, create_users=True)
    client = await log_in(boss)
    fields = {"email": CANARY, "full_name": "Shy", "password": "correct horse battery"}
    made = await client.post("/users", **fields)
    assert CANARY in str(await client.get("/realm/audit_log"))
    [row] = await users.by_ids(make.connection, make.realm_id, [made["user_id"]])
    await (await log_in(row)).patch("/settings", email_address_visibility=NOBODY)
    entries = await client.get("/realm/audit_log")
    assert CANARY not in str(entries)
    assert "user_created" in str(entries)


# -- guests who may know only whom they have met


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


async def test_such_a_guest_writes_to_nobody_whom_they_have_not_met(guest, make, log_in):
    neighbour, stranger = await neighbour_and_stranger(make, guest)
    gone = await make.user("Gone", is_active=False)
    bot = await make.user("Bot", bot_type=1, bot_owner=stranger)
    for to in ([stranger.user_id], [neighbour.user_id, stranger.user_id], [stranger.email]):
        answer = await guest.call("POST", "/messages", type="direct", to=to, content="hi")
        assert "access some of the recipients" in answer.refused()["msg"]
    answer = await guest.call("POST", "/messages", type="direct", to=[gone.user_id], content="hi")
    assert "Gone" not in answer.refused()["msg"]
    for to in (neighbour, bot, guest.user):
        await guest.post("/messages", type="direct", to=[to.user_id], content="hi")
    later = {"scheduled_delivery_timestamp": 4_000_000_000}
    fields = {"type": "direct", "to": [stranger.user_id], "content": "hi", **later}
    (await guest.call("POST", "/scheduled_messages", **fields)).refused()

    # Whoever is written to has met the guest.
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
