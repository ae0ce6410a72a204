"""The content of a mail after DATA, however it is cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.mail.data_reader import DataReader, IncomingMailRefusedError

NASTY = st.lists(
    st.sampled_from([b".", b"\r\n", b"\r\n.", b"\n", b"\r", b"a", b"..", b".\r\n", b"x" * 9]),
    max_size=30,
).map(b"".join)


def _reader(*, max_bytes: int = 10**9, max_lines: int = 10**9, max_line_bytes: int = 10**9):
    return DataReader(max_bytes=max_bytes, max_lines=max_lines, max_line_bytes=max_line_bytes)


def _sent(mail: bytes) -> bytes:
    """The mail as a client sends it: a whole number of lines, dots doubled, and the end."""
    lines = mail.split(b"\r\n")
    return b"".join(b"." * line.startswith(b".") + line + b"\r\n" for line in lines) + b".\r\n"


def _fed(reader: DataReader, stream: bytes, cuts: list[int]) -> bytes:
    """What stands behind the end."""
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(places)]
    for number, piece in enumerate(pieces):
        rest = reader.feed(piece)
        if rest is not None:
            return rest + b"".join(pieces[number + 1 :])
    raise AssertionError("the end was not seen")


@given(NASTY, NASTY, st.lists(st.integers(0, 10_000), max_size=8))
def test_every_mail_comes_as_it_was_sent(mail, behind, cuts):
    reader = _reader()
    assert _fed(reader, _sent(mail) + behind, cuts) == behind
    assert reader.content() == mail + b"\r\n"


@given(st.lists(st.integers(0, 100), max_size=4))
def test_a_mail_without_content_ends_at_once(cuts):
    reader = _reader()
    assert _fed(reader, b".\r\nQUIT\r\n", cuts) == b"QUIT\r\n"
    assert reader.content() == b""


@given(NASTY, st.integers(0, 40), st.lists(st.integers(0, 10_000), max_size=8))
def test_limits_do_not_depend_on_how_it_is_cut(mail, limit, cuts):
    lines = _sent(mail).removesuffix(b".\r\n").split(b"\n")
    for name, measured in (
        ("max_bytes", sum(map(len, lines)) + len(lines) - 1),
        ("max_lines", len(lines)),  # with that of the end
        ("max_line_bytes", max(len(b".\r"), *map(len, lines))),  # and that of the end
    ):
        reader = _reader(**{name: limit})
        assert _fed(reader, _sent(mail) + b"x", cuts) == b"x"
        if measured > limit:
            with pytest.raises(IncomingMailRefusedError):
                reader.content()
        else:
            assert reader.content() == mail + b"\r\n"


def test_what_is_refused_is_not_kept():
    reader = _reader(max_bytes=100_000)
    for _ in range(100):
        reader.feed(b"a\r\n" * 10_000)
    assert len(reader._content) < 10
    assert reader.feed(b".\r\n") == b""
