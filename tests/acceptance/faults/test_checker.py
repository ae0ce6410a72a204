"""The checker itself: what it lets pass, and each thing that it does not."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from testkit.faults.checker import check
from testkit.faults.history import ID_BITS, Evidence, Narrow, QueueHistory, SendRecord
from testkit.faults.oracle import Entry, Ledger, Message
from testkit.faults.world import Channel, User, World

ALICE, BOB, CAROL = 1, 2, 3
GENERAL, SECRET = 1, 2
QUEUE = "bobs"


def entry(position: int, kind: str = "message", **body: Any) -> Entry:
    return Entry(position, 1, kind, body)


def moved(position: int, kind: str, user_id: int, channel_id: int) -> Entry:
    return entry(position, kind, user_ids=[user_id], subscriptions=[{"stream_id": channel_id}])


@dataclass
class Case:
    """A world of three people in which three messages were sent, and what Bob saw of it.

    Bob leaves the secret channel between its two messages.
    """

    world: World
    ledger: Ledger
    evidence: Evidence
    answer: list[dict[str, Any]]
    """The events of the one answer to the one poll of Bob's queue."""

    def found(self) -> str:
        """What the checker finds once Bob has got his answer."""
        [queue] = self.evidence.queues
        for wrong in queue.accept(-1, self.answer):
            self.evidence.violation(wrong)
        queue.is_finished = True
        return "\n".join(check(self.world, self.ledger, self.evidence))


def wire(position: int, token: str, channel_id: int, **more: Any) -> dict[str, Any]:
    return {
        "id": position << ID_BITS,
        "type": "message",
        "flags": [],
        "message": {
            "id": position,
            "sender_id": ALICE,
            "content": token,
            "stream_id": channel_id,
            "display_recipient": "a channel",
        },
        **more,
    }


@pytest.fixture
def case() -> Case:
    people = [User(n, f"{n}@example.org", "key", 400) for n in (ALICE, BOB, CAROL)]
    channels = [
        Channel(GENERAL, "general", is_private=False),
        Channel(SECRET, "s", is_private=True),
    ]
    everyone = frozenset((ALICE, BOB, CAROL))
    evidence = Evidence(finish="finish")
    sends = [("one", GENERAL, 1), ("two", SECRET, 2), ("three", SECRET, 4), ("finish", GENERAL, 5)]
    for token, where, message_id in sends:
        evidence.sends.append(SendRecord(token, ALICE, where, 0, attempts=1, message_id=message_id))
    evidence.queues.append(QueueHistory(QUEUE, BOB, all_public=False, floor=0, subscribed=None))
    spans: dict[tuple[int, int], list[tuple[int, int | None]]] = {
        (user, channel): [(1, None)] for user in everyone for channel in (GENERAL, SECRET)
    }
    spans[BOB, SECRET] = [(1, 3)]
    ledger = Ledger(
        position=5,
        epoch=1,
        log=[
            entry(1),
            entry(2),
            moved(3, "subscription/remove", BOB, SECRET),
            entry(4),
            entry(5),
        ],
        messages={
            message_id: Message(message_id, ALICE, where, 9, token)
            for token, where, message_id in sends
        },
        dm_groups={},
        bases={QUEUE: 0},
        spans=spans,
    )
    answer = [
        wire(1, "one", GENERAL),
        wire(2, "two", SECRET),
        {
            "id": 3 << ID_BITS,
            "type": "subscription",
            "op": "remove",
            "subscriptions": [{"stream_id": SECRET}],
        },
        wire(5, "finish", GENERAL),
    ]
    return Case(
        World(people, channels, {GENERAL: everyone, SECRET: everyone}), ledger, evidence, answer
    )


def test_what_went_well_passes(case):
    assert case.found() == ""


def lose_an_event(case: Case) -> None:
    del case.answer[1]


def leak_an_event(case: Case) -> None:
    case.answer.insert(3, wire(4, "three", SECRET))


def repeat_an_event(case: Case) -> None:
    case.answer.insert(2, case.answer[1])


def swap_events(case: Case) -> None:
    case.answer[0], case.answer[1] = case.answer[1], case.answer[0]


def change_an_event(case: Case) -> None:
    case.answer[1]["message"]["content"] = "something else"


def echo_a_foreign_local_id(case: Case) -> None:
    case.answer[0]["local_message_id"] = "7"


def give_it_a_foreign_flag(case: Case) -> None:
    case.answer[0]["flags"] = ["mentioned"]


def number_an_event_otherwise(case: Case) -> None:
    case.answer[1]["id"] += 1


def leave_a_hole_in_the_log(case: Case) -> None:
    del case.ledger.log[3]


def lose_an_accepted_send(case: Case) -> None:
    del case.ledger.messages[4]


def double_a_send(case: Case) -> None:
    case.ledger.messages[6] = replace(case.ledger.messages[4], message_id=6)


def keep_a_refused_send(case: Case) -> None:
    send = case.evidence.sends[2]
    send.message_id, send.refusal = None, "400 no"


