"""Groove: tickets that are opened, assigned, answered and closed."""

from collections.abc import Callable, Mapping
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
from server.integrations.markdown import (
    bold,
    capitalized,
    link,
    listed,
    one_line,
    paragraphs,
    quote,
)
from server.integrations.payload import Payload

_HEADER: Final = "X-Groove-Event"
_REPLIES: Final = {
    "agent_replied": "replied to",
    "customer_replied": "replied to",
    "note_added": "left a note on",
}


def read(delivery: Delivery) -> Outcome:
    """Turn a delivery into a message, by its event."""
    event = delivery.header(_HEADER)
    reader = _READERS.get(event)
    if reader is None:
        return Unknown(event)
    return reader(delivery.payload, event)


def _topic(ticket: Payload) -> str:
    return one_line(f"#{ticket['number'].required_text()} {ticket['title'].text('Ticket')}")


def _shown(ticket: Payload) -> str:
    label = f"#{ticket['number'].text()} {ticket['title'].text('Ticket')}"
    return f"ticket {link(label, ticket['app_url'].text())}"


def _started(ticket: Payload, event: str) -> Outcome:
    who, body = ticket["customer_name"].text("Someone"), quote(ticket["summary"].text())
    sentence = f"{bold(who)} opened {_shown(ticket)}{':' if body else '.'}"
    return Message(_topic(ticket), paragraphs(sentence, body), event)


def _assigned(ticket: Payload, event: str) -> Outcome:
    group = bold(ticket["assigned_group"].text())
    to = listed([bold(ticket["assignee"].text()), f"the group {group}" if group else ""])
    if not to:
        return Ignored(event, "The ticket is no longer assigned.")
    return Message(_topic(ticket), f"{capitalized(_shown(ticket))} was assigned to {to}.", event)


def _state_changed(payload: Payload, event: str) -> Outcome:
    ticket = payload["ticket"].required()
    state = payload["state"].text() or ticket["state"].required_text()
    content = f"{capitalized(_shown(ticket))} is now {bold(state)}."
    return Message(_topic(ticket), content, event)


def _replied(reply: Payload, event: str) -> Outcome:
    number = reply["links"]["ticket"]["href"].text().rpartition("/")[2] or "?"
    ticket = reply["ticket"]
    label = f"#{number} {ticket['title'].text()}".strip()
    shown = f"ticket {link(label, reply['app_ticket_url'].text())}"
    author = "customer" if event == "customer_replied" else "agent"
    who = reply["author"]["name"].text() or reply[f"{author}_name"].text(f"The {author}")
    body = quote(reply.first("plain_text_body", "body").required_text())
    content = paragraphs(f"{bold(who)} {_REPLIES[event]} {shown}:", body)
    return Message(one_line(label), content, event)


_READERS: Final[Mapping[str, Callable[[Payload, str], Outcome]]] = {
    "ticket_started": _started,
    "ticket_assigned": _assigned,
    "ticket_state_changed": _state_changed,
    **dict.fromkeys(_REPLIES, _replied),
}

INTEGRATIONS: Final = (
    Integration(
        name="groove",
        display_name="Groove",
        category=Category.SUPPORT,
        read=read,
        setup=(
            "Open *Settings*, *API*, and add a webhook for each event.\n"
            "Choose the event, paste `{url}` as *URL*, and save."
        ),
        events=tuple(_READERS),
        headers=(_HEADER,),
    ),
)
