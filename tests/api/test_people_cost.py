"""What it costs to mask people: nothing where guests may know all users."""

from collections import Counter

import pytest
import pytest_asyncio

from server.domain.access import GUEST, MEMBER
from storage.driver import PgConnection

pytestmark = pytest.mark.asyncio

NAME = "Quillon Canary"


@pytest_asyncio.fixture
async def guest(make, log_in):
    """A guest who may know only people they meet."""
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    return await log_in(await make.user("Guest", role=GUEST))


@pytest_asyncio.fixture
async def quillon(make):
    return await make.user(NAME)


@pytest.fixture
def asked(monkeypatch):
    """The statements that requests have asked the database, without those of the background."""
    statements: list[str] = []
    sound = PgConnection.ask

    async def ask(self, sql, params):
        if "clocks_now" not in sql and "pg_notify" not in sql:
            statements.append(sql)
        return await sound(self, sql, params)

    monkeypatch.setattr(PgConnection, "ask", ask)
    return statements


async def statements_of(asked, act):
    """What it takes when it is done again: what is cached is."""
    await act()
    asked.clear()
    await act()
    return Counter(asked)


async def test_organizations_without_restrictions_pay_nothing(make, log_in, server, asked, quillon):
    """No query more for a guest than for a member, and no encoding more of an event."""
    people = [await make.user(role=role) for role in (MEMBER, GUEST)]
    channel = await make.channel("kitchen", subscribers=people)
    stranger = await log_in(quillon)
    member, guest = [await log_in(row) for row in people]
    said = {"type": "channel", "to": "kitchen", "topic": "soup"}
    sent = await stranger.post("/messages", **said, content="first")
    page = {"anchor": "newest", "num_before": 9, "num_after": 0}

    def acts(client):
        return {
            "a page": lambda: client.get("/messages", **page),
            "one message": lambda: client.get(f"/messages/{sent['id']}"),
            "a narrow": lambda: client.get("/messages", narrow=[["sender", quillon.email]], **page),
            "an address": lambda: client.get(f"/users/{quillon.email}"),
            "typing": lambda: client.post(
                "/typing", type="direct", op="start", to=[quillon.user_id]
            ),
            "a mention": lambda: client.post("/messages/render", content=f"@**{NAME}**"),
        }

    for name, act in acts(member).items():
        theirs = await statements_of(asked, act)
        assert await statements_of(asked, acts(guest)[name]) == theirs, name

    queues = [await client.register(event_types=["message"]) for client in (member, guest)]
    taken = []
    for queue in queues:
        server.app.realtime.release_all()
        server.app.realtime.stopping = False
        asked.clear()
        await queue.poll(dont_block=True)
        taken.append(Counter(asked))
    assert taken[0] == taken[1]
    await stranger.post("/messages", **said, content="second")
    for queue in queues:
        await queue.poll()
    follower = await server.app.realtime.follower(make.realm_id)
    assert encodings_of_the_newest(follower) == 1
    assert follower.users.restricted == {}
    assert not follower.users.contacts.holds([channel.channel_id])


async def test_a_restricted_guest_costs_one_query_and_one_encoding(
    guest, make, log_in, server, asked, quillon
):
    neighbour = await make.user("Neighbour")
    await make.channel("kitchen", subscribers=[guest.user, neighbour])
    member, stranger = await log_in(neighbour), await log_in(quillon)
    said = {"type": "channel", "to": "kitchen", "topic": "soup"}
    await stranger.post("/messages", **said, content="first")
    page = {"anchor": "newest", "num_before": 9, "num_after": 0}
    theirs = await statements_of(asked, lambda: member.get("/messages", **page))
    own = await statements_of(asked, lambda: guest.get("/messages", **page))
    assert (own - theirs).total() == 1
    queues = [await each.register(event_types=["message"]) for each in (member, guest)]
    await stranger.post("/messages", **said, content="second")
    for queue in queues:
        await queue.poll()
    follower = await server.app.realtime.follower(make.realm_id)
    assert encodings_of_the_newest(follower) == 2
    await member.post("/messages", **said, content="third")
    for queue in queues:
        await queue.poll()
    assert encodings_of_the_newest(follower) == 1


def encodings_of_the_newest(follower):
    *_, newest = (e for e in follower.tail.after(0) if e.event.kind == "message")
    return len(newest._encodings)
