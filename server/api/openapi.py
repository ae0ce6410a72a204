"""The API's description as an OpenAPI 3.1 document, generated from the declared endpoints."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from server.api.endpoint import (
    Access,
    Endpoint,
    FileUpload,
    NoParams,
    OpenResult,
    RawResult,
    Request,
    ResponseKind,
)
from server.api.event_schemas import (
    ANY_EVENT,
    EVENT_TYPES,
    STATE_TYPES,
    event_schemas,
    state_schema,
)
from server.api.events import PollResult
from server.api.examples import curl_of, examples
from server.api.openapi_texts import AREA_TITLES, INTRODUCTION
from server.api.params import Described, describe
from server.api.register import RegisterResult
from server.api.schemas import REF, Schema, reference_to, schemas_of
from server.domain.addresses import API_PREFIX
from server.domain.api_keys import Scope
from server.domain.errors import DomainError
from server.runtime.version import VERSION

PATH: Final = "/openapi.json"
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
HTML: Final = "text/html"
PLAIN: Final = "text/plain"
_NOTHING: Final[dict[str, Any]] = {"description": "Success."}
_TEXT: Final[dict[str, Any]] = {"schema": {"type": "string"}}
_SECURITY: Final[list[dict[str, list[str]]]] = [{"basic": []}]
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})

_ENVELOPE: Final = {
    "result": {"type": "string", "const": "success"},
    "msg": {"type": "string", "const": ""},
    "ignored_parameters_unsupported": {
        "type": "array",
        "items": {"type": "string"},
        "description": "Parameters that the endpoint does not know.",
    },
}
_LIMIT_HEADERS: Final = {
    name: {"description": description, "schema": {"type": "string", "pattern": "^[0-9]+$"}}
    for name, description in (
        ("X-RateLimit-Limit", "Requests allowed in a window."),
        ("X-RateLimit-Remaining", "How many of them are left."),
        ("X-RateLimit-Reset", "When all of them are, as a Unix time."),
    )
}


def describing(routes: Sequence[Endpoint[Any]]) -> Endpoint[NoParams]:
    """The endpoint that describes these endpoints and itself."""
    made: list[bytes] = []

    async def get_openapi(request: Request, params: NoParams) -> RawResult:
        """This description."""
        del request, params
        if not made:
            document = await asyncio.to_thread(document_of, (*routes, endpoint))
            made.append(msgspec.json.encode(document))
        return RawResult(made[0], is_enveloped=False)

    endpoint = Endpoint(
        "GET",
        PATH,
        Access.ANONYMOUS,
        NoParams,
        get_openapi,
        OpenResult,
        summary="Get this description of the API",
        description="An OpenAPI 3.1 document, made from the endpoints themselves.",
    )
    return endpoint


def document_of(routes: Sequence[Endpoint[Any]]) -> dict[str, Any]:
    """The description of these endpoints, less those that answer with files."""
    routes = [each for each in routes if not each.at_root]
    results, schemas = _result_schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for (path, method), endpoints in _by_operation(routes).items():
        operation = _operation(path, endpoints, results, schemas)
        _add_example(operation, f"{method} {path}")
        paths.setdefault(path, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Parley", "version": VERSION, "description": INTRODUCTION},
        "servers": [{"url": API_PREFIX}],
        "security": _SECURITY,
        "tags": [
            {
                "name": name,
                "description": AREA_TITLES.get(name, name.replace("_", " ").capitalize()),
            }
            for name in sorted({_tag(each) for each in routes})
        ],
        "paths": {path: paths[path] for path in sorted(paths)},
        "components": {
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
            "headers": _LIMIT_HEADERS,
            "responses": _error_responses(),
            "schemas": {"Error": _error_schema(), **schemas},
        },
    }


def _by_operation(
    routes: Iterable[Endpoint[Any]],
) -> dict[tuple[str, str], list[Endpoint[Any]]]:
    """Endpoints by path and method; paths that differ only in a parameter's name are one."""
    names: dict[str, list[str]] = {}
    shapes = {each.path: re.sub(r"\{\w+\}", "{}", each.path) for each in routes}
    for path, shape in shapes.items():
        names.setdefault(shape, []).append(path)
    operations: dict[tuple[str, str], list[Endpoint[Any]]] = {}
    for each in routes:
        key = (_merged(names[shapes[each.path]]), each.method)
        operations.setdefault(key, []).append(each)
    return operations


