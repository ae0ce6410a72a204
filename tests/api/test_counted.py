"""What requests ask of the database, counted exactly: it must not grow with what is there."""

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from storage.channels import ChannelRow
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.server import serve
from testkit.factories import Make
from testkit.statement_trace import Heard, Wiretap, tapped

pytestmark = pytest.mark.asyncio

FEW = 5
MANY = 150
COUNTS = {"send": (2, 2), "register": (45, 10), "poll": (0, 0), "history": (1, 1)}
"""Statements and round trips. A send shares its round trip with its transaction, and tells others
by another; register has statements for each section of its answer, which share a few round trips,
and those by which its queue begins to be served."""
WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|NOTIFY|set_config|clock_lock)\b", re.IGNORECASE)


@dataclass
class Case:
    """A user of an organization, and all statements that their server sends to its database."""

    make: Make
    wiretap: Wiretap
    client: Client
    channel: ChannelRow
    people: list[UserRow]

    async def send(self) -> Heard:
        return await self.wiretap.usual(lambda: self.client.post("/messages", **self.message()))

    def message(self) -> dict[str, str]:
        return {"type": "channel", "to": self.channel.name, "topic": "t", "content": "hello"}

    async def register(self) -> Heard:
        return await self.wiretap.usual(lambda: self.client.post("/register"))

    async def poll(self) -> Heard:
        queue = await self.client.register(event_types=["message"])
        return await self.wiretap.usual(
            lambda: self.client.get(
                "/events",
                queue_id=queue.queue_id,
                last_event_id=queue.last_event_id,
                dont_block=True,
            )
        )

    async def history(self, *narrow: dict[str, object]) -> Heard:
        return await self.wiretap.usual(
            lambda: self.client.get(
                "/messages", anchor="newest", num_before=20, num_after=0, narrow=list(narrow)
            )
        )

    async def counts(self) -> dict[str, tuple[int, int]]:
        """Statements and round trips of each."""
        return {
            name: (len(heard.statements), heard.round_trips)
            for name, heard in (
                ("send", await self.send()),
                ("register", await self.register()),
                ("poll", await self.poll()),
                ("history", await self.history()),
            )
        }


@pytest_asyncio.fixture
async def case(database_url: str, make: Make, connect) -> AsyncIterator[Case]:
    people = await make.users(FEW)
    channel = await make.channel("counted", subscribers=people)
    async with tapped(database_url) as wiretap, serve(wiretap.url) as server:
        yield Case(make, wiretap, await connect(server, make.realm_id, people[0]), channel, people)


async def test_requests_send_the_same_statements_in_a_crowded_realm(case: Case):
    assert await case.counts() == COUNTS

    more = await case.make.users(MANY)
    case.channel = await case.make.channel("crowded", subscribers=[case.people[0], *more])
    for number in range(MANY // 3):
        await case.make.channel(f"more {number}", subscribers=case.people[:1])
    case.client.server.forget(case.make.realm_id)
    assert await case.counts() == COUNTS


async def test_polls_and_history_write_nothing(case: Case):
    for heard in (await case.poll(), await case.history()):
        assert not [sql for sql in heard.statements if WRITES.search(sql)]


async def test_a_place_alone_is_read_without_looking_for_other_terms(case: Case):
    channel: dict[str, object] = {"operator": "channel", "operand": case.channel.channel_id}
    topic: dict[str, object] = {"operator": "topic", "operand": "t"}
    direct: dict[str, object] = {"operator": "is", "operand": "dm"}
    group: dict[str, object] = {"operator": "dm", "operand": [case.people[1].user_id]}
    for narrow in ([], [channel], [channel, topic], [direct], [group]):
        await case.send()
        heard = await case.history(*narrow)
        assert [sql for sql in heard.statements if "history_page" in sql], heard.statements
        assert (len(heard.statements), heard.round_trips) == COUNTS["history"], heard.statements


async def test_a_crowd_at_a_fresh_server_finds_the_organization_once(
    database_url: str, make: Make, connect
):
    people = await make.users(MANY)
    async with serve(database_url) as before:
        clients = [await connect(before, make.realm_id, person) for person in people]
        queues = [await client.register(event_types=["message"]) for client in clients[:FEW]]
    async with tapped(database_url) as wiretap, serve(wiretap.url) as fresh:
        clients = [await connect(fresh, make.realm_id, person) for person in people]
        wiretap.heard = Heard()
        answers = await asyncio.gather(
            *[client.get("/users/me") for client in clients],
            *[
                client.get("/events", queue_id=queue.queue_id, last_event_id=-1, dont_block=True)
                for client, queue in zip(clients, queues, strict=False)
            ],
        )
    assert len(answers) == MANY + FEW
    asked = [sql for sql in wiretap.heard.statements if "FROM realms" in sql]
    by_name = [sql for sql in asked if "WHERE subdomain" in sql]
    assert 1 <= len(by_name) <= 2, "requests meanwhile share the second look"
    assert len(asked) - len(by_name) == 1


async def test_a_crowd_that_registers_for_messages_alone_shares_its_statements(case: Case, connect):
    people = await case.make.users(MANY)
    clients = [await connect(case.client.server, case.make.realm_id, each) for each in people]
    case.wiretap.heard = Heard()
    await asyncio.gather(*[client.register(event_types=["message"]) for client in clients])
    counts = Counter(case.wiretap.heard.statements)
    assert max(counts.values()) < MANY // 10, counts.most_common(3)


async def test_many_messages_are_changed_by_the_statements_of_a_few(case: Case):
    topics = itertools.cycle(["a", "b"])
    counts: list[list[int]] = []
    for number in (FEW, MANY):
        ids = [(await case.client.post("/messages", **case.message()))["id"] for _ in range(number)]

        async def move(ids: list[int] = ids) -> None:
            fields = {"topic": next(topics), "send_notification_to_new_thread": False}
            await case.client.patch("/messages", message_ids=ids, **fields)

        moving = await case.wiretap.usual(move)
        case.wiretap.heard = deleting = Heard()
        await case.client.post("/messages/delete", message_ids=ids)
        counts.append([len(moving.statements), len(deleting.statements)])
    assert counts[0] == counts[1]
