"""The OpenAPI document as a reference to read: operations by area, with a search."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

from server.api.openapi import JSON, document_of
from server.api.routes import ROUTES

ANY: Final = "any JSON"
MAX_QUERY: Final = 100
_ENVELOPE: Final = frozenset({"result", "msg", "ignored_parameters_unsupported"})
_TYPES: Final = {"object": "object", "array": "list", "null": "null", "number": "number"}
_LIMITS: Final = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("maxItems", "at most {} items"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
)
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter; `parts` are those of nested objects."""

    name: str
    kind: str
    description: str
    is_required: bool
    place: str
    """`path`, `query` or `form`."""
    notes: Sequence[str] = ()
    """Constraints and the default."""
    parts: Sequence["Parameter"] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """The example response."""

    status: int
    phrase: str
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, for its page."""

    name: str
    method: str
    path: str
    area: str
    summary: str
    paragraphs: Sequence[str]
    parameters: Sequence[Parameter]
    answer: Sequence[Parameter]
    """The fields of the response, without the envelope."""
    curl: str
    sample: Sample | None
    is_open: bool
    """Whether it needs no credentials."""

    @property
    def required(self) -> list[Parameter]:
        return [each for each in self.parameters if each.is_required]

    @property
    def optional(self) -> list[Parameter]:
        return [each for each in self.parameters if not each.is_required]


@dataclass(frozen=True, slots=True)
class Area:
    """Related operations."""

    name: str
    title: str
    operations: Sequence[Operation]


@dataclass(frozen=True, slots=True)
class Reference:
    """All operations."""

    introduction: Sequence[str]
    areas: Sequence[Area]
    by_name: Mapping[str, Operation]

    def area_of(self, operation: Operation) -> Area:
        return next(each for each in self.areas if each.name == operation.area)

    def find(self, query: str) -> list[Operation]:
        """Operations that contain every word of the query, the best match first."""
        words = query[:MAX_QUERY].casefold().split()
        scored = [(_score(each, words), each) for each in self.by_name.values()]
        found = [(score, each) for score, each in scored if score]
        return [each for _, each in sorted(found, key=lambda item: (-item[0], item[1].summary))]


def _score(operation: Operation, words: Sequence[str]) -> int:
    """Relevance of the operation; 0 if a word is missing."""
    texts = (
        (8, operation.summary),
        (6, f"{operation.method} {operation.path} {operation.name}"),
        (3, " ".join(each.name for each in operation.parameters)),
        (2, " ".join(operation.paragraphs)),
        (1, " ".join(each.description for each in operation.parameters)),
    )
    in_summary = set(operation.summary.casefold().split())
    scores = [
        sum(weight for weight, text in texts if word in text.casefold()) + (word in in_summary) * 4
        for word in words
    ]
    return sum(scores) if scores and all(scores) else 0


@lru_cache(maxsize=1)
def read_reference() -> Reference:
    """Build the reference from the OpenAPI document. Takes a third of a second the first time."""
    document = document_of(ROUTES)
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    operations = [
        _operation(method.upper(), path, facts, schemas)
        for path, by_method in document["paths"].items()
        for method, facts in by_method.items()
    ]
    titles = {tag["name"]: tag["description"] for tag in document["tags"]}
    areas = [
        Area(name, title, [each for each in operations if each.area == name])
        for name, title in sorted(titles.items(), key=lambda item: item[1].casefold())
    ]
    return Reference(
        introduction=_paragraphs(document["info"]["description"]),
        areas=areas,
        by_name={each.name: each for area in areas for each in area.operations},
    )


def _operation(
    method: str, path: str, facts: Mapping[str, Any], schemas: Mapping[str, Schema]
) -> Operation:
    samples = facts.get("x-codeSamples", ())
    body = facts.get("requestBody", {}).get("content", {})
    return Operation(
        name=facts["operationId"],
        method=method,
        path=path,
        area=facts["tags"][0],
        summary=facts["summary"],
        paragraphs=_paragraphs(facts["description"]),
        parameters=[
            *(_parameter(each, schemas) for each in facts["parameters"]),
            *_form(body, schemas),
        ],
        answer=_answer(facts["responses"], schemas),
        curl=samples[0]["source"] if samples else "",
        sample=_sample(facts["responses"]),
        is_open=facts.get("security") == [],
    )


def _paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.split("\n\n") if each.strip()]


def _parameter(facts: Mapping[str, Any], schemas: Mapping[str, Schema]) -> Parameter:
    schema = facts["schema"] if "schema" in facts else facts["content"][JSON]["schema"]
    return _described(facts["name"], schema, schemas, facts["in"], facts)


def _form(body: Mapping[str, Any], schemas: Mapping[str, Schema]) -> list[Parameter]:
    found = []
    for content in body.values():
        schema = content["schema"]
        for name, value in schema["properties"].items():
            facts = {
                "description": value["description"],
                "required": name in schema.get("required", ()),
            }
            found.append(_described(name, value, schemas, "form", facts))
    return found


def _answer(responses: Mapping[str, Any], schemas: Mapping[str, Schema]) -> list[Parameter]:
    for status, response in responses.items():
        schema = response.get("content", {}).get(JSON, {}).get("schema", {})
        if status.isdigit() and int(status) < HTTPStatus.BAD_REQUEST:
            fields = _parts(schema, schemas)
            return [each for each in fields if each.name not in _ENVELOPE]
    return []


def _described(
    name: str,
    schema: Schema,
    schemas: Mapping[str, Schema],
    place: str,
    facts: Mapping[str, Any],
) -> Parameter:
    return Parameter(
        name=name,
        kind=kind_of(schema),
        description=facts.get("description", ""),
        is_required=facts.get("required", False),
        place=place,
        notes=_notes(schema),
        parts=[
            part
            for reference in dict.fromkeys(_references(schema))
            for part in _parts(schemas[reference], schemas)
        ],
    )


def _parts(schema: Schema, schemas: Mapping[str, Schema]) -> Iterable[Parameter]:
    for name, value in schema.get("properties", {}).items():
        facts = {
            "description": value.get("description", ""),
            "required": name in schema.get("required", ()),
        }
        yield _described(name, value, schemas, "part", facts)


def _references(schema: Schema) -> Iterable[str]:
    """Return the objects in the schema, directly or in lists."""
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]
    for option in schema.get("anyOf", ()):
        yield from _references(option)
    if isinstance(schema.get("items"), dict):
        yield from _references(schema["items"])


def kind_of(schema: Schema) -> str:
    """Return the allowed values, in words."""
    if "$ref" in schema:
        return "object"
    if "anyOf" in schema:
        kinds = dict.fromkeys(kind_of(option) for option in schema["anyOf"])
        return " or ".join([kind for kind in kinds if kind != ANY] or kinds)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join("empty" if value == "" else f"`{value}`" for value in values)
    if schema.get("contentMediaType") is not None:
        return "file"
    kind = str(schema.get("type", ANY))
    return _list_of(schema) if kind == "array" else _TYPES.get(kind, kind)


def _list_of(schema: Schema) -> str:
    items = schema.get("items") or {}
    if not items:
        return "list"
    kinds = dict.fromkeys(_plural(option) for option in items.get("anyOf", [items]))
    return f"list of {' or '.join(kinds)}"


def _plural(schema: Schema) -> str:
    if schema.get("type") == "array":
        return "lists"
    kind = kind_of(schema)
    return kind if kind.startswith("`") or kind in {ANY, "null"} else f"{kind}s"


def _notes(schema: Schema) -> list[str]:
    """Constraints and the default; null and empty values are omitted."""
    options = [schema, *schema.get("anyOf", ())]
    notes = [
        text.format(option[name])
        for option in options
        for name, text in _LIMITS
        if name in option and option[name] < 2**53
    ]
    default = schema.get("default")
    if default not in (None, [], {}, ""):
        notes.append(f"default `{_as_text(default)}`")
    if schema.get("deprecated"):
        notes.append("for older clients")
    return notes


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _sample(responses: Mapping[str, Any]) -> Sample | None:
    for status, response in responses.items():
        headers = {
            n: h["example"] for n, h in response.get("headers", {}).items() if "example" in h
        }
        contents = response.get("content", {}).values()
        bodies = [content["example"] for content in contents if "example" in content]
        if bodies or headers or _has_no_body(status, response):
            return Sample(
                status=int(status),
                phrase=HTTPStatus(int(status)).phrase,
                headers=headers,
                body=_shown(bodies[0]) if bodies else "",
            )
    return None


def _has_no_body(status: str, response: Mapping[str, Any]) -> bool:
    return status.isdigit() and int(status) < HTTPStatus.BAD_REQUEST and "content" not in response


def _shown(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)
