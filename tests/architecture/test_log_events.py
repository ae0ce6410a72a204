"""docs/operations.md lists each log event of the code with its level and fields."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from testkit.sources import ROOT, modules

LEVELS = {
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "error": "error",
    "exception": "error",
    "log_once": "warning",  # `Backoff.log_once`
}
ROW = re.compile(r"^\| `([\w.]+)` \| (debug|info|warning|error)[^|]* \| ([^|]*)\|", re.MULTILINE)


class LogCall(NamedTuple):
    place: str
    level: str
    event: ast.expr
    fields: frozenset[str]


def is_logger(node: ast.expr) -> bool:
    """Whether an expression is a logger, by its name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lstrip("_") in {"logger", "log", "backoff"}
        case ast.Call(func=ast.Attribute(attr="get_logger" | "getLogger")):
            return True
    return False


def log_calls() -> Iterator[LogCall]:
    for path, tree in modules().items():
        if path == "server/messaging/backoff.py":
            continue  # defines `log_once`, which passes the event on
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            method = node.func.attr
            if method not in LEVELS or not is_logger(node.func.value):
                continue
            event = node.args[1 if method == "log_once" else 0]
            fields = {keyword.arg for keyword in node.keywords if keyword.arg}
            yield LogCall(
                f"{path}:{node.lineno}",
                LEVELS[method],
                event,
                frozenset(fields - {"exc_info", "extra"}),
            )


def listed() -> dict[str, tuple[str, frozenset[str]]]:
    """Level and fields by event, as the documentation has them."""
    page = (ROOT / "docs/operations.md").read_text()
    rows = ROW.findall(page)
    events = {
        event: (level, frozenset(re.findall(r"`(\w+)`", fields))) for event, level, fields in rows
    }
    assert len(rows) == len(events), "an event is listed twice"
    return events


def test_log_calls_use_listed_events_at_the_listed_level():
    events = listed()
    wrong = []
    for call in log_calls():
        if not isinstance(call.event, ast.Constant) or not isinstance(call.event.value, str):
            wrong.append(f"{call.place}: the event is not a literal")
        elif call.event.value not in events:
            wrong.append(f"{call.place}: {call.event.value} is not listed")
        else:
            level, fields = events[call.event.value]
            if level != call.level:
                wrong.append(f"{call.place}: {call.event.value} is listed as {level}")
            if not call.fields <= fields:
                wrong.append(f"{call.place}: unlisted fields {sorted(call.fields - fields)}")
    assert wrong == []


def test_every_listed_event_is_logged_somewhere():
    logged = {call.event.value for call in log_calls() if isinstance(call.event, ast.Constant)}
    assert len(logged) > 80
    assert set(listed()) - logged == set()
