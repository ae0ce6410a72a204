"""A process knows whether others write to a realm at the same time."""

from server.writer.contention import MOST_WINDOW_SECONDS, WINDOW_SECONDS, Contention
from storage.ids import Position

START = 1_000


def commits(
    contention: Contention, own: int, others: int, *, seconds: float, in_flight: int = 0
) -> None:
    """Note ten commits within so many seconds, with so many positions each."""
    for n in range(1, 11):
        position = Position(START + n * (own + others))
        contention.note(100 + n * seconds / 10, position, own, in_flight)


def begun() -> Contention:
    contention = Contention()
    contention.note(100, Position(START), 1, 0)
    return contention


def test_a_process_that_writes_alone_has_no_rivals():
    contention = begun()
    commits(contention, 3, 0, seconds=2.1 * WINDOW_SECONDS)
    assert not contention.has_rivals


def test_others_that_write_at_the_same_time_are_rivals_until_they_stop():
    contention = begun()
    commits(contention, 1, 1, seconds=1.1 * WINDOW_SECONDS)
    assert contention.has_rivals
    contention.note(101, Position(2 * START), START, 0)
    commits(contention, 1, 0, seconds=2.1 * WINDOW_SECONDS)
    assert not contention.has_rivals


def test_writes_of_its_own_without_a_result_are_no_rivals():
    contention = begun()
    commits(contention, 1, 1, seconds=1.1 * WINDOW_SECONDS, in_flight=10)
    assert not contention.has_rivals
    contention = begun()
    commits(contention, 1, 2, seconds=1.1 * WINDOW_SECONDS, in_flight=10)
    assert contention.has_rivals


def test_the_first_commit_of_a_process_has_no_rivals_even_right_after_boot():
    contention = Contention()
    contention.note(2 * WINDOW_SECONDS, Position(START), 1, 0)
    assert not contention.has_rivals


def test_what_others_wrote_long_ago_does_not_count():
    contention = begun()
    contention.note(100 + 2 * MOST_WINDOW_SECONDS, Position(2 * START), 1, 0)
    assert not contention.has_rivals
