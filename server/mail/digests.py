"""Digest emails to inactive users, with the activity in their channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Final, NamedTuple

from server.domain.page_links import CHANNELS, topic_page
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
    "What happened at {realm}",
    "Conversations in your channels",
    "Messages this week: {count}, people: {people}",
    "This week in your channels: conversations: {topics}, messages: {messages}.",
    "New channels",
    "Open in Parley",
    "You get this once a week, as you have not been there for some days. Answers to this email are"
    " not read by anybody.",
    "choose what you are notified of",
    "get no more of these emails",
)
PHRASES: Final = {
    "en": ENGLISH,
    "de": DigestPhrases(
        "Was bei {realm} los war",
        "Unterhaltungen in deinen Kanälen",
        "Nachrichten diese Woche: {count}, Personen: {people}",
        "Diese Woche in deinen Kanälen: Unterhaltungen: {topics}, Nachrichten: {messages}.",
        "Neue Kanäle",
        "In Parley öffnen",
        "Du bekommst das einmal in der Woche, weil du einige Tage nicht da warst. Antworten auf"
        " diese E-Mail liest niemand.",
        "wähle, worüber du benachrichtigt wirst",
        "bekomme keine solchen E-Mails mehr",
    ),
    "es": DigestPhrases(
        "Lo que ha pasado en {realm}",
        "Conversaciones en tus canales",
        "Mensajes esta semana: {count}, personas: {people}",
        "Esta semana en tus canales: conversaciones: {topics}, mensajes: {messages}.",
        "Canales nuevos",
        "Abrir en Parley",
        "Recibes esto una vez por semana porque llevas unos días sin entrar. Nadie lee las"
        " respuestas a este correo.",
        "elige qué se te notifica",
        "no recibas más correos como este",
    ),
    "fr": DigestPhrases(
        "Ce qui s'est passé chez {realm}",
        "Conversations dans vos canaux",
        "Messages cette semaine : {count}, personnes : {people}",
        "Cette semaine dans vos canaux : conversations : {topics}, messages : {messages}.",
        "Nouveaux canaux",
        "Ouvrir dans Parley",
        "Vous recevez ceci une fois par semaine, car vous n'êtes pas venu depuis quelques jours."
        " Personne ne lit les réponses à cet e-mail.",
        "choisissez vos notifications",
        "ne recevez plus ces e-mails",
    ),
}
"""By language; English for all others."""


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
    language = digest.language.partition("-")[0]
    language = language if language in PHRASES else "en"
    phrases = PHRASES[language]
    title = line(phrases.title.format(realm=head.realm_name), MAX_SUBJECT)
    message = envelope(head, title, f"digest.{digest.key}", language)
    message["From"] = mailbox(f"{line(head.realm_name, MAX_NAME)} (Parley)", head.sender)
    fill(
        message,
        "digest",
        language=language,
        head=head,
        title=title,
        phrases=phrases,
        talks=[_shown(talk, phrases, head.realm_url) for talk in digest.talks]
        if digest.shows
        else [],
        summary=_summary(digest, phrases),
        new_channels=digest.new_channels if digest.shows else (),
        url=f"{head.realm_url}{CHANNELS}",
    )
    return message


def _shown(talk: Talk, phrases: DigestPhrases, realm_url: str) -> dict[str, object]:
    return {
        "title": f"#{talk.channel} > {talk.title}",
        "url": f"{realm_url}{topic_page(talk.channel_id, talk.topic)}",
        "more": phrases.more.format(count=talk.count, people=talk.people),
        "messages": shown(talk.messages, realm_url),
    }


def _summary(digest: Digest, phrases: DigestPhrases) -> str:
    """Return the text used where content may not be shown."""
    if digest.shows or not digest.talks:
        return ""
    messages = sum(talk.count for talk in digest.talks)
    return phrases.hidden.format(topics=len(digest.talks), messages=messages)
