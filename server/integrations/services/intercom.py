"""Intercom: conversations, contacts, companies and tags."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.alerts import moment, topic_with_id
from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import bold, code, link, listed, one_line, plain, text
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

_CREATED: Final = "ticket.created"

_Reader = Callable[[Payload, Payload, str], Outcome]
"""Makes a message of the delivery, its item and the event."""


def read(delivery: Delivery) -> Outcome:
    """Turn a notification into a message, by its topic."""
    payload = delivery.payload
    event = payload["topic"].required_text()
    if event == "ping":
        return Message("Intercom", "Intercom is connected.", event)
    reader = _READERS.get(event)
    if event.startswith(_QUIET):
        return Ignored(event, f"Nothing is said of {event}.")
    if reader is None:
        return Unknown(event)
    return reader(payload, payload["data"]["item"].required(), event)


def _name(contact: Payload) -> str:
    found = contact.first("name", "email", "pseudonym", "user_id", "id")
    return found.text("Someone")


_QUIET: Final = (
    *("admin.", "article.", "call.", "content_stat.", "event.", "granular.", "job."),
    *("company.contact.", "company.updated", "contact.lead.updated", "contact.user.updated"),
    *("conversation.contact.", "conversation.deleted", "conversation.read"),
    *("conversation_part.redacted", "ticket.attribute.", "ticket.contact.attached"),
    "ticket.contact.detached",
)
"""How events begin of which there is nothing to say."""


def _page(payload: Payload, place: str, identity: str) -> str:
    app = payload["app_id"].text()
    return f"https://app.intercom.com/a/apps/{app}/{place}/{identity}" if app else ""


# -- conversations


def _customer(item: Payload) -> str:
    contact = item["user"] or item["source"]["author"] or item["contacts"]["contacts"][0]
    return _name(contact)


def _said_last(item: Payload) -> str:
    """Return what was said last, or first if the payload has no more."""
    part = item["conversation_parts"]["conversation_parts"][0]
    return (part or item["conversation_message"] or item["source"])["body"].text()


def _conversation(
    verb: str,
    *,
    by_customer: bool = False,
    extra: Callable[[Payload], str] = lambda _: "",
    said: Callable[[Payload], str] = _said_last,
) -> _Reader:
    """Return a reader of an event of conversations, in which an agent or the customer acts.

    `extra` is the end of the sentence, and `said` what is quoted.
    """

    def reader(payload: Payload, item: Payload, event: str) -> Outcome:
        identity, customer = item["id"].required_text(), _customer(item)
        part = item["conversation_parts"]["conversation_parts"][0]
        agent = part["author"]["name"].text() or item["assignee"]["name"].text("An agent")
        page = _page(payload, "inbox/inbox/all/conversations", identity)
        shown = link("a conversation", page)
        who = customer if by_customer else agent
        of = "" if by_customer else f"with {bold(customer)}"
        about = " ".join(each for each in (shown, of, extra(item)) if each)
        content = acted(who, verb, about, body=plain(said(item)))
        topic = topic_with_id(customer, identity)
        return Message(topic, content, event, payload["id"].text())

    return reader


def _to_assignee(item: Payload) -> str:
    part = item["conversation_parts"]["conversation_parts"][0]
    to = part["assigned_to"]["name"].text() or item["assignee"]["name"].text()
    return f"to {bold(to)}" if to else ""


def _until(item: Payload) -> str:
    until = moment(item["snoozed_until"])
    return f"until {until}" if until else ""


def _tags(item: Payload) -> str:
    added = item["tags_added"]["tags"] or item["tags"]["tags"]
    names = listed(code(each["name"].text()) for each in added)
    return f"with {names}" if names else ""


def _rating(item: Payload) -> str:
    rating = item["conversation_rating"]["rating"].text()
    return f"({text(rating)} of 5)" if rating else ""


def _priority(item: Payload) -> str:
    return "as important" if item["priority"].text() == "priority" else "as not important"


# -- tickets


def _ticket(verb: str, *, by_customer: bool = False, has_body: bool = False) -> _Reader:
    """Return a reader of an event of tickets, in which an agent or the customer acts."""

    def reader(payload: Payload, item: Payload, event: str) -> Outcome:
        ticket = item["ticket"] or item
        part = item["ticket_part"] or ticket["ticket_parts"]["ticket_parts"][-1]
        identity = ticket.first("ticket_id", "id").required_text()
        fields = ticket["ticket_attributes"]
        title = fields["_default_title_"].text() or ticket["ticket_type"]["name"].text("Ticket")
        page = _page(payload, "inbox/inbox/conversation", ticket["id"].text())
        shown = link(f"ticket #{identity} {title}", page)
        customer = _name(ticket["contacts"]["contacts"][0])
        who = customer if by_customer else part["author"]["name"].text("Someone")
        body = part["body"].text() if has_body else ""
        if event == _CREATED:
            body = fields["_default_description_"].text()
        extra = _ticket_change(ticket, part, event)
        content = acted(who, verb, shown, extra=extra, body=plain(body))
        return Message(one_line(f"#{identity} {title}"), content, event, payload["id"].text())

    return reader


def _ticket_change(ticket: Payload, part: Payload, event: str) -> str:
    """Return the end of the sentence: the state or the assignee."""
    if event == "ticket.state.updated":
        state = ticket["ticket_state"]
        label = ticket["ticket_state_internal_label"].text() or state.text()
        label = label or state.first("internal_label", "category").text()
        return f"to {bold(label.replace('_', ' '))}" if label else ""
    assignee = part["assigned_to"]["name"].text()
    return f"to {bold(assignee)}" if assignee and event.endswith("assigned") else ""


# -- contacts and companies


def _contact(what: str) -> _Reader:
    def reader(payload: Payload, item: Payload, event: str) -> Outcome:
        name = _name(item)
        identity, email = item["id"].text(), item["email"].text()
        shown = link(name, _page(payload, "users", identity))
        known = f" ({code(email)})" if email and email != name else ""
        return Message(one_line(name), f"{shown}{known} {what}.", event, payload["id"].text())

    return reader


def _company(payload: Payload, item: Payload, event: str) -> Outcome:
    name = item.first("name", "company_id", "id").required_text()
    verb = event.removeprefix("company.")
    page = _page(payload, "companies", item["id"].text()) if verb == "created" else ""
    content = f"The company {link(name, page)} was {verb}."
    return Message(one_line(name), content, event, payload["id"].text())


def _tag(verb: str) -> _Reader:
    def reader(payload: Payload, item: Payload, event: str) -> Outcome:
        contact = item.first("contact", "user").required()
        name, tag = _name(contact), code(item["tag"]["name"].required_text())
        shown = link(name, _page(payload, "users", contact["id"].text()))
        content = f"The tag {tag} was {verb} {shown}."
        return Message(one_line(name), content, event, payload["id"].text())

    return reader


_READERS: Final[Mapping[str, _Reader]] = {
    "conversation.user.created": _conversation("started", by_customer=True),
    "conversation.user.replied": _conversation("replied in", by_customer=True),
    "conversation.admin.replied": _conversation("replied in"),
    "conversation.admin.noted": _conversation("left a note in"),
    "conversation.admin.assigned": _conversation("assigned", extra=_to_assignee),
    "conversation.admin.closed": _conversation("closed"),
    "conversation.admin.opened": _conversation("reopened"),
    "conversation.admin.snoozed": _conversation("snoozed", extra=_until),
    "conversation.admin.unsnoozed": _conversation("ended the snoozing of"),
    "conversation.admin.single.created": _conversation("started"),
    "conversation.admin.open.assigned": _conversation("assigned", extra=_to_assignee),
    "conversation.operator.replied": _conversation("replied in"),
    "conversation.priority.updated": _conversation("marked", extra=_priority, said=lambda _: ""),
    "conversation.rating.added": _conversation(
        "rated",
        by_customer=True,
        extra=_rating,
        said=lambda item: item["conversation_rating"]["remark"].text(),
    ),
    "conversation_part.tag.created": _conversation("tagged", extra=_tags),
    "contact.created": _contact("is a new contact"),
    "contact.signed_up": _contact("has signed up"),
    "contact.user.created": _contact("is a new user"),
    "contact.lead.created": _contact("is a new lead"),
    "contact.lead.signed_up": _contact("has signed up"),
    "contact.archived": _contact("was archived"),
    "contact.deleted": _contact("was deleted"),
    "contact.lead.added_email": _contact("has given an email address"),
    "contact.merged": _contact("was merged with another contact"),
    "contact.subscribed": _contact("has subscribed to emails"),
    "contact.unarchive": _contact("is no longer archived"),
    "contact.unsubscribed": _contact("has unsubscribed from emails"),
    "contact.email.updated": _contact("has another email address"),
    "contact.tag.created": _tag("given to"),
    "contact.tag.deleted": _tag("taken from"),
    "contact.user.tag.created": _tag("given to"),
    "contact.user.tag.deleted": _tag("taken from"),
    "contact.lead.tag.created": _tag("given to"),
    "contact.lead.tag.deleted": _tag("taken from"),
    "user.created": _contact("is a new user"),
    "user.deleted": _contact("was deleted"),
    "user.unsubscribed": _contact("has unsubscribed from emails"),
    "user.email.updated": _contact("has another email address"),
    "user.tag.created": _tag("given to"),
    "user.tag.deleted": _tag("taken from"),
    "visitor.signed_up": _contact("has signed up"),
    "company.created": _company,
    "company.deleted": _company,
    "ticket.admin.assigned": _ticket("assigned"),
    "ticket.admin.replied": _ticket("replied to", has_body=True),
    "ticket.closed": _ticket("closed"),
    "ticket.contact.replied": _ticket("replied to", by_customer=True, has_body=True),
    _CREATED: _ticket("created", by_customer=True),
    "ticket.note.created": _ticket("left a note on", has_body=True),
    "ticket.rating.provided": _ticket("rated", by_customer=True),
    "ticket.state.updated": _ticket("changed the state of"),
    "ticket.team.assigned": _ticket("assigned"),
}

INTEGRATIONS: Final = (
    Integration(
        name="intercom",
        display_name="Intercom",
        category=Category.SUPPORT,
        read=read,
        setup=(
            "Create an app in Intercom's *Developer Hub*, and open *Webhooks* in it.\n"
            "Paste `{url}` as *Endpoint URL*, choose the topics to post, and save.\n"
            "Press *Send test request*."
        ),
        events=(*_READERS, "ping"),
        signatures=(Signature(header="X-Hub-Signature", algorithm="sha1", prefix="sha1="),),
        signing_step="Copy the *Client secret* of the app from *Basic information*.",
    ),
)
