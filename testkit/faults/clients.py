"""Clients that send, poll, subscribe and unsubscribe, and retry until they get a response."""

import asyncio
import random
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from testkit.faults.history import Evidence, Narrow, QueueHistory, SendRecord
from testkit.faults.http import Answer, Client, InFlight, NoAnswerError
from testkit.faults.world import (
    EVERYONE,
    FINISH_TOPIC,
    KEEPER,
    Channel,
    User,
    World,
)

SEND_PATIENCE = 8.0
POLL_PATIENCE = 70.0
"""A heartbeat comes every 30 to 55 seconds."""
SHORTEST_PAUSE = 0.02
LONGEST_PAUSE = 1.0
EVENT_TYPES = ("message", "subscription")
CAPABILITIES = {"notification_settings_null": True, "archived_channels": True}


@dataclass(eq=False)
class Pace:
    """The pace of all clients, and the end of the run."""

    think_seconds: float
    """The pause of a sender between messages, on average, while nothing is up."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    volley: asyncio.Event = field(default_factory=asyncio.Event)
    """Set: all send without a pause."""

    async def think(self, rng: random.Random) -> None:
        """Wait for the next message's time, or for a volley."""
        if self.volley.is_set():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(rng.expovariate(1 / self.think_seconds)):
                await self.volley.wait()

    def stop(self) -> None:
        self.stopping.set()
        self.volley.set()


@dataclass(eq=False)
class Surroundings:
    """State shared by all clients."""

    world: World
    pace: Pace
    ports: Sequence[int]
    in_flight: InFlight
    evidence: Evidence
    seed: int
    queues: dict[int, list[QueueHistory]] = field(default_factory=dict)
    """The queues that live, by user."""
    clients: list[Client] = field(default_factory=list)

    def client(self, user: User, name: str) -> tuple[Client, random.Random]:
        rng = random.Random(f"{self.seed} {name}")
        client = Client(self.ports, user.email, user.api_key, self.in_flight, rng)
        self.clients.append(client)
        return client, rng

    def hang_up(self) -> None:
        """End all connections."""
        for client in self.clients:
            client.drop()


async def pause(rng: random.Random, tries: int) -> None:
    """Wait before the next try, longer and longer."""
    await asyncio.sleep(min(LONGEST_PAUSE, SHORTEST_PAUSE * 2.0**tries) * rng.uniform(0.5, 1.0))


class Sender:
    """Sends one message after the other; names most of them, and tries those until it knows."""

    def __init__(self, around: Surroundings, user: User) -> None:
        self._around = around
        self._user = user
        self._client, self._rng = around.client(user, f"sender {user.user_id}")
        self._count = 0

    async def run(self) -> None:
        pace = self._around.pace
        while not pace.stopping.is_set():
            await pace.think(self._rng)
            if not pace.stopping.is_set():
                await self._send(self._next_record())

    async def finish(self) -> int:
        """Send the last message of the run, to all users; returns its id."""
        record = self._record(EVERYONE, self._around.evidence.finish)
        await self._send(record, named=True)
        assert record.message_id is not None, f"the last message was refused: {record.refusal}"
        return record.message_id

    def _next_record(self) -> SendRecord:
        world, rng = self._around.world, self._rng
        if rng.random() < 0.1:
            others = rng.sample(world.present, rng.choice((0, 1, 1, 2, 5)))
            others += rng.sample(world.absent, min(len(world.absent), rng.choice((0, 1, 1, 2))))
            people = {self._user.user_id, *(other.user_id for other in others)}
            return self._record(tuple(sorted(people)))
        return self._record(rng.choice(world.channels).channel_id)

    def _record(self, where: int | tuple[int, ...], token: str = "") -> SendRecord:
        self._count += 1
        token = token or f"t{self._user.user_id}x{self._count}x{secrets.token_hex(4)}"
        evidence = self._around.evidence
        record = SendRecord(token, self._user.user_id, where, evidence.highest_id)
        evidence.sends.append(record)
        return record

    async def _send(self, record: SendRecord, *, named: bool = False) -> None:
        """Send it, by one of three names; without a name there is one try."""
        queues = self._around.queues.get(self._user.user_id, [])
        how = self._rng.random()
        fields = self._fields(record)
        headers = ""
        is_named = True
        if named or how < 0.6 or (how < 0.9 and not queues):
            headers = f"Idempotency-Key: {record.token}\r\n"
        elif how < 0.9:
            record.queue_id = self._rng.choice(queues).queue_id
            record.local_id = f"local {record.token}"
            fields |= {"queue_id": record.queue_id, "local_id": record.local_id}
        else:
            is_named = False
        while not await self._try(record, fields, headers) and is_named:
            await pause(self._rng, record.attempts)

    def _fields(self, record: SendRecord) -> dict[str, object]:
        common: dict[str, object] = {"content": record.token, "read_by_sender": "true"}
        if isinstance(record.where, tuple):
            others = [u for u in record.where if u != self._user.user_id] or [self._user.user_id]
            return common | {"type": "direct", "to": others}
        finishes = record.token == self._around.evidence.finish
        topic = FINISH_TOPIC if finishes else f"topic {self._rng.randrange(5)}"
        return common | {"type": "channel", "to": record.where, "topic": topic}

    async def _try(self, record: SendRecord, fields: dict[str, object], headers: str) -> bool:
        """Whether the answer says what became of it."""
        record.attempts += 1
        evidence = self._around.evidence
        try:
            answer = await self._client.request(
                "POST", "/messages", fields, kind="write", patience=SEND_PATIENCE, headers=headers
            )
        except NoAnswerError:
            evidence.troubles["sends without an answer"] += 1
            return False
        if not answer.is_final:
            evidence.troubles[f"sends answered {answer.status}"] += 1
            return False
        if answer.status == 200:
            record.message_id = answer.body["id"]
            evidence.accepted += 1
            evidence.highest_id = max(evidence.highest_id, answer.body["id"])
        else:
            record.refusal = f"{answer.status} {answer.body.get('msg')}"
        return True


