"""The way of a message from its writer to its readers, as a state machine small enough to try all.

Two server processes share one realm. In each runs one writer, which may die with it. Two event
queues are polled, by clients that may go to either process at any time. Three messages are sent.
Whatever may happen next in a state is one of the *actions* below; `explore` tries every sequence
of them and looks at the invariants in every state that can be reached.

What each action stands for in the server:

`begin`      A client sends a message, or sends one again of which it has not heard, with the same
             idempotency key. What a write decides before the clock touches nothing, so it is no
             state of its own; here begins the finishing round trip (server/writer.py): the row
             of `realm_clock` is locked, others wait, and what follows sees all commits before.
             Without the clock (a broken design), an id is taken from a sequence.
`commit`     The key is not there yet, so the entry is inserted at the next position, the clock is
             set to it, COMMIT. `known`: the key is there, the first answer is given again. Both
             let go of the lock.
`fail`       The transaction rolls back for any reason: nothing is written, no position is used.
`tell`       After the commit the process gives the entry to its own queues, publishes a hint,
             and answers the sender. `crash` instead of it: committed, and no process was told.
`hint`       A hint reaches the other process (server/realtime/follower.py): the next position is
             applied, an old one is nothing, one that is ahead makes it read the gap from the log.
             The hint stays on its way, so it may arrive again, and late.
`lose`       A hint is lost.
`guard`      The tail guard compares the process's position with the clock and reads what is
             missing from the log.
`crash`      The process is killed and starts again: its transaction is rolled back, its memory
             is the clock's present position, hints to it are lost. Queues are rows, they stay.
`poll`       A client polls a queue at either process and gets an answer: a piece of the log
             after its `last_event_id`, as far as the process has come, bounded anywhere; with
             what the queue's user may see. The client's next poll acknowledges it.
`cut`        The same, but the connection is cut within the answer: the client knows nothing of it
             and polls again.

A poll and its answer are one action because only the one client sees the answer, and nothing
that happens between the two changes what is in it. A process's memory of the log is its position
and what it missed below it: the rest equals the log. The two processes are alike, so a state and
its mirror image are one state.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

MESSAGES = (1, 2, 3)
AUDIENCES = {1: (0, 1), 2: (0,), 3: (0, 1)}
"""Who may see each message: queue 0 all of them, queue 1 not the second."""
PROCESSES = (0, 1)
MOST_STATES = 200_000
QUEUES = (0, 1)


@dataclass(frozen=True)
class Design:
    """What the server does. Each switch that is turned off breaks something."""

    has_clock: bool = True
    """Off: ids from a sequence, taken before the commit; readers ask for `id > cursor`."""
    holds_lock_until_commit: bool = True
    """Off: the position is taken under the lock, which is let go before the commit."""
    has_keys: bool = True
    """Off: a message that is sent again is written again."""
    reads_gaps: bool = True
    """Off: a hint that is ahead is applied as if nothing were missing."""
    has_guard: bool = True
    """Off: no process compares the clock while no hint comes."""
    client_acknowledges: bool = True
    """Off: the server moves a queue's cursor when it has written an answer."""


class Writer(NamedTuple):
    """A transaction in a process, up to its answer."""

    message: int
    position: int
    is_committed: bool = False


class Follower(NamedTuple):
    """What a process has applied: everything up to `position` but what it `missed`."""

    position: int
    missed: frozenset[int] = frozenset()


class Client(NamedTuple):
    """A queue and its client: `last_event_id`, as a position, and what it was shown, in order."""

    cursor: int
    shown: tuple[int, ...]


class State(NamedTuple):
    log: tuple[tuple[int, int], ...]
    """(position, message), in the order in which they were committed."""
    taken: int
    """The last id that a sequence has given; with a clock, nothing."""
    writers: tuple[Writer | None, Writer | None]
    accepted: frozenset[int]
    """Messages for which the sender has got its 200."""
    followers: tuple[Follower, Follower]
    hints: tuple[frozenset[int], frozenset[int]]
    """Positions on their way to each process."""
    clients: tuple[Client, Client]

    @property
    def clock(self) -> int:
        """The highest position that a reader of the database can see."""
        return max((position for position, _ in self.log), default=0)


Action = tuple[str | int, ...]
Step = tuple[Action, State]

