"""Polls that differ from the one before on their connection only in the last event id."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from server.transport.reading import RequestReader
from storage.users import UserRow
from testkit.clients.api import Client, basic
from testkit.clients.raw_sockets import Connection, RawAnswer, connected, request
from testkit.clients.server import Server, ServerFactory
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


class Line:
    """A connection on which a user polls, as clients with one connection for polls do."""

    def __init__(self, connection: Connection, host: str) -> None:
        self._connection = connection
        self._host = host

    async def poll(self, user: UserRow, queue: Any, last_event_id: int, **fields: Any) -> RawAnswer:
        await self.begin(user, queue, last_event_id, **fields)
        return await self.answer()

    async def begin(self, user: UserRow, queue: Any, last_event_id: int, **fields: Any) -> None:
        more = "".join(f"&{name}={value}" for name, value in fields.items())
        path = f"/events?queue_id={queue.queue_id}&last_event_id={last_event_id}{more}"
        authorization = basic(user.email, user.api_key)
        await self._connection.send(
            request("GET", path, host=self._host, Authorization=authorization)
        )

    async def answer(self) -> RawAnswer:
        return await self._connection.answer()


class Case:
    """A server, Alice who sends, and Bob's queue and the line on which it is polled."""

    def __init__(
        self, server: Server, line: Line, alice: Client, bob: Client, row: UserRow
    ) -> None:
        self.server = server
        self.line = line
        self.alice = alice
        self.bob = bob
        self.row = row
        self.queue: Any = None
        self.last_event_id = -1

    async def say(self, content: str) -> None:
        await self.alice.post(
            "/messages", type="stream", to='"general"', topic="t", content=content
        )

    async def poll(self) -> RawAnswer:
        answer = await self.line.poll(self.row, self.queue, self.last_event_id)
        self.acknowledge(answer)
        return answer

    def acknowledge(self, answer: RawAnswer) -> None:
        events = answer.body.get("events", [])
        self.last_event_id = max([self.last_event_id, *[each["id"] for each in events]])

    async def heard(self, content: str) -> RawAnswer:
        """Poll, and then send a message for it: the answer has this message alone."""
        await self.line.begin(self.row, self.queue, self.last_event_id)
        await self.say(content)
        answer = await self.line.answer()
        self.acknowledge(answer)
        assert contents(answer) == [content]
        return answer


def contents(answer: RawAnswer) -> list[str]:
    return [
        each["message"]["content"] for each in answer.body["events"] if each["type"] == "message"
    ]


@pytest.fixture
def read(monkeypatch) -> list[bytes]:
    """What was parsed as requests since it was last cleared."""
    parsed: list[bytes] = []
    feed = RequestReader.feed

    def noted(self: RequestReader, data: bytes) -> None:
        parsed.append(bytes(data))
        feed(self, data)

    monkeypatch.setattr(RequestReader, "feed", noted)
    return parsed


def polls_in(read: list[bytes]) -> int:
    return sum(b"/events?" in each for each in read)


@pytest_asyncio.fixture
async def case(
    serving_with: ServerFactory, make: Make, people, channel, connect, read
) -> AsyncIterator[Case]:
    async with serving_with(transport="httptools") as server, connected(server.port) as connection:
        alice, bob = [await connect(server, make.realm_id, person) for person in people]
        case = Case(
            server, Line(connection, await server.host_of(make.realm_id)), alice, bob, people[1]
        )
        case.queue = await bob.register(
            event_types=["message"], fetch_event_types=[], apply_markdown=False
        )
        await case.heard("first")
        read.clear()
        yield case


async def test_each_event_comes_once_and_in_order(case: Case, read):
    await case.heard("second")
    await case.say("third")
    await case.say("fourth")
    assert contents(await case.poll()) == ["third", "fourth"]
    await case.heard("fifth")
    assert polls_in(read) == 0, "repeated polls are not parsed"


async def test_each_response_has_an_id_of_its_own_and_counts(case: Case):
    answers = [await case.heard(f"message {number}") for number in range(3)]
    ids = {answer.headers["X-Request-Id"] for answer in answers}
    assert len(ids) == len(answers)
    counted = [
        count
        for (_, user_id, _, path), (count, _) in case.server.app.activity._counts.items()
        if (user_id, path) == (case.row.user_id, "events")
    ]
    assert sum(counted) == 1 + len(answers)


async def test_events_that_were_lost_on_the_way_come_again(case: Case, read):
    before = case.last_event_id
    await case.heard("second")
    await case.heard("third")
    case.last_event_id = before
    assert contents(await case.poll()) == ["second", "third"]
    assert polls_in(read) == 1


async def test_another_poll_or_a_departed_client_ends_the_wait(case: Case, make: Make):
    await case.line.begin(case.row, case.queue, case.last_event_id)
    async with connected(case.server.port) as other:
        line = Line(other, await case.server.host_of(make.realm_id))
        await line.begin(case.row, case.queue, case.last_event_id)
        heartbeat = await case.line.answer()
        assert [each["type"] for each in heartbeat.body["events"]] == ["heartbeat"]
    case.acknowledge(heartbeat)
    await case.heard("second")


async def test_a_request_of_another_user_on_the_connection_is_theirs(case: Case, people):
    """A proxy may use one connection for all."""
    refused = await case.line.poll(people[0], case.queue, case.last_event_id)
    assert refused.body["code"] == "BAD_EVENT_QUEUE_ID"
    await case.heard("second")
    wrong = replace(case.row, api_key="x" * len(case.row.api_key))
    assert (await case.line.poll(wrong, case.queue, case.last_event_id)).status == 401


async def test_more_in_the_request_is_read(case: Case, read):
    await case.say("second")
    answer = await case.line.poll(case.row, case.queue, case.last_event_id, dont_block="true")
    assert contents(answer) == ["second"]
    assert polls_in(read) == 1


async def test_a_new_key_ends_the_old_one_on_open_connections(case: Case):
    await case.bob.post("/users/me/api_key/regenerate")
    assert (await case.poll()).status == 401


async def test_a_deactivated_user_gets_nothing_more(case: Case, make: Make, connect):
    owner = await connect(case.server, make.realm_id, await make.user("Olga", role=100))
    await owner.delete(f"/users/{case.row.user_id}")
    await case.say("second")
    assert (await case.poll()).status == 401


async def test_a_poll_while_the_server_drains_is_the_last_of_its_connection(case: Case):
    case.server.api.begin_draining()
    await case.say("second")
    answer = await case.poll()
    assert (contents(answer), answer.headers["Connection"]) == (["second"], "close")
