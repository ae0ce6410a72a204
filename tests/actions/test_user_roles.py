"""People get other roles: who hears of it, and what they themselves see from then on."""

import asyncio

import pytest

from server.actions.user_roles import change_role
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.errors import BadRequestError
from storage import event_queues, users
from storage.ids import QueueId, UserId
from testkit.clients.server import Server

pytestmark = pytest.mark.asyncio


async def give(hall, actor, row, role):
    now = hall.stage.clock.now()
    await hall.stage.run(change_role, hall.actor(actor), row.user_id, role, now=now)


@pytest.mark.parametrize(
    ("before", "after", "shy"),
    [
        (MEMBER, GUEST, False),
        (MEMBER, GUEST, True),
        (GUEST, MEMBER, True),
        (MODERATOR, ADMINISTRATOR, False),
        (ADMINISTRATOR, GUEST, False),
        (GUEST, OWNER, True),
        (OWNER, MEMBER, False),
    ],
)
async def test_everyone_else_keeps_up(hall, make, witnesses, before, after, shy):
    """Also guests who may know only people they meet: some have met them, some have not."""
    if shy:
        groups = await make.role_groups()
        await make.change_settings(can_access_all_users_group=groups["role:members"])
    changing = await make.user(role=before)
    stranger = await make.user(role=GUEST)
    await make.channel("met", subscribers=[changing, hall.guest, hall.member])
    await make.channel("secret", invite_only=True, subscribers=[changing])

    seen = await witnesses.watch(
        lambda: give(hall, hall.owner, changing, after), [*hall.everyone, stranger]
    )

    told = {w.user.user_id for w in seen for e in w.events if e["type"] == "realm_user"}
    expected = {row.user_id for row in hall.everyone} | (set() if shy else {stranger.user_id})
    assert told == expected
    [ended] = hall.told("queues_ended")
    assert ended.event.ended_queues() == (changing.user_id,)


async def test_the_same_role_changes_nothing(hall):
    await give(hall, hall.owner, hall.member, MEMBER)
    assert hall.stage.happened == []


@pytest.mark.parametrize(
    ("actor", "user", "role"),
    [
        ("member", "guest", MEMBER),
        ("guest", "guest", MEMBER),
        ("admin", "owner", MEMBER),
        ("admin", "member", OWNER),
        ("admin", "admin", OWNER),
        ("owner", "owner", MEMBER),
        ("owner", "member", 150),
    ],
)
async def test_what_is_not_allowed_is_refused(hall, actor, user, role):
    with pytest.raises(BadRequestError):
        await give(hall, getattr(hall, actor), getattr(hall, user), role)
    assert hall.stage.happened == []


async def test_an_absent_user_gets_no_role(hall, make):
    gone = await make.user(is_active=False)
    for user_id in (gone.user_id, UserId(999_999_999)):
        with pytest.raises(BadRequestError, match="No such user"):
            await hall.stage.run(
                change_role,
                hall.actor(hall.owner),
                user_id,
                GUEST,
                now=hall.stage.clock.now(),
            )


async def test_a_bot_is_no_owner_who_is_left(hall, make):
    """One from the time before bots could not be owners."""
    await make.user(role=OWNER, bot_type=1, bot_owner=hall.owner)
    with pytest.raises(BadRequestError, match="only organization owner"):
        await give(hall, hall.owner, hall.owner, MEMBER)


@pytest.mark.parametrize("role", [MEMBER, GUEST])
async def test_bots_come_down_with_their_owner(hall, make, witnesses, role):
    boss = await make.user(role=ADMINISTRATOR)
    own = {"bot_type": 1, "bot_owner": boss}
    high = await make.user(role=ADMINISTRATOR, **own)
    gone = await make.user(role=ADMINISTRATOR, is_active=False, **own)
    low = await make.user(role=GUEST, **own)

    await witnesses.watch(lambda: give(hall, hall.owner, boss, role), hall.everyone)

    ids = [boss.user_id, high.user_id, gone.user_id, low.user_id]
    rows = await users.by_ids(make.connection, make.realm_id, ids)
    assert [row.role for row in rows] == [role, role, role, GUEST]
    [ended] = hall.told("queues_ended")
    assert set(ended.event.ended_queues()) == {boss.user_id, high.user_id, gone.user_id}
    with pytest.raises(BadRequestError, match="higher role than its owner"):
        await give(hall, hall.owner, high, ADMINISTRATOR)


async def test_two_owners_do_not_both_leave(hall, make):
    other = await make.user(role=OWNER)
    answers = await asyncio.gather(
        give(hall, hall.owner, other, MEMBER),
        give(hall, other, hall.owner, MEMBER),
        return_exceptions=True,
    )
    assert [isinstance(each, BadRequestError) for each in answers].count(True) == 1


async def test_queues_of_who_becomes_a_guest_end_at_once(server: Server, make, log_in):
    """Also one that asked for all public channels: a guest gets nothing of what follows."""
    owner, alice = await make.user(role=OWNER), await make.user()
    await make.channel("public", subscribers=[owner])
    client, sender = await log_in(alice), await log_in(owner)
    queue = await client.post("/register", all_public_streams=True, event_types=["message"])
    waiting = asyncio.create_task(
        client.get("/events", queue_id=queue["queue_id"], last_event_id=-1)
    )
    while not server.app.realtime.waiting():  # noqa: ASYNC110 - a waiting poll has no callback
        await asyncio.sleep(0)
    now = server.app.clock.now()
    actor = await make.actor(owner)
    await server.app.writers.of(make.realm_id).write(
        lambda tx: change_role(tx, actor, alice.user_id, GUEST, now=now)
    )
    assert [e["type"] for e in (await waiting)["events"]] == ["heartbeat"]

    await sender.post("/messages", type="channel", to="public", topic="t", content="not for guests")
    poll = {"queue_id": queue["queue_id"], "last_event_id": -1}
    (await client.call("GET", "/events", **poll)).refused("BAD_EVENT_QUEUE_ID")
    gone = QueueId(queue["queue_id"])
    assert await event_queues.live(make.connection, make.realm_id, [gone]) == []
    fresh = await client.post("/register")
    assert "public" not in {each["name"] for each in fresh["unsubscribed"]}
    refused = await client.call(
        "POST", "/messages", type="channel", to="public", topic="t", content="x"
    )
    refused.refused("STREAM_DOES_NOT_EXIST")
