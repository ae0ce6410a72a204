"""Opsgenie: what happens to alerts."""

from typing import Final
from urllib.parse import quote as percent_encoded

from server.integrations.alerts import FIRING, RESOLVED, WARNING, facts, labels, moment, stage_of
from server.integrations.base import Category, Delivery, Integration, Message, Option, Outcome
from server.integrations.markdown import bold, code, link, listed, paragraphs, quote, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted

EU_REGION: Final = Option("eu_region", "The account is in the EU region.", is_flag=True)

_VERBS: Final = {
    "Create": "created",
    "Acknowledge": "acknowledged",
    "UnAcknowledge": "unacknowledged",
    "Close": "closed",
    "Delete": "deleted",
    "Escalate": "escalated",
    "EscalateNext": "escalated",
    "Snooze": "snoozed",
    "SnoozeEnded": "ended the snoozing of",
    "AddNote": "added a note to",
    "AddRecipient": "added",
    "AddResponder": "added",
    "AddTeam": "added",
    "AddTags": "added",
    "RemoveTags": "removed",
    "AssignOwnership": "assigned",
    "TakeOwnership": "took ownership of",
    "UpdatePriority": "changed the priority of",
    "UpdateMessage": "changed the message of",
    "UpdateDescription": "changed the description of",
}
_CUSTOM: Final = "custom"
_MARKS: Final = {
    "Create": FIRING,
    "Escalate": WARNING,
    "EscalateNext": WARNING,
    "Close": RESOLVED,
}


def read(delivery: Delivery) -> Outcome:
    """Turn an action on an alert into a message. Actions of the customer's own are known, too."""
    payload = delivery.payload
    action, alert = payload["action"].required_text(), payload["alert"].required()
    number, identity = alert["tinyId"].text(), alert["alertId"].required_text()
    name = alert["message"].text("alert")
    title = f"#{number} {name}" if number else f"{name} {identity}"
    region = "eu." if delivery.flag(EU_REGION) else ""
    shown = link(
        title if number else name,
        f"https://app.{region}opsgenie.com/alert/detail/{percent_encoded(identity)}/details",
    )
    who = alert["username"].text() or payload["source"]["name"].text("Opsgenie")
    content = _said(payload, alert, action, who, shown)
    emoji = _MARKS.get(action, "")
    event = action if action in _VERBS else _CUSTOM
    said = f"{emoji} {content}".strip()
    return Message(title, said, event, about=identity, stage=stage_of(emoji))


def _said(payload: Payload, alert: Payload, action: str, who: str, shown: str) -> str:
    verb = _VERBS.get(action)
    if verb is None:
        return acted(who, f"ran the action {bold(action)} on", shown)
    if action == "Create":
        return paragraphs(acted(who, verb, f"alert {shown}"), *_details(alert))
    if what := _added_or_removed(alert, action):
        verb = f"{verb} {what} {'from' if action == 'RemoveTags' else 'to'}"
    body = ""
    if action == "AddNote":
        body = alert["note"].text() or payload["note"].text()
    elif action == "UpdateDescription":
        body = alert["description"].text()
    return acted(who, verb, f"alert {shown}", extra=_extra(payload, alert, action), body=body)


def _added_or_removed(alert: Payload, action: str) -> str:
    match action:
        case "AddRecipient" | "AddResponder":
            return bold(alert.first("recipient", "responder").text())
        case "AddTeam":
            return f"the team {bold(alert['team'].text())}"
        case "AddTags" | "RemoveTags":
            changed = alert["addedTags" if action == "AddTags" else "removedTags"].text()
            tags = [code(tag) for tag in changed.split(",")]
            return f"the {'tag' if len(tags) == 1 else 'tags'} {listed(tags)}"
    return ""


def _extra(payload: Payload, alert: Payload, action: str) -> str:
    """Return the end of the sentence: the owner, the priority or the time."""
    match action:
        case "AssignOwnership":
            owner = alert["owner"].text()
            return f"to {bold(owner)}" if owner else ""
        case "Escalate" | "EscalateNext":
            return _escalation(payload)
        case "Snooze":
            until = moment(alert["snoozeEndDate"]) or moment(alert["snoozedUntil"])
            return f"until {until}" if until else ""
        case "UpdatePriority":
            priority = _priority(alert)
            return f"to {bold(priority)}" if priority else ""
    return ""


def _escalation(payload: Payload) -> str:
    to = payload["escalationNotify"]["name"].text()
    by = payload["escalationName"].text()
    parts = (f"to {bold(to)}" if to else "", f"by the policy {text(by)}" if by else "")
    return " ".join(part for part in parts if part)


def _priority(alert: Payload) -> str:
    priority = alert["priority"].text()
    return f"P{priority}" if priority.isdecimal() else priority


def _details(alert: Payload) -> tuple[str, str]:
    teams = [each.text() or each["name"].text() for each in alert["teams"]]
    return quote(alert["description"].text()), facts(
        ("Priority", text(_priority(alert))),
        ("Entity", code(alert["entity"].text())),
        ("Teams", listed(text(each) for each in teams)),
        ("Tags", listed(code(each.text()) for each in alert["tags"])),
        ("Details", labels(alert["details"])),
    )


INTEGRATIONS: Final = (
    Integration(
        name="opsgenie",
        display_name="Opsgenie",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Under *Settings*, *Integrations*, add the integration *Webhook*.\n"
            "Paste `{url}` as *Webhook URL*, and switch on *Add alert description to payload* and"
            " *Add alert details to payload*.\n"
            "Choose the alert actions to post, and switch the integration on."
        ),
        events=(*_VERBS, _CUSTOM),
        options=(EU_REGION,),
    ),
)
