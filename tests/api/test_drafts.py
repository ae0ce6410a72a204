"""Drafts and saved snippets: kept for all of a person's clients, and for no other user."""

import pytest
import pytest_asyncio

from testkit.factories import Make

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def alice(log_in):
    return await log_in(full_name="Alice")


@pytest_asyncio.fixture
async def channel(make: Make, alice):
    return await make.channel("general", subscribers=[alice.user])


def draft(**fields):
    """A draft without a place, unless the fields say something else."""
    return {
        "type": "",
        "to": [],
        "topic": "",
        "content": "begun",
        "timestamp": 1_700_000_000,
    } | fields


def create(client, *drafts):
    return client.call("POST", "/drafts", drafts=list(drafts))


async def registered(client, kind):
    return (await client.post("/register", fetch_event_types=[kind]))[kind]


# -- drafts


async def test_drafts_are_kept_told_changed_and_dropped(alice, channel):
    queue = await alice.register(event_types=["drafts"])
    to_channel = draft(type="stream", to=[channel.channel_id], topic="t", content="one")
    to_self = draft(type="private", to=[alice.user.user_id], content="two", timestamp=1_700_000_001)
    ids = (await create(alice, to_channel, to_self)).succeeded()["ids"]
    [added] = await queue.poll()
    assert added["drafts"] == [to_channel | {"id": ids[0]}, to_self | {"id": ids[1]}]
    listed = await alice.get("/drafts")
    assert (listed["count"], [each["id"] for each in listed["drafts"]]) == (2, ids[::-1])

    changed = draft(content="three", timestamp=1_700_000_002)
    await alice.patch(f"/drafts/{ids[0]}", draft=changed)
    [updated] = await queue.poll()
    assert updated["draft"] == changed | {"id": ids[0]}
    await alice.delete(f"/drafts/{ids[1]}")
    [removed] = await queue.poll()
    assert (removed["op"], removed["draft_id"]) == ("remove", ids[1])
    assert await registered(alice, "drafts") == [changed | {"id": ids[0]}]


async def test_a_draft_without_a_time_is_of_now(alice):
    given = draft()
    del given["timestamp"]
    before = int(alice.server.app.clock.now().timestamp())
    (await create(alice, given)).succeeded()
    [kept] = (await alice.get("/drafts"))["drafts"]
    assert before <= kept["timestamp"] <= alice.server.app.clock.now().timestamp()


async def test_no_drafts_are_none(alice):
    queue = await alice.register(event_types=["drafts"])
    assert (await create(alice)).succeeded()["ids"] == []
    assert (await alice.call("POST", "/drafts")).succeeded()["ids"] == []
    assert await queue.poll(dont_block=True) == []


async def test_one_wrong_draft_keeps_all_out(alice, make, channel):
    closed = await make.channel(invite_only=True)
    wrong = [
        draft(content=" "),
        draft(content="x" * 10_001),
        draft(type="stream", to=[], topic="t"),
        draft(type="stream", to=[channel.channel_id, closed.channel_id], topic="t"),
        draft(type="stream", to=[closed.channel_id], topic="t"),
        draft(type="stream", to=[10**9], topic="t"),
        draft(type="stream", to=[channel.channel_id], topic="x" * 61),
        draft(type="private", to=[10**9]),
    ]
    for each in wrong:
        (await create(alice, draft(), each)).refused()
    for each in (draft(type="channel"), draft(to="1"), draft(timestamp=-1), {"type": ""}):
        (await create(alice, draft(), each)).refused("REQUEST_VARIABLE_INVALID")
    assert (await alice.get("/drafts"))["count"] == 0


async def test_drafts_of_others_are_not_there(alice, log_in):
    other = await log_in()
    [draft_id] = (await create(alice, draft())).succeeded()["ids"]
    for unknown in (draft_id, 10**9):
        (await other.call("PATCH", f"/drafts/{unknown}", draft=draft())).refused(status=404)
        (await other.call("DELETE", f"/drafts/{unknown}")).refused(status=404)
    assert (await other.get("/drafts"))["count"] == 0
    assert (await alice.get("/drafts"))["count"] == 1


async def test_who_keeps_drafts_to_each_client_is_refused(log_in, make):
    own = await make.user(settings={"enable_drafts_synchronization": False})
    client = await log_in(own)
    (await create(client, draft())).refused()
    (await client.call("GET", "/drafts")).refused()
    (await client.call("DELETE", "/drafts/1")).refused()
    assert await registered(client, "drafts") == []


async def test_register_shows_the_thousand_last_edited(alice):
    for start in (0, 600):
        many = [draft(timestamp=start + n) for n in range(600)]
        (await create(alice, *many)).succeeded()
    shown = await registered(alice, "drafts")
    assert len(shown) == 1_000
    assert min(each["timestamp"] for each in shown) == 200
    assert (await alice.get("/drafts"))["count"] == 1_200


# -- saved snippets


async def snippet(client, title="Title", content="Content"):
    body = await client.post("/saved_snippets", title=title, content=content)
    return body["saved_snippet_id"]


async def test_snippets_are_kept_told_changed_and_dropped(alice):
    queue = await alice.register(event_types=["saved_snippets"])
    first, second = await snippet(alice, " One "), await snippet(alice, "Two")
    events = await queue.poll()
    while len(events) < 2:
        events += await queue.poll()
    assert [each["saved_snippet"]["title"] for each in events] == ["One", "Two"]

    await alice.patch(f"/saved_snippets/{first}", title="Uno")
    [updated] = await queue.poll()
    assert (updated["op"], updated["saved_snippet"]["title"]) == ("update", "Uno")
    assert updated["saved_snippet"]["content"] == "Content"
    await alice.patch(f"/saved_snippets/{first}", content="Content")
    await alice.delete(f"/saved_snippets/{second}")
    [removed] = await queue.poll()
    assert (removed["op"], removed["saved_snippet_id"]) == ("remove", second)
    [kept] = (await alice.get("/saved_snippets"))["saved_snippets"]
    assert (kept["id"], kept["title"]) == (first, "Uno")
    assert await registered(alice, "saved_snippets") == [kept]


async def test_snippets_have_a_title_and_content_within_limits(alice):
    snippet_id = await snippet(alice, "x" * 60, "y" * 10_000)
    for wrong in ({"title": " "}, {"title": "x" * 61}, {"content": " "}, {"content": "y" * 10_001}):
        given = {"title": "t", "content": "c"} | wrong
        (await alice.call("POST", "/saved_snippets", **given)).refused()
        (await alice.call("PATCH", f"/saved_snippets/{snippet_id}", **wrong)).refused()
    (await alice.call("PATCH", f"/saved_snippets/{snippet_id}")).refused()
    answer = await alice.call("POST", "/saved_snippets", title="t")
    assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == "content"


async def test_snippets_of_others_are_not_there(alice, log_in):
    other = await log_in()
    own = await snippet(alice)
    for unknown in (own, 10**9):
        path = f"/saved_snippets/{unknown}"
        (await other.call("PATCH", path, title="mine")).refused(status=404)
        (await other.call("DELETE", path)).refused(status=404)
    assert (await other.get("/saved_snippets"))["saved_snippets"] == []
    (await other.call("PATCH", "/saved_snippets/999999999", title="mine")).refused(status=404)
    (await other.call("DELETE", "/saved_snippets/999999999")).refused(status=404)
