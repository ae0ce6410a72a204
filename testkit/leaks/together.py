"""Two concurrent operations: the result of either order is accepted."""

import asyncio
import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import override

from testkit.faults.http import Answer
from testkit.leaks.model import Model
from testkit.leaks.operations import Operation, Step
from testkit.leaks.people import ChangeRole
from testkit.leaks.queues import Queue, learn, note_expected
from testkit.leaks.server_clients import ServerClients

LOOKS = 40
LOOK_AGAIN_SECONDS = 0.05
"""After the response, the events are in the queues of the same process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(Step):
    """Two operations of different people, neither of which waits for the other."""

    first: Operation
    second: Operation

    @override
    def fits(self, model: Model) -> bool:
        return self.first.fits(model) and self.second.fits(model)

    async def perform(self, clients: ServerClients) -> Answer:
        """Perform both at once; the responses as `first` and `second`."""
        first, second = await asyncio.gather(
            self.first.perform(clients), self.second.perform(clients)
        )
        return Answer(200, {"first": first, "second": second})


Drawn = Operation | Together
"""A step of a history: one operation, or two at once, in either order."""


@dataclass(slots=True)
class Outcome:
    """The expectations if the two took effect in one of their orders."""

    model: Model
    queues: list[Queue]
    """Copies, which have to get what follows from the two as well."""
    in_doubt: frozenset[int]
    """Users with queues that may have ended in it."""
    expected: Counter[str] = field(default_factory=Counter)
    """How many expectations follow, by kind."""
    contradiction: str | None = None
    """Why it cannot have been like that."""

    def follow(self, clients: ServerClients, operation: Operation, answer: Answer) -> None:
        """Let the operation have been done with this answer."""
        name, succeeded = type(operation).__name__, answer.status == 200
        allowed = operation.fits(self.model) and operation.allowed(self.model)
        if allowed is not None and allowed != succeeded:
            self.contradiction = f"{name} was {'not ' if not succeeded else ''}done"
        if not succeeded or self.contradiction is not None:
            return
        for expected in operation.happen(self.model, clients, answer):
            self.expected[f"event {expected.kind}"] += note_expected(
                self.queues, expected, self.model
            )
        learn(self.queues, self.model)

    def problems(self, queues: Sequence[Queue], clients: ServerClients) -> list[str]:
        """Unexpected events of these queues, and missing ones."""
        if self.contradiction is not None:
            return [self.contradiction]
        sent = sorted(self.model.messages.values(), key=lambda message: message.sent)
        ids = [clients.messages.ids[m.number] for m in sent if m.number in clients.messages.ids]
        if ids != sorted(ids):
            return ["messages were sent in another order"]
        found = []
        for due, queue in zip(self.queues, queues, strict=True):
            if queue.user not in self.in_doubt:
                due.got, due.met = queue.got, queue.met
                found += due.wrong()
        return found

    def leave_to(self, queues: Sequence[Queue], now: int) -> None:
        """Drop what has been compared, and leave the rest still due to the queues."""
        for due, queue in zip(self.queues, queues, strict=True):
            queue.must, queue.may = due.must, due.may
            if queue.user not in self.in_doubt:
                queue.forget()
                queue.polled = now


def outcomes(
    operation: Together,
    answer: Answer,
    model: Model,
    queues: Sequence[Queue],
    clients: ServerClients,
) -> list[Outcome]:
    """Both of them."""
    one = (operation.first, answer.body["first"])
    other = (operation.second, answer.body["second"])
    times = (operation.first.number, operation.second.number)
    parts = (operation.first, operation.second)
    in_doubt = frozenset(each.user for each in parts if isinstance(each, ChangeRole))
    found = []
    for order in ((one, other), (other, one)):
        outcome = Outcome(copy.deepcopy(model), [_copy(q) for q in queues], in_doubt)
        for now, (each, become) in zip(times, order, strict=True):
            outcome.model.now = now
            outcome.follow(clients, each, become)
        outcome.model.now = times[1]
        found.append(outcome)
    return found


async def settled(
    candidates: Sequence[Outcome], queues: Sequence[Queue], clients: ServerClients
) -> tuple[Outcome, list[str]]:
    """The outcome that fits what all queues got; else the likeliest, and what is wrong with it."""
    found: list[tuple[list[str], Outcome]] = []
    for look in range(LOOKS):
        if look:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        for queue in queues:
            if queue.user not in candidates[0].in_doubt:
                await queue.take(clients)
        found = [(each.problems(queues, clients), each) for each in candidates]
        for wrong, candidate in found:
            if not wrong:
                return candidate, []
    wrong, candidate = min(
        found, key=lambda each: (each[1].contradiction is not None, len(each[0]))
    )
    return candidate, wrong


def _copy(queue: Queue) -> Queue:
    return replace(
        queue,
        must=Counter(queue.must),
        may=Counter(queue.may),
        channels=set(queue.channels),
        messages=set(queue.messages),
        people=set(queue.people),
    )
