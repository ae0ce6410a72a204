"""Asana: tasks, projects and comments; its events have ids, and names for some of them."""

from typing import Final

from server.integrations.base import Category, Delivery, Ignored, Integration, Message, Outcome
from server.integrations.markdown import bold, bullets, code, counted, link, one_line, text
from server.integrations.payload import Payload
from server.integrations.signatures import Signature

_VERBS: Final = {
    "added": "added",
    "changed": "changed",
    "deleted": "deleted",
    "removed": "removed",
    "undeleted": "restored",
}
_KINDS: Final = ("task", "project", "section", "story", "tag", "attachment", "goal", "portfolio")
_PLACES: Final = ("task", "project")
"""What has a page whose address follows from the id."""
MAX_EVENTS: Final = 10


def read(delivery: Delivery) -> Outcome:
    """Turn the events of a delivery into one message."""
    events = [each for each in delivery.payload["events"].required() if _is_known(each)]
    if not events:
        return Ignored("heartbeat", "There are no events in it.")
    lines = list(dict.fromkeys(_line(each) for each in events))
    shown = lines[:MAX_EVENTS]
    if len(lines) > MAX_EVENTS:
        shown.append(f"and {counted(len(lines) - MAX_EVENTS, 'more event')}")
    content = shown[0] if len(shown) == 1 else bullets(shown)
    first = events[0]
    event = f"{first['resource']['resource_type'].text()}.{first['action'].text()}"
    return Message(_topic(events), content, event)


def _is_known(event: Payload) -> bool:
    kind, action = event["resource"]["resource_type"].text(), event["action"].text()
    return kind in _KINDS and action in _VERBS


def _topic(events: list[Payload]) -> str:
    """Return the topic of the task or project that all events are about, or else a common one."""
    about = [_about(each) for each in events]
    identities = {each["gid"].text() for each in about}
    kind, name = about[0]["resource_type"].text(), about[0]["name"].text()
    if len(identities) > 1 or not about[0]["gid"]:
        return "Asana"
    return one_line(f"{kind.capitalize()} {name or about[0]['gid'].text()}")


def _about(event: Payload) -> Payload:
    """Return the task or project that the event is about."""
    resource, parent = event["resource"], event["parent"]
    return resource if resource["resource_type"].text() in _PLACES or not parent else parent


def _line(event: Payload) -> str:
    resource, parent = event["resource"], event["parent"]
    who = bold(event["user"]["name"].text("Someone"))
    action, field = event["action"].text(), event["change"]["field"].text()
    subtype = resource["resource_subtype"].text().replace("_", " ")
    if resource["resource_type"].text() == "story":
        what = "a comment" if "comment" in subtype else "an entry"
        return f"{who} {_VERBS[action]} {what} of {_shown(parent)}."
    if action == "changed":
        new = event["change"]["new_value"]
        value = bold(new.text()) or bold(new.first("name").text())
        of = f"{code(field)} of " if field else ""
        return f"{who} changed {of}{_shown(resource)}{f' to {value}' if value else ''}."
    preposition = "from" if action == "removed" else "in"
    where = f" {preposition} {_shown(parent)}" if parent else ""
    return f"{who} {_VERBS[action]} {_shown(resource)}{where}."


def _shown(resource: Payload) -> str:
    kind, gid = resource["resource_type"].text(), resource["gid"].text()
    name = resource["name"].text() or gid
    if not kind:
        return "something"
    url = f"https://app.asana.com/0/0/{gid}" if kind in _PLACES and gid.isdigit() else ""
    return f"the {text(kind)} {link(name, url)}" if name else f"a {text(kind)}"


INTEGRATIONS: Final = (
    Integration(
        name="asana",
        display_name="Asana",
        category=Category.PROJECT_MANAGEMENT,
        read=read,
        setup=(
            "Create a personal access token in Asana's developer console, and find the id of the"
            " project or task: it is in its address.\n"
            "Run `curl -H 'Authorization: Bearer TOKEN' -d resource=ID --data-urlencode"
            " 'target={url}' https://app.asana.com/api/1.0/webhooks`. Asana checks the address at"
            " once."
        ),
        events=tuple(f"{kind}.{action}" for kind in _KINDS for action in _VERBS),
        has_unique_bodies=True,
        signatures=(Signature(header="X-Hook-Signature"),),
        signing_step="Copy `X-Hook-Secret` from the response to the request that made the webhook.",
        handshake="X-Hook-Secret",
    ),
)
