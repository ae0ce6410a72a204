"""Taiga: epics, user stories, tasks, issues, sprints and wiki pages."""

from collections.abc import Iterator
from typing import Final

from server.integrations.alerts import facts
from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import bold, bullets, link, one_line, paragraphs, quote, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted, thing_topic
from server.integrations.signatures import Signature

_KINDS: Final = {
    "epic": "epic",
    "issue": "issue",
    "milestone": "sprint",
    "task": "task",
    "userstory": "user story",
    "wikipage": "wiki page",
}
_VERBS: Final = {"create": "created", "change": "changed", "delete": "deleted"}
_FIELDS: Final = {
    "subject": "Subject",
    "name": "Name",
    "status": "Status",
    "assigned_to": "Assignee",
    "milestone": "Sprint",
    "user_story": "User story",
    "type": "Type",
    "priority": "Priority",
    "severity": "Severity",
    "due_date": "Due",
    "estimated_start": "From",
    "estimated_finish": "Until",
    "tags": "Tags",
}
RELATED: Final = "relateduserstory"


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its type and action."""
    payload = delivery.payload
    kind, action = payload["type"].required_text(), payload["action"].required_text()
    who = payload["by"]["full_name"].text("Someone")
    if action == "test":
        return Message("Taiga", f"{bold(who)} has tested the webhook.", "test")
    if action not in _VERBS or kind not in (*_KINDS, RELATED):
        return Unknown(f"{kind}.{action}")
    data = payload["data"].required()
    if kind == RELATED:
        return _related(data, who, action)
    if action == "change":
        return _changed(kind, data, payload["change"], who)
    shown = f"{_KINDS[kind]} {link(_name(data), data['permalink'].text())}"
    body = data.first("description", "content").text() if action == "create" else ""
    content = acted(who, _VERBS[action], shown, body=body)
    content = paragraphs(content, _details(data) if action == "create" else "")
    return Message(_topic(kind, data), content, f"{kind}.{action}")


def _changed(kind: str, data: Payload, change: Payload, who: str) -> Outcome:
    shown = f"{_KINDS[kind]} {link(_name(data), data['permalink'].text())}"
    topic, event = _topic(kind, data), f"{kind}.change"
    comment, changes = change["comment"].text(), list(_changes(change["diff"]))
    if not changes and not comment:
        return Ignored(event, "It names no change that would be posted.")
    if change["delete_comment_date"]:
        return Message(topic, acted(who, "deleted a comment on", shown, body=comment), event)
    if not changes:
        verb = "edited a comment on" if change["edit_comment_date"] else "commented on"
        return Message(topic, acted(who, verb, shown, body=comment), event)
    content = paragraphs(f"{bold(who)} changed {shown}:", bullets(changes), quote(comment))
    return Message(topic, content, event)


def _name(data: Payload) -> str:
    return data.first("subject", "name", "slug").required_text()


def _topic(kind: str, data: Payload) -> str:
    project, number = data["project"]["name"].text("Taiga"), data["ref"].text()
    if number:
        return thing_topic(project, _KINDS[kind], number, _name(data))
    return one_line(f"{project} / {_KINDS[kind]} {_name(data)}")


def _details(data: Payload) -> str:
    return facts(
        ("Status", text(data["status"]["name"].text())),
        ("Type", text(data["type"]["name"].text())),
        ("Priority", text(data["priority"]["name"].text())),
        ("Assignee", bold(data["assigned_to"]["full_name"].text())),
        ("Sprint", text(data["milestone"]["name"].text())),
        ("User story", text(data["user_story"]["subject"].text())),
        ("From", text(data["estimated_start"].text())),
        ("Until", text(data["estimated_finish"].text())),
    )


def _changes(diff: Payload) -> Iterator[str]:
    for field, name in _FIELDS.items():
        old, new = diff[field]["from"].text(), diff[field]["to"].text()
        if old != new:
            yield f"{name}: {bold(old) or 'none'} → {bold(new) or 'none'}"
    for role, points in diff["points"].fields():
        old, new = points["from"].text("?"), points["to"].text("?")
        yield f"Points ({text(role)}): {bold(old)} → {bold(new)}"
    if "is_blocked" in diff:
        yield "Blocked" if diff["is_blocked"]["to"].flag() else "Unblocked"
    if "is_closed" in diff:
        yield "Closed" if diff["is_closed"]["to"].flag() else "Reopened"
    if any(key in diff for key in ("description_diff", "description", "content_diff")):
        yield "Description edited"


def _related(data: Payload, who: str, action: str) -> Outcome:
    """Return that a user story was added to an epic, or removed from it."""
    epic, story = data["epic"].required(), data["user_story"].required()
    verb, preposition = ("removed", "from") if action == "delete" else ("added", "to")
    what = f"user story {link(_name(story), story['permalink'].text())}"
    where = f"{preposition} epic {link(_name(epic), epic['permalink'].text())}"
    content = acted(who, verb, what, extra=where)
    return Message(_topic("epic", epic), content, f"{RELATED}.{action}")


INTEGRATIONS: Final = (
    Integration(
        name="taiga",
        display_name="Taiga",
        category=Category.PROJECT_MANAGEMENT,
        read=read,
        setup=(
            "As an administrator of the project, open *Settings*, *Integrations*, *Webhooks*, and"
            " add a webhook.\n"
            "Paste `{url}` as *URL*, enter a *Secret key* of your choice, and save.\n"
            "Press *Test webhook*."
        ),
        events=(*(f"{kind}.{action}" for kind in (*_KINDS, RELATED) for action in _VERBS), "test"),
        has_unique_bodies=True,
        signatures=(Signature(header="X-Taiga-Webhook-Signature", algorithm="sha1"),),
        signing_step="Copy the *Secret key* of the webhook.",
    ),
)
