"""Rollbar: items, their occurrences, and deployments."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, WARNING, facts, mark, moment, state
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import bold, code, counted, link, paragraphs, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted

ITEM_PAGE: Final = "https://rollbar.com/item/uuid/?uuid="
_LEVELS: Final = {10: "debug", 20: "info", 30: "warning", 40: "error", 50: "critical"}
_ITEM_EVENTS: Final = {
    "new_item": "New",
    "occurrence": "Occurred",
    "exp_repeat_item": "Repeated",
    "item_velocity": "Frequent",
    "reactivated_item": "Occurred again after it was resolved",
    "reopened_item": "Reopened",
    "resolved_item": "Resolved",
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `event_name`."""
    payload = delivery.payload
    event, data = payload["event_name"].required_text(), payload["data"].required()
    if event in _ITEM_EVENTS:
        return _item(data, data["item"].required(), event)
    if event == "deploy":
        return _deployment(data["deploy"].required())
    if event == "test":
        return Message("Rollbar", text(data["message"].text("Rollbar is connected.")), event)
    return Unknown(event)


def _item(data: Payload, item: Payload, event: str) -> Message:
    number, title = item["counter"].text(), item["title"].required_text()
    last = data["occurrence"] or item["last_occurrence"]
    level = last["level"].text() or _LEVELS.get(item["level"].integer(), "")
    uuid = last["uuid"].text()
    url = data["url"].text() or (f"{ITEM_PAGE}{uuid}" if uuid else "")
    emoji = RESOLVED if event == "resolved_item" else mark(level)
    name = f"#{number} {title}" if number else title
    total = item["total_occurrences"].integer()
    recent = data["occurrences"].integer() or data["trigger"]["threshold"].integer()
    content = paragraphs(
        state(emoji, _ITEM_EVENTS[event], link(name, url), severity=level),
        facts(
            ("Environment", code(item["environment"].text())),
            ("Occurrences", _occurrences(event, total, recent)),
            ("Last", moment(item["last_occurrence_timestamp"])),
            ("Resolved in", code(item["resolved_in_version"].text())),
        ),
    )
    return Message(name, content, event)


def _occurrences(event: str, total: int, recent: int) -> str:
    if event == "new_item" or total < 1:
        return ""
    of_late = f", {counted(recent, 'occurrence')} of late" if 0 < recent < total else ""
    return f"{total}{of_late}"


def _deployment(deployment: Payload) -> Message:
    where = deployment["environment"].text()
    who = deployment.first("local_username", "rollbar_username").text()
    revision, status = deployment["revision"].text(), deployment["status"].text("succeeded")
    emoji = {"failed": FIRING, "timed_out": WARNING}.get(status, RESOLVED)
    extra = f"to {code(where)}" if where else ""
    content = acted(who, "deployed" if who else bold("Deployed"), code(revision[:12]), extra=extra)
    if status in ("failed", "timed_out", "started"):
        content = f"{content} State: {text(status.replace('_', ' '))}."
        emoji = "" if status == "started" else emoji
    return Message(
        f"Deployments / {where}" if where else "Deployments", f"{emoji} {content}".strip(), "deploy"
    )


INTEGRATIONS: Final = (
    Integration(
        name="rollbar",
        display_name="Rollbar",
        category=Category.MONITORING,
        read=read,
        setup=(
            "In the project's settings, open *Notifications*, *Webhook*.\n"
            "Paste `{url}` as *URL*, and enable the integration.\n"
            "Choose rules for the events to post, and press *Send test notification*."
        ),
        events=(*_ITEM_EVENTS, "deploy", "test"),
    ),
)
