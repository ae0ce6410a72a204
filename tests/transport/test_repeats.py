"""What counts as the same request with another value."""

import pytest

from server.transport.repeats import split

NAME = b"last_event_id="
HEAD = b"GET /events?queue_id=7&last_event_id=%b HTTP/1.1\r\nHost: x\r\n\r\n"


def test_requests_with_other_values_have_the_same_digest():
    found = [split(HEAD % value, NAME) for value in (b"-1", b"0", b"99999999")]
    assert [each and each[1] for each in found] == [b"-1", b"0", b"99999999"]
    assert len({each and each[0] for each in found}) == 1


@pytest.mark.parametrize(
    "other",
    [
        (HEAD % b"5").replace(b"queue_id=7", b"queue_id=8"),
        (HEAD % b"5").replace(b"Host: x", b"Host: y"),
        HEAD % b"5&dont_block=true",
    ],
)
def test_other_requests_have_other_digests(other: bytes):
    first, second = split(HEAD % b"5", NAME), split(other, NAME)
    assert first
    assert second
    assert first[0] != second[0]


@pytest.mark.parametrize(
    "request_",
    [
        HEAD % b"",
        HEAD % b"x",
        HEAD % b"5x",
        HEAD % (b"9" * 30),
        HEAD % b"5&last_event_id=6",
        HEAD % b"5" + b"G",
        (HEAD % b"5")[:-2],
        (HEAD % b"5") * 2,
        b"\r\n\r\n" + HEAD % b"5",
        (HEAD % b"5").replace(b"&last", b"&xlast"),
        b"GET /events HTTP/1.1\r\nReferer: /?last_event_id=5 \r\n\r\n",
        b"",
    ],
)
def test_what_is_no_single_request_with_one_number_is_not_split(request_: bytes):
    assert split(request_, NAME) is None
