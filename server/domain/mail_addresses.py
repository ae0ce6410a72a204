"""Email gateway addresses: of channels, and of replies to notification emails.

An address is a secret: its holder may send as its sender, within that user's permissions. It is
signed, and not stored. It is case-insensitive, because many mail servers change the case.
"""

import base64
import binascii
import hashlib
import hmac
import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import Final

import msgspec

from storage.ids import ChannelId, MessageId, RealmId, UserId

PURPOSE: Final = "mail in"
"""Purpose of the signing key (storage/server_keys.py)."""
OPTIONS: Final = frozenset(
    {"show-sender", "include-footer", "include-quotes", "prefer-text", "prefer-html"}
)
"""Options that can be appended to a channel's address, with a dot or a plus sign."""
DAYS_TO_ANSWER: Final = 60
_SIGNATURE_BYTES: Final = 10
_LONGEST_LOCAL_PART: Final = 64
"""Limit of RFC 5321."""
_LONGEST_NAME: Final = 20
_NAMELESS: Final = "channel"


class ToChannel(msgspec.Struct, frozen=True, array_like=True, tag="c"):
    """Mail to it becomes a message in the channel."""

    realm_id: RealmId
    channel_id: ChannelId
    creator_id: UserId
    """The user who requested the address; it loses its right with them."""
    sender_id: UserId | None
    """The sender: the creator, or a bot of theirs. None: the server's bot."""


class ToMessage(msgspec.Struct, frozen=True, array_like=True, tag="m"):
    """Mail to it becomes a reply in the message's conversation."""

    realm_id: RealmId
    user_id: UserId
    """The recipient of the notification email, and sender of the reply."""
    message_id: MessageId
    mailed_on: int
    """As date.toordinal() counts days."""


Target = ToChannel | ToMessage


@dataclass(frozen=True, slots=True)
class Destination:
    """The meaning of a gateway address."""

    target: Target
    options: frozenset[str] = frozenset()


class MailAddresses:
    """Create and parse the addresses of this server.

    `pattern` holds `%s` for the variable part: like `%s@example.com`, or `chat+%s@example.com`.
    """

    def __init__(self, pattern: str, key: bytes) -> None:
        self._before, self._after = pattern.lower().split("%s")
        self._key = key

    @property
    def domain(self) -> str:
        return self._after.rpartition("@")[2]

    def of_channel(self, name: str, target: ToChannel) -> str:
        """Return the channel's address, which starts with its name if that is short."""
        token = f"{self._token(target)}.show-sender"
        others = len(self._before) + len(self._after.partition("@")[0]) + len(token) + 1
        room = min(_LONGEST_LOCAL_PART - others, _LONGEST_NAME)
        return f"{self._before}{_slug(name)[: max(room, 1)].rstrip('-')}.{token}{self._after}"

    def of_message(self, target: ToMessage) -> str:
        return f"{self._before}answer.{self._token(target)}{self._after}"

    def read(self, address: str, today: date) -> Destination | None:
        """Return the destination of the address; None if it is invalid or expired."""
        address = address.lower()
        if not (address.startswith(self._before) and address.endswith(self._after)):
            return None
        words = re.split(r"[.+]", address[len(self._before) : len(address) - len(self._after)])
        target = self._target([word for word in words if word not in OPTIONS][-1:])
        if isinstance(target, ToMessage) and today.toordinal() - target.mailed_on > DAYS_TO_ANSWER:
            return None
        return None if target is None else Destination(target, OPTIONS.intersection(words))

    def _token(self, target: Target) -> str:
        said = msgspec.msgpack.encode(target)
        return base64.b32encode(self._signature(said) + said).decode().rstrip("=").lower()

    def _target(self, tokens: list[str]) -> Target | None:
        try:
            whole = base64.b32decode("".join(tokens).upper() + "=" * (-len("".join(tokens)) % 8))
        except (binascii.Error, ValueError):
            return None
        signature, said = whole[:_SIGNATURE_BYTES], whole[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(said)):
            return None
        found: Target = msgspec.msgpack.decode(said, type=Target)
        return found

    def _signature(self, said: bytes) -> bytes:
        return hmac.new(self._key, said, hashlib.sha256).digest()[:_SIGNATURE_BYTES]


def _slug(name: str) -> str:
    """Return the name in a form allowed in addresses, or a general word if there is none."""
    letters = unicodedata.normalize("NFKD", name.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    words = re.sub(r"[\W_]+", "-", plain).strip("-")
    return words if words and words.isascii() else _NAMELESS
