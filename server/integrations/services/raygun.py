"""Raygun: errors and what people do about them."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, facts, labels, moment, state
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import (
    bold,
    code,
    counted,
    link,
    listed,
    one_line,
    paragraphs,
    text,
)
from server.integrations.payload import Payload
from server.integrations.repositories import acted

_NOTIFICATIONS: Final = {
    "NewErrorOccurred": "New error",
    "ErrorReoccurred": "Error occurred again",
    "OneMinuteFollowUp": "Error one minute later",
    "FiveMinuteFollowUp": "Error five minutes later",
    "TenMinuteFollowUp": "Error ten minutes later",
    "ThirtyMinuteFollowUp": "Error half an hour later",
    "HourlyFollowUp": "Error an hour later",
}
_ACTIVITIES: Final = ("StatusChanged", "AssignedToUser", "CommentAdded")


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its `eventType`."""
    payload = delivery.payload
    event, error = payload["eventType"].required_text(), payload["error"].required()
    application = payload["application"]
    message = error["message"].text()
    topic = one_line(message or application["name"].text("Raygun"))
    shown = link(message or "Error without a message", error["url"].text())
    if event in _NOTIFICATIONS:
        return Message(topic, _notification(error, application, event, shown), event)
    if event in _ACTIVITIES:
        return Message(topic, _activity(error, event, shown), event)
    return Unknown(event)


def _application(application: Payload) -> str:
    name = application["name"].text()
    return link(name, application["url"].text()) if name else ""


def _notification(error: Payload, application: Payload, event: str, shown: str) -> str:
    instance, users = error["instance"], error["usersAffected"].integer()
    user = instance["affectedUser"].first("Identifier", "UUID").text()
    return paragraphs(
        state(FIRING, _NOTIFICATIONS[event], shown),
        facts(
            ("Application", _application(application)),
            ("Occurrences", text(error["totalOccurrences"].text())),
            ("Affected", counted(users, "user") if users else ""),
            ("First", moment(error["firstOccurredOn"])),
            ("Last", moment(error["lastOccurredOn"])),
            ("User", code(user)),
            ("Tags", listed(code(each.text()) for each in instance["tags"])),
            ("Data", labels(instance["customData"])),
        ),
    )


def _activity(error: Payload, event: str, shown: str) -> str:
    who = error["user"].text("Someone")
    if event == "StatusChanged":
        status = error["status"].text("changed")
        emoji = f"{RESOLVED} " if status.lower() == "resolved" else ""
        return emoji + acted(who, "marked", shown, extra=f"as {bold(status.lower())}")
    if event == "AssignedToUser":
        to = error["assignedTo"].text()
        return acted(who, "assigned", shown, extra=f"to {bold(to)}" if to else "")
    return acted(who, "commented on", shown, body=error["comment"].text())


INTEGRATIONS: Final = (
    Integration(
        name="raygun",
        display_name="Raygun",
        category=Category.MONITORING,
        read=read,
        setup=(
            "In the application, open *Integrations* (*Plugins*), and add *Webhook*.\n"
            "Paste `{url}` as *Webhook URL*, choose the events to post, save, and test it."
        ),
        events=(*_NOTIFICATIONS, *_ACTIVITIES),
    ),
)
