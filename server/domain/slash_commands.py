"""Slash commands of bots: their names, the request to a bot's service, and its response."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson
from typing_extensions import override

from server.domain.errors import InvalidParameterError
from server.domain.names import composed, fold_name, unprintable_at
from server.domain.outgoing_webhooks import (
    AnswerError,
    CallOrigin,
    ChannelOrigin,
    SignedServiceCall,
    reply_in,
)
from server.i18n import _
from storage.ids import UserId

MAX_COMMANDS: Final = 200
"""Maximum number of commands of an organization: clients hold them all."""
MAX_NAME_LENGTH: Final = 32
MAX_DESCRIPTION_LENGTH: Final = 200
MAX_HINT_LENGTH: Final = 100
BUILT_IN: Final = frozenset(
    {
        *("me", "poll", "todo"),
        *("ping", "dark", "night", "light", "day", "fluid-width", "fixed-width"),
    }
)
"""Commands of clients and of the server, which no bot may take."""
TRIGGER: Final = "slash_command"
ANSWER_PATH: Final = "/slash_commands/answers/{answer_token}"

_CALL: Final = re.compile(r"/(\S+)(?:\s+(.*))?", re.DOTALL)


def checked_command_name(name: str) -> str:
    """Return the normalized name, without a slash. Raises InvalidParameterError.

    Letters and digits of any script, hyphens and underscores.
    """
    cleaned = composed(name).removeprefix("/")
    if not cleaned or len(cleaned) > MAX_NAME_LENGTH or not all(map(_may_be_in_name, cleaned)):
        raise InvalidParameterError(
            "name",
            _(
                "A command's name has 1 to {limit} letters, digits, hyphens or underscores.",
                limit=MAX_NAME_LENGTH,
            ),
        )
    if fold_name(cleaned) in BUILT_IN:
        raise InvalidParameterError("name", _("/{name} is a built-in command.", name=cleaned))
    return cleaned


def _may_be_in_name(character: str) -> bool:
    return character in "-_" or unicodedata.category(character)[0] in "LMN"


def checked_line(text: str, *, parameter: str, longest: int) -> str:
    """Return the text as one line. Raises InvalidParameterError."""
    cleaned = " ".join(unicodedata.normalize("NFC", text).split())
    if len(cleaned) > longest:
        raise InvalidParameterError(
            parameter,
            _(
                "{parameter} is too long (limit: {longest} characters)",
                parameter=parameter,
                longest=longest,
            ),
        )
    if place := unprintable_at(cleaned):
        raise InvalidParameterError(
            parameter,
            _(
                "Invalid character in {parameter}, at position {place}.",
                parameter=parameter,
                place=place,
            ),
        )
    return cleaned


def parsed(text: str) -> tuple[str, str]:
    """Return the name and the rest of a call such as `/deploy web 7`.

    Raises InvalidParameterError.
    """
    found = _CALL.fullmatch(text.strip())
    if found is None or "\0" in text:
        raise InvalidParameterError("command", _("A command begins with a slash and its name."))
    return found[1], (found[2] or "").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall(SignedServiceCall):
    """A call of a command, with what the bot may know of it."""

    call_id: str
    command: str
    """The registered name, without the slash."""
    text: str
    caller_id: UserId
    caller_full_name: str
    caller_email: str
    is_direct: bool
    conversation: CallOrigin | None
    """None if neither the bot nor its owner can read it."""
    response_url: str
    """Where the service may answer later."""

    @override
    def _payload(self) -> dict[str, Any]:
        return {
            "bot_email": self.bot_email,
            "bot_full_name": self.bot_full_name,
            "trigger": TRIGGER,
            "call_id": self.call_id,
            "command": f"/{self.command}",
            "data": self.text,
            "user": {
                "user_id": self.caller_id,
                "full_name": self.caller_full_name,
                "email": self.caller_email,
            },
            "conversation": self.conversation,
            "response_url": self.response_url,
            "token": self.token,
        }

    @override
    def _form(self) -> Mapping[str, Any]:
        place, name = "", "directmessage" if self.is_direct else "privategroup"
        topic = ""
        if isinstance(self.conversation, ChannelOrigin):
            place, name = f"C{self.conversation.stream_id}", self.conversation.name
            topic = self.conversation.topic
        return {
            "token": self.token,
            "team_id": f"T{self.organization_id}",
            "team_domain": self.organization_host,
            "channel_id": place,
            "channel_name": name,
            "topic": topic,
            "user_id": f"U{self.caller_id}",
            "user_name": self.caller_full_name,
            "command": f"/{self.command}",
            "text": self.text,
            "response_url": self.response_url,
            "trigger_id": self.call_id,
        }


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    content: str
    is_posted: bool
    """Whether everyone in the conversation gets it; otherwise the caller alone."""
    replaces: bool = False
    """Whether a later answer takes the place of what the caller was shown first."""


def answer_in(body: bytes) -> CommandAnswer | None:
    """Return the response of a command's service; None if it is empty. Raises AnswerError."""
    content = reply_in(body)
    if content is None:
        return None
    answer = orjson.loads(body)
    response_type: Literal["ephemeral", "in_channel"] | Any = answer.get(
        "response_type", "ephemeral"
    )
    if response_type not in ("ephemeral", "in_channel"):
        raise AnswerError("`response_type` in the answer is neither ephemeral nor in_channel.")
    replaces = answer.get("replace_original")
    if replaces is not None and not isinstance(replaces, bool):
        raise AnswerError("`replace_original` in the answer is neither true nor false.")
    return CommandAnswer(content, response_type == "in_channel", replaces is True)
