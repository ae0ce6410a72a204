"""Record real requests and answers as the examples of the API's documentation."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
import pytest

import server.api
from server.api.examples import FILE, examples
from testkit.clients.api import Answer, Client, is_ours
from testkit.oracles import contract, openapi

SITE: Final = "https://chat.example.com"
API_KEY: Final = "YOUR-API-KEY"
MAX_ITEMS: Final = 3
"""The items that an example shows of a longer list or map."""
LONG: Final = 60
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_ID: Final = re.compile(r"[0-9]+|[^@ ]+@[^@ ]+")
_TOLD_HEADERS: Final = ("Location", "Upload-Offset", "Upload-Length", "Tus-Extension")

NOT_IN_THE_CONTRACT: Final = frozenset({"GET /emoji_data", "GET /openapi.json"})
ALWAYS_REFUSED: Final = frozenset({"POST /calls/webex/create", "POST /calls/zoom/create"})
JSON_TYPE: Final = {"Content-Type": "application/json"}
BESIDE: Final = ("file", "payload", "raw")
"""Parameters that may be sent beside fields."""
NONE: Final[Mapping[str, str]] = {}
PATH: Final = Path(server.api.__file__).with_name(FILE)

Example = dict[str, Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-examples",
        action="store_true",
        help="store the examples of the API's documentation that are missing or have changed",
    )


@dataclass
class Recorder:
    """Makes requests and keeps the first of each operation."""

    secrets: dict[str, str] = field(default_factory=dict)
    """Secrets that must not stand in an example, and their replacements."""
    examples: dict[str, Example] = field(default_factory=dict)

    async def call(
        self, client: Client, operation: str, /, *, headers: Mapping[str, str] = NONE, **given: Any
    ) -> Answer:
        """Call `METHOD /path/{parameter}` with what is given: fields, in the path or beside it.

        Beyond these `file=(name, content)` is sent in a form, `payload=` as JSON, and `raw=` as it
        is. Fails the test unless it is a success.
        """
        method, template = operation.split(" ")
        names = _PLACEHOLDER.findall(template)
        path = _PLACEHOLDER.sub(lambda m: quote(_text(given[m[1]]), safe=""), template)
        sent: dict[str, Any] = {name: given[name] for name in BESIDE if name in given}
        fields = {n: value for n, value in given.items() if n not in names and n not in sent}
        answer = await _answer(client, operation, path, headers, fields, **sent)
        refused = operation in ALWAYS_REFUSED
        assert (answer.status >= 400) is refused, (operation, answer.content)
        example: Example = {
            "path": path,
            "anonymous": client.email is None,
            "headers": dict(headers),
            "fields": fields,
            **_shown(sent),
            "status": answer.status,
            "answer_headers": {n: answer.headers[n] for n in _TOLD_HEADERS if n in answer.headers},
            "answer": _body(answer),
        }
        kept = {name: value for name, value in example.items() if value not in (None, {}, False)}
        self.examples.setdefault(openapi.operation_of(method, path), self._told(kept))
        return answer

    def _told(self, value: Any) -> Any:
        """The value, shortened, without secrets and names of tests."""
        if isinstance(value, dict):
            items = [
                (self._told(name), API_KEY if name == "api_key" and each else self._told(each))
                for name, each in value.items()
            ]
            few = items[:MAX_ITEMS] if len(items) > LONG and _is_map(value) else items
            return dict(few)
        if isinstance(value, list):
            return [self._told(each) for each in value[:MAX_ITEMS]]
        if isinstance(value, str):
            for secret, told in self.secrets.items():
                value = value.replace(secret, told)
        return value


async def _answer(
    client: Client,
    operation: str,
    path: str,
    headers: Mapping[str, str],
    fields: Mapping[str, Any],
    file: tuple[str, bytes] | None = None,
    payload: Any = None,
    raw: bytes | None = None,
) -> Answer:
    """Make the request, and hold the answer against the descriptions that there are of it."""
    method, _, _ = operation.partition(" ")
    texts = {name: _text(value) for name, value in fields.items()}
    if file is not None:
        return await client.upload(path, texts, method, file=file)
    if _is_json(operation) and payload is None and raw is None:
        return await client.call(method, path, headers=headers, **fields)
    body = raw
    if payload is not None:
        body, headers = json.dumps(payload).encode(), {**headers, **JSON_TYPE}
    query = urlencode(texts, quote_via=quote)
    whole = f"{path}?{query}" if query else path
    answer = await client.send(method, whole, body=body, headers=headers)
    if payload is not None or raw is not None:
        _check(method, path, answer)
    return answer


def _shown(sent: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the request beside its fields that an example shows."""
    shown = {"payload": sent["payload"]} if "payload" in sent else {}
    if "file" in sent:
        shown["file"] = sent["file"][0]
    return {**shown, "raw": True} if "raw" in sent else shown


def _is_json(operation: str) -> bool:
    """Whether all that it answers is JSON that the contract knows: no page, no redirect."""
    if operation in NOT_IN_THE_CONTRACT:
        return False
    responses = openapi.operation(operation)["responses"]
    success = next(iter(responses.values()))
    return "application/json" in success.get("content", {})


def _check(method: str, path: str, answer: Answer) -> None:
    if answer.content:
        if not is_ours(method, path):
            contract.validate_response(method, path, answer.status, answer.body)
        openapi.validate(method, path, answer.status, answer.body)


def _body(answer: Answer) -> Any:
    kind = answer.headers.get("Content-Type", "")
    if kind.startswith("text/"):
        return answer.content.decode()
    return answer.body if answer.content and kind.startswith("application/json") else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _is_map(value: Mapping[Any, Any]) -> bool:
    return len({json.dumps(shape(each)) for each in value.values()}) == 1


def shape(value: Any) -> Any:
    """The value's structure: names and types. Ids and addresses as keys count as one."""
    if isinstance(value, dict):
        shapes: dict[str, Any] = {}
        for name, each in value.items():
            shapes["*" if _ID.fullmatch(name) else name] = shape(each)
        return {name: shapes[name] for name in sorted(shapes)}
    if isinstance(value, list):
        different: list[Any] = []
        for each in map(shape, value):
            if each not in different:
                different.append(each)
        return sorted(different, key=json.dumps)
    return type(value).__name__


def keep(real: Mapping[str, Example]) -> None:
    """Store these examples. Those that are stored and have the same shape stay as they are."""
    stored = json.loads(PATH.read_text()) if PATH.exists() else {}
    renewed = {
        operation: stored[operation]
        if operation in stored and shape(stored[operation]) == shape(example)
        else example
        for operation, example in sorted(real.items())
    }
    PATH.write_text(json.dumps(renewed, indent=1, ensure_ascii=False) + "\n")
    examples.cache_clear()