def _merged(paths: Sequence[str]) -> str:
    """One path for several: `/users/{user_id}` and `/users/{email}` are a place with two keys."""
    parts = zip(*(path.split("/") for path in paths), strict=True)
    return "/".join(
        part[0] if len(set(part)) == 1 else f"{{{'_or_'.join(name[1:-1] for name in part)}}}"
        for part in parts
    )


def _operation(
    path: str,
    endpoints: Sequence[Endpoint[Any]],
    results: dict[Any, Any],
    schemas: dict[str, Any],
) -> dict[str, Any]:
    endpoint = endpoints[0]
    described = _params_of(endpoints, schemas)
    in_path = [p for pair in zip(endpoints, described, strict=True) for p in _in_path(*pair)]
    others = [p for p in described[0] if f"{{{p.name}}}" not in endpoint.path]
    parameters = _path_parameters(path, in_path)
    operation: dict[str, Any] = {
        "operationId": f"{_tag(endpoint)}_{endpoint.handler.__name__}",
        "tags": [_tag(endpoint)],
        "summary": endpoint.summary,
        "description": _prose(endpoints),
        "parameters": parameters,
        "responses": _responses(endpoint, _different(results[e.result] for e in endpoints)),
    }
    if endpoint.access in {Access.ANONYMOUS, Access.INTERNAL}:
        operation["security"] = []
    elif endpoint.access is Access.SPECTATOR:
        operation["security"] = [*_SECURITY, {}]
    if endpoint.method not in _WITH_BODY:
        parameters.extend(p for each in others for p in _query_parameters(each))
    elif isinstance(endpoint.body, FileUpload):
        operation["requestBody"] = _form_with_file(
            others, is_required=not endpoint.body.is_optional
        )
    elif others:
        operation["requestBody"] = _form(others)
    return operation


def _add_example(operation: dict[str, Any], name: str) -> None:
    """Show the request as a command for curl, and what it was answered."""
    example = examples().get(name)
    if example is None:
        return
    source = curl_of(name, example)
    operation["x-codeSamples"] = [{"lang": "Shell", "label": "curl", "source": source}]
    status, responses = str(example["status"]), operation["responses"]
    response = {**responses.get(status, responses["default"])}
    if "$ref" in response:
        response = {**_error_responses()[response["$ref"].rpartition("/")[2]]}
    if "answer" in example:
        content = response["content"]
        kind = next(iter(content)) if isinstance(example["answer"], str) else JSON
        response["content"] = {**content, kind: {**content[kind], "example": example["answer"]}}
    headers = {n: {**_TEXT, "example": v} for n, v in example.get("answer_headers", {}).items()}
    if headers:
        response["headers"] = {**response.get("headers", {}), **headers}
    operation["responses"] = {**responses, status: response}


def _params_of(
    endpoints: Sequence[Endpoint[Any]], schemas: dict[str, Any]
) -> list[list[Described]]:
    described = []
    for each in endpoints:
        params, definitions = describe(each.params, REF.format(name="{model}"))
        schemas.update(definitions)
        described.append(params)
    return described


def _in_path(endpoint: Endpoint[Any], described: Sequence[Described]) -> list[Described]:
    names = re.findall(r"\{(\w+)\}", endpoint.path)
    return [each for name in names for each in described if each.name == name]


