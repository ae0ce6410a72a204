"""Event queues over server-sent events: the same events under the same ids as by polls."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from server.api import credentials
from storage.ids import QueueId
from testkit.clients.api import Client, Events, basic
from testkit.clients.api_keys import new_key
from testkit.clients.page_client import PASSWORD
from testkit.clients.raw_sockets import Connection, RawAnswer, connected, request, until

pytestmark = pytest.mark.asyncio


class EventSource:
    """What a browser does with a stream: pieces become events with an id, a name and data."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._text = ""

    async def event(self) -> dict[str, Any]:
        """The next event: its fields, `data` from its JSON. Fails if the stream ends first."""
        while True:
            while "\n\n" not in self._text:
                chunk = await self.connection.chunk()
                assert chunk, "the stream has ended"
                self._text += chunk.decode()
            block, _, self._text = self._text.partition("\n\n")
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            if "data" in fields:
                return {**fields, "data": json.loads(fields["data"])}
            assert fields.keys() == {"retry"}

    async def ended(self) -> list[dict[str, Any]]:
        """What came before the end of the stream."""
        events = []
        while True:
            try:
                events.append(await self.event())
            except AssertionError:
                return events


@asynccontextmanager
async def source(
    queue: Events,
    *,
    last: str | None = None,
    credentials: Mapping[str, str] | None = None,
    **more: Any,
) -> AsyncIterator[Any]:
    """A stream of the queue's events, begun."""
    async with connected(queue.client.server.port) as connection:
        answer = await ask(connection, queue, last=last, credentials=credentials, **more)
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-store"
        yield EventSource(connection)


async def ask(
    connection: Connection,
    queue: Events,
    *,
    last: str | None = None,
    credentials: Mapping[str, str] | None = None,
    **more: Any,
) -> RawAnswer:
    headers = {} if last is None else {"Last_Event_ID": last}
    own = {"Authorization": basic(queue.client.email or "", queue.client.api_key or "")}
    fields = "".join(f"&{name}={value}" for name, value in more.items())
    client = queue.client
    await connection.send(
        request(
            "GET",
            f"/events?queue_id={queue.queue_id}{fields}",
            host=client.host,
            Accept="text/event-stream",
            **(own if credentials is None else credentials),
            **headers,
        )
    )
    return await connection.head()


async def say(client: Client, content: str) -> None:
    await client.post("/messages", type="channel", to="general", topic="t", content=content)


@pytest.fixture
def sender(log_in, make):
    async def sender() -> Client:
        user = await make.user()
        await make.channel("general", subscribers=[user])
        client: Client = await log_in(user)
        return client

    return sender


async def test_events_come_as_they_happen_under_the_ids_of_polls(sender):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with source(queue) as stream:
        for content in ("one", "two\nlines"):
            await say(client, content)
        first, second = await stream.event(), await stream.event()
    assert first["data"]["message"]["content"] == "one"
    assert second["data"]["message"]["content"] == "two\nlines"
    assert first["id"] == str(first["data"]["id"])
    assert [event["id"] for event in await queue.poll()] == [
        first["data"]["id"],
        second["data"]["id"],
    ]


async def test_a_client_that_comes_back_gets_what_it_has_missed(sender):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with source(queue) as stream:
        await say(client, "one")
        seen = await stream.event()
    await say(client, "two")
    # The address is still that of the first call: the header outweighs it.
    async with source(queue, last=seen["id"], last_event_id=-1) as stream:
        assert (await stream.event())["data"]["message"]["content"] == "two"
    async with source(queue, last_event_id=-1) as stream:
        assert (await stream.event())["data"]["message"]["content"] == "one"


async def test_a_heartbeat_moves_the_cursor_and_is_no_message(sender, make):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with source(queue) as stream:
        await until(lambda: client.server.app.realtime.waiting() == 1)
        realtime = client.server.app.realtime
        _, live = await realtime.queue(make.realm_id, client.user.user_id, QueueId(queue.queue_id))
        live.waiter.expired()
        beat = await stream.event()
        assert beat["event"] == "heartbeat"
        assert beat["data"]["type"] == "heartbeat"
        await say(client, "after")
        event = await stream.event()
    assert int(event["id"]) > int(beat["id"])
    assert "event" not in event


