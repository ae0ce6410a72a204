"""The protocol as TypeScript, for the browser client: made from the API's own description."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any, Final

import server.main  # noqa: F401 - the document names the codes of all errors that are imported
from server.api.event_schemas import STATE_TYPES, state_schema
from server.api.openapi import document_of
from server.api.register import RegisterResult
from server.api.routes import ROUTES
from server.api.schemas import Schema, name_in, schemas_of
from testkit.sources import ROOT

PATH: Final = ROOT / "web" / "src" / "protocol" / "types.ts"
STATE: Final = "RegisterState"
LINE: Final = 100
"""Maximum characters of a line, where a type can be broken."""
MAX_DOC: Final = 140
"""Maximum characters of a comment: the first sentence, if it is longer."""

NAMES: Final = {
    "ChannelInfo": "Channel",
    "Error": "ErrorAnswer",
    "ListedChannel": "ListedChannel",
    "MessageEvent": "NewMessageEvent",
    "MessageObject": "Message",
    "NeverSubscribedInfo": "NeverSubscribedChannel",
    "ShownChannelGroup": "DefaultChannelGroup",
    "ShownDevice": "PushDevice",
    "ShownDomain": "RealmDomain",
    "ShownDraft": "Draft",
    "ShownEmoji": "RealmEmoji",
    "ShownExport": "RealmExport",
    "ShownField": "ProfileField",
    "ShownFolder": "ChannelFolder",
    "ShownKey": "NamedApiKey",
    "ShownLinkifier": "Linkifier",
    "ShownPlayground": "Playground",
    "ShownReminder": "Reminder",
    "ShownScheduledMessage": "ScheduledMessage",
    "ShownSnippet": "SavedSnippet",
    "ShownStatus": "UserStatus",
    "ShownValue": "ProfileValue",
    "ShownView": "NavigationView",
    "SubscriptionInfo": "Subscription",
}
"""Names of components in TypeScript: those of the protocol, and none that browsers use."""

_HEAD: Final = """\
// Made by scripts/make-web-types from the server's own declarations: do not edit.

/** Fields of every answer to a request that succeeded. */
export interface Success {
  result: "success";
  msg: string;
  /** Parameters that the endpoint does not know. */
  ignored_parameters_unsupported?: string[];
}

/** `METHOD /path` of an endpoint. */
export type Operation = keyof Endpoints;

/** Parameters of an endpoint, by name. */
export type Params<O extends Operation> = Endpoints[O]["params"];

/** A successful answer of an endpoint. */
export type Answer<O extends Operation> = Success & Endpoints[O]["answer"];
"""
_ENVELOPE: Final = frozenset({"result", "msg", "ignored_parameters_unsupported"})
_WORD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def typescript() -> str:
    """Return the module's text."""
    document = document_of(ROUTES)
    schemas: dict[str, Schema] = document["components"]["schemas"]
    names = {name: NAMES.get(name, name) for name in schemas}
    assert NAMES.keys() <= names.keys(), NAMES.keys() - names.keys()
    assert len({*names.values()}) == len(names), "two components would have the same name"
    parts = [_declared(names[name], schema) for name, schema in schemas.items()]
    state = _state()
    parts.append(_declared(STATE, state))
    parts.sort()
    return "\n".join([_HEAD, *(text for _, text in parts), _endpoints(document["paths"], state)])


def _state() -> Schema:
    """Return the schema of register's answer if everything is asked for."""
    own, _ = schemas_of([RegisterResult, *STATE_TYPES])
    queue, state = own[RegisterResult], state_schema(own)
    return {
        "description": "The state that `POST /register` gives a client that asks for everything.",
        "type": "object",
        "properties": {**queue["properties"], **state["properties"]},
        "required": [*queue["required"], *state["required"]],
    }


def _declared(name: str, schema: Schema) -> tuple[str, str]:
    doc = _doc(schema)
    if "properties" in schema:
        return name, f"{doc}export interface {name} {_fields(schema)}\n"
    return name, f"{doc}export type {name} ={_after_equals(schema, name)};\n"


def _after_equals(schema: Schema, name: str) -> str:
    text = _type(schema, room=LINE - len(name) - 15)
    return text if text.startswith("\n") else f" {text}"


def _endpoints(paths: Mapping[str, Mapping[str, Schema]], state: Schema) -> str:
    lines = []
    for path, operations in sorted(paths.items()):
        for method, operation in sorted(operations.items()):
            name = f"{method.upper()} {path}"
            params, answer = _params(operation), _answer(operation)
            if name == "POST /register":
                answer = _of_register(state)
            fields = {"params": params, "answer": answer}
            lines.append(
                f"{_doc({'description': operation['summary']})}{name!r}: {{".replace("'", '"')
            )
            lines += [indent(f"{field}: {text};", "  ") for field, text in fields.items()]
            lines.append("};")
    body = indent("\n".join(lines), "  ")
    return (
        f"/** What each endpoint takes and answers. */\nexport interface Endpoints {{\n{body}\n}}\n"
    )


