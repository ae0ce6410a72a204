"""JSON of other programs: whatever is wrong with it is one error."""

from typing import Any

import msgspec
import pytest

from server.runtime.untrusted_json import decode_untrusted


class _Answer(msgspec.Struct):
    text: Any = None


@pytest.mark.parametrize(
    "wrong",
    [
        *(b"", b"hello", b"\xff", b'{"text": "\xff\xfe"}', b'{"text": "\\ud800"}', b"[]"),
        *(b'{"text": ' + b"[" * 100_000, b'{"other": ' + b"[" * 100_000, b'{"text": 1e999}'),
        '{"text": 1}'.encode("utf-16"),
    ],
    ids=range(10),
)
def test_what_cannot_be_decoded_is_one_error(wrong: bytes):
    with pytest.raises(msgspec.DecodeError):
        decode_untrusted(wrong, _Answer)


def test_what_can_be_decoded_is_of_the_type():
    assert decode_untrusted('{"text": "\\u0000é", "other": 1}', _Answer) == _Answer("\0é")
