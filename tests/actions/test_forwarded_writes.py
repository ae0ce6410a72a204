"""Writes that a sibling process commits: each happens once, whatever becomes of the sibling."""

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio

from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.send import PlainSend
from server.domain.actor import Actor
from server.domain.errors import DomainError, IdempotencyKeyReusedError
from server.events.base import LogEntry
from server.realm_cache import RealmCaches
from server.runtime.siblings import Sibling, SiblingChannels, sibling_processes
from server.writer import Writers, contention, forwarding, realm_writer
from server.writer.batch import Batch
from server.writer.forwarding import WriteForwarder
from server.writer.pending_write import PendingWrite
from storage import clock
from storage.database import Database, DatabaseUnavailableError
from storage.ids import RealmId
from testkit.clock import StoppedClock
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS = 0.3
AVOIDED_SECONDS = 0.1
WITHIN_SECONDS = 60


class ServerProcess:
    """What one of several server processes has for its writes."""

    def __init__(self, database: Database, sibling: Sibling, make: Make) -> None:
        self.database = database
        self.sibling = sibling
        self.channels = SiblingChannels(sibling)
        self.forwarder = WriteForwarder(self.channels, [PlainSend], lambda *_: None)
        self.clock = StoppedClock()
        self.caches = RealmCaches(database, self.clock)
        self.writers = Writers(database, self.caches, lambda *_: None, self.forwarder)
        self._realm_id = make.realm_id
        self._listening: ExitStack | None = None

    def listen(self) -> None:
        self.sibling.share.record(0)
        self.resume()

    def freeze(self) -> None:
        """Hear nothing any more, and look alive."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def resume(self) -> None:
        if self._listening is None:
            self._listening = ExitStack()
            self._listening.enter_context(self.channels.listening())

    def leave(self) -> None:
        self.sibling.share.leave()

    @property
    def writer(self) -> realm_writer.RealmWriter:
        return self.writers.of(self._realm_id)

    def give_up(self) -> bool:
        """Have the time be over for all that was forwarded."""
        now = asyncio.get_running_loop().time()
        for waiting in self.forwarder._waiting.values():
            self.forwarder._avoid(waiting.number, now, has_left=False)
            waiting.answer.set_exception(forwarding.SiblingLostError("it is lost"))
        return True

    def has_rivals(self) -> None:
        """Have this process know that others write to the realm at the same time."""
        self.writer.contention.has_rivals = True

    async def say(self, actor: Actor, draft: OutgoingMessage) -> int:
        cache = self.caches.of(self._realm_id)
        decision = await send.prepare(cache, actor, draft, self.database.connection)
        now = self.clock.now()
        sent: Any = await self.writer.write(
            lambda tx: send.send_message(tx, actor, draft, decision, now)
        )
        return int(sent.result.message_id)


@dataclass
class WrittenTopic:
    """Processes, of which the first one commits for all, and people who write to a topic."""

    database: Database
    processes: Sequence[ServerProcess]
    actors: Sequence[Actor]
    draft: OutgoingMessage
    realm_id: RealmId

    async def forwarding(self) -> ServerProcess:
        """The second process, after a first message: it forwards what it writes next."""
        process = self.processes[1]
        await process.say(self.actors[0], self.draft_of("say 0"))
        process.has_rivals()
        return process

    def draft_of(self, content: str, **options: Any) -> OutgoingMessage:
        return replace(self.draft, content=content, **options)

    async def contents(self) -> list[tuple[int, str]]:
        async with self.database.connection() as connection:
            rows = await connection.tuples(
                "SELECT id, content FROM messages WHERE realm_id = %(r)s ORDER BY id",
                r=self.realm_id,
            )
        return [(number, content) for number, content in rows if content.startswith("say")]

    async def log_is_dense(self) -> bool:
        """Whether each position has an entry, or is reserved by a later one."""
        async with self.database.connection() as connection:
            rows = await connection.tuples(
                "SELECT position, kind, body FROM event_log WHERE realm_id = %(r)s"
                " ORDER BY position",
                r=self.realm_id,
            )
        reached = 0
        for position, kind, body in rows:
            if LogEntry(position, kind, b"", body).first != reached + 1:
                return False
            reached = position
        return True


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine an answer may take long; none is given up but by a test."""
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 1000.0)
    monkeypatch.setattr(forwarding, "AVOIDED_SECONDS", AVOIDED_SECONDS)
    monkeypatch.setattr(contention, "MOST_WINDOW_SECONDS", 1000.0)


