"""Events are declared once, and the log can read what it holds."""

import importlib
import pkgutil

import server.events
from server.events import catalogue
from server.events.base import Event


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