@pytest.mark.parametrize(
    ("change", "code", "status"),
    [
        ({"queue_id": "nonsense"}, "BAD_EVENT_QUEUE_ID", 400),
        ({"last": "x"}, "REQUEST_VARIABLE_INVALID", 400),
        ({"last": "999999999"}, "BAD_EVENT_QUEUE_ID", 400),
        ({"api_key": "wrong"}, "INVALID_API_KEY", 401),
    ],
)
async def test_what_is_wrong_is_told_as_always(sender, change, code, status):
    client = await sender()
    queue = await client.register(event_types=["message"])
    wrong = Client(client.server, client.host, client.email, change.get("api_key", client.api_key))
    answer = await wrong.send(
        "GET",
        f"/events?queue_id={change.get('queue_id', queue.queue_id)}",
        headers={"Accept": "text/event-stream", "Last-Event-ID": change.get("last", "-1")},
    )
    answer.refused(code, status)
    assert answer.headers["Content-Type"] == "application/json"


async def test_a_newer_stream_ends_the_older_one(sender):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with source(queue) as older, source(queue) as newer:
        assert [event["event"] for event in await older.ended()] == ["heartbeat"]
        await say(client, "for the newer")
        assert (await newer.event())["data"]["message"]["content"] == "for the newer"


async def test_a_poll_ends_a_stream_and_a_stream_releases_a_poll(sender):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with source(queue) as stream:
        polling = asyncio.create_task(queue.poll())
        await stream.ended()
        await until(lambda: client.server.app.realtime.waiting() == 1)
        async with source(queue) as newer:
            await say(client, "hello")
            [event] = await polling
            assert event["message"]["content"] == "hello"
            # The poll came back for more, as polls do, and so has the queue again.
            await newer.ended()


async def test_a_stream_ends_when_another_process_serves_its_queue(
    sender, serving_with, connect, make
):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with source(queue) as stream:
        await until(lambda: client.server.app.realtime.waiting() == 1)
        async with serving_with() as other:
            there = await connect(other, make.realm_id, client.user)
            moved = Events(there, queue.state)
            polling = asyncio.create_task(moved.poll())
            await stream.ended()
            await say(there, "over here")
            [event] = await polling
    assert event["message"]["content"] == "over here"


async def test_a_stream_ends_with_its_queue(sender):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with source(queue) as stream:
        await client.delete("/events", queue_id=queue.queue_id)
        await stream.ended()
    async with connected(client.server.port) as connection:
        assert (await ask(connection, queue)).status == 400


async def test_a_client_that_goes_away_ends_its_stream(sender):
    client = await sender()
    queue = await client.register(event_types=["message"])
    realtime = client.server.app.realtime
    async with source(queue):
        await until(lambda: realtime.waiting() == 1)
    await until(lambda: realtime.waiting() == 0)
    await until(lambda: not client.server.api.in_progress)


async def test_a_server_that_stops_ends_its_streams_cleanly(serving_with, connect, make):
    user = await make.user()
    async with AsyncExitStack() as life:
        server = await life.enter_async_context(serving_with())
        client = await connect(server, make.realm_id, user)
        queue = await client.register(event_types=["message"])
        async with source(queue) as stream:
            await until(lambda: server.app.realtime.waiting() == 1)
            stopping = asyncio.create_task(life.aclose())
            [beat] = await stream.ended()
            assert beat["event"] == "heartbeat"
            await stopping


async def test_a_slow_reader_slows_its_own_stream_only(sender, make):
    client = await sender()
    queue = await client.register(event_types=["message"])
    async with connected(client.server.port) as connection:
        await ask(connection, queue)
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(30):
            await say(client, "x" * 10_000)
        connection.writer.transport.resume_reading()  # type: ignore[attr-defined]
        stream = EventSource(connection)
        for _ in range(30):
            assert (await stream.event())["data"]["message"]["content"] == "x" * 10_000


