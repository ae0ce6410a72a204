"""The checker of emails: what it lets pass, and each thing that it does not."""

from collections.abc import Callable

import pytest

from testkit.faults.mail import Key, check_mail
from testkit.faults.oracle import Ledger, Message
from testkit.faults.world import User, World

ALICE, BOB, CAROL = (User(n, f"{n}@example.org", "key", 400) for n in (1, 2, 3))
WORLD = World([ALICE, BOB, CAROL], [], away=1)
LEDGER = Ledger(
    position=4,
    epoch=1,
    log=[],
    messages={
        1: Message(1, 1, None, 7, "to both"),
        2: Message(2, 3, None, 7, "own"),
        3: Message(3, 1, 5, 6, "in a channel"),
        4: Message(4, 1, None, 8, "to Bob"),
    },
    dm_groups={7: (1, 2, 3), 8: (1, 2)},
    bases={},
    spans={(2, 5): [(1, None)], (3, 5): [(1, 2)]},
)
Held = dict[Key, set[str]]


def found(change: Callable[[Held], object]) -> str:
    """What the checker says of a mail server that took these, and then something else."""
    held: Held = {(CAROL.email, "to both"): {"<1>"}, (BOB.email, "in a channel"): {"<2>"}}
    change(held)
    return "\n".join(check_mail(WORLD, LEDGER, held))


def test_what_is_right_passes():
    assert not found(lambda held: held.pop((BOB.email, "in a channel")))
    assert not found(lambda held: held.update({(BOB.email, "to Bob"): {"<3>"}}))


@pytest.mark.parametrize(
    ("key", "ids", "wrong"),
    [
        ((CAROL.email, "to both"), None, "never got"),
        ((CAROL.email, "to both"), {"<1>", "<9>"}, "got 2 emails"),
        ((CAROL.email, "own"), {"<3>"}, "must not have got"),
        ((CAROL.email, "in a channel"), {"<3>"}, "must not have got"),
        ((CAROL.email, "to Bob"), {"<3>"}, "must not have got"),
        ((BOB.email, "unknown"), {"<3>"}, "must not have got"),
    ],
)
def test_what_is_wrong_is_found(key, ids, wrong):
    assert wrong in found(lambda held: held.pop(key) if ids is None else held.update({key: ids}))
