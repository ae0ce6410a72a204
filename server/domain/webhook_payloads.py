"""What the payload of an incoming webhook says, as a message says it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from server.domain.errors import InvalidJsonError, WebhookPayloadError
from server.domain.messages import MAX_MESSAGE_LENGTH
from server.domain.slack import channel_of, markdown_of

SLACK: Final = "SlackIncoming"
JSON: Final = "JSON"
CUT: Final = "\n[message cut]"
MAX_CHANNEL: Final = 1_000
"""Of a name that a payload gives; the longest there is has sixty characters."""

Problem = Literal["", "malformed", "deep", "silent"]


@dataclass(frozen=True, slots=True)
class Said:
    """The message that a payload makes, or why there is none."""

    content: str = ""
    channel: str | None = None
    """Where the payload says that it goes."""
    problem: Problem = ""

    def check(self) -> None:
        """Raise the refusal of what makes no message."""
        match self.problem:
            case "malformed":
                raise InvalidJsonError("Malformed JSON")
            case "deep":
                raise InvalidJsonError("Malformed JSON: it is nested too deeply")
            case "silent":
                raise WebhookPayloadError(
                    "Nothing to say: there is neither a text nor blocks nor attachments.", SLACK
                )
            case "":
                pass


def read_slack(body: bytes) -> Said:
    """Return what is written for Slack."""
    try:
        payload: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Said(problem="malformed")
    try:
        content = markdown_of(payload)
    except RecursionError:
        return Said(problem="deep")
    if not content:
        return Said(problem="silent")
    channel = channel_of(payload)
    return Said(_cut(content, CUT), channel and channel[:MAX_CHANNEL])


def read_json(body: bytes) -> Said:
    """Any JSON, shown as it comes."""
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


READERS: Final[Mapping[str, Callable[[bytes], Said]]] = {"slack": read_slack, "json": read_json}


def _cut(text: str, end: str) -> str:
    """Return the text as far as a message may be long; where it is cut, it ends like this."""
    room = MAX_MESSAGE_LENGTH - 100
    return text if len(text) <= room else text[: room - len(end)] + end
