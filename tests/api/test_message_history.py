"""GET /messages and GET /messages/{message_id}: what each reader is shown, page by page."""

from datetime import UTC, datetime

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio

NEWEST = 10**16


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob", "Carol")]


@pytest_asyncio.fixture
async def channel(make: Make, people):
    return await make.channel("general", subscribers=people[:2])


@pytest_asyncio.fixture
async def five(make: Make, people, channel):
    """The ids of five messages of Alice in one topic."""
    topic = await make.topic(channel, "t")
    return [await make.message(people[0], topic, content=str(n)) for n in range(5)]


def page(client, **fields):
    """A call for the newest hundred messages, unless the fields say something else."""
    return client.call(
        "GET", "/messages", **{"anchor": "newest", "num_before": 100, "num_after": 0, **fields}
    )


async def ids(client, **fields):
    """The ids on the page."""
    return [each["id"] for each in (await page(client, **fields)).succeeded()["messages"]]


def ends(body):
    return body["found_oldest"], body["found_anchor"], body["found_newest"]


# -- anchors


async def test_the_newest_and_the_oldest(alice, five):
    newest = (await page(alice, num_before=2)).succeeded()
    assert [m["id"] for m in newest["messages"]] == five[3:]
    assert ends(newest) == (False, False, True)
    assert newest["anchor"] == NEWEST
    assert newest["history_limited"] is False
    oldest = (await page(alice, anchor="oldest", num_before=0, num_after=2)).succeeded()
    assert [m["id"] for m in oldest["messages"]][:2] == five[:2]
    assert ends(oldest) == (True, False, False)
    everything = (await page(alice)).succeeded()
    assert ends(everything) == (True, False, True)


async def test_around_a_message(alice, five):
    around = (await page(alice, anchor=five[2], num_before=1, num_after=1)).succeeded()
    assert [m["id"] for m in around["messages"]] == five[1:4]
    assert ends(around) == (False, True, False)
    assert around["anchor"] == five[2]
    alone = (await page(alice, anchor=five[2], num_before=0, num_after=0)).succeeded()
    assert [m["id"] for m in alone["messages"]] == [five[2]]


async def test_the_anchor_is_left_out_on_request(alice, five):
    fields = {"anchor": five[2], "num_before": 1, "num_after": 1, "include_anchor": False}
    around = (await page(alice, **fields)).succeeded()
    assert [m["id"] for m in around["messages"]] == [five[1], five[3]]
    assert around["found_anchor"] is False


async def test_the_pages_of_a_scroll_meet_without_a_gap(alice, five):
    first = await ids(alice, num_before=2)
    second = await ids(alice, anchor=first[0], num_before=2, include_anchor=False)
    third = await ids(alice, anchor=second[0], num_before=2, include_anchor=False)
    assert third + second + first == five


async def test_anchors_beyond_both_ends(alice, five):
    for anchor in (-1, 0, -(10**18)):
        assert await ids(alice, anchor=anchor) == []
        assert await ids(alice, anchor=anchor, num_before=0, num_after=9) == five
    for anchor in (five[-1] + 1, 10**15, NEWEST, 2**63 - 1):
        assert await ids(alice, anchor=anchor) == five
        assert await ids(alice, anchor=anchor, num_before=0, num_after=9) == []
    (await page(alice, anchor=2**63)).refused("REQUEST_VARIABLE_INVALID")


async def test_the_first_unread(alice, bob, five):
    await bob.post("/messages/flags", messages=five[:2], op="add", flag="read")
    fields = {"anchor": "first_unread", "num_before": 1, "num_after": 1}
    around = (await page(bob, **fields)).succeeded()
    assert around["anchor"] == five[2]
    assert [m["id"] for m in around["messages"]] == five[1:4]
    older = {"num_before": 1, "num_after": 1, "use_first_unread_anchor": True, "anchor": None}
    assert await ids(bob, **older) == five[1:4]
    await bob.post("/messages/flags", messages=five, op="add", flag="read")
    assert (await page(bob, **fields)).succeeded()["anchor"] == NEWEST
    assert await ids(bob, **fields) == five[-1:]


