"""Examples of requests and responses, as recorded by tests (tests/api/examples)."""

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import lru_cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from server.domain.addresses import API_PREFIX

FILE: Final = "examples.json"
SITE: Final = "$site"
LOGIN: Final = '"$email:$key"'

Example = Mapping[str, Any]


@lru_cache(maxsize=1)
def examples() -> dict[str, Example]:
    """Return examples by `METHOD /path`: path and fields of the request, and the response."""
    found: dict[str, Example] = json.loads(files("server.api").joinpath(FILE).read_text("utf-8"))
    return found


def curl_of(operation: str, example: Example) -> str:
    """Return the request as a shell command, with `$site`, `$email` and `$key` set before."""
    method, _, _ = operation.partition(" ")
    words = ["curl", *_verb(method, example)]
    if not example.get("anonymous"):
        words += ["-u", LOGIN]
    query, arguments = _content(example)
    lines = [" ".join(words), f'"{SITE}{API_PREFIX}{example["path"]}{query}"']
    headers = (f"{name}: {value}" for name, value in example.get("headers", {}).items())
    lines += [f"-H {shlex.quote(header)}" for header in headers]
    return " \\\n  ".join([*lines, *arguments])


def _verb(method: str, example: Example) -> Iterator[str]:
    if method == "HEAD":
        yield "-I"
        return
    if example["status"] != HTTPStatus.OK:
        yield "-i"  # what there is to see is in the headers
    has_fields = bool(example.get("fields"))
    if method in {"GET", "DELETE"} and has_fields:
        yield "-G"
    if method not in {"GET", "POST"} or (method == "POST" and not _has_body(example)):
        yield f"-X {method}"


def _has_body(example: Example) -> bool:
    return any(name in example for name in ("fields", "file", "payload", "raw"))


def _content(example: Example) -> tuple[str, list[str]]:
    """Return the query string, and the arguments with the request's body."""
    fields = {name: as_text(value) for name, value in example.get("fields", {}).items()}
    if "payload" in example:
        payload = json.dumps(example["payload"], ensure_ascii=False)
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items())
        sent = ["-H 'Content-Type: application/json'", f"-d {shlex.quote(payload)}"]
        return f"?{query}" if query else "", sent
    if "raw" in example:
        return "", ["--data-binary @part-of-the-file"]
    if "file" in example:
        parts = [f"file=@{example['file']}", *(f"{n}={v}" for n, v in fields.items())]
        return "", [f"-F {shlex.quote(part)}" for part in parts]
    return "", [f"--data-urlencode {shlex.quote(f'{n}={v}')}" for n, v in fields.items()]


def as_text(value: Any) -> str:
    """Return a field as it is sent: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
