"""Clones of a template, which one module of tests after the other uses.

To copy the files of hundreds of relations takes longer than many a module.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final, LiteralString

import psycopg

from testkit.reused_connections import ReusedConnection

MAX_TABLE_BYTES: Final = 1_000_000
"""The size of its largest table with which a clone is used once more: what tests have deleted
stays in the files, and makes some statements slower, or planned in another way."""

EMPTY_ALL_TABLES: Final = """
DO $$
DECLARE
    name regclass;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN
        SELECT c.oid FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
           AND c.relname NOT IN ('schema_migrations', 'schema_functions')
           AND pg_relation_size(c.oid) > 0
    LOOP
        EXECUTE 'DELETE FROM ' || name;
    END LOOP;
END $$
"""
"""Deleting the few rows of a test is faster than truncating files, and most tables have no file
with anything in it: to plan a statement for each would take four times as long.

Triggers stay out of it: what messages leave in tables that were emptied before theirs would be the
next test's.
"""

DEFINITIONS: Final = """
SELECT md5(string_agg(x.line, ',' ORDER BY x.line)) FROM (
    SELECT format('%s %s %s %s', c.oid, c.xmin, c.reltuples, c.relpages) AS line
      FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('%s %s %s', a.attrelid, a.attnum, a.xmin)
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('%s %s', p.oid, p.xmin)
      FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('%s %s', k.oid, k.xmin)
      FROM pg_constraint k WHERE k.connamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('%s %s', t.oid, t.xmin) FROM pg_trigger t
    UNION ALL
    SELECT format('%s %s', n.oid, n.xmin) FROM pg_namespace n WHERE n.nspname !~ '^pg_'
    UNION ALL
    SELECT s.setconfig::text FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
     WHERE d.datname = current_database()
    UNION ALL
    SELECT m::text FROM schema_migrations m
    UNION ALL
    SELECT f::text FROM schema_functions f
) x
"""
"""Identifies the database's objects, and what the planner knows of its tables."""

STATE: Final = """
SELECT (SELECT coalesce(max(pg_relation_size(c.oid)), 0) FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'),
       (SELECT coalesce(array_agg(a.pid), '{}') FROM pg_stat_activity a
         WHERE a.datname = current_database() AND a.pid <> pg_backend_pid())
"""

RESTART_SEQUENCES: Final = "SELECT setval(seqrelid, seqstart, false) FROM pg_sequence"


class ClonedDatabase:
    """A clone of the template, and the connection that empties it."""

    def __init__(self, clone: AbstractContextManager[str]) -> None:
        with ExitStack() as stack:
            self.url = stack.enter_context(clone)
            ReusedConnection.keep(self.url)
            stack.callback(ReusedConnection.discard, self.url)
            # One that knows its tables already is quicker.
            self.broom = stack.enter_context(
                psycopg.connect(self.url, autocommit=True, options="-c lock_timeout=60s")
            )
            self._definitions = self._value(DEFINITIONS)
            self._stack = stack.pop_all()

    def empty(self) -> None:
        """Delete all rows."""
        self.broom.execute(EMPTY_ALL_TABLES)

    def close(self) -> None:
        self._stack.close()

    def restore(self) -> bool:
        """Make the clone as it was at first; return whether that was possible."""
        [largest, backends] = self.broom.execute(STATE).fetchone() or []
        if largest > MAX_TABLE_BYTES or set(backends) - ReusedConnection.backends(self.url):
            return False
        self.empty()
        self.broom.execute(RESTART_SEQUENCES)
        return bool(self._value(DEFINITIONS) == self._definitions)

    def _value(self, query: LiteralString) -> Any:
        [value] = self.broom.execute(query).fetchone() or [None]
        return value


class ClonedDatabases:
    """Lends clones, each to one borrower at a time, empty and without others' changes."""

    def __init__(self, clone: Callable[[], AbstractContextManager[str]]) -> None:
        self._clone = clone
        self._spare: list[ClonedDatabase] = []

    @contextmanager
    def lent(self) -> Iterator[ClonedDatabase]:
        """A clone, for as long as the block."""
        database = self._spare.pop() if self._spare else ClonedDatabase(self._clone())
        is_like_new = False
        try:
            yield database
            is_like_new = database.restore()
        finally:
            if is_like_new:
                self._spare.append(database)
            else:
                database.close()

    def close(self) -> None:
        while self._spare:
            self._spare.pop().close()
