"""Freshdesk: tickets that are created, changed or annotated."""

import re
from typing import Final

from server.integrations.alerts import facts
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import (
    bold,
    capitalized,
    link,
    one_line,
    paragraphs,
    plain,
    quote,
    text,
)
from server.integrations.payload import Payload
from server.integrations.signatures import PASSWORD

_CHANGE: Final = re.compile(r"\{(\w{1,40}):\{from:([^,{}]{0,100}),to:([^,{}]{0,100})\}\}")
_EVENT: Final = re.compile(r"\{(\w{1,40}):(\w{1,40})\}")
_VALUES: Final = {
    "status": {
        "2": "Open",
        "3": "Pending",
        "4": "Resolved",
        "5": "Closed",
        "6": "Waiting on Customer",
        "7": "Waiting on Third Party",
    },
    "priority": {"1": "Low", "2": "Medium", "3": "High", "4": "Urgent"},
}
_CREATED: Final = "created"
_NOTES: Final = {"public": "A public note", "private": "A private note"}


def read(delivery: Delivery) -> Outcome:
    """Turn a notice into a message, by the event that triggered it."""
    ticket = delivery.payload["freshdesk_webhook"].required()
    trigger = ticket["triggered_event"].required_text()
    title = f"#{ticket['ticket_id'].required_text()} {ticket['ticket_subject'].text('Ticket')}"
    shown, topic = f"ticket {link(title, ticket['ticket_url'].text())}", one_line(title)
    if change := _CHANGE.match(trigger):
        field, values = change[1], [_value(change[1], each) for each in change.groups()[1:]]
        if field not in _VALUES:
            return Unknown(f"{field}_changed")
        content = (
            f"{capitalized(shown)}: {field} changed from {bold(values[0])} to {bold(values[1])}."
        )
        return Message(topic, content, f"{field}_changed")
    found = _EVENT.match(trigger)
    kind, what = found.groups() if found else ("", trigger)
    if kind == "note_type" and what in _NOTES:
        return Message(topic, f"{_NOTES[what]} was added to {shown}.", f"{what}_note")
    if kind == "ticket_action" and what == _CREATED:
        return Message(topic, _created(ticket, shown), _CREATED)
    return Unknown(trigger)


def _value(field: str, value: str) -> str:
    return _VALUES.get(field, {}).get(value.strip(), value.strip() or "none")


def _created(ticket: Payload, shown: str) -> str:
    who = ticket["requester_name"].text() or ticket["requester_email"].text("Someone")
    body = quote(plain(ticket["ticket_description"].text()))
    return paragraphs(
        f"{bold(who)} created {shown}{':' if body else '.'}",
        body,
        facts(
            ("Type", text(ticket["ticket_type"].text())),
            ("Priority", text(ticket["ticket_priority"].text())),
            ("Status", text(ticket["ticket_status"].text())),
        ),
    )


_FIELDS: Final = (
    *("triggered_event", "ticket_id", "ticket_url", "ticket_type", "ticket_subject"),
    *("ticket_description", "ticket_status", "ticket_priority", "requester_name"),
    "requester_email",
)

INTEGRATIONS: Final = (
    Integration(
        name="freshdesk",
        display_name="Freshdesk",
        category=Category.SUPPORT,
        read=read,
        setup=(
            "As an administrator, open *Workflows*, *Automations*, and add rules for new tickets"
            " and for updates of tickets.\n"
            "Choose the action *Trigger webhook*, `POST`, and paste `{url}` as URL.\n"
            "Choose *JSON* and *Simple* as encoding and content, and select these fields:"
            f" {', '.join(f'`{each}`' for each in _FIELDS)}."
        ),
        events=(_CREATED, "status_changed", "priority_changed", "public_note", "private_note"),
        signatures=(PASSWORD,),
        signing_step=(
            "Switch on *Requires authentication* for the action, and set the secret as password;"
            " any user name will do."
        ),
    ),
)
