"""Intercom: conversations, contacts, companies and tags."""

from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.alerts import moment, topic_with_id
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import bold, code, link, listed, one_line, plain
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

_Reader = Callable[[Payload, Payload, str], Outcome]
"""Makes a message of the delivery, its item and the event."""


def read(delivery: Delivery) -> Outcome:
    """Turn a notification into a message, by its topic."""
    payload = delivery.payload
    event = payload["topic"].required_text()
    if event == "ping":
        return Message("Intercom", "Intercom is connected.", event)
    reader = _READERS.get(event)
    if reader is None:
        return Unknown(event)
    return reader(payload, payload["data"]["item"].required(), event)


def _name(contact: Payload) -> str:
    found = contact.first("name", "email", "pseudonym", "user_id", "id")
    return found.text("Someone")


def _page(payload: Payload, place: str, identity: str) -> str:
    app = payload["app_id"].text()
    return f"https://app.intercom.com/a/apps/{app}/{place}/{identity}" if app else ""


# -- conversations


def _customer(item: Payload) -> str:
    contact = item["user"] or item["source"]["author"] or item["contacts"]["contacts"][0]
    return _name(contact)


def _conversation(
    verb: str, *, by_customer: bool = False, extra: Callable[[Payload], str] = lambda _: ""
) -> _Reader:
    """Return a reader of an event of conversations, in which an agent or the customer acts."""

    def reader(payload: Payload, item: Payload, event: str) -> Outcome:
        identity, customer = item["id"].required_text(), _customer(item)
        part = item["conversation_parts"]["conversation_parts"][0]
        first = item["conversation_message"] or item["source"]
        agent = part["author"]["name"].text() or item["assignee"]["name"].text("An agent")
        page = _page(payload, "inbox/inbox/all/conversations", identity)
        shown = link("a conversation", page)
        who = customer if by_customer else agent
        of = "" if by_customer else f"with {bold(customer)}"
        body = plain((part or first)["body"].text())
        about = " ".join(each for each in (shown, of, extra(item)) if each)
        content = acted(who, verb, about, body=body)
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
    name = item["name"].required_text()
    page = _page(payload, "companies", item["id"].text())
    content = f"The company {link(name, page)} was created."
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
    "conversation_part.tag.created": _conversation("tagged", extra=_tags),
    "contact.created": _contact("is a new contact"),
    "contact.signed_up": _contact("has signed up"),
    "contact.user.created": _contact("is a new user"),
    "contact.lead.created": _contact("is a new lead"),
    "contact.lead.signed_up": _contact("has signed up"),
    "contact.deleted": _contact("was deleted"),
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
    "company.created": _company,
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
