"""The invariants hold in every state that can be reached, and each mechanism is needed for them."""

import pytest

from tests.model.machine import (
    Design,
    Exploration,
    Invariant,
    any_process_serves_any_queue,
    each_message_is_had_once_and_in_order,
    explore,
    positions_are_dense_and_in_order,
)

INVARIANTS = (
    positions_are_dense_and_in_order,
    each_message_is_had_once_and_in_order,
    any_process_serves_any_queue,
)
NO_CLOCK = Design(has_clock=False)


def find(design: Design, invariant: Invariant) -> list[str]:
    """The kinds of actions on the shortest way into a bad state."""
    exploration = explore(design, invariant)
    assert exploration.broken is not None
    return [str(action[0]) for action in exploration.broken]


@pytest.fixture(scope="module")
def everything() -> Exploration:
    return explore(
        Design(), lambda design, state: all(holds(design, state) for holds in INVARIANTS)
    )


def test_invariants_1_to_3_hold_in_every_state(everything: Exploration):
    assert everything.broken is None
    assert everything.states > 10_000


def test_every_action_was_tried(everything: Exploration):
    assert set(everything.actions) == {
        *("begin", "commit", "known", "fail", "tell", "hint", "lose", "guard"),
        *("crash", "poll", "cut"),
    }
    assert min(everything.actions.values()) > 500


def test_without_the_clock_positions_have_holes_or_appear_late():
    assert find(NO_CLOCK, positions_are_dense_and_in_order)


def test_without_the_clock_a_reader_passes_a_message_that_commits_late():
    way = find(NO_CLOCK, each_message_is_had_once_and_in_order)
    assert way == ["begin", "begin", "commit", "guard", "poll", "commit"]


def test_without_the_clock_a_message_is_never_delivered():
    assert find(NO_CLOCK, any_process_serves_any_queue)


@pytest.mark.parametrize(
    ("design", "invariant"),
    [
        (Design(holds_lock_until_commit=False), positions_are_dense_and_in_order),
        (Design(holds_lock_until_commit=False), each_message_is_had_once_and_in_order),
        (Design(has_keys=False), each_message_is_had_once_and_in_order),
        (Design(reads_gaps=False), each_message_is_had_once_and_in_order),
        (Design(has_guard=False), any_process_serves_any_queue),
        (Design(client_acknowledges=False), each_message_is_had_once_and_in_order),
    ],
)
def test_every_other_mechanism_is_needed_too(design: Design, invariant: Invariant):
    assert find(design, invariant)
