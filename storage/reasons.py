"""Causes of database errors, in words that say what operators can do."""

import re
from dataclasses import dataclass
from typing import Final

UNKNOWN: Final = "no answer"
FULL: Final = "its disk is full"


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause: how Postgres or libpq report it, and what to do about it."""

    brief: str
    """A few words that name no host and no role."""
    sqlstates: tuple[str, ...]
    pattern: str
    """Matches the text of a failed connection attempt, which has no SQLSTATE."""
    remedy: str = ""


CAUSES: Final = (
    Cause(
        "too many connections",
        ("53300",),
        r"too many (clients|connections)|connection slots|no more connections|max_client_conn",
        "raise max_connections there, or lower PARLEY_DATABASE_POOL_SIZE",
    ),
    Cause(FULL, ("53100",), r"no space left on device|disk full", "make room there"),
    Cause("its limit of temporary files is too low", ("53400",), r"temp_file_limit"),
    Cause(
        "the password is wrong",
        ("28P01",),
        r"password authentication failed|no password supplied|auth(entication)? failed"
        r"|wrong password|SASL",
        "look at the password and the role in DATABASE_URL",
    ),
    Cause(
        "it does not let this role in from here",
        ("28000",),
        r"pg_hba\.conf|role \S+ (does not exist|is not permitted)|no such user",
        "look at the role in DATABASE_URL and at its pg_hba.conf",
    ),
    Cause(
        "there is no such database",
        ("3D000",),
        r"(?<!role )(database|dbname) \S+ does not exist|no such database",
        "create it, or look at its name in DATABASE_URL",
    ),
    Cause(
        "it refuses the options of the address",
        (),
        r"unsupported startup parameter|unrecognized configuration parameter",
        "a pooler takes few options: leave them out of DATABASE_URL, or let it ignore them"
        " (ignore_startup_parameters)",
    ),
    Cause(
        "it is starting or stopping",
        ("57P01", "57P02", "57P03"),
        r"starting up|shutting down|not yet accepting|recovery mode",
    ),
    Cause("its host name leads nowhere", (), r"translate host name|resolve host|name or service"),
    Cause("nothing listens there", (), r"connection refused|no such file or directory"),
    Cause(
        "it takes no connection in time",
        (),
        r"timeout expired|timed out|no route to host|unreachable",
    ),
    Cause("TLS fails", (), r"\bSSL\b|certificate", "look at sslmode in DATABASE_URL"),
)


def cause_of(error: BaseException) -> Cause | None:
    """Return the cause of the error, if it is a known one."""
    state = getattr(error, "sqlstate", None)
    for cause in CAUSES:
        if state in cause.sqlstates:
            return cause
    text = str(error)
    found = (cause for cause in CAUSES if re.search(cause.pattern, text, re.IGNORECASE))
    return None if state is not None else next(found, None)


def brief_of(error: BaseException) -> str:
    """Return the cause in a few words that are safe to show: without host and role."""
    own = getattr(error, "brief", None)
    if isinstance(own, str):
        return own
    cause = cause_of(error)
    return "the reason is in the log" if cause is None else cause.brief


def reason_of(error: BaseException) -> str:
    """Return the cause for operators: the original message and what to do, without a full stop."""
    said = first_line(error)
    cause = None if hasattr(error, "brief") else cause_of(error)
    if cause is None:
        return said
    remedy = f"; {cause.remedy}" if cause.remedy else ""
    return f"{cause.brief} ({said}){remedy}"


def first_line(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0].rstrip(".")
    return text.removeprefix("connection failed: ") or type(error).__name__
