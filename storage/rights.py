"""Privileges of the server's role in its database, and what is missing, in one sentence."""

from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql
from psycopg.rows import class_row

REFUSALS: Final = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.ReadOnlySqlTransaction,
)
"""Errors that no retry helps against: the database's administrator has to act."""


class RightMissingError(Exception):
    """The role lacks a privilege that the server needs; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Rights:
    """Privileges of the role."""

    creates: bool
    """Whether it may create tables in the server's schema."""
    owns: bool
    """Whether it owns the existing tables."""


def missing_right(connection: psycopg.Connection) -> str | None:
    """Return the missing privilege as one sentence; None if nothing is missing."""
    if sentence := _why_no_writes(connection.info):
        return sentence
    with connection.cursor(row_factory=class_row(Rights)) as cursor:
        found = cursor.execute(
            """
            SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS creates,
                   coalesce((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c
                              WHERE c.oid = to_regclass('schema_migrations')), true) AS owns
            """
        ).fetchone()
    assert found is not None
    if not found.creates:
        return _wants_owner(connection.info, "it may not create tables in schema public")
    if not found.owns:
        return _wants_owner(connection.info, "the tables are another role's")
    return None


def explained(error: psycopg.Error, info: psycopg.ConnectionInfo) -> str:
    """Return one of REFUSALS as one sentence, with what to do about it."""
    reason = str(error).strip().split("\n")[0].rstrip(".")
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return _why_no_writes(info) or f"The database takes no writes: {reason}."
    return _wants_owner(info, reason)


def _why_no_writes(info: psycopg.ConnectionInfo) -> str | None:
    if info.parameter_status("in_hot_standby") == "on":
        return "The database is a standby, which takes no writes: name the one that it follows."
    if info.parameter_status("default_transaction_read_only") == "on":
        return (
            "The database takes no writes, for default_transaction_read_only is on: turn it off"
            f" (`ALTER DATABASE {_name(info.dbname)} SET default_transaction_read_only = off`,"
            " and likewise for the role where that has it)."
        )
    return None


def _wants_owner(info: psycopg.ConnectionInfo, reason: str) -> str:
    role, database = _name(info.user), _name(info.dbname)
    return (
        f"The role {role} lacks a right in the database {database} ({reason}): it has to own the"
        f" database, `ALTER DATABASE {database} OWNER TO {role}`, and likewise the schema and the"
        " tables where others own them."
    )


def _name(name: str) -> str:
    """Return the quoted name, so that statements can be copied."""
    return sql.Identifier(name).as_string()