@pytest.fixture
def impatient(patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def siblings() -> Iterator[Sequence[Sibling]]:
    with sibling_processes(3) as made:
        yield made


@pytest_asyncio.fixture
async def place(database: Database, siblings: Sequence[Sibling], make: Make):
    people = await make.users(4)
    channel = await make.channel(subscribers=people)
    await make.message(people[0], await make.topic(channel, "t"))
    actors = [await make.actor(person) for person in people]
    processes = [ServerProcess(database, sibling, make) for sibling in siblings]
    for process in processes:
        process.listen()
    draft = OutgoingMessage(type="channel", to=channel.name, topic="t", content="")
    # The position decides which process commits for the realm.
    turned = make.realm_id % len(processes)
    processes = [*processes[turned:], *processes[:turned]]
    yield WrittenTopic(database, processes, actors, draft, make.realm_id)
    for process in processes:
        process.resume()
    for process in processes:
        await process.writers.drain()
    for process in processes:
        process.freeze()


async def test_one_process_commits_for_all_that_write_at_the_same_time(place: WrittenTopic):
    async with asyncio.timeout(WITHIN_SECONDS):
        while not all(process.writer.contention.has_rivals for process in place.processes[1:]):
            for process in place.processes:
                await process.say(place.actors[0], place.draft_of("say early"))
        before = [process.writer.commits for process in place.processes]
        said = [
            (process, place.draft_of(f"say {n} {number}"))
            for n in range(10)
            for number, process in enumerate(place.processes)
        ]
        ids = await asyncio.gather(
            *[process.say(place.actors[n % 4], draft) for n, (process, draft) in enumerate(said)]
        )
    assert len(set(ids)) == len(said)
    expected = [(number, draft.content) for number, (_, draft) in zip(ids, said, strict=True)]
    assert [each for each in await place.contents() if "early" not in each[1]] == sorted(expected)
    commits = [p.writer.commits - b for p, b in zip(place.processes, before, strict=True)]
    assert commits[1:] == [0, 0]
    assert 0 < commits[0] < len(said)
    assert [p.forwarder.forwarded > 0 for p in place.processes] == [False, True, True]
    assert await place.log_is_dense()


async def test_a_process_without_rivals_commits_by_itself(place: WrittenTopic):
    for n in range(5):
        await place.processes[1].say(place.actors[0], place.draft_of(f"say {n}"))
    assert place.processes[1].forwarder.forwarded == 0
    assert place.processes[0].writer.commits == 0


@pytest.mark.usefixtures("impatient")
async def test_what_a_frozen_process_did_not_write_it_never_writes(place: WrittenTopic):
    frozen, other = place.processes[0], await place.forwarding()
    frozen.freeze()
    async with asyncio.timeout(WITHIN_SECONDS):
        drafts = [place.draft_of(f"say {n}") for n, _ in enumerate(place.actors, 1)]
        ids = await asyncio.gather(*map(other.say, place.actors, drafts))
    assert other.forwarder.forwarded == 0
    written = await place.contents()
    assert sorted(ids) == [number for number, _ in written[1:]]
    assert written[-1][0] >= forwarding.VALID_POSITIONS
    frozen.resume()  # and gets what it was to write
    await frozen.say(place.actors[0], place.draft_of("say last"))
    await asyncio.sleep(0.1)
    await frozen.writers.drain()
    assert [content for _, content in await place.contents()] == [
        *[content for _, content in written],
        "say last",
    ]
    assert await place.log_is_dense()


async def test_a_write_whose_results_are_lost_is_found_in_the_log(
    place: WrittenTopic, monkeypatch: pytest.MonkeyPatch
):
    other = await place.forwarding()
    monkeypatch.setattr(forwarding, "AVOIDED_SECONDS", 1000.0)
    monkeypatch.setattr(place.processes[0].channels, "send", lambda *_: other.give_up())
    async with asyncio.timeout(WITHIN_SECONDS):
        said = await other.say(place.actors[0], place.draft_of("say 1"))
    assert [number for number, _ in await place.contents()][1:] == [said]
    assert said < forwarding.VALID_POSITIONS
    assert place.processes[0].writer.commits == 1


async def test_lost_results_are_found_whatever_is_written_meanwhile(
    place: WrittenTopic, monkeypatch: pytest.MonkeyPatch
):
    """The search in the log begins below them, though later writes are known."""
    other = await place.forwarding()
    monkeypatch.setattr(forwarding, "AVOIDED_SECONDS", 1000.0)
    monkeypatch.setattr(place.processes[0].channels, "send", lambda *_: other.give_up())
    searches, goes_on = asyncio.Event(), asyncio.Event()
    end_backends = clock.end_backends

    async def wait(*args: Any) -> None:
        searches.set()
        await goes_on.wait()
        await end_backends(*args)

    monkeypatch.setattr(clock, "end_backends", wait)
    async with asyncio.timeout(WITHIN_SECONDS):
        lost = asyncio.create_task(other.say(place.actors[0], place.draft_of("say 1")))
        await searches.wait()
        later = [await other.say(place.actors[1], place.draft_of(f"say {n}")) for n in (2, 3)]
        goes_on.set()
        said = await lost
    assert [number for number, _ in await place.contents()][1:] == [said, *later]


async def test_a_write_is_found_by_the_process_that_lost_the_response_to_its_commit(
    place: WrittenTopic, monkeypatch: pytest.MonkeyPatch
):
    """It has another transaction than the process that decided it, and the same id in the log."""
    other = await place.forwarding()
    finish = Batch.finish
    lost: list[PendingWrite] = []

    async def lose(batch: Batch, writes: Sequence[PendingWrite]) -> Any:
        found = await finish(batch, writes)
        if lost:
            return found
        for write in writes:
            lost.append(write)
            write.is_committed, write.backend = False, 1
        raise DatabaseUnavailableError("the connection is lost")

    monkeypatch.setattr(Batch, "finish", lose)
    async with asyncio.timeout(WITHIN_SECONDS):
        said = await other.say(place.actors[0], place.draft_of("say 1"))
    assert [write.decided is not None for write in lost] == [True]
    assert [number for number, _ in await place.contents()][1:] == [said]
    assert other.forwarder.forwarded == 1


async def test_a_failure_of_the_batches_does_not_concern_what_is_forwarded(
    place: WrittenTopic, monkeypatch: pytest.MonkeyPatch
):
    """Their connection may be lost when it is given back, while a sibling has the writes."""
    slow, other = place.processes[0], await place.forwarding()
    leave = Batch.__aexit__
    failed = asyncio.Event()

    async def fail(batch: Batch, *error: Any) -> None:
        await leave(batch, *error)
        if not failed.is_set():
            failed.set()
            raise DatabaseUnavailableError("the connection is lost")

    monkeypatch.setattr(Batch, "__aexit__", fail)
    slow.freeze()
    async with asyncio.timeout(WITHIN_SECONDS):
        saying = asyncio.create_task(other.say(place.actors[0], place.draft_of("say 1")))
        await failed.wait()
        await asyncio.sleep(0.3)
        assert not saying.done()
        slow.resume()
        said = await saying
        await asyncio.sleep(0.3)
        await other.writers.drain()
    assert [number for number, _ in await place.contents()][1:] == [said]


async def test_a_process_that_leaves_is_not_waited_for(place: WrittenTopic):
    gone, other = place.processes[0], await place.forwarding()
    gone.freeze()
    waiting = asyncio.create_task(other.say(place.actors[0], place.draft_of("say 1")))
    await asyncio.sleep(2 * forwarding.CHECK_SECONDS)
    assert not waiting.done()
    gone.leave()
    async with asyncio.timeout(WITHIN_SECONDS):
        await waiting
        other.has_rivals()
        await other.say(place.actors[0], place.draft_of("say 2"))
    assert [content for _, content in await place.contents()] == ["say 0", "say 1", "say 2"]


async def test_a_full_inbox_is_no_obstacle(place: WrittenTopic):
    full, other = place.processes[0], await place.forwarding()
    full.freeze()
    while other.channels.send(full.sibling.number, forwarding.RESULTS, b"x" * 4096):
        pass
    async with asyncio.timeout(WITHIN_SECONDS):
        said = await other.say(place.actors[0], place.draft_of("say 1"))
    assert said < forwarding.VALID_POSITIONS


async def test_a_stale_write_is_decided_again_by_the_process_that_was_asked(
    place: WrittenTopic, database: Database
):
    other = await place.forwarding()
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE channels SET changed_at = changed_at + 1 WHERE realm_id = %(r)s",
            r=place.realm_id,
        )
    await other.say(place.actors[0], place.draft_of("say 1"))
    assert place.processes[0].writer.commits == 1  # without an effect
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE channels SET is_archived = true, changed_at = changed_at + 1"
            " WHERE realm_id = %(r)s",
            r=place.realm_id,
        )
    other.has_rivals()
    with pytest.raises(DomainError):
        await other.say(place.actors[0], place.draft_of("say 2"))
    assert [content for _, content in await place.contents()] == ["say 0", "say 1"]


