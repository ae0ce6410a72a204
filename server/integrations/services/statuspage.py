"""Statuspage: incidents, maintenance, and the status of components."""

from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, WARNING, facts, moment, state
from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import bold, link, listed, one_line, paragraphs, quote, text
from server.integrations.payload import Payload

_INCIDENT_MARKS: Final = {
    "investigating": FIRING,
    "identified": FIRING,
    "monitoring": WARNING,
    "resolved": RESOLVED,
    "completed": RESOLVED,
}
_COMPONENT_MARKS: Final = {
    "operational": RESOLVED,
    "degraded_performance": WARNING,
    "partial_outage": FIRING,
    "major_outage": FIRING,
}


def read(delivery: Delivery) -> Outcome:
    """Turn an update into a message."""
    payload = delivery.payload
    if "incident" in payload:
        return _incident(payload["incident"].required())
    if "component" in payload or "component_update" in payload:
        return _component(payload)
    if payload["page"].required():
        return Ignored("page", "It is about neither an incident nor a component.")
    return Unknown("page")


def _words(status: str) -> str:
    return status.replace("_", " ")


def _incident(incident: Payload) -> Outcome:
    name, status = incident["name"].required_text(), incident["status"].required_text()
    updates, impact = incident["incident_updates"], incident["impact"].text("none")
    is_over = status in ("resolved", "completed", "postmortem")
    affected = [
        f"{text(each['name'].text())} ({text(_words(each['status'].text()))})"
        for each in incident["components"]
        if each["name"].text()
    ]
    content = paragraphs(
        state(
            _INCIDENT_MARKS.get(status, ""),
            _words(status).capitalize(),
            link(name, incident["shortlink"].text()),
            severity="" if impact == "none" or is_over else f"{impact} impact",
        ),
        quote(updates[0]["body"].text()),
        facts(
            ("Components", listed(affected)),
            ("From", moment(incident["scheduled_for"])),
            ("Until", moment(incident["scheduled_until"])),
        ),
    )
    return Message(one_line(name), content, "incident")


def _component(payload: Payload) -> Outcome:
    component, update = payload["component"].required(), payload["component_update"]
    name = component["name"].required_text()
    new = update["new_status"].text() or component["status"].required_text()
    old = update["old_status"].text()
    change = (
        f"from {bold(_words(old))} to {bold(_words(new))}" if old else f"to {bold(_words(new))}"
    )
    content = f"{_COMPONENT_MARKS.get(new, '')} {bold(name)} changed {change}.".strip()
    return Message(one_line(name), content, "component")


INTEGRATIONS: Final = (
    Integration(
        name="statuspage",
        display_name="Statuspage",
        category=Category.MONITORING,
        read=read,
        setup=(
            "On the status page, press *Subscribe to updates*, and choose webhooks.\n"
            "Paste `{url}`, give an email address for failures, and subscribe."
        ),
        events=("incident", "component"),
    ),
)
