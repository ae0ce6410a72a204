"""The schema as one text: what the migrations build, for people to read and tests to compare."""

import re
import subprocess
import tempfile
from pathlib import Path

from storage.embedded import embedded_postgres
from storage.embedded.binaries import find_binaries
from storage.migrate import migrate

SCHEMA_FILE = Path(__file__).parent / "schema.sql"

HEADER = "-- What the migrations build. Made by scripts/dump-schema; do not edit.\n\n"

OPTIONS = ("--schema-only", "--no-owner", "--no-privileges", "--exclude-table=schema_migrations")

NOISE = re.compile(
    r"--.*|SET .*;|SELECT pg_catalog\.set_config.*;|\\(un)?restrict .*"
    r"|ALTER TABLE ONLY \S+ ALTER COLUMN \S+ SET \(pg_\w+=\d+\);"
)
"""Lines that differ from one build of Postgres to the next, and say nothing about the schema.

Some builds stamp every column with a version of their own: that is the last kind.
"""


def dump(url: str) -> str:
    """Return the schema of a database, without what depends on who dumps it."""
    text = subprocess.run(
        [find_binaries()["pg_dump"], *OPTIONS, url], capture_output=True, text=True, check=True
    ).stdout
    lines = [line for line in text.splitlines() if not NOISE.fullmatch(line)]
    return HEADER + re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def dump_migrated() -> str:
    """Return the schema that the migrations build, in a database made for this and thrown away."""
    with (
        tempfile.TemporaryDirectory(prefix="parley-") as directory,
        embedded_postgres(Path(directory)) as url,
    ):
        migrate(url)
        return dump(url)
