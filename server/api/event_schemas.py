"""Schemas of events and of register's state, as clients get them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from server.api.schemas import Schema, reference_to
from server.events.base import Event
from server.events.catalogue import EVENTS
from server.events.messages import MessageSent
from server.initial_state.registry import SECTIONS

ANY_EVENT: Final = "ServerEvent"
STATE_TYPES: Final = tuple(dict.fromkeys(kind for each in SECTIONS for kind in each.fields))
_ID: Final[Schema] = {"type": "integer", "description": "Increasing along the queue, with gaps."}
_FLAGS: Final[Schema] = {
    "type": "array",
    "items": {"type": "string"},
    "description": "The reader's own flags of the message.",
}
_LOCAL_ID: Final[Schema] = {
    "type": "string",
    "description": "`local_id` of the request, in the queue that it named.",
}


def wire_types(event: type[Event]) -> tuple[type, ...]:
    """Return the types of what clients get of this event; none if it is the server's own."""
    if not event.wire_type:
        return ()
    return event.wires or (event,)


EVENT_TYPES: Final = tuple(dict.fromkeys(kind for each in EVENTS for kind in wire_types(each)))


def state_schema(schemas: Mapping[type, Schema]) -> Schema:
    """Return the schema of all state: what is required is there if the client asks for all."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for kind in STATE_TYPES:
        schema = schemas[kind]
        for name, value in schema["properties"].items():
            known = properties.get(name)
            properties[name] = value if known is None else _either(known, value)
        required += [name for name in schema["required"] if name not in required]
    return {"type": "object", "properties": properties, "required": required}


def _either(one: Schema, other: Schema) -> Schema:
    described = {k: v for k, v in one.items() if k == "description"}
    bare = {k: v for k, v in one.items() if k != "description"}
    return {**described, "anyOf": [bare, other]}


def event_schemas(schemas: Mapping[type, Schema]) -> dict[str, Schema]:
    """Return the schemas of all events: by type and operation, by type, and of any event."""
    forms: dict[tuple[str, str | None], list[Schema]] = {("heartbeat", None): [_heartbeat()]}
    for kind in EVENT_TYPES:
        for key, form in _forms(kind, schemas[kind]):
            forms.setdefault(key, []).append(form)
    found: dict[str, Schema] = {}
    by_type: dict[str, dict[str | None, Schema]] = {}
    for (wire_type, op), alternatives in sorted(forms.items(), key=_by_name):
        name = event_name(wire_type, op)
        found[name] = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
        by_type.setdefault(wire_type, {})[op] = reference_to(name)
    mapping: dict[str, str] = {}
    for wire_type, operations in by_type.items():
        if None not in operations:
            found[event_name(wire_type)] = _union("op", operations)
        mapping[wire_type] = reference_to(event_name(wire_type))["$ref"]
    references = {wire_type: {"$ref": target} for wire_type, target in mapping.items()}
    return found | {ANY_EVENT: {"description": "Any event.", **_union("type", references)}}


def _union(name: str, schemas: Mapping[Any, Schema]) -> Schema:
    return {
        "oneOf": list(schemas.values()),
        "discriminator": {
            "propertyName": name,
            "mapping": {value: schema["$ref"] for value, schema in schemas.items()},
        },
    }


def event_name(wire_type: str, op: str | None = None) -> str:
    """Return the component's name of events with this type and operation."""
    words = [*wire_type.split("_"), *(op or "").split("_"), "event"]
    return "".join(word.capitalize() for word in words)


def _by_name(item: tuple[tuple[str, str | None], Any]) -> tuple[str, str]:
    wire_type, op = item[0]
    return wire_type, op or ""


def _forms(kind: type, schema: Schema) -> Iterator[tuple[tuple[str, str | None], Schema]]:
    """Yield the event's forms, with the fields that each queue adds, by type and operation."""
    events = [each for each in EVENTS if kind in wire_types(each)]
    has_flags = any(each.has_flags for each in events)
    extra: dict[str, Schema] = {"flags": _FLAGS} if has_flags else {}
    if MessageSent in events:
        extra["local_message_id"] = _LOCAL_ID
    form = {
        **{name: value for name, value in schema.items() if name != "title"},
        "properties": {"id": _ID, **schema["properties"], **extra},
        "required": ["id", *schema["required"], *(["flags"] if has_flags else [])],
    }
    [wire_type] = schema["properties"]["type"]["enum"]
    if "op" not in schema["properties"]:
        yield (wire_type, None), form
    else:
        for op in schema["properties"]["op"]["enum"]:
            properties = {**form["properties"], "op": {"enum": [op]}}
            yield (wire_type, op), {**form, "properties": properties}


def _heartbeat() -> Schema:
    return {
        "description": "Nothing has happened: the poll waited long enough.",
        "type": "object",
        "properties": {"id": _ID, "type": {"enum": ["heartbeat"]}},
        "required": ["id", "type"],
        "additionalProperties": False,
    }
