"""PagerDuty: incidents and services, in all three versions of its webhooks."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, facts, stage_of, topic_with_id
from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import bold, link, listed, paragraphs, quote, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

_VERBS: Final = {
    "triggered": "triggered",
    "acknowledged": "acknowledged",
    "unacknowledged": "unacknowledged",
    "resolved": "resolved",
    "reopened": "reopened",
    "assigned": "assigned",
    "reassigned": "reassigned",
    "escalated": "escalated",
    "delegated": "delegated",
}
_EARLIER_NAMES: Final = {
    "trigger": "triggered",
    "acknowledge": "acknowledged",
    "unacknowledge": "unacknowledged",
    "resolve": "resolved",
    "assign": "assigned",
    "escalate": "escalated",
    "delegate": "delegated",
    "annotate": "annotated",
}
_TO_PEOPLE: Final = ("triggered", "assigned", "reassigned", "escalated", "delegated")
_MARKS: Final = {"triggered": FIRING, "reopened": FIRING, "resolved": RESOLVED}
_MOVED: Final = "incident.service_updated"
_QUIET: Final = (
    *("action_invocation.", "conference_bridge", "custom_field", "incident_type.", "role."),
    *("task.", "workflow."),
)
_SERVICE_VERBS: Final = {"created": "created", "updated": "changed", "deleted": "deleted"}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message. Those of earlier versions have several messages each."""
    payload = delivery.payload
    if "messages" not in payload:
        return _event(payload["event"].required())
    outcomes = [_earlier(each) for each in payload["messages"]]
    said = [each for each in outcomes if isinstance(each, Message)]
    if not said:
        return outcomes[0] if outcomes else Ignored("", "There are no messages in it.")
    return Message(
        said[0].topic, paragraphs(*dict.fromkeys(each.content for each in said)), said[0].event
    )


def _incident(
    what: str, incident: Payload, title: str, number: str, who: str, to: str, *, details: str = ""
) -> Message:
    """Return what happened to an incident. `to` and `details` are Markdown."""
    name = f"#{number} {title}" if number else title
    shown = link(name or "an incident", incident["html_url"].text())
    service = incident["service"]
    of = link(service.first("summary", "name").text(), service["html_url"].text())
    shown += f" of {of}" if of else ""
    to = to if what in _TO_PEOPLE else ""
    if to and what == "triggered":
        to = f"and assigned {'it ' if who else ''}to {to}"
    elif to:
        to = f"to {to}"
    if who:
        content = acted(who, f"{_VERBS[what]} incident", shown, extra=to)
    else:
        content = f"Incident {shown} was {_VERBS[what]} {to}".strip() + "."
    topic = topic_with_id(title or "Incident", incident["id"].text())
    first = f"{_MARKS.get(what, '')} {content}".strip()
    return Message(
        topic,
        paragraphs(first, details),
        f"incident.{what}",
        about=incident["id"].text(),
        stage=stage_of(_MARKS.get(what, "")),
    )


# -- the third version


def _event(event: Payload) -> Outcome:
    kind, data = event["event_type"].required_text(), event["data"]
    group, _, what = kind.partition(".")
    who = event["agent"]["summary"].text() or event["client"]["name"].text()
    if group == "incident" and what in _VERBS:
        return _current(what, data.required(), who)
    if kind == _MOVED:
        return _moved(data.required(), who)
    if group == "incident" and what in _ABOUT_INCIDENTS:
        incident = data["incident"].required()
        title = incident["summary"].text("Incident")
        content = _ABOUT_INCIDENTS[what](data, who, link(title, incident["html_url"].text()))
        return Message(topic_with_id(title, incident["id"].text()), content, kind)
    if group == "service" and what in _SERVICE_VERBS:
        name = data["summary"].text("service")
        shown = link(name, data["html_url"].text())
        return Message(name, acted(who, f"{_SERVICE_VERBS[what]} the service", shown), kind)
    return _beside(kind, what)


def _beside(kind: str, what: str) -> Outcome:
    """Read what is neither about the state of an incident nor about a service."""
    if kind == "pagey.ping":
        return Message("PagerDuty", "PagerDuty is connected.", kind)
    if what.startswith(_QUIET):
        return Ignored(kind, "Nothing is said of workflows, tasks, roles, fields and bridges.")
    return Unknown(kind)