def invent_a_message(case: Case) -> None:
    case.ledger.messages[4] = replace(case.ledger.messages[4], content="who said that")


def accept_out_of_order(case: Case) -> None:
    case.evidence.sends[2].floor = 4


def move_the_clock(case: Case) -> None:
    case.ledger = replace(case.ledger, position=6)


def register_too_early(case: Case) -> None:
    case.evidence.queues[0].floor = 3


def register_with_another_state(case: Case) -> None:
    case.evidence.queues[0].subscribed = frozenset((GENERAL,))


def keep_another_span(case: Case) -> None:
    case.ledger.spans[BOB, SECRET] = [(1, None)]


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (lose_an_event, "never saw 1 events, the first at positions [2]"),
        (leak_an_event, "must not have seen 1 events, the first at positions [4]"),
        (repeat_an_event, "follows"),
        (swap_events, "follows"),
        (change_an_event, "saw something else at 1 events"),
        (echo_a_foreign_local_id, "saw something else at 1 events"),
        (give_it_a_foreign_flag, "saw something else at 1 events"),
        (number_an_event_otherwise, "must not have seen 1 events"),
        (leave_a_hole_in_the_log, "position 5 follows 3"),
        (lose_an_accepted_send, "three was accepted as 4 and is not there"),
        (double_a_send, "three is there 2 times"),
        (keep_a_refused_send, "three was refused (400 no) and is there"),
        (invent_a_message, "'who said that' was never sent"),
        (accept_out_of_order, "three has id 4, below 4"),
        (move_the_clock, "the clock stands at 6, the log ends at 5"),
        (register_too_early, "begins before 3"),
        (register_with_another_state, "register says channels [1], the log [1, 2]"),
        (keep_another_span, "user 2 in channel 2"),
    ],
)
def test_what_went_wrong_is_found(case: Case, breaks: Callable[[Case], None], says: str):
    breaks(case)
    assert says in case.found()


def test_an_answer_that_is_repeated_has_to_be_the_same(case):
    [queue] = case.evidence.queues
    assert queue.accept(-1, case.answer) == []
    assert queue.accept(-1, case.answer) == []
    assert queue.accept(1 << ID_BITS, case.answer[1:]) == []
    assert queue.accept(-1, case.answer[1:]) != []


def test_a_heartbeat_stands_for_all_that_came_before(case):
    """A client that got it will never ask for what is below."""
    case.answer[1:] = [{"id": (4 << ID_BITS) + 512, "type": "heartbeat"}]
    [queue] = case.evidence.queues
    queue.accept(-1, case.answer)
    found = "\n".join(check(case.world, case.ledger, case.evidence))
    assert "never saw 2 events, the first at positions [2, 3]" in found


def test_a_narrowed_queue_sees_its_topic_alone(case):
    """It asked for one topic of one channel: anything else would be a leak, and less a loss."""
    [queue] = case.evidence.queues
    queue.narrow = Narrow(GENERAL, "general", "topic 0")
    case.ledger.topics[9] = "topic 0"
    assert "must not have seen 1 events, the first at positions [2]" in case.found()


def test_a_narrowed_queue_that_misses_its_topic_is_found(case):
    [queue] = case.evidence.queues
    queue.narrow = Narrow(GENERAL, "general", "topic 0")
    case.ledger.topics[9] = "topic 0"
    del case.answer[1]
    del case.answer[0]
    assert "never saw 1 events, the first at positions [1]" in case.found()


def test_a_guest_is_not_told_who_joins_elsewhere(case):
    """Members are told of public channels that they are not in; guests are not."""
    people = [replace(p, role=600) if p.user_id == BOB else p for p in case.world.users]
    members = {**case.world.members, GENERAL: frozenset((ALICE, BOB)), SECRET: frozenset((ALICE,))}
    other = Channel(3, "other", is_private=False)
    case.world = World(people, [*case.world.channels, other], {**members, 3: frozenset()})
    case.ledger.spans.clear()
    case.ledger.spans.update({(u, GENERAL): [(1, None)] for u in (ALICE, BOB)})
    case.ledger.spans.update({(ALICE, SECRET): [(1, None)], (CAROL, 3): [(3, None)]})
    case.ledger.log[2] = moved(3, "subscription/add", CAROL, 3)
    case.ledger.log[3] = entry(4, "subscription/peer_add", stream_ids=[3], user_ids=[CAROL])
    case.ledger.messages.pop(4)
    del case.evidence.sends[2]
    case.answer[1:3] = []
    assert case.found() == ""
    again = copy.deepcopy(case)
    again.evidence.queues[0] = QueueHistory(QUEUE, BOB, False, 0, None)
    peer = {"type": "subscription", "op": "peer_add", "stream_ids": [3], "user_ids": [CAROL]}
    again.answer.insert(1, {"id": 4 << ID_BITS, **peer})
    assert "must not have seen 1 events, the first at positions [4]" in again.found()
