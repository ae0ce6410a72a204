"""Run one history: perform its operations, and compare what each user sees."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from testkit.faults.http import Answer
from testkit.leaks.generator import HistoryGenerator
from testkit.leaks.model import GUEST, SPECTATOR, Model, User
from testkit.leaks.operations import NUMBERS_EACH, Operation
from testkit.leaks.queues import Habit, Queue, learn, note_expected, open_queue
from testkit.leaks.read_paths import READS, SPECTATORS_READS
from testkit.leaks.reads import Look
from testkit.leaks.server_clients import ServerClients
from testkit.leaks.together import Drawn, Together, outcomes, settled
from testkit.leaks.world import FOUNDINGS, Place, found, imagine

SHARE_OF_FIRST_REALM = 0.8
OPERATIONS_BETWEEN_LOOKS = 10
POLLED_A_LOOK = 0.2
"""The share of queues; the others get what they must later."""
READERS_A_LOOK = 3
READS_A_LOOK = 5
OPENED_QUEUES = 1
"""Queues that are opened at each look, beside those of the beginning."""


@dataclass(slots=True)
class Tally:
    """Counts of operations and comparisons."""

    operations: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    checks_by_operation: Counter[str] = field(default_factory=Counter)
    histories: int = 0
    requests: int = 0

    @property
    def total(self) -> int:
        return self.checks.total()


Suspect = tuple[int, int, str]
"""An organization, a reader of it, and a way of reading that showed something wrong."""
ANONYMOUS = User(SPECTATOR, GUEST)
TRIES = 6
"""How often a suspect reads: it may look at something else each time."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A history at the end of which something was wrong."""

    operations: Sequence[Drawn]
    problems: Sequence[str]
    suspects: frozenset[Suspect]


class Realm:
    """One organization of a history: the model, the server, and its people's queues."""

    def __init__(self, model: Model, clients: ServerClients) -> None:
        self.model = model
        self.clients = clients
        self.queues: list[Queue] = []

    async def open(self, user: int, habit: Habit) -> None:
        queue = await open_queue(self.clients, user, habit, self.model.now)
        learn([queue], self.model)
        self.queues.append(queue)

    async def open_first(self) -> None:
        """A queue for each user, and some with more or fewer events."""
        for user in self.model.users:
            await self.open(user, Habit("whole"))
        for user in list(self.model.users)[1:]:
            await self.open(user, _HABITS[user % len(_HABITS)])

    async def renew(self) -> list[str]:
        """Open again the queues that a change of role has ended; which of them have not."""
        users = self.model.users
        ended = [q for q in self.queues if q.opened < users[q.user].renewed]
        alive = [q for q in ended if not await q.has_ended(self.clients)]
        self.queues = [q for q in self.queues if q not in ended]
        for queue in ended:
            await self.open(queue.user, queue.habit)
        return [f"user {q.user}, {q.habit.name} queue: goes on in another role" for q in alive]

    def learn(self) -> None:
        """Update what may be named in the next events; drop queues of users who have left."""
        self.queues = [q for q in self.queues if self.model.users[q.user].is_active]
        learn(self.queues, self.model)


PUBLIC_KINDS = ("message", "reaction", "stream", "update_message", "delete_message")
_HABITS = (
    Habit(
        "all-public",
        kinds=PUBLIC_KINDS,
        all_public=True,
    ),
    Habit("old client's", kinds=("message", "update_message_flags", "typing"), capabilities=False),
    Habit("narrow", kinds=("message",), channel=NUMBERS_EACH),
)


