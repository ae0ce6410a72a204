"""Pivotal Tracker: stories, their comments, tasks and blockers."""

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
from server.integrations.markdown import bold, bullets, link, paragraphs, quote, text
from server.integrations.payload import Payload
from server.integrations.repositories import thing_topic

_KINDS: Final = (
    "story_create_activity",
    "story_update_activity",
    "story_move_activity",
    "story_delete_activity",
    "comment_create_activity",
    "task_create_activity",
    "task_update_activity",
    "blocker_create_activity",
    "blocker_update_activity",
)
_QUIET: Final = ("epic_", "label_", "iteration_", "follower_", "project_", "comment_", "task_")
_FIELDS: Final = {
    "name": "Name",
    "current_state": "State",
    "story_type": "Type",
    "estimate": "Estimate",
    "complete": "Complete",
}


def read(delivery: Delivery) -> Outcome:
    """Turn an activity into a message."""
    payload = delivery.payload
    kind = payload["kind"].required_text()
    story = payload["primary_resources"][0]
    name = story["name"].required_text()
    if kind not in _KINDS:
        is_known = kind.startswith(_QUIET)
        return Ignored(kind, "Only stories are posted.") if is_known else Unknown(kind)
    who, verb = payload["performed_by"]["name"].text("Someone"), payload["highlight"].text()
    shown = f"{text(story['story_type'].text('story'))} {link(name, story['url'].text())}"
    verb = text(verb.removesuffix(":") or "changed")
    sentence = f"{bold(who)} {verb} {'on ' if 'comment' in verb else ''}{shown}"
    changes = list(_changes(payload["changes"])) if kind != "story_create_activity" else []
    content = paragraphs(
        f"{sentence}{':' if changes else '.'}", bullets(changes), quote(_text(payload["changes"]))
    )
    project = payload["project"]["name"].text("Tracker")
    topic = thing_topic(project, "story", story["id"].text(), name)
    return Message(topic, content, kind, payload["guid"].text())


def _changes(changes: Payload) -> Iterator[str]:
    for change in changes:
        old, new = change["original_values"], change["new_values"]
        for field, name in _FIELDS.items():
            if field in new and field in old:
                before, after = old[field].text("none"), new[field].text("none")
                yield f"{name}: {bold(before)} → {bold(after)}"


def _text(changes: Payload) -> str:
    """Return a comment, or the description of a new story."""
    for change in changes:
        values = change["new_values"]
        found = values["text"].text()
        if change["change_type"].text() == "create":
            found = found or values["description"].text()
        if found:
            return found
    return ""


INTEGRATIONS: Final = (
    Integration(
        name="pivotal",
        display_name="Pivotal Tracker",
        category=Category.PROJECT_MANAGEMENT,
        read=read,
        setup=(
            "In the project, open *More*, *Webhooks* (*Settings*, *Integrations*).\n"
            "Paste `{url}` as *Webhook URL*, choose the version *v5*, and press *Add*."
        ),
        events=_KINDS,
    ),
)
