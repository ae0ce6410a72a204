"""Convert incoming email to a message: without quotes and signatures, bounded, as Markdown."""

import email
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import EmailPolicy
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from typing_extensions import override

from server.domain.markdown.writing import link, literal
from server.domain.messages import MAX_MESSAGE_LENGTH, cut_topic
from server.domain.resolved_topics import base_name
from server.mail.enclosures import Enclosures, enclosures_of
from server.mail.missed_messages import is_ours

NO_SUBJECT: Final = "Email with no subject"
NO_TEXT: Final = "*(no text)*"
TRUNCATED: Final = "\n[message truncated]"
MAX_TEXT: Final = 2 * MAX_MESSAGE_LENGTH
MAX_LINES: Final = 1_000
"""Of a text that is searched for quotes, in quadratic time at worst."""
MAX_HTML: Final = 300_000
MAX_DEPTH: Final = 200
"""Of nested HTML, which would otherwise block the thread for seconds."""
MAX_RAW_LINES: Final = 100_000
MIN_AVERAGE_LINE: Final = 40
"""The minimum average in mail with more lines: each may be a header, and needs memory."""
MAX_PARTS: Final = 20_000
MAX_HEADER: Final = 10_000
MAX_PART_HEADER: Final = 2_000
"""Of a single part: there may be thousands, and each is read several times."""
MAX_HEADERS: Final = 400_000
"""Of all parsed headers; the library needs quadratic time at worst."""
MAX_HEAD_LINES: Final = 10_000
MAX_BOUNDARIES: Final = 1_000
MAX_NAME: Final = 100

_FORWARDS: Final = r"(?:fwd?|wg|tr)"
_ANSWERS: Final = r"(?:re|aw|sv|antw|odp)"
_PREFIXES: Final = re.compile(
    rf"^(?:\s*(?:{_ANSWERS}|{_FORWARDS})(?:\[\d+\])?\s*:)+", re.IGNORECASE
)
_BOUNDARY: Final = re.compile(rb"boundary\s*=", re.IGNORECASE)
_FORWARDED: Final = re.compile(rf"^\s*{_FORWARDS}\s*:", re.IGNORECASE)
_ANSWERED: Final = re.compile(rf"^\s*{_ANSWERS}(?:\[\d+\])?\s*:", re.IGNORECASE)
_FORWARDED_BLOCK: Final = re.compile(
    r"^(?:-{2,} ?(?:forwarded message|weitergeleitete nachricht|message transféré|mensaje reenviado"
    r"|vidarebefordrat meddelande|doorgestuurd bericht|пересылаемое сообщение) ?-{2,}"
    r"|begin forwarded message:|anfang der weitergeleiteten e-mail:)",
    re.IGNORECASE | re.MULTILINE,
)
"""The first lines of forwarded mail, as opposed to a quote in a reply."""
_SIGNATURE: Final = re.compile(r"^-- $", re.MULTILINE)
"""RFC 3676: the start of a signature."""
_SIGNATURE_OF_ANSWER: Final = re.compile(r"^-- ?$", re.MULTILINE)
"""The same without trailing blanks; outside of replies, two hyphens may be a heading."""
_AUTOMATIC_ANSWERS: Final = ("x-autoreply", "x-autorespond", "x-autoresponder")
_SENT_TO_MANY: Final = ("list-id", "list-unsubscribe", "list-post")

_HEADERS: Final = frozenset(
    {
        *("subject", "from", "message-id", "auto-submitted", "precedence"),
        *("in-reply-to", "references"),
        *_AUTOMATIC_ANSWERS,
        *_SENT_TO_MANY,
    }
)


class UnreadableError(Exception):
    """The email cannot be parsed."""


class _BoundedPolicy(EmailPolicy):
    """Limits the length of each header, and of all headers."""

    def __init__(self) -> None:
        super().__init__(message_factory=EmailMessage)
        object.__setattr__(self, "_read", [0])  # the library makes policies immutable

    @override
    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        is_of_part = name.lower().startswith("content-")
        return name, value[: MAX_PART_HEADER if is_of_part else MAX_HEADER]

    @override
    def header_fetch_parse(self, name: str, value: str) -> Any:
        read: list[int] = self._read  # type: ignore[attr-defined]
        read[0] += len(value)
        if read[0] > MAX_HEADERS:
            raise UnreadableError("This email has too many headers.")
        return super().header_fetch_parse(name, value)