class History:
    """A history as it is lived: operations are drawn or given, done, foretold and compared."""

    def __init__(self, place: Place, name: str, seed: str, tally: Tally) -> None:
        self.done: list[Drawn] = []
        self.problems: list[str] = []
        self._suspects: set[Suspect] = set()
        self._place = place
        self._name = name
        self._seed = seed
        self._tally = tally
        self._realms: list[Realm] = []

    async def begin(self) -> None:
        for place, founding in enumerate(FOUNDINGS):
            clients = await found(self._place, f"{self._name}-{place}", founding)
            realm = Realm(imagine(founding), clients)
            await realm.open_first()
            self._realms.append(realm)

    async def end(self) -> None:
        """Hang up; nothing of it stays in memory."""
        for realm in self._realms:
            self._tally.requests += realm.clients.requests
            for client in realm.clients.clients.values():
                client.drop()

    def generator(self) -> Callable[[int], Drawn]:
        """Draws the operation of a number, for either organization."""
        rng = random.Random(f"{self._seed} operations")
        inventors = [HistoryGenerator(rng, n, realm.model) for n, realm in enumerate(self._realms)]

        def draw(number: int) -> Drawn:
            first = rng.random() < SHARE_OF_FIRST_REALM
            return inventors[0 if first else 1].draw(number)

        return draw

    async def do(self, operation: Drawn) -> None:
        """Do it, if what it names is there; what it must come to by the rules is noted."""
        realm = self._realms[operation.realm]
        model, clients = realm.model, realm.clients
        model.now = operation.number
        if not operation.fits(model):
            return
        self.done.append(operation)
        if isinstance(operation, Together):
            await self._do_together(realm, operation)
            return
        name = type(operation).__name__
        allowed = operation.allowed(model)
        answer = await operation.perform(clients)
        succeeded = answer.status == 200
        if answer.status >= 500:
            self.problems.append(f"failed: {operation}: {answer.body.get('msg')}")
        if allowed is not None:
            self._count("permission to do something", name, 1)
            if allowed != succeeded:
                self.problems.append(_wrongly(operation, answer))
        if not succeeded:
            self._tally.refused[name] += 1
            return
        self._tally.operations[name] += 1
        expected = operation.happen(model, clients, answer)
        for each in expected:
            noted = note_expected(realm.queues, each, model)
            self._count(f"event {each.kind}", name, noted)
        self.problems += await realm.renew()
        realm.learn()

    async def _do_together(self, realm: Realm, operation: Together) -> None:
        """Do both, and find out in which order they were done."""
        answer = await operation.perform(realm.clients)
        for part in (answer.body["first"], answer.body["second"]):
            if part.status >= 500:
                self.problems.append(f"failed: {operation}: {part.body.get('msg')}")
        candidates = outcomes(operation, answer, realm.model, realm.queues, realm.clients)
        outcome, wrong = await settled(candidates, realm.queues, realm.clients)
        self.problems += [f"{operation}: in no order: {problem}" for problem in wrong]
        outcome.leave_to(realm.queues, operation.number)
        vars(realm.model).update(vars(outcome.model))
        self._tally.operations["Together"] += 1
        for kind, noted in outcome.expected.items():
            self._count(kind, "Together", noted)
        self.problems += await realm.renew()
        realm.learn()

    async def look(self, number: int) -> None:
        """Some people read in some ways, and all queues are polled."""
        rng = random.Random(f"{self._seed} look {number}")
        for realm in self._realms:
            await self._poll([q for q in realm.queues if rng.random() < POLLED_A_LOOK], realm)
            readers = list(realm.model.active())
            for reader in rng.sample(readers, min(READERS_A_LOOK, len(readers))):
                for name in rng.sample(list(READS), READS_A_LOOK):
                    await self._read(realm, reader, name, rng)
            await self._read(realm, ANONYMOUS, rng.choice(list(SPECTATORS_READS)), rng)
        realm = rng.choice(self._realms)
        for user in rng.choices([u.number for u in realm.model.active()], k=OPENED_QUEUES):
            await realm.open(user, rng.choice([Habit("later"), *_HABITS]))

    async def look_at_everything(self) -> None:
        """Let every user read in every way."""
        rng = random.Random(f"{self._seed} end")
        for realm in self._realms:
            await self._poll(realm.queues, realm)
            for reader in list(realm.model.active()):
                for name in READS:
                    await self._read(realm, reader, name, rng)
            for name in SPECTATORS_READS:
                await self._read(realm, ANONYMOUS, name, rng)

    async def look_at(self, suspects: frozenset[Suspect]) -> None:
        """Let users read again who were shown something wrong; all queues are polled."""
        rng = random.Random(f"{self._seed} suspects")
        for realm in self._realms:
            await self._poll(realm.queues, realm)
        for place, user, name in sorted(suspects):
            reader = self._realms[place].model.users.get(user, ANONYMOUS)
            if reader.is_active:
                for _ in range(TRIES):
                    await self._read(self._realms[place], reader, name, rng)

    def failure(self) -> Failure | None:
        if not self.problems:
            return None
        return Failure(self.done, list(dict.fromkeys(self.problems)), frozenset(self._suspects))

    async def _poll(self, queues: Sequence[Queue], realm: Realm) -> None:
        for queue in queues:
            self.problems += await queue.compare(realm.clients, realm.model.now)
            if self.problems:
                return  # what does not come takes long not to come

    async def _read(self, realm: Realm, reader: User, name: str, rng: random.Random) -> None:
        other = self._realms[1 - self._realms.index(realm)]
        look = Look(
            realm.model,
            realm.clients,
            reader,
            rng,
            list(other.clients.messages.ids.values()),
        )
        await (READS.get(name) or SPECTATORS_READS[name])(look)
        self._tally.checks[f"read {name}"] += look.checks
        if look.problems:
            place = self._realms.index(realm)
            self._suspects.add((place, reader.number, name))
            self.problems += [f"organization {place}: {problem}" for problem in look.problems]

    def _count(self, kind: str, operation: str, checks: int) -> None:
        self._tally.checks[kind] += checks
        self._tally.checks_by_operation[operation] += checks


def _wrongly(operation: Operation, answer: Answer) -> str:
    if answer.status == 200:
        return f"must have been refused: {operation}"
    return f"must have been done: {operation}: {answer.status} {answer.body.get('msg')}"


async def live(place: Place, name: str, seed: str, operations: int, tally: Tally) -> Failure | None:
    """Draw and do so many operations; a failure as soon as something is wrong."""
    history = History(place, name, seed, tally)
    try:
        await history.begin()
        draw = history.generator()
        for number in range(1, operations + 1):
            await history.do(draw(number * NUMBERS_EACH))
            if number % OPERATIONS_BETWEEN_LOOKS == 0 and not history.problems:
                await history.look(number)
            if history.problems:
                return history.failure()
        await history.look_at_everything()
        tally.histories += 1
        return history.failure()
    finally:
        await history.end()


async def relive(
    place: Place,
    name: str,
    seed: str,
    operations: Sequence[Drawn],
    suspects: frozenset[Suspect],
) -> Failure | None:
    """Do these operations again in new organizations, and let the suspects read in the end."""
    history = History(place, name, seed, Tally())
    try:
        await history.begin()
        for operation in operations:
            await history.do(operation)
        await history.look_at(suspects)
        return history.failure()
    finally:
        await history.end()
