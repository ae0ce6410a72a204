"""Invitation emails."""

from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Final, NamedTuple

from server.mail.composing import MAX_NAME, MAX_SUBJECT, fill, line
from server.mail.mailer import mailbox


class InvitationPhrases(NamedTuple):
    """Texts with placeholders for the inviting user and the organization."""

    title: str
    says: str
    button: str
    until: str
    once: str
    otherwise: str
    reason: str
    reason_of_link: str


ENGLISH: Final = InvitationPhrases(
    "{inviter} invites you to {realm}",
    "{inviter} would like you to join {realm}, where they talk with their team.",
    "Join {realm}",
    "The link works once, until {date} (UTC).",
    "The link works once.",
    "If the button does not work, open this address:",
    "You get this because {inviter} has entered your address. If you do not know them, do nothing."
    " Answers to this email are not read by anybody.",
    "You get this because your address was entered at a link of {inviter}. If it was not you, do"
    " nothing. Answers to this email are not read by anybody.",
)
PHRASES: Final = {
    "en": ENGLISH,
    "de": InvitationPhrases(
        "{inviter} lädt dich zu {realm} ein",
        "{inviter} möchte, dass du bei {realm} mitmachst, wo sich das Team austauscht.",
        "Bei {realm} mitmachen",
        "Der Link gilt einmal, bis {date} (UTC).",
        "Der Link gilt einmal.",
        "Falls der Knopf nicht geht, öffne diese Adresse:",
        "Du bekommst diese E-Mail, weil {inviter} deine Adresse eingegeben hat. Kennst du die"
        " Person nicht, musst du nichts tun. Antworten auf diese E-Mail liest niemand.",
        "Du bekommst diese E-Mail, weil deine Adresse bei einem Link von {inviter} eingegeben"
        " wurde. Warst du es nicht, musst du nichts tun. Antworten auf diese E-Mail liest niemand.",
    ),
    "es": InvitationPhrases(
        "{inviter} te invita a {realm}",
        "{inviter} quiere que te unas a {realm}, donde conversa con su equipo.",
        "Unirse a {realm}",
        "El enlace funciona una vez, hasta el {date} (UTC).",
        "El enlace funciona una vez.",
        "Si el botón no funciona, abre esta dirección:",
        "Recibes este correo porque {inviter} ha introducido tu dirección. Si no sabes quién es, no"
        " hagas nada. Nadie lee las respuestas a este correo.",
        "Recibes este correo porque se ha introducido tu dirección en un enlace de {inviter}. Si no"
        " has sido tú, no hagas nada. Nadie lee las respuestas a este correo.",
    ),
    "fr": InvitationPhrases(
        "{inviter} vous invite à rejoindre {realm}",
        "{inviter} aimerait que vous rejoigniez {realm}, où échange son équipe.",
        "Rejoindre {realm}",
        "Le lien fonctionne une fois, jusqu'au {date} (UTC).",
        "Le lien fonctionne une fois.",
        "Si le bouton ne fonctionne pas, ouvrez cette adresse :",
        "Vous recevez cet e-mail parce que {inviter} a saisi votre adresse. Si vous ne connaissez"
        " pas cette personne, ne faites rien. Personne ne lit les réponses à cet e-mail.",
        "Vous recevez cet e-mail parce que votre adresse a été saisie sur un lien de {inviter}. Si"
        " ce n'était pas vous, ne faites rien. Personne ne lit les réponses à cet e-mail.",
    ),
}
"""By the language of the organization, since the recipient's is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The content of an invitation."""

    realm_name: str
    realm_url: str
    domain: str
    """The domain of Message-IDs."""
    sender: str
    inviter_name: str
    address: str
    url: str
    """The link."""
    ends_at: datetime | None
    language: str
    is_by_link: bool
    """Whether the recipient has entered the address on the page of an invitation link."""
    key: str
    """Identifies the email."""
    now: datetime


def asking(some: Asking) -> EmailMessage:
    """Build the email. Raises AddressRefusedError."""
    language = some.language.partition("-")[0]
    language = language if language in PHRASES else "en"
    names = {
        "inviter": some.inviter_name,
        "realm": some.realm_name,
        "date": "" if some.ends_at is None else some.ends_at.strftime("%Y-%m-%d %H:%M"),
    }
    phrases = InvitationPhrases(*(phrase.format(**names) for phrase in PHRASES[language]))
    title = line(phrases.title, MAX_SUBJECT)
    message = EmailMessage()
    message["Subject"] = title
    message["From"] = mailbox(f"{line(some.inviter_name, MAX_NAME)} (Parley)", some.sender)
    message["To"] = mailbox("", some.address)
    message["Date"] = format_datetime(some.now)
    message["Message-ID"] = f"<invitation.{some.key}@{some.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message["Content-Language"] = language
    fill(
        message,
        "invitation",
        language=language,
        title=title,
        phrases=phrases,
        reason=phrases.reason_of_link if some.is_by_link else phrases.reason,
        until=phrases.once if some.ends_at is None else phrases.until,
        url=some.url,
        realm_name=some.realm_name,
        realm_url=some.realm_url,
    )
    return message
