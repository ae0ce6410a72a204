"""Rows as their types."""

from dataclasses import dataclass, field

import msgspec
import pytest

from storage.database import Connection

pytestmark = pytest.mark.asyncio


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    number: int
    note: str = "none"


@dataclass(kw_only=True)
class Named:
    name: str
    number: int


@dataclass
class Partly:
    name: str
    number: int = field(kw_only=True)


class Short(msgspec.Struct, frozen=True):
    number: int
    name: str


SQL = "SELECT 'a' AS name, n AS number FROM generate_series(1, %(most)s) AS n"


@pytest.mark.parametrize("row", [Place, Named, Partly, Short])
async def test_columns_are_arguments_by_name_whatever_their_order(connection: Connection, row):
    expected = [row(name="a", number=1), row(name="a", number=2)]
    assert await connection.many(row, SQL, most=2) == expected
    assert await connection.one(row, SQL, most=2) == expected[0]
    assert await connection.many(row, SQL, most=0) == []
    assert await connection.one(row, SQL, most=0) is None


async def test_an_argument_may_be_left_out_that_has_a_default(connection: Connection):
    assert await connection.one(Place, SQL, most=1) == Place("a", 1, "none")
    last = "SELECT 'b' AS note, 1 AS number, 'a' AS name"
    assert await connection.one(Place, last) == Place("a", 1, "b")


@pytest.mark.parametrize("sql", ["SELECT 'a' AS name", "SELECT 'a' AS name, 1 AS n, 2 AS number"])
async def test_columns_that_are_not_the_arguments_are_refused(connection: Connection, sql):
    for row in (Place, Named, Partly, Short):
        with pytest.raises(TypeError):
            await connection.many(row, sql)
