"""Keep emails in a folder instead of sending them, for servers without a mail server."""

import asyncio
import email
import email.policy
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from threading import Lock
from typing import Final

from server.mail.mailer import Mailer, MailNotTakenNowError, as_sent

KEPT: Final = 200
"""The maximum number of emails in the folder."""


@dataclass(frozen=True, slots=True)
class KeptMail:
    name: str
    """The file name, without the extension."""
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
    """A Mailer that writes to a folder. An email that is sent again replaces itself."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._keeping = Lock()
        self.shown_at = ""
        """The URL of the pages that show the folder; empty without them."""

    async def send(self, message: EmailMessage, address: str) -> None:
        """Write the email; delete the oldest beyond KEPT."""
        content, key = as_sent(message), f"{message['Message-ID']} {address}"
        try:
            await asyncio.to_thread(self._keep, content, key)
        except OSError as error:
            raise MailNotTakenNowError(f"the folder of mails: {error.strerror}") from error

    def newest_first(self) -> Sequence[KeptMail]:
        return [mail for path in reversed(self._paths()) if (mail := self._read(path)) is not None]

    def named(self, name: str) -> KeptMail | None:
        return next((self._read(path) for path in self._paths() if path.stem == name), None)

    def _keep(self, content: bytes, key: str) -> None:
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        with self._keeping:  # the same mail may come twice at once
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            growing = self._directory / f"{name}.growing"
            growing.write_bytes(content)
            growing.rename(self._directory / f"{name}.eml")
            for path in self._paths()[:-KEPT]:
                path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        """Return the files, oldest first."""
        found = []
        for path in self._directory.glob("*.eml"):
            with suppress(FileNotFoundError):  # it has gone meanwhile, as the oldest do
                found.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(found)]

    def _read(self, path: Path) -> KeptMail | None:
        """Return the email; None if it was deleted meanwhile."""
        try:
            content, changed_at = path.read_bytes(), path.stat().st_mtime
        except FileNotFoundError:
            return None
        message = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(message, EmailMessage), "that is what the policy makes"
        return KeptMail(path.stem, datetime.fromtimestamp(changed_at, UTC), message)


def is_delivering(mailer: Mailer | None) -> bool:
    """Return whether the mailer delivers emails, rather than keeping them in a folder here.

    What is kept is seen by the operator alone, so addresses need not be confirmed for it.
    """
    return mailer is not None and not isinstance(mailer, MailFolder)