def _of_register(state: Schema) -> str:
    own, _ = schemas_of([RegisterResult])
    always = " | ".join(f'"{name}"' for name in own[RegisterResult]["required"])
    return f"Pick<{STATE}, {always}> & Partial<{STATE}>"


def _params(operation: Schema) -> str:
    """Return the type of an operation's parameters, in the path, in the query and in the form."""
    properties: dict[str, Schema] = {}
    required = []
    for each in operation["parameters"]:
        schema = each.get("schema") or each["content"]["application/json"]["schema"]
        properties[each["name"]] = {**schema, "description": each["description"]}
        if each.get("required"):
            required.append(each["name"])
    for content in operation.get("requestBody", {}).get("content", {}).values():
        properties |= content["schema"]["properties"]
        required += content["schema"]["required"]
    return _fields({"properties": properties, "required": required})


def _answer(operation: Schema) -> str:
    """Return the type of an operation's own fields in its answer."""
    responses = operation["responses"]
    success: Schema = responses.get("200") or responses.get("201") or {}
    schema = success.get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        return "unknown"
    forms = [_without_envelope(each) for each in schema.get("anyOf", [schema])]
    return " | ".join(dict.fromkeys(_type(each, room=0) for each in forms))


def _without_envelope(schema: Schema) -> Schema:
    own = {n: v for n, v in schema.get("properties", {}).items() if n not in _ENVELOPE}
    return {**schema, "properties": own} if "properties" in schema else schema


def _fields(schema: Schema) -> str:
    """Return an object's fields in braces, each on its own line."""
    required = schema.get("required", ())
    lines = []
    for name, value in schema["properties"].items():
        key = name if _WORD.fullmatch(name) else f'"{name}"'
        mark = "" if name in required else "?"
        text = _type(value, room=LINE - len(key) - 6)
        space = "" if text.startswith("\n") else " "
        lines.append(f"{_doc(value)}{key}{mark}:{space}{text};")
    if not lines:
        return "Record<never, never>"
    return "{\n" + indent("\n".join(lines), "  ") + "\n}"


def _type(schema: Schema, *, room: int) -> str:
    """Return the type; a union that needs more room than this is broken into lines."""
    members = [*dict.fromkeys(_members(schema))]
    line = " | ".join(members)
    if len(line) <= room or len(members) == 1 or "\n" in line:
        return line
    return "\n" + indent("\n".join(f"| {each}" for each in members), "  ")


def _members(schema: Schema) -> Iterator[str]:
    if "$ref" in schema:
        name = name_in(schema)
        yield NAMES.get(name, name)
    elif "const" in schema or "enum" in schema:
        yield from map(_literal, schema.get("enum") or [schema["const"]])
    elif "anyOf" in schema or "oneOf" in schema:
        for each in schema.get("anyOf") or schema["oneOf"]:
            yield from _members(each)
    elif isinstance(schema.get("type"), list):
        for kind in schema["type"]:
            yield from _members({**schema, "type": kind})
    else:
        yield _plain(schema)


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


_SIMPLE: Final = {"integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def _plain(schema: Schema) -> str:
    kind = schema.get("type", "")
    if kind == "string":
        return "Blob" if "contentMediaType" in schema else "string"
    if kind == "array":
        return _array(schema)
    if kind == "object":
        return _fields(schema) if "properties" in schema else _record(schema)
    return _SIMPLE.get(kind, "unknown")


def _record(schema: Schema) -> str:
    values = schema.get("additionalProperties")
    inner = _type(values, room=LINE) if isinstance(values, dict) else "unknown"
    return f"Record<string, {inner}>"


def _array(schema: Schema) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(_type(each, room=LINE) for each in schema['prefixItems'])}]"
    inner = _type(schema.get("items") or {}, room=LINE)
    return f"{inner}[]" if _WORD.fullmatch(inner) else f"Array<{inner}>"


def _doc(schema: Schema) -> str:
    """Return the description as a comment, shortened to its first sentence if it is long."""
    text = " ".join(schema.get("description", "").split())
    if len(text) > MAX_DOC:
        text = re.split(r"(?<=[.:]) ", text, maxsplit=1)[0].rstrip(":")
    return f"/** {text.replace('*/', '* /')} */\n" if text else ""


def main(arguments: Iterable[str]) -> None:
    path = Path(next(iter(arguments), PATH))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(typescript())


if __name__ == "__main__":
    main(sys.argv[1:])
