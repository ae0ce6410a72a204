"""Zendesk: tickets, of its event subscriptions and of triggers that people compose."""

from collections.abc import Callable, Mapping
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
from server.integrations.markdown import bold, capitalized, link, one_line, paragraphs, quote, text
from server.integrations.payload import Payload
from server.integrations.signatures import Signature

_PREFIX: Final = "zen:event-type:"
TRIGGER: Final = "trigger"
_QUIET: Final = tuple(
    f"ticket.{what}"
    for what in (
        *("attachment_linked_to_comment", "attachment_redacted_from_comment", "brand_changed"),
        *("comment_redacted", "csat_requested", "custom_field_changed", "description_changed"),
        *("email_ccs_changed", "external_id_changed", "followers_changed", "form_changed"),
        *("next_sla_breach_changed", "ola_policy_changed", "problem_link_changed"),
        *("schedule_changed", "sla_policy_changed", "submitter_changed", "tags_changed"),
        "task_due_at_changed",
    )
)


def read(delivery: Delivery) -> Outcome:
    """Turn an event or a trigger's message into a message."""
    payload = delivery.payload
    if "ticket_id" in payload:
        return _triggered(payload)
    kind = payload["type"].required_text().removeprefix(_PREFIX)
    if kind in _QUIET:
        return Ignored(kind, "Nothing is said of what was changed.")
    if kind not in _READERS:
        return Unknown(kind)
    ticket = payload["detail"].required()
    identity, subject = ticket["id"].required_text(), ticket["subject"].text("Ticket")
    shown = f"ticket {bold(f'#{identity} {subject}')}"
    content = capitalized(_READERS[kind](payload["event"], ticket, shown))
    return Message(_topic(identity, subject), content, kind, payload["id"].text())


def _triggered(payload: Payload) -> Outcome:
    identity, title = payload["ticket_id"].required_text(), payload["ticket_title"].text("Ticket")
    shown = link(f"#{identity} {title}", payload["ticket_url"].text())
    status = text(payload["ticket_status"].text())
    content = paragraphs(
        f"Ticket {shown}{f' ({status})' if status else ''}", quote(payload["message"].text())
    )
    return Message(_topic(identity, title), content, TRIGGER)


def _topic(identity: str, subject: str) -> str:
    return one_line(f"#{identity} {subject}")


def _created(_: Payload, ticket: Payload, shown: str) -> str:
    description = ticket["description"].text()
    return paragraphs(
        f"{shown} was created{':' if description else '.'}",
        quote(description),
        facts(
            ("Status", text(ticket["status"].text().lower())),
            ("Priority", text(ticket["priority"].text().lower())),
            ("Type", text(ticket["type"].text().lower())),
        ),
    )


def _commented(event: Payload, _: Payload, shown: str) -> str:
    comment = event["comment"]
    who = bold(comment["author"]["name"].text("Someone"))
    kind = "commented" if comment["is_public"].flag() else "left an internal note"
    body = quote(comment["body"].text())
    return paragraphs(f"{who} {kind} on {shown}{':' if body else '.'}", body)


def _changed(label: str) -> Callable[[Payload, Payload, str], str]:
    def change(event: Payload, _: Payload, shown: str) -> str:
        old, new = (
            bold((event[key].text() or event[key]["name"].text()).lower()) or "none"
            for key in ("previous", "current")
        )
        return f"{shown}: {label} changed from {old} to {new}."

    return change


def _was(verb: str) -> Callable[[Payload, Payload, str], str]:
    return lambda _, __, shown: f"{shown} was {verb}."


_READERS: Final[Mapping[str, Callable[[Payload, Payload, str], str]]] = {
    "ticket.created": _created,
    "ticket.comment_added": _commented,
    "ticket.status_changed": _changed("status"),
    "ticket.priority_changed": _changed("priority"),
    "ticket.type_changed": _changed("type"),
    "ticket.subject_changed": _changed("subject"),
    "ticket.agent_assignment_changed": _was("assigned to another agent"),
    "ticket.group_assignment_changed": _was("assigned to another group"),
    "ticket.comment_made_private": lambda _, __, shown: f"a comment on {shown} was made private.",
    "ticket.csat_received": _was("rated by the customer"),
    "ticket.custom_status_changed": _was("given another custom status"),
    "ticket.organization_changed": _was("moved to another organization"),
    "ticket.permanently_deleted": _was("deleted permanently"),
    "ticket.requester_changed": _was("given another requester"),
    "ticket.merged": _was("merged into another one"),
    "ticket.soft_deleted": _was("deleted"),
    "ticket.undeleted": _was("restored"),
    "ticket.marked_as_spam": _was("marked as spam"),
}
_BODY: Final = (
    '{"ticket_id": "{{ticket.id}}", "ticket_title": "{{ticket.title}}",'
    ' "ticket_url": "https://{{ticket.url}}", "ticket_status": "{{ticket.status}}",'
    ' "message": "{{ticket.latest_comment}}"}'
)

INTEGRATIONS: Final = (
    Integration(
        name="zendesk",
        display_name="Zendesk",
        category=Category.SUPPORT,
        read=read,
        setup=(
            "In the Admin Center, open *Apps and integrations*, *Webhooks*, *Create webhook*.\n"
            "Choose *Zendesk events* and the ticket events to post, or *Trigger or automation*.\n"
            "Paste `{url}` as *Endpoint URL*, leave `POST` and *JSON*, and create it.\n"
            f"For a trigger, choose the action *Notify active webhook*, with the body `{_BODY}`."
        ),
        events=(*_READERS, TRIGGER),
        signatures=(
            Signature(
                header="X-Zendesk-Webhook-Signature",
                encoding="base64",
                preamble="{timestamp}",
                timestamp="X-Zendesk-Webhook-Signature-Timestamp",
            ),
        ),
        signing_step="Press *Reveal secret* on the webhook's page, and copy it.",
    ),
)