START = State(
    log=(),
    taken=0,
    writers=(None, None),
    accepted=frozenset(),
    followers=(Follower(0), Follower(0)),
    hints=(frozenset(), frozenset()),
    clients=(Client(0, ()), Client(0, ())),
)


def steps(design: Design, state: State) -> Iterator[Step]:
    """Everything that may happen next."""
    for process in PROCESSES:
        yield from _writing(design, state, process)
        yield from _following(design, state, process)
        yield ("crash", process), _crash(state, process)
        for queue in QUEUES:
            yield from _polling(design, state, process, queue)


def _writing(design: Design, state: State, process: int) -> Iterator[Step]:
    writer = state.writers[process]
    if writer is None:
        if not _is_locked(design, state):
            position = state.clock + 1 if design.has_clock else state.taken + 1
            taken = 0 if design.has_clock else position
            for message in _sendable(state):
                begun = _with_writer(state, process, Writer(message, position))
                yield ("begin", process, message), begun._replace(taken=taken)
    elif writer.is_committed:
        yield ("tell", process), _tell(design, state, process, writer)
    else:
        yield ("fail", process), _with_writer(state, process, None)
        yield _commit(design, state, process, writer)


def _sendable(state: State) -> list[int]:
    """The next new message, and those for which the senders wait or have given up waiting."""
    begun = {writer.message for writer in state.writers if writer}
    begun |= {message for _, message in state.log} | state.accepted
    return [
        message
        for message in MESSAGES
        if message not in state.accepted and (message in begun or message == len(begun) + 1)
    ]


def _is_locked(design: Design, state: State) -> bool:
    """Whether some transaction holds the clock's row."""
    if not (design.has_clock and design.holds_lock_until_commit):
        return False
    return any(writer is not None and not writer.is_committed for writer in state.writers)


def _commit(design: Design, state: State, process: int, writer: Writer) -> Step:
    if design.has_keys and any(message == writer.message for _, message in state.log):
        done = _with_writer(state, process, None)
        return ("known", process), done._replace(accepted=state.accepted | {writer.message})
    committed = _with_writer(state, process, writer._replace(is_committed=True))
    log = (*state.log, (writer.position, writer.message))
    return ("commit", process), committed._replace(log=log)


def _tell(design: Design, state: State, process: int, writer: Writer) -> State:
    other = 1 - process
    hints = _replaced(state.hints, other, state.hints[other] | {writer.position})
    told = _offered(design, _with_writer(state, process, None), process, writer.position)
    return told._replace(hints=hints, accepted=state.accepted | {writer.message})


def _following(design: Design, state: State, process: int) -> Iterator[Step]:
    for position in state.hints[process]:
        yield ("hint", process, position), _offered(design, state, process, position)
        left = _replaced(state.hints, process, state.hints[process] - {position})
        yield ("lose", process, position), state._replace(hints=left)
    if design.has_guard and state.followers[process].position < state.clock:
        yield ("guard", process), _guarded(state, process)


def _offered(design: Design, state: State, process: int, position: int) -> State:
    """The process hears of a position that is committed."""
    follower = state.followers[process]
    if position <= follower.position:
        return state
    missed = follower.missed
    if not design.reads_gaps:
        missed |= frozenset(range(follower.position + 1, position))
    return _with_follower(state, process, Follower(position, missed))


def _guarded(state: State, process: int) -> State:
    return _with_follower(state, process, Follower(state.clock, state.followers[process].missed))


def _crash(state: State, process: int) -> State:
    dead = _with_writer(state, process, None)
    dead = _with_follower(dead, process, Follower(state.clock))
    return dead._replace(hints=_replaced(state.hints, process, frozenset()))


def _polling(design: Design, state: State, process: int, queue: int) -> Iterator[Step]:
    client = state.clients[queue]
    for end in range(client.cursor + 1, state.followers[process].position + 1):
        yield ("poll", queue, process, end), _answered(state, process, queue, end)
        yield ("cut", queue, process, end), _cut(design, state, queue, end)


def _cut(design: Design, state: State, queue: int, end: int) -> State:
    if design.client_acknowledges:
        return state
    clients = _replaced(state.clients, queue, state.clients[queue]._replace(cursor=end))
    return state._replace(clients=clients)


def _answered(state: State, process: int, queue: int, end: int) -> State:
    client = state.clients[queue]
    missed = state.followers[process].missed
    shown = tuple(
        message
        for position, message in sorted(state.log)
        if client.cursor < position <= end
        and position not in missed
        and queue in AUDIENCES[message]
    )
    clients = _replaced(state.clients, queue, Client(end, client.shown + shown))
    return state._replace(clients=clients)