class Mover:
    """Joins and leaves channels on and on; the keeper lets people into private ones."""

    def __init__(self, around: Surroundings, keeper: User, number: int) -> None:
        self._around = around
        self._keeper, self._rng = around.client(keeper, f"mover {number}")
        self.moves = 0

    async def run(self) -> None:
        world, stopping = self._around.world, self._around.pace.stopping
        people = [user for user in world.users if user.user_id != KEEPER]
        places = [channel for channel in world.channels if channel.channel_id != EVERYONE]
        while not stopping.is_set():
            user, channel = self._rng.choice(people), self._rng.choice(places)
            await self._move(user, channel, joins=self._rng.random() < 0.5)
            await asyncio.sleep(self._rng.expovariate(1 / self._around.pace.think_seconds))

    async def _move(self, user: User, channel: Channel, *, joins: bool) -> None:
        stopping = self._around.pace.stopping
        subscription: object = [{"name": channel.name}] if joins else [channel.name]
        fields: dict[str, object] = {"subscriptions": subscription, "principals": [user.user_id]}
        for tries in range(50):
            try:
                answer = await self._keeper.request(
                    "POST" if joins else "DELETE",
                    "/users/me/subscriptions",
                    fields,
                    kind="write",
                    patience=SEND_PATIENCE,
                )
            except NoAnswerError:
                answer = Answer(500, {})
            if answer.is_final or stopping.is_set():
                self._note(answer)
                return
            await pause(self._rng, tries)

    def _note(self, answer: Answer) -> None:
        if answer.status == 200:
            self.moves += 1
        elif answer.status < 500:
            self._around.evidence.troubles[f"moves refused: {answer.body.get('msg')}"] += 1


@dataclass(frozen=True, slots=True)
class Habits:
    """How a client polls; probabilities are per poll."""

    pause_seconds: float = 0.0
    drops: float = 0.0
    """It closes the connection while it waits."""
    forgets: float = 0.0
    """It loses an answer and what was in it."""
    rivals: float = 0.0
    """It polls twice at once."""
    leaves: float = 0.0
    """It deletes its queue and registers another."""
    all_public: bool = False
    narrow: Narrow | None = None


