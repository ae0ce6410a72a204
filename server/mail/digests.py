"""Digest emails to inactive users, with the activity in their channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Final, NamedTuple

from server.domain.page_links import CHANNELS, topic_page
from server.i18n import language_of_mail, marked
from server.i18n.catalogues import catalogue
from server.mail.composing import MAX_NAME, MAX_SUBJECT, fill, line
from server.mail.mailer import mailbox
from server.mail.missed_messages import Letterhead, MailedMessage, envelope, shown


class DigestPhrases(NamedTuple):
    title: str
    hot: str
    more: str
    hidden: str
    new_channels: str
    open: str
    reason: str
    choose: str
    stop: str


ENGLISH: Final = DigestPhrases(
    marked("What happened at {realm}"),
    marked("Conversations in your channels"),
    marked("Messages this week: {count}, people: {people}"),
    marked("This week in your channels: conversations: {topics}, messages: {messages}."),
    marked("New channels"),
    marked("Open in Parley"),
    marked(
        "You get this once a week, as you have not been there for some days. Answers"
        " to this email are not read by anybody."
    ),
    marked("choose what you are notified of"),
    marked("get no more of these emails"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation, with the first messages that the user has not read."""

    channel_id: int
    channel: str
    topic: str
    title: str
    """The displayed topic."""
    people: int
    count: int
    messages: Sequence[MailedMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    head: Letterhead
    talks: Sequence[Talk]
    new_channels: Sequence[str]
    shows: bool
    """Whether message content and topics may be in emails."""
    language: str
    key: str
    """Identifies the email."""


def digest_email(digest: Digest) -> EmailMessage:
    """Build the email. Raises AddressRefusedError."""
    head = digest.head
    language = language_of_mail(digest.language, ENGLISH.title)
    phrases = DigestPhrases(*map(catalogue(language).gettext, ENGLISH))
    title = line(phrases.title.format(realm=head.realm_name), MAX_SUBJECT)
    message = envelope(head, title, f"digest.{digest.key}")
    message["From"] = mailbox(f"{line(head.realm_name, MAX_NAME)} (Parley)", head.sender)
    fill(
        message,
        "digest",
        language,
        head=head,
        title=title,
        phrases=phrases,
        talks=[_shown(talk, phrases, head.realm_url, language) for talk in digest.talks]
        if digest.shows
        else [],
        summary=_summary(digest, phrases),
        new_channels=digest.new_channels if digest.shows else (),
        url=f"{head.realm_url}{CHANNELS}",
    )
    return message


def _shown(talk: Talk, phrases: DigestPhrases, realm_url: str, language: str) -> dict[str, object]:
    return {
        "title": f"#{talk.channel} > {talk.title}",
        "url": f"{realm_url}{topic_page(talk.channel_id, talk.topic)}",
        "more": phrases.more.format(count=talk.count, people=talk.people),
        "messages": shown(talk.messages, realm_url, language),
    }


def _summary(digest: Digest, phrases: DigestPhrases) -> str:
    """Return the text used where content may not be shown."""
    if digest.shows or not digest.talks:
        return ""
    messages = sum(talk.count for talk in digest.talks)
    return phrases.hidden.format(topics=len(digest.talks), messages=messages)
