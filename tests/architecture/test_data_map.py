"""The data map of docs/compliance.md: every table, and what an erasure does to it."""

import re

from storage.erasure import OWNED_TABLES, RETAINED_TABLES
from testkit.sources import ROOT

DOCUMENT = (ROOT / "docs" / "compliance.md").read_text()
SCHEMA = (ROOT / "storage" / "schema.sql").read_text()


def rows(heading: str) -> dict[str, list[str]]:
    """The cells after the name of each table below a heading, up to the next text."""
    section = DOCUMENT.split(heading, 1)[1]
    table = re.search(r"^\| table \|.*?(?=^$)", section, re.MULTILINE | re.DOTALL)
    assert table is not None
    found = {}
    for line in table[0].splitlines()[2:]:
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert name.strip("`") not in found, name
        found[name.strip("`")] = cells
    return found


PERSONAL = rows("## Data map")
IMPERSONAL = rows("Without personal data:")


def test_it_lists_every_table_once():
    tables = re.findall(r"^CREATE (?:UNLOGGED )?TABLE public\.(\w+) \(", SCHEMA, re.MULTILINE)
    assert sorted([*PERSONAL, *IMPERSONAL]) == sorted(tables)
    assert all(all(cells) for cells in [*PERSONAL.values(), *IMPERSONAL.values()])


def test_it_says_what_an_erasure_deletes():
    """Tables with rows of one user go with it; what stays is not said to go."""
    assert {*OWNED_TABLES, *RETAINED_TABLES} <= PERSONAL.keys()
    for table in OWNED_TABLES:
        assert "erasure" in PERSONAL[table][-1], table
    for table, cells in PERSONAL.items():
        if "stays" in cells[-1]:
            assert table not in OWNED_TABLES
