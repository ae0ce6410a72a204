"""Server processes know of each other's connections."""

import os

import pytest

from server.runtime.connection_counts import ABSENT, ConnectionShare, shared_counts


def test_a_process_reads_what_another_one_has_recorded():
    with shared_counts(3) as counts:
        ours = ConnectionShare(counts, 0)
        described = ConnectionShare(counts, 2).describe()
        theirs = ConnectionShare.parse(described)
        theirs.record(2**40)
        assert [counts[n] for n in range(3)] == [ABSENT, ABSENT, 2**40]
        ours.record(0)
        assert theirs.is_ahead()
        ours.leave()
        assert not theirs.is_ahead()
        theirs.counts.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(counts.descriptor)


@pytest.mark.parametrize(
    ("own", "others", "is_ahead"),
    [
        (0, [], False),
        (9, [], False),
        (9, [ABSENT], False),
        (9, [ABSENT, 8], False),
        (9, [ABSENT, 7], True),
        (1, [0, 0], False),
        (2, [0, 9], True),
        (100, [95, 200], False),
        (100, [94, 200], True),
        (0, [9, 9], False),
    ],
)
def test_a_process_is_ahead_by_more_than_a_few(own, others, is_ahead):
    with shared_counts(1 + len(others)) as counts:
        for number, each in enumerate(others, 1):
            counts[number] = each
        share = ConnectionShare(counts, 0)
        share.record(own)
        assert share.is_ahead() is is_ahead