def _with_writer(state: State, process: int, writer: Writer | None) -> State:
    return state._replace(writers=_replaced(state.writers, process, writer))


def _with_follower(state: State, process: int, follower: Follower) -> State:
    return state._replace(followers=_replaced(state.followers, process, follower))


def _replaced(pair: tuple[Item, Item], index: int, value: Item) -> tuple[Item, Item]:
    return (value, pair[1]) if index == 0 else (pair[0], value)


def canonical(state: State) -> State:
    """One for all states that no action can tell apart.

    Hints that would change nothing are left out, and of a state and its mirror image one stands
    for both.
    """
    hints = state.hints
    if hints[0] or hints[1]:
        hints = (_news(hints[0], state.followers[0]), _news(hints[1], state.followers[1]))
    if _rank(state, hints, 0) <= _rank(state, hints, 1):
        return state._replace(hints=hints)
    return state._replace(
        followers=(state.followers[1], state.followers[0]),
        writers=(state.writers[1], state.writers[0]),
        hints=(hints[1], hints[0]),
    )


def _rank(
    state: State, hints: tuple[frozenset[int], frozenset[int]], process: int
) -> tuple[object, ...]:
    """An order of the two processes by all that a process is."""
    follower = state.followers[process]
    return (
        follower.position,
        state.writers[process] or (),
        sorted(hints[process]),
        sorted(follower.missed),
    )


def _news(hints: frozenset[int], follower: Follower) -> frozenset[int]:
    return frozenset(position for position in hints if position > follower.position)


@dataclass
class Exploration:
    """All states that were reached, and how the first bad one was, if there is one."""

    states: int
    actions: dict[str, int]
    """How often each kind of action led from one state to another."""
    broken: list[Action] | None
    """The shortest way into a state in which the invariant does not hold."""


Invariant = Callable[[Design, State], bool]


def explore(design: Design, invariant: Invariant) -> Exploration:
    """Try every sequence of actions, the shorter ones first, up to the first bad state."""
    came_from: dict[State, tuple[State, Action] | None] = {START: None}
    actions: dict[str, int] = {}
    waiting = deque([START])
    while waiting:
        state = waiting.popleft()
        for action, following in steps(design, state):
            actions[str(action[0])] = actions.get(str(action[0]), 0) + 1
            reached = canonical(following) if following is not state else state
            if reached in came_from:
                continue
            came_from[reached] = (state, action)
            if not invariant(design, reached):
                return Exploration(len(came_from), actions, _way_to(reached, came_from))
            waiting.append(reached)
        assert len(came_from) < MOST_STATES, "this design has no end of states"
    return Exploration(len(came_from), actions, None)


def _way_to(state: State, came_from: dict[State, tuple[State, Action] | None]) -> list[Action]:
    way: list[Action] = []
    while (step := came_from[state]) is not None:
        state, action = step
        way.append(action)
    return way[::-1]


def positions_are_dense_and_in_order(_design: Design, state: State) -> bool:
    """Invariant 1: the log is 1, 2, 3, ... in the order of the commits."""
    return [position for position, _ in state.log] == list(range(1, len(state.log) + 1))


def each_message_is_had_once_and_in_order(_design: Design, state: State) -> bool:
    """Invariant 2: accepted is in the log, once; each queue was shown the log up to its cursor."""
    logged = [message for _, message in state.log]
    return (
        len(set(logged)) == len(logged)
        and state.accepted.issubset(logged)
        and all(
            state.clients[queue].shown == _due(state, queue, state.clients[queue].cursor)
            for queue in QUEUES
        )
    )


def any_process_serves_any_queue(design: Design, state: State) -> bool:
    """Invariant 3: after any crash, each process alone can show each queue all that it lacks."""
    for process in PROCESSES:
        ready = _guarded(state, process) if design.has_guard else state
        end = ready.followers[process].position
        for queue in QUEUES:
            served = _answered(ready, process, queue, end).clients[queue]
            if served.shown != _due(state, queue, state.clock):
                return False
    return True


def _due(state: State, queue: int, until: int) -> tuple[int, ...]:
    """What the queue is to have been shown of the log up to a position."""
    return tuple(
        message
        for position, message in sorted(state.log)
        if position <= until and queue in AUDIENCES[message]
    )
