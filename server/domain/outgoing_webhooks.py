"""Outgoing webhooks: requests to a bot's URL, and parsing of the response."""

import base64
import hashlib
import hmac
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
import orjson
from typing_extensions import override

from storage.ids import ChannelId, UserId

GENERIC: Final = 1
SLACK: Final = 2
INTERFACES: Final = (GENERIC, SLACK)
MAX_QUOTED: Final = 500
"""Characters of an unreadable response that the bot's owner is shown."""
MAX_ANSWERS: Final = 5
"""Maximum number of answers of a service to the address that a request gives it, beside the
response itself."""
ANSWER_SECONDS: Final = 1_800
"""How long that address takes answers."""


class AnswerError(Exception):
    """The response is invalid. The message is for the bot's owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall(ABC):
    """A request to the service of a bot, in either format."""

    bot_email: str
    bot_full_name: str
    token: str
    organization_id: int
    organization_host: str

    def body(self, interface: int) -> tuple[str, bytes]:
        """Return the content type and the body of the request."""
        if interface == SLACK:
            return "application/x-www-form-urlencoded", urlencode(self._form()).encode()
        return "application/json", msgspec.json.encode(self._payload())

    def headers(self, interface: int, *, timestamp: int, body: bytes) -> Mapping[str, str]:
        """Return headers of this kind of request, beside those of all."""
        del interface, timestamp, body
        return {}

    @abstractmethod
    def _payload(self) -> Mapping[str, Any]:
        """Return the fields of the JSON."""

    @abstractmethod
    def _form(self) -> Mapping[str, Any]:
        """Return the fields of Slack's form."""


class SignedServiceCall(ServiceCall):
    """A call that services made for Slack get with Slack's signature."""

    __slots__ = ()

    @override
    def headers(self, interface: int, *, timestamp: int, body: bytes) -> Mapping[str, str]:
        if interface != SLACK:
            return {}
        return slack_signed(self.token, timestamp=timestamp, body=body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(ServiceCall):
    """A message that triggers a bot, as the bot may read it."""

    trigger: str
    message: Mapping[str, Any]
    """As clients get it, its content in Markdown."""
    rendered_content: str

    @property
    def content(self) -> str:
        return str(self.message["content"])

    @override
    def _payload(self) -> dict[str, Any]:
        return {
            "bot_email": self.bot_email,
            "bot_full_name": self.bot_full_name,
            "data": self.content,
            "message": {**self.message, "rendered_content": self.rendered_content},
            "token": self.token,
            "trigger": self.trigger,
        }

    @override
    def _form(self) -> dict[str, Any]:
        message = self.message
        is_direct = "stream_id" not in message
        place = message["recipient_id"] if is_direct else message["stream_id"]
        return {
            "token": self.token,
            "team_id": f"T{self.organization_id}",
            "team_domain": self.organization_host,
            "channel_id": f"{'D' if is_direct else 'C'}{place}",
            "channel_name": "directmessage" if is_direct else message["display_recipient"],
            "thread_ts": message["timestamp"],
            "timestamp": message["timestamp"],
            "user_id": f"U{message['sender_id']}",
            "user_name": message["sender_full_name"],
            "text": self.content,
            "trigger_word": self.trigger,
            "service_id": message["id"],
        }


def signed(token: str, *, call_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return headers that authenticate the request, with its time and an id that retries share."""
    text = b"%b.%d.%b" % (call_id.encode(), timestamp, body)
    digest = hmac.new(token.encode(), text, hashlib.sha256).digest()
    return {
        "Webhook-Id": call_id,
        "Webhook-Timestamp": str(timestamp),
        "Webhook-Signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def slack_signed(token: str, *, timestamp: int, body: bytes) -> dict[str, str]:
    """Return Slack's signature, for services that were made for Slack; the secret is the token."""
    digest = hmac.new(token.encode(), b"v0:%d:%b" % (timestamp, body), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(timestamp), "X-Slack-Signature": f"v0={digest}"}


class ChannelOrigin(msgspec.Struct, frozen=True, kw_only=True, tag="channel"):
    """A topic of a channel, as the service is shown it."""

    stream_id: ChannelId
    name: str
    topic: str


class DirectOrigin(msgspec.Struct, frozen=True, kw_only=True, tag="direct"):
    """A direct-message conversation that the bot takes part in."""

    user_ids: Sequence[UserId]


CallOrigin = ChannelOrigin | DirectOrigin


def reply_in(body: bytes) -> str | None:
    """Return the bot's reply; None if it is empty. Raises AnswerError."""
    if not body.strip():
        return None
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise AnswerError("The answer is not JSON.") from None
    if answer == "":  # Some reply nothing in this form.
        return None
    if not isinstance(answer, dict):
        raise AnswerError("The answer is not a JSON object.")
    if answer.get("response_not_required") is True:
        return None
    for name in ("content", "text", "response_string"):
        said = answer.get(name)
        if said is None:
            continue
        if not isinstance(said, str):
            raise AnswerError(f"`{name}` in the answer is not a text.")
        return said if said.strip() else None
    return None
