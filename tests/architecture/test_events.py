"""Events are declared once, and the log can read what it holds."""

import importlib
import pkgutil
from typing import Any

from msgspec import inspect

import server.events
from server.api.event_schemas import ANY_EVENT, event_name, wire_types
from server.events import catalogue
from server.events.base import Event
from testkit.oracles import openapi


def declared() -> set[type[Event]]:
    """Every event type of server/events that has a kind."""
    for module in pkgutil.walk_packages(server.events.__path__, "server.events."):
        importlib.import_module(module.name)

    def below(kind: type[Event]) -> set[type[Event]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    ours = {kind for kind in below(Event) if kind.__module__.startswith("server.events.")}
    return {kind for kind in ours if kind.kind}


def test_every_event_is_in_the_catalogue():
    assert declared() == {*catalogue.EVENTS}


def test_no_two_events_have_the_same_kind():
    kinds = [event.kind for event in catalogue.EVENTS]
    assert len(kinds) == len({*kinds})


def branches(schema: dict[str, Any]) -> dict[str, str]:
    """The names of a union's members, by the value that tells them apart."""
    found = {
        value: target.rpartition("/")[2]
        for value, target in schema["discriminator"]["mapping"].items()
    }
    assert [each["$ref"].rpartition("/")[2] for each in schema["oneOf"]] == [*found.values()]
    return found


def test_the_description_has_a_member_for_every_event_of_the_catalogue():
    schemas = openapi.document()["components"]["schemas"]
    types = {event.wire_type for event in catalogue.EVENTS if event.wire_type}
    assert {*branches(schemas[ANY_EVENT])} == types | {"heartbeat"}
    for event in catalogue.EVENTS:
        for kind in wire_types(event):
            hints = {field.name: field.type for field in fields_of(kind)}
            for op in literals(hints["op"]) if "op" in hints else [None]:
                name = event_name(event.wire_type, op)
                assert literals(hints["type"]) == (event.wire_type,), (event, kind)
                for form in schemas[name].get("anyOf", [schemas[name]]):
                    assert form["additionalProperties"] is False
                    assert {"id", "type"} <= {*form["required"]}
                if op is not None:
                    assert branches(schemas[event_name(event.wire_type)])[op] == name


def fields_of(kind: type) -> tuple[Any, ...]:
    found: Any = inspect.type_info(kind)
    return tuple(found.fields)


def literals(kind: Any) -> tuple[Any, ...]:
    assert isinstance(kind, inspect.LiteralType), kind
    return tuple(kind.values)


def test_every_reference_of_the_description_leads_somewhere():
    document = openapi.document()

    def targets(part: Any) -> set[str]:
        parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        own = {part["$ref"]} if isinstance(part, dict) and isinstance(part.get("$ref"), str) else ()
        return {*own}.union(*(targets(each) for each in parts))

    for target in targets({name: part for name, part in document.items() if name != "info"}):
        place: Any = document
        for step in target.removeprefix("#/").split("/"):
            place = place[step]


def test_an_event_that_clients_get_in_another_form_declares_the_form():
    """A wire form of dictionaries has no declaration but `wires`."""
    for event in catalogue.EVENTS:
        is_itself = event.wire is Event.wire
        fields = {field.name for field in fields_of(event)}
        if event.wire_type and not is_itself and not event.wires:
            assert "type" in fields, f"{event.__name__} needs wires"
        if is_itself:
            assert not event.wires, event.__name__
