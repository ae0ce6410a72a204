"""Compliance officers: appointment, searches, and notices to owners."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST, OWNER
from testkit.clients.api_keys import new_key
from testkit.clients.page_client import PASSWORD, give_password
from testkit.clock import StoppedClock
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

OFFICERS = "/compliance/officers"
CASES = "/compliance/cases"
PROOF = {"old_password": PASSWORD}


@pytest.fixture
def clock():
    return StoppedClock()


@pytest_asyncio.fixture
async def owner(log_in, make):
    await make.notification_bot()
    client = await log_in(role=OWNER)
    await give_password(make, client.user)
    return client


@pytest_asyncio.fixture
async def appointed(log_in, make, owner):
    """`await appointed()`: another officer."""

    async def appoint(**facts):
        client = await log_in(**facts)
        await give_password(make, client.user)
        await owner.post(OFFICERS, user_id=client.user.user_id, **PROOF)
        return client

    return appoint


async def opened(officer, **fields):
    return (await officer.post(CASES, reason="Case *4711*", **fields, **PROOF))["id"]


async def found(officer, case_id, *narrow, **fields):
    """Contents by id, newest first."""
    path = f"{CASES}/{case_id}/search"
    answer = await officer.post(path, narrow=list(narrow), **fields)
    return {message["id"]: message["content"] for message in answer["messages"]}


async def say(client, to, content):
    kind = "channel" if isinstance(to, str) else "direct"
    return (await client.post("/messages", type=kind, to=to, topic="plan", content=content))["id"]


async def notices(owner):
    """What the notification bot has written to the owner."""
    answer = await owner.get("/messages", anchor="newest", num_before=50, num_after=0)
    return [message["content"] for message in answer["messages"]]


async def state_of(make, client):
    """What the user is subscribed to, has read and has flags on."""
    return [
        await make.connection.values(
            f"SELECT row_to_json(t)::text FROM {table} t WHERE user_id = %(u)s ORDER BY 1",
            u=client.user.user_id,
        )
        for table in ("subscriptions", "message_flags", "channel_read", "conversation_read")
    ]


@pytest_asyncio.fixture
async def said(make, owner, alice, bob):
    """Messages by what they are: none can be read by an officer."""
    both = [alice.user.user_id]
    secret = await make.channel("secret", subscribers=[alice.user, bob.user], invite_only=True)
    await make.channel("public", subscribers=[alice.user])
    ids = {
        "public": await say(alice, "public", "the Schlüssel is public"),
        "private": await say(bob, "secret", "the Schlüssel is private"),
        "direct": await say(bob, both, "the Schlüssel is direct"),
        "edited": await say(alice, "secret", "the Schlüssel before"),
        "other": await say(alice, "secret", "nothing"),
    }
    await alice.patch(f"/messages/{ids['edited']}", content="the Schlüssel after")
    hold = {"name": "Hold", "reason": "Law", "channel_ids": [secret.channel_id]}
    await owner.post("/compliance/legal_holds", **hold)
    ids["deleted"] = await say(bob, "secret", "the Schlüssel is deleted")
    await bob.delete(f"/messages/{ids['deleted']}")
    return ids


async def test_an_officer_finds_all_messages_and_owners_are_notified(
    owner, appointed, said, alice, make
):
    officer = await appointed()
    before = await state_of(make, officer)
    case_id = await opened(officer)

    words = await found(officer, case_id, ["search", "schlüssel"])
    assert set(words) == {said[name] for name in said if name != "other"}
    assert list(words) == sorted(words, reverse=True)
    assert set(await found(officer, case_id)) >= set(said.values())
    narrows = {
        ("channel", "secret"): {"private", "edited", "other", "deleted"},
        ("-channel", "secret"): {"public", "direct"},
        ("is", "dm"): {"direct"},
        ("dm-including", alice.user.user_id): {"direct"},
        ("topic", "plan"): {"public", "private", "edited", "other", "deleted"},
        ("-search", "schlüssel"): {"other"},
        ("id", said["deleted"]): {"deleted"},
    }
    for term, expected in narrows.items():
        ids = set(await found(officer, case_id, list(term)))
        assert ids & set(said.values()) == {said[name] for name in expected}, term
    answer = await officer.post(f"{CASES}/{case_id}/search", narrow=[["search", "schlüssel"]])
    by_id = {message["id"]: message for message in answer["messages"]}
    assert by_id[said["edited"]]["former_contents"] == ["the Schlüssel before"]
    deleted = by_id[said["deleted"]]
    assert (deleted["stream"], deleted["deleter_id"]) == ("secret", deleted["sender_id"])
    assert deleted["deleted_at"] is not None
    assert by_id[said["direct"]]["user_ids"] == sorted(
        [alice.user.user_id, by_id[said["direct"]]["sender_id"]]
    )

    assert await state_of(make, officer) == before
    (await officer.call("GET", f"/messages/{said['private']}")).refused()
    (await officer.call("GET", f"/messages/{said['direct']}")).refused()
    entries = (await owner.get("/realm/audit_log", action="compliance_searched"))["entries"]
    assert entries[-1]["after"]["narrow"][0]["operand"] == "schlüssel"
    assert (entries[-1]["after"]["count"], entries[-1]["subject_id"]) == (5, case_id)
    messages = await notices(owner)
    assert any("appointed" in text for text in messages)
    assert any("Case *4711*" in text or "4711" in text for text in messages)
    assert any("(5 found): search:schlüssel" in text for text in messages)
    [case] = (await owner.get(CASES))["cases"]
    assert (case["state"], case["searches"]) == ("open", len(entries))


async def test_pages_follow_each_other(officer_with_case, said):
    officer, case_id = officer_with_case
    pages, before = [], None
    while True:
        path = f"{CASES}/{case_id}/search"
        answer = await officer.post(path, narrow=[["search", "schlüssel"]], limit=2, before=before)
        pages += [message["id"] for message in answer["messages"]]
        before = answer["next_before"]
        if before is None:
            break
    assert pages == sorted((said[name] for name in said if name != "other"), reverse=True)


@pytest_asyncio.fixture
async def officer_with_case(appointed):
    officer = await appointed()
    return officer, await opened(officer)


async def test_a_range_of_time(clock, make, alice, officer_with_case):
    officer, case_id = officer_with_case
    await make.channel("public", subscribers=[alice.user])
    early = await say(alice, "public", "early")
    clock.advance(timedelta(hours=2))
    late = await say(alice, "public", "late")
    middle = int((clock.now() - timedelta(hours=1)).timestamp())
    public = ["channel", "public"]
    assert set(await found(officer, case_id, public, since=middle)) == {late}
    assert set(await found(officer, case_id, public, until=middle)) == {early}


async def test_where_two_are_needed_another_one_approves(clock, owner, appointed, said):
    first, second = await appointed(), await appointed()
    await owner.patch("/compliance/rules", needs_two_persons=True, **PROOF)
    case_id = await opened(first, hours=2)
    search = f"{CASES}/{case_id}/search"
    (await first.call("POST", search)).refused()
    (await first.call("POST", f"{CASES}/{case_id}/approve", **PROOF)).refused()
    (await owner.call("POST", f"{CASES}/{case_id}/approve", **PROOF)).refused()
    clock.advance(timedelta(hours=5))
    # A rule that is dropped does not open what waits.
    await owner.patch("/compliance/rules", needs_two_persons=False, **PROOF)
    (await first.call("POST", search)).refused()
    await second.post(f"{CASES}/{case_id}/approve", **PROOF)
    (await second.call("POST", f"{CASES}/{case_id}/approve", **PROOF)).refused()
    assert said["direct"] in await found(first, case_id)
    (await second.call("POST", search)).refused()
    clock.advance(timedelta(hours=2))
    (await first.call("POST", search)).refused()
    assert [case["state"] for case in (await second.get(CASES))["cases"]] == ["closed"]


async def test_a_search_ends_with_the_case_and_with_the_appointment(
    owner, appointed, make, alice, log_in
):
    officer = await appointed()
    case_id = await opened(officer)
    await owner.post(f"{CASES}/{case_id}/close")
    (await officer.call("POST", f"{CASES}/{case_id}/search")).refused()
    (await owner.call("POST", f"{CASES}/{case_id}/close")).refused()

    case_id = await opened(officer)
    await owner.delete(f"{OFFICERS}/{officer.user.user_id}")
    (await officer.call("POST", f"{CASES}/{case_id}/search")).refused()
    await owner.post(OFFICERS, user_id=officer.user.user_id, **PROOF)
    (await officer.call("POST", f"{CASES}/{case_id}/search")).refused()

    case_id = await opened(officer)
    await owner.patch(f"/users/{officer.user.user_id}", role=GUEST)
    (await officer.call("POST", f"{CASES}/{case_id}/search")).refused()
    (await officer.call("POST", CASES, reason="x", **PROOF)).refused()
    await owner.delete(f"/users/{officer.user.user_id}")
    await owner.post(f"/users/{officer.user.user_id}/reactivate")
    assert (await owner.get(OFFICERS))["officers"] == []


async def test_only_owners_appoint_and_only_people(owner, appointed, log_in, make, alice):
    admin = await log_in(role=ADMINISTRATOR)
    await give_password(make, admin.user)
    officer = await appointed()
    for client in (admin, officer, alice):
        wanted = {"user_id": client.user.user_id, **PROOF}
        (await client.call("POST", OFFICERS, **wanted)).refused()
        (await client.call("DELETE", f"{OFFICERS}/{officer.user.user_id}")).refused()
        rule = {"needs_two_persons": False, **PROOF}
        (await client.call("PATCH", "/compliance/rules", **rule)).refused()
    for client in (admin, alice):
        (await client.call("GET", OFFICERS)).refused()
        (await client.call("GET", CASES)).refused()
        (await client.call("POST", CASES, reason="x", **PROOF)).refused()
    # An owner has to be appointed, too.
    (await owner.call("POST", CASES, reason="x", **PROOF)).refused()
    guest = await make.user("Guest", role=GUEST)
    bot = await make.user("Bot", bot_type=1, bot_owner=owner.user)
    stranger = await (await new_realm(make.connection)).user("Stranger")
    gone = await make.user("Gone")
    await owner.delete(f"/users/{gone.user_id}")
    for row in (guest, bot, stranger, gone, officer.user):
        (await owner.call("POST", OFFICERS, user_id=row.user_id, **PROOF)).refused()
    wrong: dict[str, Any] = {"user_id": alice.user.user_id, "old_password": "wrong"}
    (await owner.call("POST", OFFICERS, **wrong)).refused()
    wrong.pop("old_password")
    (await owner.call("POST", OFFICERS, **wrong)).refused("REQUEST_VARIABLE_MISSING")
    [listed] = (await owner.get(OFFICERS))["officers"]
    assert (listed["user_id"], listed["appointed_by"]) == (
        officer.user.user_id,
        owner.user.user_id,
    )


async def test_named_keys_are_refused(owner, officer_with_case):
    officer, case_id = officer_with_case
    key = (await new_key(officer, "everything"))["api_key"]
    program = replace(officer, api_key=key)
    for path in (f"{CASES}/{case_id}/search", f"{CASES}/{case_id}/close"):
        (await program.call("POST", path)).refused()
    (await program.call("POST", CASES, reason="x", **PROOF)).refused()
    program = replace(owner, api_key=(await new_key(owner, "everything"))["api_key"])
    (await program.call("DELETE", f"{OFFICERS}/{officer.user.user_id}")).refused()


async def test_narrows_that_depend_on_the_reader_are_refused(officer_with_case, alice):
    officer, case_id = officer_with_case
    path = f"{CASES}/{case_id}/search"
    for term in (["is", "starred"], ["is", "unread"], ["near", 1], ["with", 1], ["x", "y"]):
        (await officer.call("POST", path, narrow=[term])).refused("BAD_NARROW")
    for fields in ({"limit": 0}, {"limit": 101}, {"since": -1}, {"before": "x"}):
        (await officer.call("POST", path, **fields)).refused("REQUEST_VARIABLE_INVALID")
    (await officer.call("POST", f"{CASES}/{case_id + 1}/search")).refused()
    (await alice.call("POST", path)).refused()
    for case in ({"reason": " "}, {"reason": "x" * 2_001}, {"reason": "x", "hours": 169}):
        (await officer.call("POST", CASES, **case, **PROOF)).refused("REQUEST_VARIABLE_INVALID")