def _current(what: str, data: Payload, who: str) -> Message:
    people = listed(bold(each["summary"].text()) for each in data["assignees"])
    details = ""
    if what in ("triggered", "reopened"):
        details = facts(
            ("Urgency", text(data["urgency"].text())),
            ("Priority", text(data["priority"].first("summary", "name").text())),
            ("Escalation policy", text(data["escalation_policy"]["summary"].text())),
        )
    reason = data["resolve_reason"]["type"].text().replace("_", " ")
    details = details or (f"Reason: {text(reason)}." if what == "resolved" and reason else "")
    title, number = data["title"].text(), data["number"].text()
    return _incident(what, data, title, number, who, people, details=details)


def _moved(incident: Payload, who: str) -> Message:
    """Return that an incident is one of another service now."""
    number, title = incident["number"].text(), incident["title"].text("Incident")
    shown = link(f"#{number} {title}" if number else title, incident["html_url"].text())
    service = incident["service"]
    to = link(service["summary"].text("another service"), service["html_url"].text())
    content = acted(who or "Someone", f"moved incident {shown} to", to)
    return Message(topic_with_id(title, incident["id"].text()), content, _MOVED)


def _annotated(data: Payload, who: str, shown: str) -> str:
    return acted(who, "added a note to", shown, body=data["content"].text())


def _priority_updated(data: Payload, who: str, shown: str) -> str:
    priority = data["priority"].first("summary", "name").text("none")
    return acted(who, "changed the priority of", shown, extra=f"to {bold(priority)}")


def _responder_added(data: Payload, who: str, shown: str) -> str:
    asked = bold(data.first("user", "escalation_policy")["summary"].text())
    return acted(who, f"asked {asked} for help with" if asked else "asked for help with", shown)


def _responder_replied(data: Payload, who: str, shown: str) -> str:
    reply = data["state"].text("replied")
    verb = reply if reply in ("accepted", "declined") else "replied to"
    user = data["user"]["summary"].text() or who
    return acted(user, f"{verb} the request for help with", shown, body=data["message"].text())


def _status_update(data: Payload, who: str, shown: str) -> str:
    return acted(who, "published a status update on", shown, body=data["message"].text())


_ABOUT_INCIDENTS: Final[Mapping[str, Callable[[Payload, str, str], str]]] = {
    "annotated": _annotated,
    "priority_updated": _priority_updated,
    "responder.added": _responder_added,
    "responder.replied": _responder_replied,
    "status_update_published": _status_update,
}

# -- the first and the second version


def _earlier(message: Payload) -> Outcome:
    kind = message["event"].text() or message["type"].required_text()
    what = _EARLIER_NAMES.get(kind.removeprefix("incident."))
    if what is None:
        return Unknown(kind)
    incident = message.first("incident")
    if not incident:
        incident = message["data"]["incident"].required()
    entry, summary = message["log_entries"][0], incident["trigger_summary_data"]
    title = (
        incident["title"].text()
        or summary.first("subject", "description").text()
        or incident["incident_key"].text()
    )
    number = incident["incident_number"].text()
    who = entry["agent"]["summary"].text() or incident["last_status_change_by"]["name"].text()
    if what == "annotated":
        shown = link(f"#{number} {title}", incident["html_url"].text())
        note = entry["channel"]["content"].text() or entry["channel"]["summary"].text()
        content = acted(who, "added a note to", shown, body=note)
        return Message(topic_with_id(title, incident["id"].text()), content, "incident.annotated")
    assigned = [each["assignee"]["summary"] for each in incident["assignments"]]
    assigned = assigned or [each["object"]["name"] for each in incident["assigned_to"]]
    to = listed(bold(each.text()) for each in assigned)
    if "type" in message and what in ("triggered", "unacknowledged", "escalated"):
        who = ""  # the last change was another one
    details = quote(entry["channel"]["details"].text()) if what == "triggered" else ""
    return _incident(what, incident, title, number, who, to, details=details)


INTEGRATIONS: Final = (
    Integration(
        name="pagerduty",
        display_name="PagerDuty",
        category=Category.MONITORING,
        read=read,
        setup=(
            "Under *Integrations*, *Generic Webhooks (v3)*, press *New Webhook*.\n"
            "Paste `{url}` as *Webhook URL*, and choose a scope and the events to post.\n"
            "Save, and press *Send Test Event*."
        ),
        events=(
            *(f"incident.{what}" for what in (*_VERBS, *_ABOUT_INCIDENTS)),
            _MOVED,
            *(f"service.{what}" for what in _SERVICE_VERBS),
            "pagey.ping",
        ),
        has_unique_bodies=True,
        signatures=(Signature(header="X-PagerDuty-Signature", prefix="v1="),),
        signing_step="Copy the secret that PagerDuty shows once, when the webhook is created.",
    ),
)
