"""Mail that is not sent: kept in a folder, where whoever tries the server out reads it."""

import asyncio
import email
import email.policy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Final

from server.mail.mailer import as_sent

KEPT: Final = 200
"""Mails in the folder, the newest of them."""


@dataclass(frozen=True, slots=True)
class KeptMail:
    name: str
    """Of its file, without the ending."""
    at: datetime
    message: EmailMessage

    @property
    def text(self) -> str:
        return self._part("plain")

    @property
    def html(self) -> str:
        return self._part("html")

    def _part(self, kind: str) -> str:
        part = self.message.get_body((kind,))
        return "" if part is None else str(part.get_content())


class MailFolder:
    """A Mailer for a server that has none. A mail that is sent again takes the place of itself."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def send(self, message: EmailMessage, address: str) -> None:
        """Keep it; the oldest beyond KEPT go."""
        await asyncio.to_thread(self._keep, as_sent(message), f"{message['Message-ID']} {address}")

    def newest_first(self) -> Sequence[KeptMail]:
        return [self._read(path) for path in reversed(self._paths())]

    def named(self, name: str) -> KeptMail | None:
        return next((self._read(path) for path in self._paths() if path.stem == name), None)

    def _keep(self, content: bytes, key: str) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        growing = self._directory / f"{name}.growing"
        growing.write_bytes(content)
        growing.rename(self._directory / f"{name}.eml")
        for path in self._paths()[:-KEPT]:
            path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        """The oldest first."""
        return sorted(self._directory.glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)

    def _read(self, path: Path) -> KeptMail:
        message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        assert isinstance(message, EmailMessage), "that is what the policy makes"
        at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return KeptMail(path.stem, at, message)
