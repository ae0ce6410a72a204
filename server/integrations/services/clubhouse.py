"""Shortcut, which was called Clubhouse: stories, epics and what belongs to them."""

from collections.abc import Iterator
from typing import Final

from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import (
    bold,
    bullets,
    capitalized,
    code,
    counted,
    link,
    listed,
    one_line,
    paragraphs,
    quote,
    text,
)
from server.integrations.payload import Payload
from server.integrations.signatures import Signature

_THINGS: Final = ("story", "epic")
_VERBS: Final = {"create": "created", "update": "changed", "delete": "deleted"}
_PARTS: Final = ("story-comment", "epic-comment", "story-task", "branch", "pull-request")
_VALUES: Final = {"name": "Name", "story_type": "Type", "estimate": "Estimate", "state": "State"}
_REFERENCES: Final = {
    "workflow_state_id": ("State", "workflow-state"),
    "epic_state_id": ("State", "epic-state"),
    "epic_id": ("Epic", "epic"),
    "project_id": ("Project", "project"),
    "iteration_id": ("Iteration", "iteration"),
    "group_id": ("Team", "group"),
}
_MAX_THINGS: Final = 10

_Names = dict[tuple[str, str], str]


def read(delivery: Delivery) -> Outcome:
    """Turn the actions of a delivery into one message. They do not say by whose hand."""
    payload = delivery.payload
    actions = list(payload["actions"].required())
    names = _names(payload)
    parts = [each for each in actions if each["entity_type"].text() in _PARTS]
    things = [each for each in actions if each["entity_type"].text() in _THINGS]
    if not things:
        things = [each for each in payload["references"] if each["entity_type"].text() in _THINGS]
    if not things:
        return Unknown(actions[0]["entity_type"].text("action") if actions else "action")
    thing = things[0]
    first = parts[0] if parts else thing
    event = f"{first['entity_type'].text()}.{first['action'].text()}"
    if first["action"].text() not in _VERBS:
        return Unknown(event)
    changed = [(each, list(_changes(each["changes"], names))) for each in things]
    said = [(each, changes) for each, changes in changed if changes]
    if parts:
        content = paragraphs(*(_part(each, thing) for each in parts), _listed(said))
    elif thing["action"].text() != "update":
        content = paragraphs(
            f"{capitalized(_shown(thing))} was {_VERBS[thing['action'].text()]}.",
            quote(thing["description"].text()),
            _details(thing, names),
        )
    elif said:
        content = _listed(said)
    else:
        return Ignored(event, "It names no change that would be posted.")
    several = len(said) > 1 and not parts
    topic = "Stories" if several else f"{_name(thing)} ({_kind(thing)} {thing['id'].text()})"
    return Message(one_line(topic), content, event, payload["id"].text())


def _names(payload: Payload) -> _Names:
    """Return the names of what is referred to, by kind and id."""
    everything = [*payload["references"], *payload["actions"]]
    return {
        (each["entity_type"].text(), each["id"].text()): each["name"].text()
        for each in everything
        if each["name"].text()
    }


def _kind(thing: Payload) -> str:
    return thing["entity_type"].text()


def _name(thing: Payload) -> str:
    return thing["name"].text() or f"{_kind(thing)} {thing['id'].text()}"


def _shown(thing: Payload) -> str:
    return f"{_kind(thing)} {link(_name(thing), thing['app_url'].text())}"


def _part(part: Payload, thing: Payload) -> str:
    """Return what happened to something that belongs to the thing."""
    verb, kind = _VERBS.get(part["action"].text(), "changed"), _kind(part)
    if kind.endswith("comment"):
        verb = {"created": "left", "changed": "edited"}.get(verb, verb)
        body = quote(part["text"].text())
        return paragraphs(f"A comment was {verb} on {_shown(thing)}{':' if body else '.'}", body)
    if kind == "story-task":
        complete = part["changes"]["complete"]
        if complete:
            verb = "completed" if complete["new"].flag() else "reopened"
        what = bold(part["description"].text("a task"))
        return f"The task {what} of {_shown(thing)} was {verb}."
    number, title = part["number"].text(), part.first("title", "name").text()
    label = f"#{number} {title}" if number else title
    what = f"{kind.replace('-', ' ')} {link(label, part['url'].text())}"
    return f"The {what} was {'linked to' if verb == 'created' else verb + ' for'} {_shown(thing)}."


def _listed(said: list[tuple[Payload, list[str]]]) -> str:
    """Return the changes of one thing as a list, and those of several in a line each."""
    if not said:
        return ""
    if len(said) == 1:
        thing, changes = said[0]
        return f"{capitalized(_shown(thing))} was changed:\n\n{bullets(changes)}"
    lines = [f"{_shown(thing)}: {listed(changes)}" for thing, changes in said[:_MAX_THINGS]]
    more = [f"and {len(said) - _MAX_THINGS} more"] if len(said) > _MAX_THINGS else []
    nouns = ("story", "stories") if _are_stories(said) else ("story or epic", "stories and epics")
    return f"{counted(len(said), *nouns)} were changed:\n\n{bullets(lines + more)}"


def _are_stories(said: list[tuple[Payload, list[str]]]) -> bool:
    return all(_kind(thing) == "story" for thing, _ in said)


def _changes(changes: Payload, names: _Names) -> Iterator[str]:
    for key, label in _VALUES.items():
        if key in changes:
            yield f"{label}: {_value(changes[key]['old'])} → {_value(changes[key]['new'])}"
    for key, (label, kind) in _REFERENCES.items():
        if key in changes:
            old, new = (
                bold(names.get((kind, changes[key][side].text()), "")) or "none"
                for side in ("old", "new")
            )
            yield f"{label}: {old} → {new}"
    for side, verb in (("adds", "Labels added"), ("removes", "Labels removed")):
        ids = [each.text() for each in changes["label_ids"][side]]
        found = listed(code(names.get(("label", each), "")) for each in ids)
        if found:
            yield f"{verb}: {found}"
    if "archived" in changes:
        yield "Archived" if changes["archived"]["new"].flag() else "Taken out of the archive"
    if "deadline" in changes:
        yield f"Due: {_value(changes['deadline']['new'])}"
    if "description" in changes:
        yield "Description edited" if changes["description"]["new"] else "Description removed"


def _value(value: Payload) -> str:
    return bold(value.text()) or "none"


def _details(thing: Payload, names: _Names) -> str:
    found = {
        label: names.get((kind, thing[key].text()), "")
        for key, (label, kind) in _REFERENCES.items()
        if key in thing
    }
    of_kind = thing["story_type"].text()
    lines = [f"Type: {text(of_kind)}"] if of_kind and thing["action"].text() == "create" else []
    return bullets([*lines, *(f"{label}: {text(name)}" for label, name in found.items() if name)])


INTEGRATIONS: Final = (
    Integration(
        name="clubhouse",
        display_name="Shortcut",
        category=Category.PROJECT_MANAGEMENT,
        read=read,
        setup=(
            "As an administrator, open *Settings*, *Integrations*, *Webhooks*.\n"
            "Press *Add New Webhook*, paste `{url}` as *Payload URL*, and save."
        ),
        events=(*(f"{kind}.{action}" for kind in (*_THINGS, *_PARTS) for action in _VERBS),),
        has_unique_bodies=True,
        signatures=(Signature(header="Payload-Signature"),),
        signing_step="Set the secret as *Secret* of the webhook.",
    ),
)