@pytest.fixture
def by_what_ends(log_in, make, ada, visitor, database):
    """`queue, shown, end = await by_what_ends("session")`: a queue of Ada's, the
    credentials that read it, and what ends that."""

    async def by_what_ends(kind: str) -> tuple[Events, dict[str, str], Any]:
        await make.channel("general", subscribers=[ada])
        client = await log_in(ada)
        queue = await client.register(event_types=["message"])

        async def run(sql: Any) -> None:
            async with database.connection() as connection:
                assert await connection.execute(sql) == 1

        if kind == "session":
            browser = await visitor()
            await browser.sign_in(ada.email, PASSWORD)
            cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
            return queue, {"Cookie": cookies}, lambda: run("DELETE FROM sessions")
        made = await new_key(client, "everything")
        shown = {"Authorization": basic(ada.email, made["api_key"])}
        return queue, shown, lambda: run("UPDATE api_keys SET expires_at = now()")

    return by_what_ends


@pytest.mark.parametrize(
    ("kind", "code"), [("session", "UNAUTHORIZED"), ("key", "INVALID_API_KEY")]
)
async def test_a_stream_ends_with_the_session_or_the_key_that_opened_it(
    by_what_ends, kind, code, monkeypatch
):
    monkeypatch.setattr(credentials, "MAX_TRUST_SECONDS", 0.0)
    queue, shown, end = await by_what_ends(kind)
    async with source(queue, credentials=shown) as stream:
        await say(queue.client, "before")
        assert (await stream.event())["data"]["message"]["content"] == "before"
        await end()
        await say(queue.client, "after")
        last = await stream.event()
        assert (last.get("event"), last["data"].get("code")) == ("error", code)
        assert await stream.ended() == []


async def test_a_heartbeat_looks_whether_the_session_has_ended(by_what_ends, make, monkeypatch):
    monkeypatch.setattr(credentials, "MAX_TRUST_SECONDS", 0.0)
    queue, shown, end = await by_what_ends("session")
    realtime = queue.client.server.app.realtime
    async with source(queue, credentials=shown) as stream:
        await until(lambda: realtime.waiting() == 1)
        await end()
        _, live = await realtime.queue(
            make.realm_id, queue.client.user.user_id, QueueId(queue.queue_id)
        )
        live.waiter.expired()
        assert (await stream.event())["event"] == "error"
        assert await stream.ended() == []


@pytest.mark.parametrize(
    ("kind", "code"), [("session", "UNAUTHORIZED"), ("key", "INVALID_API_KEY")]
)
async def test_a_poll_that_waits_is_refused_when_its_session_or_key_has_ended(
    by_what_ends, kind, code, monkeypatch
):
    monkeypatch.setattr(credentials, "MAX_TRUST_SECONDS", 0.0)
    queue, shown, end = await by_what_ends(kind)
    client = queue.client
    async with connected(client.server.port) as connection:
        poll = f"/events?queue_id={queue.queue_id}"

        async def told(content: str, last: int) -> RawAnswer:
            asked = f"{poll}&last_event_id={last}"
            await connection.send(request("GET", asked, host=client.host, **shown))
            await until(lambda: client.server.app.realtime.waiting() == 1)
            if content == "after":
                await end()
            await say(client, content)
            return await connection.answer()

        [event] = (await told("before", -1)).body["events"]
        answer = await told("after", event["id"])
    assert (answer.status, answer.body["code"]) == (401, code)
    assert b"after" not in answer.content
    assert not answer.headers.get("WWW-Authenticate", "").startswith("Basic ") or kind == "key"
    # What it was not told is there for who may read it.
    assert [event["message"]["content"] for event in await queue.poll()] == ["before", "after"]


async def test_who_goes_away_while_their_session_is_looked_at_is_counted_once(
    by_what_ends, monkeypatch
):
    monkeypatch.setattr(credentials, "MAX_TRUST_SECONDS", 0.0)
    queue, shown, _ = await by_what_ends("session")
    client, api = queue.client, queue.client.server.api
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def live(*_: Any) -> list[bytes]:
        asked.set()
        await go_on.wait()
        return []

    api.handler_context.credentials = credentials.Credentials(api.app)
    monkeypatch.setattr(api.handler_context.credentials._sessions, "_read", live)
    async with connected(client.server.port) as connection:
        poll = f"/events?queue_id={queue.queue_id}&last_event_id=-1"
        await connection.send(request("GET", poll, host=client.host, **shown))
        await until(lambda: api.waiting == 1)
        await say(client, "hello")
        await until(asked.is_set)
        connection.reset()
        await until(lambda: api.waiting == 0)
    go_on.set()
    await say(client, "and more")
    assert len(await queue.poll()) == 2
    assert api.waiting == 0