async def test_a_date(alice, make, people, channel):
    topic = await make.topic(channel, "dates")
    days = [datetime(2026, 3, day, 12, tzinfo=UTC) for day in (1, 2, 2, 5)]
    sent = [await make.message(people[0], topic, sent_at=day) for day in days]
    asked = {"anchor": "date", "num_before": 1, "num_after": 0}
    for date, expected in (
        ("2026-01-01", sent[:1]),
        ("2026-03-01T12:00:00Z", sent[:1]),
        ("2026-03-02", sent[:2]),
        ("2026-03-02T14:00:00+01:00", sent[2:]),
        ("2026-03-05", sent[2:]),
        ("2027-01-01", sent[3:]),
    ):
        assert await ids(alice, **asked, anchor_date=date) == expected, date
    assert (await page(alice, **asked)).refused("REQUEST_VARIABLE_MISSING")
    for wrong in ("yesterday", "", "2026-13-01"):
        answer = await page(alice, **asked, anchor_date=wrong)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "anchor_date"


async def test_a_named_anchor_may_be_quoted(alice, five):
    assert await ids(alice, anchor='"newest"') == five


async def test_what_is_no_anchor_is_refused(alice, five):
    for anchor in ("latest", "1.5", "[1]", "true"):
        answer = await page(alice, anchor=anchor)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "anchor"


async def test_anchor_and_numbers_are_needed(alice, five):
    for name in ("anchor", "num_before", "num_after"):
        answer = await page(alice, **{name: None})
        assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == name


async def test_numbers_have_limits(alice, five):
    assert await ids(alice, num_before=5000) == five
    (await page(alice, num_before=5000, num_after=1)).refused("BAD_REQUEST")
    for wrong in ("-1", "1.5", '"1"', "x", str(2**70)):
        for name in ("num_before", "num_after"):
            answer = await page(alice, **{name: wrong})
            assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name


async def test_an_empty_history_has_both_ends(alice):
    body = (await page(alice, anchor="first_unread")).succeeded()
    assert body["messages"] == []
    assert (body["found_oldest"], body["found_newest"]) == (True, True)


# -- by their ids


async def test_messages_by_their_ids(alice, five):
    body = await alice.get("/messages", message_ids=[five[3], five[1], 10**9])
    assert [m["id"] for m in body["messages"]] == [five[1], five[3]]
    assert ends(body) == (False, False, False)
    assert "anchor" not in body
    assert (await alice.get("/messages", message_ids=[]))["messages"] == []


async def test_a_narrow_chooses_among_ids(alice, five, make, people, channel):
    other = await make.message(people[1], await make.topic(channel, "other"))
    wanted = [*five, other]
    body = await alice.get("/messages", message_ids=wanted, narrow=[["topic", "other"]])
    assert [m["id"] for m in body["messages"]] == [other]
    (await alice.call("GET", "/messages", message_ids=wanted, narrow=[["x", "y"]])).refused(
        "BAD_NARROW"
    )


async def test_ids_and_a_range_are_not_asked_for_together(alice, five):
    for range_of in ({"anchor": "newest"}, {"num_before": 1}, {"include_anchor": False}):
        answer = await alice.call("GET", "/messages", message_ids=five, **range_of)
        answer.refused("BAD_REQUEST")


async def test_too_many_ids_are_refused(alice):
    answer = await alice.call("GET", "/messages", message_ids=list(range(5001)))
    answer.refused("BAD_REQUEST")


# -- how they are shown


async def test_content_is_html_or_markdown(alice):
    sent = await alice.post(
        "/messages", type="channel", to="general", topic="t", content="**x** & y"
    )
    [html] = (await page(alice)).succeeded()["messages"]
    [markdown] = (await page(alice, apply_markdown=False)).succeeded()["messages"]
    assert html["content"] == "<p><strong>x</strong> &amp; y</p>"
    assert html["content_type"] == "text/html"
    assert markdown["content"] == "**x** & y"
    assert markdown["content_type"] == "text/x-markdown"
    one = await alice.get(f"/messages/{sent['id']}", apply_markdown=False)
    assert one["message"]["content"] == one["raw_content"] == "**x** & y"
    one = await alice.get(f"/messages/{sent['id']}")
    assert one["message"]["content"] == html["content"]


async def test_clients_that_make_gravatars_are_not_told_their_address(alice, five):
    plain = (await page(alice, client_gravatar=False)).succeeded()["messages"][0]
    assert plain["avatar_url"]
    assert (await page(alice, client_gravatar=True)).succeeded()["messages"][0][
        "avatar_url"
    ] is None


async def test_a_message_says_who_where_and_when(alice, five, people, channel):
    message = (await alice.get(f"/messages/{five[0]}"))["message"]
    sender = people[0]
    assert message["sender_id"] == sender.user_id
    assert message["sender_full_name"] == "Alice"
    assert message["sender_email"] == sender.email
    assert (message["stream_id"], message["subject"]) == (channel.channel_id, "t")
    assert message["reactions"] == []
    assert "edit_history" not in message


# -- who may see what