def _path_parameters(path: str, in_path: Sequence[Described]) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)\}", path)
    if len(names) == len(in_path):
        values = [_described_value(each) for each in in_path]
    else:
        texts = dict.fromkeys(each.description for each in in_path)
        schema = {"anyOf": [_bare_schema(each) for each in in_path]}
        values = [{"description": " Or: ".join(texts), "schema": schema}]
    return [
        {"name": name, "in": "path", "required": True, **value}
        for name, value in zip(names, values, strict=True)
    ]


def _bare_schema(described: Described) -> dict[str, Any]:
    return {key: value for key, value in described.schema.items() if key != "description"}


def _described_value(described: Described) -> dict[str, Any]:
    """What a parameter outside of a form means, and what it may be."""
    return {"description": described.description, "schema": _bare_schema(described)}


def _query_parameters(described: Described) -> Iterable[dict[str, Any]]:
    schema = _bare_schema(described)
    value = {"content": {JSON: {"schema": schema}}} if described.is_json else {"schema": schema}
    required, text = described.is_required and not described.aliases, described.description
    yield {
        "name": described.name,
        "in": "query",
        "required": required,
        "description": text,
        **value,
    }
    for alias in described.aliases:
        yield {
            "name": alias,
            "in": "query",
            "required": False,
            "description": _other_name(described),
            **value,
        }


def _form(described: Sequence[Described]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for each in described:
        properties[each.name] = each.schema
        for alias in each.aliases:
            properties[alias] = {**each.schema, "description": _other_name(each)}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [each.name for each in described if each.is_required and not each.aliases],
    }
    choices = [
        {"anyOf": [{"required": [name]} for name in (each.name, *each.aliases)]}
        for each in described
        if each.is_required and each.aliases
    ]
    if choices:
        schema["allOf"] = choices
    encoding = {
        name: {"contentType": JSON}
        for each in described
        if each.is_json
        for name in (each.name, *each.aliases)
    }
    return {
        "required": any(each.is_required for each in described),
        "content": {FORM: {"schema": schema, "encoding": encoding}},
    }


def _form_with_file(described: Sequence[Described], *, is_required: bool) -> dict[str, Any]:
    needed = [each.name for each in described if each.is_required]
    file = {
        "type": "string",
        "contentMediaType": "application/octet-stream",
        "description": "The file.",
    }
    schema = {
        "type": "object",
        "properties": {"file": file, **{each.name: each.schema for each in described}},
        "required": ["file", *needed] if is_required else needed,
    }
    return {
        "required": is_required or bool(needed),
        "content": {"multipart/form-data": {"schema": schema}},
    }


def _other_name(described: Described) -> str:
    return f"Another name of `{described.name}`: give one of them."


