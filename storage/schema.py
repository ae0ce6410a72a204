"""The schema as text: what the migrations build, for readers and tests."""

import re
import subprocess
import tempfile
from pathlib import Path

from storage.embedded import embedded_postgres
from storage.embedded.binaries import find_binaries
from storage.migrate import migrate

SCHEMA_FILE = Path(__file__).parent / "schema.sql"

HEADER = "-- What the migrations and functions build. Made by scripts/dump-schema; do not edit.\n\n"

OPTIONS = ("--schema-only", "--no-owner", "--no-privileges", "--exclude-table=schema_migrations")

NOISE = re.compile(
    r"--.*|SET .*;|SELECT pg_catalog\.set_config.*;|\\(un)?restrict .*"
    r"|ALTER TABLE ONLY \S+ ALTER COLUMN \S+ SET \(pg_\w+=\d+\);"
)
"""Lines that differ between builds of Postgres, and say nothing about the schema.

Some builds stamp every column with a version of their own: that is the last kind.
"""


def dump(url: str) -> str:
    """Return the schema of a database, without what depends on the client."""
    text = subprocess.run(
        [find_binaries()["pg_dump"], *OPTIONS, url], capture_output=True, text=True, check=True
    ).stdout
    lines = [line for line in text.splitlines() if not NOISE.fullmatch(line)]
    return HEADER + re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def dump_migrated() -> str:
    """Return the schema that the migrations build, in a temporary database."""
    with (
        tempfile.TemporaryDirectory(prefix="parley-") as directory,
        embedded_postgres(Path(directory)) as url,
    ):
        migrate(url)
        return dump(url)
