"""Convert the payload of an incoming webhook to a message."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from server.domain.errors import InvalidJsonError, WebhookPayloadError
from server.domain.message_buttons import Buttons
from server.domain.messages import MAX_MESSAGE_LENGTH
from server.domain.slack import channel_of, markdown_of
from server.domain.slack_buttons import buttons_of

SLACK: Final = "SlackIncoming"
JSON: Final = "JSON"
CUT: Final = "\n[message cut]"
MAX_TOPIC: Final = 1_000
"""Maximum length of a topic in a payload; valid ones have sixty characters."""

Problem = Literal["", "malformed", "deep", "silent", "empty"]


@dataclass(frozen=True, slots=True)
class Said:
    """The message of a payload, or why there is none."""

    content: str = ""
    topic: str | None = None
    """The topic that the payload or its template names."""
    problem: Problem = ""
    buttons: Buttons = ()
    """Buttons of a payload written for Slack; their limits are not checked yet."""
    buttons_from: Literal["attachments", "blocks"] = "blocks"

    def check(self) -> None:
        """Raise the error of a payload without a message."""
        match self.problem:
            case "malformed":
                raise InvalidJsonError("Malformed JSON")
            case "deep":
                raise InvalidJsonError("Malformed JSON: it is nested too deeply")
            case "silent":
                raise WebhookPayloadError(
                    "Nothing to say: there is neither a text nor blocks nor attachments.", SLACK
                )
            case "empty":
                raise WebhookPayloadError("The template makes an empty text of this.", JSON)
            case "":
                pass


def read_slack(body: bytes) -> Said:
    """Convert a payload written for Slack."""
    try:
        payload: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Said(problem="malformed")
    try:
        content = markdown_of(payload)
    except RecursionError:
        return Said(problem="deep")
    buttons = buttons_of(payload)
    is_attached = any(each.slack and each.slack.callback_id is not None for each in buttons)
    channel = channel_of(payload)
    return Said(
        _cut(content, CUT),
        channel and channel[:MAX_TOPIC],
        problem="" if content else "silent",
        buttons=buttons,
        buttons_from="attachments" if is_attached else "blocks",
    )


def read_json(body: bytes) -> Said:
    """Render any JSON as it is."""
    try:
        payload: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Said(problem="malformed")
    try:
        shown = orjson.dumps(payload, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:
        return Said(problem="deep")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    end = f"\n{fence}"
    return Said(f"{fence}json\n{_cut(shown + end, CUT + end)}")


def cut_content(content: str) -> str:
    """Return Markdown cut to the maximum length of a message."""
    return _cut(content, CUT)


def without_command(content: str) -> str:
    """Return Markdown that begins with no slash command (`/poll`, `/todo`, `/me`)."""
    return f"\\{content}" if content.startswith("/") else content


def _cut(text: str, end: str) -> str:
    """Return the text cut to the maximum length of a message.

    A text that is cut ends with `end`.
    """
    room = MAX_MESSAGE_LENGTH - 100
    return text if len(text) <= room else text[: room - len(end)] + end
