"""The checker of pushes: what it lets pass, and each thing that it does not."""

from collections import Counter
from collections.abc import Callable

import pytest

from testkit.faults.pushes import Key, check_pushes
from tests.acceptance.faults.test_mail import BOB, CAROL, LEDGER, WORLD

Held = dict[Key, Counter[int]]
PLAIN: Key = (CAROL.user_id, "plain", "to both")
SEALED: Key = (CAROL.user_id, "sealed", "to both")
KEYED: Key = (CAROL.user_id, "keyed", "to both")


def found(change: Callable[[Held], object]) -> str:
    """What the checker says of phones that have shown this, and then something else."""
    held = {key: Counter([1]) for key in (PLAIN, SEALED, KEYED)}
    change(held)
    return "\n".join(check_pushes(WORLD, LEDGER, held))


def test_what_is_right_passes():
    assert not found(lambda held: held[SEALED].update([]))
    assert not found(lambda held: held[PLAIN].update([1]))


@pytest.mark.parametrize(
    ("key", "ids", "wrong"),
    [
        (PLAIN, None, "the plain phone of 3 never showed"),
        (SEALED, None, "the sealed phone of 3 never showed"),
        (KEYED, None, "the keyed phone of 3 never showed"),
        (PLAIN, [1, 2], "took something else for"),
        (SEALED, [2], "took something else for"),
        (KEYED, [2], "took something else for"),
        ((CAROL.user_id, "plain", "own"), [2], "must not have shown"),
        ((CAROL.user_id, "plain", "in a channel"), [3], "must not have shown"),
        ((BOB.user_id, "plain", "to both"), [1], "must not have shown"),
        ((CAROL.user_id, "plain", "unknown"), [9], "must not have shown"),
    ],
)
def test_what_is_wrong_is_found(key, ids, wrong):
    assert wrong in found(
        lambda held: held.pop(key) if ids is None else held.update({key: Counter(ids)})
    )
