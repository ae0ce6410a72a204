"""An export forgets no table, and an import no id."""

import re
from pathlib import Path

from storage.exports.renumbering import _SPECIAL
from storage.exports.tables import EXPORTED, IDS, NOT_EXPORTED, OF_THE_REALM

SCHEMA = Path(__file__).parents[2] / "storage" / "schema.sql"
_TABLE = re.compile(
    r"^CREATE (?:UNLOGGED )?TABLE public\.(\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL
)
_COLUMN = re.compile(r'^    "?(\w+)"? (bigint|integer|jsonb)', re.MULTILINE)


def tables() -> dict[str, dict[str, str]]:
    """The numbers of each table of realms, with their types."""
    found = {name: dict(_COLUMN.findall(body)) for name, body in _TABLE.findall(SCHEMA.read_text())}
    return {name: columns for name, columns in found.items() if "realm_id" in columns}


def test_each_table_of_a_realm_is_exported_or_named_with_a_reason():
    exported = {table.name for table in EXPORTED}
    assert exported | set(NOT_EXPORTED) == set(tables())
    assert not exported & set(NOT_EXPORTED)
    assert all(len(why) > 15 for why in NOT_EXPORTED.values())


def test_each_number_is_an_id_of_the_server_or_one_of_the_realm():
    known = {*IDS, *OF_THE_REALM}
    there = tables()
    unknown = [
        f"{table.name}.{column}"
        for table in EXPORTED
        for column, kind in there[table.name].items()
        if kind == "bigint" and column not in known and (table.name, column) not in _SPECIAL
    ]
    assert unknown == []
    assert not set(IDS) & OF_THE_REALM


def test_what_is_secret_by_its_name_is_only_exported_on_demand():
    text = SCHEMA.read_text()
    named = {
        (table, column)
        for table, body in _TABLE.findall(text)
        for column in re.findall(
            r'^    "?(\w*(?:hash|token|api_key|secret)\w*)"? ', body, re.MULTILINE
        )
    }
    kept = {table.name: table.secrets for table in EXPORTED}
    assert [
        each for each in sorted(named) if each[0] in kept and each[1] not in kept[each[0]]
    ] == []