class Poller:
    """A client with one queue at a time."""

    def __init__(self, around: Surroundings, user: User, habits: Habits, name: str) -> None:
        self._around = around
        self._user = user
        # A guest may not ask for all public channels.
        self._habits = replace(habits, all_public=habits.all_public and not user.is_guest)
        self._client, self._rng = around.client(user, name)
        self._rival, _ = around.client(user, f"rival of {name}")
        self.queue: QueueHistory | None = None

    async def run(self) -> None:
        """Poll until the last message of the run has come."""
        while not (self.queue and self.queue.is_finished):
            queue = self.queue or await self._register()
            await self._turn(queue)

    async def _register(self) -> QueueHistory:
        evidence = self._around.evidence
        fields = {
            "event_types": list(EVENT_TYPES),
            "client_capabilities": CAPABILITIES,
            "apply_markdown": False,
            "all_public_streams": self._habits.all_public,
            "narrow": self._habits.narrow.terms() if self._habits.narrow else [],
        }
        tries = 0
        while True:
            floor = evidence.highest_id
            answer = await self._ask("POST", "/register", fields)
            if answer is not None and answer.status == 200:
                return self._registered(answer, floor)
            if answer is not None and answer.is_final:
                evidence.violation(f"register refused: {answer.body}")
            tries += 1
            await pause(self._rng, tries)

    def _registered(self, answer: Answer, floor: int) -> QueueHistory:
        body = answer.body
        subscriptions = body.get("subscriptions")
        queue = QueueHistory(
            queue_id=body["queue_id"],
            user_id=self._user.user_id,
            all_public=self._habits.all_public,
            floor=floor,
            subscribed=None
            if subscriptions is None
            else frozenset(s["stream_id"] for s in subscriptions),
            narrow=self._habits.narrow,
        )
        queue.last_id = body["last_event_id"]
        self._around.evidence.queues.append(queue)
        self._around.queues.setdefault(self._user.user_id, []).append(queue)
        self.queue = queue
        return queue

    async def _turn(self, queue: QueueHistory) -> None:
        """One poll, in one of the ways in which clients behave."""
        habits, rng = self._habits, self._rng
        finishing = self._around.pace.stopping.is_set()
        if habits.pause_seconds and not finishing:
            await asyncio.sleep(rng.expovariate(1 / habits.pause_seconds))
        chance = rng.random()
        if chance < habits.leaves and not finishing:
            await self._leave(queue)
        elif chance < habits.leaves + habits.drops:
            await self._drop(queue)
        elif chance < habits.leaves + habits.drops + habits.rivals:
            await asyncio.gather(self._poll(self._client, queue), self._poll(self._rival, queue))
        else:
            forgets = rng.random() < habits.forgets
            await self._poll(self._client, queue, forgets=forgets)

    async def _drop(self, queue: QueueHistory) -> None:
        """Hang up in the middle of a poll."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._rng.uniform(0, 0.5)):
                await self._poll(self._client, queue)

    async def _poll(self, client: Client, queue: QueueHistory, *, forgets: bool = False) -> None:
        asked = queue.last_id
        fields = {"queue_id": queue.queue_id, "last_event_id": asked}
        try:
            answer = await client.request(
                "GET", "/events", fields, kind="poll", patience=POLL_PATIENCE
            )
        except NoAnswerError:
            self._around.evidence.troubles["polls without an answer"] += 1
            await pause(self._rng, 2)
            return
        if answer.status == 200:
            self._take(queue, asked, answer, forgets=forgets)
        elif not answer.is_final:
            self._around.evidence.troubles[f"polls answered {answer.status}"] += 1
            await pause(self._rng, 2)
        else:
            self._lost(queue, answer)

    def _take(self, queue: QueueHistory, asked: int, answer: Answer, *, forgets: bool) -> None:
        evidence = self._around.evidence
        before = len(queue.ids), queue.last_id
        for wrong in queue.accept(asked, answer.body["events"]):
            evidence.violation(f"queue {queue.queue_id} of user {queue.user_id}: {wrong}")
        evidence.events += len(queue.ids) - before[0]
        queue.is_finished = queue.is_finished or any(
            event["type"] == "message" and event["message"]["content"] == evidence.finish
            for event in answer.body["events"]
        )
        if forgets and not queue.is_finished:
            queue.last_id = before[1]

    def _lost(self, queue: QueueHistory, answer: Answer) -> None:
        self._around.evidence.violation(
            f"queue {queue.queue_id} of user {queue.user_id} after {queue.last_id}: {answer.body}"
        )
        self._forget_queue(queue)

    async def _leave(self, queue: QueueHistory) -> None:
        self._forget_queue(queue)
        await self._ask("DELETE", "/events", {"queue_id": queue.queue_id})

    def _forget_queue(self, queue: QueueHistory) -> None:
        self.queue = None
        self._around.queues[self._user.user_id].remove(queue)

    async def _ask(self, method: str, path: str, fields: dict[str, object]) -> Answer | None:
        try:
            return await self._client.request(
                method, path, fields, kind="other", patience=SEND_PATIENCE
            )
        except NoAnswerError:
            self._around.evidence.troubles[f"{path} without an answer"] += 1
            return None