async def test_an_idempotency_key_counts_in_all_processes(place: WrittenTopic):
    other = place.processes[1]
    keyed = place.draft_of("say 0", idempotency_key="k", idempotency_digest=b"1")
    first = await place.processes[2].say(place.actors[0], keyed)
    other.has_rivals()
    assert await other.say(place.actors[0], keyed) == first
    other.has_rivals()
    with pytest.raises(IdempotencyKeyReusedError):
        await other.say(place.actors[0], replace(keyed, idempotency_digest=b"2"))
    assert [content for _, content in await place.contents()] == ["say 0"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_becomes_of_processes_each_write_happens_once(
    place: WrittenTopic, seed: int, monkeypatch: pytest.MonkeyPatch
):
    """Processes are frozen, resumed and gone, and lose what they send, while all write."""
    monkeypatch.setattr(contention.Contention, "note", lambda *_: None)
    monkeypatch.setattr(forwarding, "MOST_TAKING_TURNS", 1)
    chance = random.Random(seed)
    accepted: dict[int, str] = {}
    is_over = asyncio.Event()

    def lossy(send_on: Any) -> Any:
        return lambda *args: True if chance.random() < 0.1 else send_on(*args)

    for process in place.processes:
        process.channels.send = lossy(process.channels.send)  # type: ignore[method-assign]
        process.has_rivals()  # and remains so

    async def speak(process: ServerProcess, actor: Actor, name: str) -> None:
        n = 0
        while not is_over.is_set():
            content = f"say {name} {n}"
            accepted[await process.say(actor, place.draft_of(content))] = content
            n += 1
            await asyncio.sleep(chance.random() / 100)

    async with asyncio.timeout(WITHIN_SECONDS), asyncio.TaskGroup() as group:
        for number, process in enumerate(place.processes):
            for actor in place.actors[:2]:
                group.create_task(speak(process, actor, f"{number} {actor.user_id}"))
        while not any(process.forwarder.forwarded for process in place.processes):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for _ in range(8):
            await asyncio.sleep(0.1)
            process = chance.choice(place.processes)
            if chance.random() < 0.5:
                process.freeze()
                await asyncio.sleep(PATIENCE_SECONDS * 2 * chance.random())
                process.resume()
            else:
                process.leave()
                await asyncio.sleep(PATIENCE_SECONDS * chance.random())
                process.listen()
        is_over.set()
    for process in place.processes:
        await process.writers.drain()
    assert await place.contents() == sorted(accepted.items())
    assert await place.log_is_dense()
