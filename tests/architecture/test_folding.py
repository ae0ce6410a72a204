"""Names and addresses are compared by their foldings (storage/name_folding.py, address_folding.py).

The database's `lower()`, `str.lower()` and `str.casefold()` differ from them and from each other.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.schema import SCHEMA_FILE

ROOT = Path(__file__).parents[2]
FOLDED = {"name", "full_name", "topic", "topic_name", "channel_name", "email", "address", "operand"}
"""What an expression is called that holds a name or an address."""
OTHERWISE = {
    "server/api/response_writer.py": "headers",
    "server/domain/bots.py": "the short name of a bot, which is ASCII",
    "server/domain/avatars.py": "gravatar.com has a rule of its own",
    "server/domain/mail_addresses.py": "addresses of channels carry a signature",
    "server/domain/profiles.py": "addresses that the server has made up, which are ASCII",
    "server/domain/providers.py": "names in the settings, which are ASCII",
    "server/egress/client.py": "headers",
    "server/operator/known_hosts.py": "hosts",
    "server/mail/incoming.py": "headers",
    "server/mail/mailer.py": "headers",
    "server/previews/page.py": "attributes of HTML",
    "server/transport/reading.py": "headers",
}
SOURCES = sorted(
    str(path.relative_to(ROOT))
    for package in ("server", "storage", "queue_processors")
    for path in (ROOT / package).rglob("*.py")
)


def lowered(source: str) -> Iterator[str]:
    """What is lowered in the source, by its last name."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("lower", "casefold")
        ):
            held = node.func.value
            while isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute):
                held = held.func.value  # `email.strip().lower()`
            yield held.attr if isinstance(held, ast.Attribute) else getattr(held, "id", "")


def lowered_in_sql(text: str) -> list[str]:
    return re.findall(r"\blower\(\s*(?:\w+\.)?(name|full_name|email)\s*\)", text)


@pytest.mark.parametrize("path", SOURCES)
def test_no_source_lowers_a_name(path: str):
    source = (ROOT / path).read_text()
    assert lowered_in_sql(source) == []
    if path not in OTHERWISE and not path.endswith("_folding.py"):
        assert FOLDED.isdisjoint(lowered(source))


def test_exceptions_are_needed():
    for path in OTHERWISE:
        assert not FOLDED.isdisjoint(lowered((ROOT / path).read_text())), path


def test_indexes_on_names_are_of_foldings():
    """Two are left for older releases."""
    indexes = [line for line in SCHEMA_FILE.read_text().splitlines() if " INDEX " in line]
    left = [line.split(" ON ")[0].split()[-1] for line in indexes if lowered_in_sql(line)]
    assert left == ["invitations_email", "users_email"]


def test_what_it_forbids_is_found():
    assert set(lowered("a = row.email.lower(); b = name.casefold()")) == {"email", "name"}
    assert lowered_in_sql("WHERE lower(x.name) = lower( email )") == ["name", "email"]