def _responses(endpoint: Endpoint[Any], results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    schema = results[0] if len(results) == 1 else {"anyOf": list(results)}
    text = {"schema": {"type": "string"}}
    content: dict[str, Any] = {JSON: {"schema": schema}}
    if endpoint.response is ResponseKind.PAGE:
        content = {HTML: text}
    if endpoint.response is ResponseKind.TEXT:
        content = {PLAIN: text}
    if endpoint.response is ResponseKind.EVENT_STREAM:
        content["text/event-stream"] = text
    success: dict[str, Any] = {"description": "Success.", "content": content}
    if endpoint.is_rate_limited:
        success["headers"] = {
            name: {"$ref": f"#/components/headers/{name}"} for name in _LIMIT_HEADERS
        }
    responses = {
        **_successes(endpoint.response, success),
        "400": {"$ref": "#/components/responses/BadRequest"},
    }
    if endpoint.access in {Access.SPECTATOR, Access.USER, Access.ADMIN, Access.WEBHOOK}:
        responses["401"] = {"$ref": "#/components/responses/Unauthorized"}
    responses["429"] = {"$ref": "#/components/responses/TooManyRequests"}
    responses["503"] = {"$ref": "#/components/responses/NotReady"}
    return responses | {"default": {"$ref": "#/components/responses/Error"}}


def _successes(kind: ResponseKind, success: dict[str, Any]) -> dict[str, Any]:
    """The responses to a successful request by status."""
    match kind:
        case ResponseKind.CREATED:
            return {"201": success}
        case ResponseKind.JSON_OR_NO_CONTENT:
            return {"200": success, "204": _NOTHING}
        case ResponseKind.NO_CONTENT:
            return {"204": _NOTHING}
        case ResponseKind.REDIRECT:
            return {"302": {"description": "It is at the address in `Location`."}}
        case ResponseKind.JSON | ResponseKind.PAGE | ResponseKind.TEXT | ResponseKind.EVENT_STREAM:
            return {"200": success}


def _different(schemas: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    different: list[dict[str, Any]] = []
    for schema in schemas:
        if schema not in different:
            different.append(schema)
    return different


def _result_schemas(routes: Sequence[Endpoint[Any]]) -> tuple[dict[Any, Any], dict[str, Any]]:
    """The success answer by type of result, and the schemas that these refer to."""
    kinds = list(dict.fromkeys(each.result for each in routes))
    own, schemas = schemas_of([*kinds, *STATE_TYPES, *EVENT_TYPES])
    answers = {kind: _answer(kind, own[kind]) for kind in kinds}
    if RegisterResult in answers:
        answers[RegisterResult]["properties"] |= state_schema(own)["properties"]
    if PollResult in answers:
        events = answers[PollResult]["properties"]["events"]
        answers[PollResult]["properties"]["events"] = {**events, "items": reference_to(ANY_EVENT)}
    return answers, schemas | event_schemas(own)


def _answer(kind: type, schema: Schema) -> Schema:
    if kind is OpenResult:
        return {"type": "object"}
    return {
        "type": "object",
        "properties": {**_ENVELOPE, **schema["properties"]},
        "required": [
            "result",
            *(["msg"] if "msg" not in schema["required"] else []),
            *schema["required"],
        ],
        "additionalProperties": False,
    }


def _error_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "result": {"type": "string", "const": "error"},
            "msg": {"type": "string", "minLength": 1, "description": "For people."},
            "code": {"type": "string", "enum": sorted(_codes(DomainError))},
        },
        "required": ["result", "msg", "code"],
    }


def _codes(kind: type[DomainError]) -> set[str]:
    return {kind.code}.union(*(_codes(each) for each in kind.__subclasses__()))


def _error_responses() -> dict[str, Any]:
    def response(description: str, headers: Sequence[str] = ()) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "description": description,
            "content": {JSON: {"schema": reference_to("Error")}},
        }
        if headers:
            answer["headers"] = {name: {"schema": {"type": "string"}} for name in headers}
        return answer

    return {
        "BadRequest": response("Something is wrong with the request, or a permission is missing."),
        "Unauthorized": response("The credentials are missing, or not accepted."),
        "TooManyRequests": response("Too many requests.", ["Retry-After"]),
        "NotReady": response("The server is not ready: try again shortly.", ["Retry-After"]),
        "Error": response("Any other error."),
    }


def _prose(endpoints: Sequence[Endpoint[Any]]) -> str:
    prose = next((each.description for each in endpoints if each.description), "")
    return f"{prose}\n\nFor {endpoints[0].access.value}. {_keys(endpoints[0])}".strip()


def _keys(endpoint: Endpoint[Any]) -> str:
    """Which named keys reach the endpoint."""
    if endpoint.access in {Access.ANONYMOUS, Access.INTERNAL}:
        return ""
    if Scope.ACCOUNT in endpoint.needs:
        return "Named keys do not reach it."
    if Scope.EVERYTHING in endpoint.needs:
        return "A named key needs the scope `everything`."
    names = " and ".join(f"`{each.value}`" for each in endpoint.needs)
    return f"A named key needs {names}, or `everything`."


def _tag(endpoint: Endpoint[Any]) -> str:
    return endpoint.handler.__module__.rpartition(".")[2]
