"""GET /realm/retention_preview: what a rule would delete is what it deletes then."""

from datetime import timedelta

import pytest
import pytest_asyncio

from queue_processors.retention import RetentionKeeper
from server.domain.access import ADMINISTRATOR, OWNER
from testkit.clock import StoppedClock
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

PREVIEW = "/realm/retention_preview"


@pytest.fixture
def clock():
    return StoppedClock()


@pytest_asyncio.fixture
async def owner(log_in):
    return await log_in(role=OWNER)


@pytest_asyncio.fixture
async def channels(make, owner, alice):
    """Two that follow the organization's rule, and one with its own."""
    people = [owner.user, alice.user]
    made = {name: await make.channel(name, subscribers=people) for name in ("a", "b", "own")}
    path = f"/streams/{made['own'].channel_id}"
    await owner.patch(path, message_retention_days="unlimited")
    return {name: row.channel_id for name, row in made.items()}


async def say(client, to, content="hello"):
    kind = "channel" if isinstance(to, str) else "direct"
    return (await client.post("/messages", type=kind, to=to, topic="t", content=content))["id"]


async def test_it_says_what_the_rule_deletes_then(server, clock, make, owner, alice, channels):
    async def uploaded():
        return (await alice.upload("/user_uploads", file=("a.txt", b"text"))).succeeded()["url"]

    shared = await uploaded()
    for to in ("a", "a", "b", "own", [owner.user.user_id]):
        await say(alice, to)
    await say(alice, "a", f"[a]({await uploaded()}) [b]({shared})")
    clock.advance(timedelta(days=5))
    await say(alice, "b", f"[b]({shared})")
    before = int((clock.now() - timedelta(days=3)).timestamp())

    found = await owner.get(PREVIEW, days=3)

    assert (found["before"], found["messages"], found["direct_messages"]) == (before, 5, 1)
    assert found["channels"] == [
        {"stream_id": channels["a"], "messages": 3},
        {"stream_id": channels["b"], "messages": 1},
    ]
    assert (found["files"], found["is_complete"]) == (1, True)
    assert found["oldest"] == int((clock.now() - timedelta(days=5)).timestamp())
    of_channel = await owner.get(PREVIEW, days=3, stream_id=channels["own"])
    assert of_channel["channels"] == [{"stream_id": channels["own"], "messages": 1}]
    assert (await owner.get(PREVIEW, days=6))["messages"] == 0
    assert (await owner.get(PREVIEW, days=6))["oldest"] is None

    await owner.patch("/realm", message_retention_days=3)
    keeper = RetentionKeeper(
        server.app.database,
        server.app.realm_services,
        clock,
        kept_aside=timedelta(days=5),
        pause_seconds=0,
    )
    assert await keeper.tidy() == found["messages"]
    assert (await owner.get(PREVIEW, days=3))["messages"] == 0


async def test_what_is_held_is_left_out(clock, make, owner, alice, channels):
    await say(alice, "a")
    await say(owner, "a")
    clock.advance(timedelta(days=5))
    await owner.post(
        "/compliance/legal_holds", name="Case", reason="Law", user_ids=[alice.user.user_id]
    )
    assert (await owner.get(PREVIEW, days=3))["messages"] == 1


async def test_it_is_for_owners_and_of_their_organization(make, owner, log_in, channels):
    admin = await log_in(role=ADMINISTRATOR)
    (await admin.call("GET", PREVIEW, days=3)).refused()
    elsewhere = await new_realm(make.connection)
    far = await elsewhere.channel("far", subscribers=[])
    answer = await owner.call("GET", PREVIEW, days=3, stream_id=far.channel_id)
    answer.refused("STREAM_DOES_NOT_EXIST")
    for wrong in (0, -1, 10**9, "x"):
        (await owner.call("GET", PREVIEW, days=wrong)).refused("REQUEST_VARIABLE_INVALID")
    (await owner.call("GET", PREVIEW)).refused("REQUEST_VARIABLE_MISSING")
