"""Attachments of an email: their names, number and size are not limited by its sender."""

from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import compat32
from hashlib import sha256
from itertools import islice
from typing import Final

from server.domain.attachments import clean_name

MAX_ENCLOSURES: Final = 10


@dataclass(frozen=True, slots=True)
class Enclosure:
    name: str
    content: bytes

    @property
    def digest(self) -> bytes:
        return sha256(self.content).digest()


@dataclass(frozen=True, slots=True)
class Enclosures:
    """The first attachments, in order."""

    files: Sequence[Enclosure] = ()
    has_more: bool = False


def enclosures_of(message: EmailMessage) -> Enclosures:
    """Return the email's attachments. Raises any error of the library for a malformed one."""
    parts = list(islice(message.iter_attachments(), MAX_ENCLOSURES + 1))
    files = [_enclosure(part) for part in parts[:MAX_ENCLOSURES]]
    return Enclosures(files, has_more=len(parts) > MAX_ENCLOSURES)


def _enclosure(part: EmailMessage) -> Enclosure:
    name = str(part.get_filename() or "")
    if not part.is_multipart():
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes), "what has no parts is bytes"
        return Enclosure(clean_name(name or _name_by_type(part)), content)
    # Mail in mail, as it came: the policy of what is read would write its headers anew.
    inner = next(part.iter_parts()) if _is_mail(part) else part
    return Enclosure(clean_name(name or "email.eml"), inner.as_bytes(policy=compat32))


def _is_mail(part: EmailMessage) -> bool:
    return part.get_content_maintype() == "message"


def _name_by_type(part: EmailMessage) -> str:
    """Return a name by the media type, if the file has none with an extension."""
    return f"{part.get_content_maintype()}.{part.get_content_subtype()}"
