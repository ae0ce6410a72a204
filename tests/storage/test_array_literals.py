"""Arrays as literals are the arrays that the driver would send."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from storage.array_literals import int_array, moment_array, text_array
from storage.database import Connection

pytestmark = pytest.mark.asyncio

TEXTS = [
    "",
    "plain",
    'quotes " and \\ and \\" at the end \\',
    "{braces}, commas, NULL",
    "NULL",
    "null",
    "lines\n\r\n\ttabs \x0b\x7f",
    "ünï 漢字 👩🏽‍🚀 \u202e",
    "' '' $1 %(x)s {}",
]


async def test_texts_are_the_same(connection: Connection):
    for texts in ([], TEXTS, *([each] for each in TEXTS)):
        same = await connection.value("SELECT %(texts)s::text[]", texts=text_array(texts))
        assert same == texts


async def test_numbers_and_moments_are_the_same(connection: Connection):
    numbers = [0, -1, 2**63 - 1, -(2**63), None, 7]
    assert await connection.value("SELECT %(n)s::bigint[]", n=int_array(numbers)) == numbers
    assert await connection.value("SELECT %(n)s::bigint[]", n=int_array([])) == []
    moments = [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2024, 3, 1, 8, 0, 0, 1, tzinfo=UTC),
        None,
        datetime(2999, 12, 30, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-3))),
    ]
    same = await connection.value("SELECT %(m)s::timestamptz[]", m=moment_array(moments))
    assert same == moments
