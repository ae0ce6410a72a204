"""Front: conversations of an inbox that a team shares."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from server.integrations.alerts import topic_with_id
from server.integrations.base import (
    Category,
    Delivery,
    Ignored,
    Integration,
    Message,
    Outcome,
    Unknown,
)
from server.integrations.markdown import bold, code, link, paragraphs, quote
from server.integrations.payload import Payload
from server.integrations.repositories import acted
from server.integrations.signatures import Signature

SIGNATURE: Final = "X-Front-Signature"
_REPLY: Final = re.compile(r"(?:re|fwd?|aw|wg):\s*", re.IGNORECASE)

_Reader = Callable[[Payload, str, str], str]
"""Makes a message of the event, its actor and its conversation (Markdown)."""


def read(delivery: Delivery) -> Outcome:
    """Turn an event into a message, by its type.

    Rules send the event itself; webhooks of an app send it as `payload`, beside their own type.
    """
    payload = delivery.payload["payload"] or delivery.payload
    kind = payload["type"].required_text()
    if kind == "sync":
        return Ignored(kind, "Front checks the address.")
    reader = _READERS.get(kind)
    if reader is None:
        return Unknown(kind)
    conversation = payload["conversation"].required()
    subject = _subject(conversation["subject"].text())
    identity = conversation["id"].required_text()
    shown = f"conversation {link(subject, f'https://app.frontapp.com/open/{identity}')}"
    content = reader(payload, _actor(payload["source"]), shown)
    return Message(topic_with_id(subject, identity), content, kind, payload["id"].text())


def _subject(subject: str) -> str:
    """Return the subject without what replies begin with, so that they have the same topic."""
    while found := _REPLY.match(subject):
        subject = subject[found.end() :]
    return subject or "(no subject)"


def _person(person: Payload) -> str:
    names = (person["first_name"].text(), person["last_name"].text())
    full = " ".join(each for each in names if each)
    return full or person.first("username", "email", "name", "handle").text()


def _actor(source: Payload) -> str:
    data, kind = source["data"], source["_meta"]["type"].text()
    if kind == "rule":
        return f"The rule {data['name'].text('?')}"
    return _person(data) or kind.capitalize() or "Someone"


def _message(verb: str, role: str) -> _Reader:
    """Return a reader of messages, to or from those outside."""

    def reader(payload: Payload, _: str, shown: str) -> str:
        message = payload["target"]["data"] or payload["conversation"]["last_message"]
        handles = [
            each["handle"].text()
            for each in message["recipients"]
            if each["role"].text() == role and each["handle"].text()
        ]
        who = handles[0] if handles and role == "from" else _person(message["author"])
        to = f"to {bold(handles[0])}" if handles and role == "to" else ""
        return acted(who or "Someone", verb, to, extra=f"in {shown}", body=_body(message))

    return reader


def _body(message: Payload) -> str:
    return message.first("text", "blurb").text()


def _acted(verb: str) -> _Reader:
    return lambda _, who, shown: acted(who, verb, shown)


def _assigned(payload: Payload, who: str, shown: str) -> str:
    assignee = _person(payload["target"]["data"]) or _person(payload["conversation"]["assignee"])
    if assignee == who:
        return acted(who, "took", shown)
    return acted(who, "assigned", shown, extra=f"to {bold(assignee)}" if assignee else "")


def _tag(verb: str, preposition: str) -> _Reader:
    def reader(payload: Payload, who: str, shown: str) -> str:
        tag = code(payload["target"]["data"]["name"].text("?"))
        return acted(who, f"{verb} the tag {tag} {preposition}", shown)

    return reader


def _comment(verb: str) -> _Reader:
    def reader(payload: Payload, who: str, shown: str) -> str:
        return acted(who, verb, shown, body=payload["target"]["data"]["body"].text())

    return reader


def _moved(payload: Payload, who: str, shown: str) -> str:
    inboxes = [each["name"].text() for each in payload["target"]["data"] if each["name"].text()]
    to = ", ".join(bold(each) for each in inboxes)
    return acted(who, "moved", shown, extra=f"to {to}" if to else "")


def _linked(verb: str, preposition: str) -> _Reader:
    def reader(payload: Payload, who: str, shown: str) -> str:
        target = payload["target"]["data"]
        name = target.first("name", "external_url").text("?")
        url = target["external_url"].text()
        what = f"{verb} {link(name, url)} {preposition}" if url else f"{verb} a link {preposition}"
        return acted(who, what, shown)

    return reader


def _not_sent(what: str) -> _Reader:
    def reader(payload: Payload, _: str, shown: str) -> str:
        return paragraphs(
            f":cross_mark: A message in {shown} {what}.", quote(_body(payload["target"]["data"]))
        )

    return reader


_READERS: Final[Mapping[str, _Reader]] = {
    "inbound": _message("wrote", "from"),
    "outbound": _message("wrote", "to"),
    "out_reply": _message("replied", "to"),
    "comment": _comment("commented on"),
    "mention": _comment("mentioned others in a comment on"),
    "assign": _assigned,
    "unassign": _acted("unassigned"),
    "archive": _acted("archived"),
    "reopen": _acted("reopened"),
    "trash": _acted("deleted"),
    "restore": _acted("restored"),
    "tag": _tag("added", "to"),
    "untag": _tag("removed", "from"),
    "move": _moved,
    "forward": _acted("forwarded a message of"),
    "link_added": _linked("added", "to"),
    "link_removed": _linked("removed", "from"),
    "conversations_merged": _acted("merged others into"),
    "reminder": lambda _payload, _who, shown: f"A reminder has reopened {shown}.",
    "sending_error": _not_sent("could not be sent"),
    "message_bounce_error": _not_sent("could not be delivered"),
}

INTEGRATIONS: Final = (
    Integration(
        name="front",
        display_name="Front",
        category=Category.SUPPORT,
        read=read,
        setup=(
            "In the settings, open *Integrations*, and enable *Webhooks*.\n"
            "Under *Rules*, add a rule with the events to post, and the action *Send to a"
            " webhook* with `{url}`.\n"
            "Or, for events of all shared inboxes, open *Developers*, create an app with the"
            " feature *Webhooks*, and paste `{url}`; Front checks the address at once."
        ),
        events=tuple(_READERS),
        signatures=(
            Signature(
                header=SIGNATURE,
                encoding="base64",
                preamble="{timestamp}:",
                timestamp="X-Front-Request-Timestamp",
            ),
            Signature(header=SIGNATURE, algorithm="sha1", encoding="base64"),
        ),
        signing_step=(
            "Copy the *API secret* from the settings of the integration *Webhooks*; for an app, its"
            " *App secret*."
        ),
        handshake="X-Front-Challenge",
    ),
)