@dataclass(frozen=True, slots=True)
class IncomingEmail:
    """A received email."""

    headers: Mapping[str, str]
    """The relevant headers by lower-case name; of several with one name, the first."""

    @property
    def subject(self) -> str:
        return self.headers.get("subject", "")

    @property
    def is_forwarded(self) -> bool:
        return _FORWARDED.match(self.subject) is not None

    @property
    def is_answer(self) -> bool:
        """Whether its headers or its subject mark it as a reply."""
        refers = "in-reply-to" in self.headers or "references" in self.headers
        return refers or _ANSWERED.match(self.subject) is not None

    def topic(self) -> str:
        """The subject as a topic name, without prefixes of replies and forwards."""
        words = _PREFIXES.sub("", self.subject)
        kept = "".join(
            c if unicodedata.category(c) not in ("Cc", "Cs", "Cn") else " " for c in words
        )
        topic = " ".join(kept.split())
        if not base_name(topic):
            return NO_SUBJECT
        return cut_topic(topic, end="…")


@dataclass(frozen=True, slots=True)
class OpenLetter(IncomingEmail):
    """A received email with all of its parts, in the parsing process only."""

    message: EmailMessage


def max_lines(size: int) -> int:
    """Return the maximum number of lines of a mail with so many bytes."""
    return max(MAX_RAW_LINES, size // MIN_AVERAGE_LINE)


def _check(raw: bytes) -> None:
    """Refuse mail that would take the library long, before the library parses it."""
    if raw.count(b"\n") > max_lines(len(raw)) or raw.count(b"\n--") > MAX_PARTS:
        raise UnreadableError("This email has too many parts.")
    ends = [end for blank in (b"\n\n", b"\n\r\n") if (end := raw.find(blank)) >= 0]
    if raw.count(b"\n", 0, min(ends, default=len(raw))) > MAX_HEAD_LINES:
        raise UnreadableError("This email has too many headers.")
    # Each line is held against the boundaries of all parts that it is in.
    if sum(1 for _ in islice(_BOUNDARY.finditer(raw), MAX_BOUNDARIES + 1)) > MAX_BOUNDARIES:
        raise UnreadableError("This email has too many parts within parts.")


def read(raw: bytes) -> OpenLetter:
    """Parse the email. Raises UnreadableError."""
    _check(raw)
    try:
        message = email.message_from_bytes(raw, policy=_BoundedPolicy())
        assert isinstance(message, EmailMessage)
        names = {name.lower() for name in message} & _HEADERS
        return OpenLetter({name: _header(message, name) for name in names}, message)
    except UnreadableError:
        raise
    except Exception as error:  # the library fails on hostile headers in many ways
        raise UnreadableError("This is not an email that can be read.") from error


def _header(message: EmailMessage, name: str) -> str:
    """Return the decoded header, or the raw text if it cannot be decoded."""
    try:
        value = str(message[name])
    except Exception:  # noqa: BLE001 - as above; one bad header is no reason to refuse a mail
        value = next(str(raw) for each, raw in message.raw_items() if each.lower() == name)
    return value.replace("\0", "").encode(errors="replace").decode()


def objection(letter: IncomingEmail, mail_from: str, domain: str, *, to_person: bool) -> str | None:
    """Return why such mail is refused: it would cause a loop, or is automatic.

    `domain` is that of the organization's own mails. `to_person`: it is a reply to a user, and must
    be written by hand; a channel also accepts mail of programs and mailing lists.
    """
    headers = letter.headers
    # RFC 3834: a word, perhaps with parameters or a remark behind it.
    automatic = re.split(r"[\s;(]", headers.get("auto-submitted", "no").strip().lower())[0]
    precedence = headers.get("precedence", "").strip().lower()
    if is_ours(headers, domain):
        return "This email comes from here."
    if not mail_from:
        return "Reports about mail are not taken."
    if (
        automatic == "auto-replied"
        or precedence == "auto_reply"
        or any(name in headers for name in _AUTOMATIC_ANSWERS)
    ):
        return "Automatic answers are not taken."
    if to_person and (
        automatic != "no"
        or precedence in ("bulk", "junk", "list")
        or any(name in headers for name in _SENT_TO_MANY)
    ):
        return "Only what somebody has written is taken here."
    return None


@dataclass(frozen=True, slots=True)
class Content:
    """The content of an email: sender `above`, text, attachments."""

    above: str
    text: str
    enclosures: Enclosures

    @property
    def digest(self) -> bytes:
        """The digest of the content, independent of where its files are stored."""
        said = sha256(f"{self.above}\n{self.text}".encode())
        for file in self.enclosures.files:
            said.update(file.digest)
        return said.digest()

    def written(self, urls: Sequence[str | None]) -> str:
        """Return the message, with links to its stored files in order.

        Files that are not stored (None) are named.
        """
        below = "".join(f"\n\n{words}" for words in self._below(urls) if words)
        room = MAX_MESSAGE_LENGTH - len(self.above) - len(below)
        text = self.text
        if len(text) > room:
            text = text[: room - len(TRUNCATED)].rstrip() + TRUNCATED
        return f"{self.above}{text or ('' if below else NO_TEXT)}{below}".strip("\n")

    def _below(self, urls: Sequence[str | None]) -> tuple[str, str]:
        files = list(zip(self.enclosures.files, urls, strict=True))
        links = "\n".join(link(file.name, url) for file, url in files if url)
        names = [literal(file.name[:MAX_NAME]) for file, url in files if not url]
        names += ["…"] if self.enclosures.has_more else []
        return links, f"*Left out: {', '.join(names)}*" if names else ""


def content_of(letter: OpenLetter, options: Collection[str], *, to_person: bool) -> Content:
    """Return the email's content. Raises UnreadableError, also for an empty reply.

    `options` are those of addresses (server/domain/mail_addresses.py).
    """
    try:
        text = _text_of(letter, options, is_answer=to_person or letter.is_answer)
        enclosures = enclosures_of(letter.message)
    except UnreadableError:
        raise
    except Exception as error:
        raise UnreadableError("This is not an email that can be read.") from error
    sender = " ".join(letter.headers.get("from", "").split())[:MAX_NAME]
    if to_person and not (text or enclosures.files):
        raise UnreadableError("This email says nothing.")
    above = f"**From:** {literal(sender)}\n\n" if "show-sender" in options else ""
    return Content(above, text, enclosures)


def _text_of(letter: OpenLetter, options: Collection[str], *, is_answer: bool) -> str:
    """Return the text that the sender has written; empty if there is none.

    Quotes are removed from replies only: in any other mail they are part of the text.
    """
    kinds = ("html", "plain") if "prefer-html" in options else ("plain", "html")
    text = next(filter(None, (_body(letter.message, kind) for kind in kinds)), "")
    if "include-footer" not in options:
        text = _without_signature(text, _SIGNATURE_OF_ANSWER if is_answer else _SIGNATURE)
    if "include-quotes" not in options and is_answer and not letter.is_forwarded:
        text = _without_quotes(text)
    return text


def _without_signature(text: str, beginning: re.Pattern[str]) -> str:
    """Return the text up to its signature; all of it if there are several, or nothing else."""
    found = list(beginning.finditer(text))
    kept = text[: found[0].start()].rstrip() if len(found) == 1 else text
    return kept or text


def _body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except LookupError:  # an unknown character set
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        text = payload.decode(errors="replace")
    text = text.replace("\0", "").replace("\r\n", "\n")
    if kind == "html":
        text = _markdown(text[:MAX_HTML])
    lines = text[:MAX_TEXT].strip("\n").split("\n")
    more = TRUNCATED if len(lines) > MAX_LINES else ""
    return "\n".join(lines[:MAX_LINES]).rstrip() + more


def _markdown(html: str) -> str:
    """Convert HTML to Markdown. Images are removed, since requests for them identify readers."""
    from html_to_markdown import ConversionOptions, convert  # 22 MB that few processes need

    options = ConversionOptions(
        skip_images=True,
        extract_metadata=False,
        infer_dimensions=False,
        strip_tags=["title"],
        max_depth=MAX_DEPTH,
    )
    return convert(html, options).content or ""


def _without_quotes(text: str) -> str:
    """Return the text of a reply without quotes.

    Returns all of it if it is written between the quotes, if nothing else would remain, and if a
    match may be part of the text.
    """
    from quotequail import unwrap  # as above

    found = unwrap(text)
    if found is None or not _is_quote(found, text):
        return text
    above, below = str(found.get("text_top") or ""), str(found.get("text_bottom") or "")
    return text if above and below else above or below or text


def _is_quote(found: Mapping[str, str], text: str) -> bool:
    """Return whether a match of quotequail is a quote that mail programs add to a reply.

    It also matches headers among lines of the form "Word: words", and sentences that end with
    "wrote:". Programs add sender and date, or quote each line; headers come with a subject.
    """
    if found["type"] == "reply":
        return "date" in found or re.search(r"^>", text, re.MULTILINE) is not None
    if _FORWARDED_BLOCK.search(text):
        return False
    return "from" in found and "subject" in found and ("date" in found or "to" in found)