async def test_another_realms_messages_are_not_there(alice, make, five):
    elsewhere = await new_realm(make.connection)
    stranger = await elsewhere.user()
    topic = await elsewhere.topic(await elsewhere.channel(subscribers=[stranger]), "t")
    last = await elsewhere.message(stranger, topic)
    while last <= five[-1]:
        last = await elsewhere.message(stranger, topic)
    (await alice.call("GET", f"/messages/{last}")).refused("BAD_REQUEST")
    assert (await alice.get("/messages", message_ids=[last]))["messages"] == []


async def test_who_may_read_a_message(log_in, make, people, five, channel):
    """In a public channel: all but guests who are not in it."""
    carol = await log_in(people[2])
    flags = (await carol.get(f"/messages/{five[0]}"))["message"]["flags"]
    assert sorted(flags) == ["historical", "read"]
    assert await ids(carol) == []
    assert await ids(carol, narrow=[["channel", "general"]]) == five
    guest = await log_in(role=GUEST)
    (await guest.call("GET", f"/messages/{five[0]}")).refused("BAD_REQUEST")
    (await page(guest, narrow=[["channel", "general"]])).refused("BAD_NARROW")
    inside = await make.user(role=GUEST)
    await make.subscribe(channel, [inside])
    assert await ids(await log_in(inside), narrow=[["channel", "general"]]) == five


async def test_private_channels_are_for_those_inside(alice, log_in, make, people):
    closed = await make.channel("closed", subscribers=[people[1]], invite_only=True)
    sent = await make.message(people[1], await make.topic(closed, "t"))
    admin = await log_in(role=ADMINISTRATOR)
    for client in (alice, admin):
        (await client.call("GET", f"/messages/{sent}")).refused("BAD_REQUEST")
        assert (await client.get("/messages", message_ids=[sent]))["messages"] == []
        assert await ids(client) == []
    (await page(alice, narrow=[["channel", "closed"]])).refused("BAD_NARROW")
    assert await ids(admin, narrow=[["channel", "closed"]]) == []


async def test_protected_history_begins_when_one_joins(alice, make, people):
    closed = await make.channel("closed", subscribers=[people[1]], invite_only=True)
    topic = await make.topic(closed, "t")
    before = await make.message(people[1], topic)
    await make.subscribe(closed, [people[0]])
    after = await make.message(people[1], topic)
    assert await ids(alice, narrow=[["channel", "closed"]]) == [after]
    (await alice.call("GET", f"/messages/{before}")).refused("BAD_REQUEST")


async def test_shared_history_is_for_newcomers_too(alice, make, people):
    closed = await make.channel(
        "closed", subscribers=[people[1]], invite_only=True, shares_history=True
    )
    before = await make.message(people[1], await make.topic(closed, "t"))
    await make.subscribe(closed, [people[0]])
    assert await ids(alice, narrow=[["channel", "closed"]]) == [before]


async def test_archived_channels_are_still_read(alice, make, people):
    old = await make.channel("old", subscribers=people, is_archived=True)
    sent = await make.message(people[1], await make.topic(old, "t"))
    assert (await alice.get(f"/messages/{sent}"))["message"]["id"] == sent
    assert await ids(alice, narrow=[["channel", old.channel_id]]) == [sent]


async def test_direct_messages_are_for_their_people(alice, bob, log_in, people):
    sent = await alice.post("/messages", type="direct", to=[people[1].user_id], content="x")
    for client in (alice, bob):
        assert await ids(client) == [sent["id"]]
    carol = await log_in(people[2])
    assert await ids(carol) == []
    (await carol.call("GET", f"/messages/{sent['id']}")).refused("BAD_REQUEST")


async def test_a_message_that_was_never_sent(alice):
    for number in (0, 10**9, 2**63 - 1):
        (await alice.call("GET", f"/messages/{number}")).refused("BAD_REQUEST")
    (await alice.call("GET", f"/messages/{2**63}")).refused("REQUEST_VARIABLE_INVALID")
    (await alice.call("GET", "/messages/x")).refused("BAD_REQUEST", 404)


# -- positions


async def test_a_page_is_as_new_as_its_position(alice, five):
    async def position():
        return (await alice.post("/register"))["position"]

    before = await position()
    fetched = (await page(alice, include_position=True)).succeeded()
    named = await alice.get("/messages", message_ids=five, include_position=True)
    assert fetched["position"] == named["position"] == before
    await alice.post("/messages/flags", messages=five[:1], op="add", flag="starred")
    after = await position()
    assert after > before
    assert (await page(alice, include_position=True)).succeeded()["position"] == after
    assert "position" not in (await page(alice)).succeeded()
