"""Buttons of bots' messages: their limits, the request about a click, and what services answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec
import orjson
from typing_extensions import override

from server.domain.errors import InvalidParameterError
from server.domain.names import unprintable_at
from server.domain.outgoing_webhooks import (
    AnswerError,
    CallOrigin,
    ChannelOrigin,
    SignedServiceCall,
)
from server.i18n import _
from server.runtime.untrusted_json import decode_untrusted
from storage.ids import MessageId, UserId

MAX_BUTTONS: Final = 25
MAX_ID_LENGTH: Final = 255
MAX_LABEL_LENGTH: Final = 75
MAX_VALUE_LENGTH: Final = 2_000
MAX_QUESTION_LENGTH: Final = 300
MAX_LOCAL_ID_LENGTH: Final = 200
MAX_OPEN_CLICKS: Final = 200
"""Maximum number of clicks on a message that wait for the service at the same time."""
ANSWER_PATH: Final = "/message_buttons/answers/{answer_token}"
TRIGGER: Final = "message_button"

Style: TypeAlias = Literal["default", "primary", "danger"]


class Confirmation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that is asked before a click is sent. Empty texts are up to the client."""

    title: str = ""
    text: str = ""
    confirm: str = ""
    """Label of the button that goes on."""
    deny: str = ""
    """Label of the button that does not."""


class SlackAction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a button stood in a message in Slack's format."""

    callback_id: str | None = None
    """That of its attachment; None in a block."""
    attachment_id: int = 1
    block_id: str = ""


class ShownButton(msgspec.Struct, frozen=True, kw_only=True):
    """A button as clients get it."""

    id: str
    """Unique in the message."""
    label: str
    style: Style
    confirm: Confirmation | None
    """What to ask before the click is sent; null for nothing."""


class Button(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A button, with what only the bot's service gets."""

    id: str
    label: str
    value: str = ""
    style: Style = "default"
    confirm: Confirmation | None = None
    name: str = ""
    """Slack's name of the action, if it differs from the id."""
    slack: SlackAction | None = None

    @property
    def shown(self) -> ShownButton:
        return ShownButton(id=self.id, label=self.label, style=self.style, confirm=self.confirm)


Buttons: TypeAlias = tuple[Button, ...]


def encode_buttons(buttons: Sequence[Button]) -> str:
    """Return the buttons as they are stored."""
    return msgspec.json.encode(buttons).decode()


def decode_buttons(stored: str) -> Buttons:
    return msgspec.json.decode(stored, type=Buttons)


def encode_button(button: Button) -> str:
    return msgspec.json.encode(button).decode()


def decode_button(stored: str) -> Button:
    return msgspec.json.decode(stored, type=Button)


def shown_buttons(buttons: Sequence[Button]) -> list[ShownButton]:
    return [each.shown for each in buttons]


def checked_buttons(buttons: Sequence[Button], *, parameter: str = "buttons") -> Buttons:
    """Return the buttons with texts of one line. Raises InvalidParameterError."""
    if len(buttons) > MAX_BUTTONS:
        raise InvalidParameterError(
            parameter, _("A message has at most {limit} buttons.", limit=MAX_BUTTONS)
        )
    checked = tuple(_checked(each, parameter) for each in buttons)
    if len({each.id for each in checked}) < len(checked):
        raise InvalidParameterError(parameter, _("Two buttons of a message have the same id."))
    return checked


def _checked(button: Button, parameter: str) -> Button:
    def line(text: str, what: str, longest: int, *, is_needed: bool = False) -> str:
        cleaned = " ".join(text.split())
        if len(cleaned) > longest or (is_needed and not cleaned) or unprintable_at(cleaned):
            raise InvalidParameterError(
                parameter,
                _(
                    "{what} of a button is missing, unprintable or too long"
                    " (limit: {limit} characters)",
                    what=what,
                    limit=longest,
                ),
            )
        return cleaned

    if len(button.value) > MAX_VALUE_LENGTH or "\0" in button.value:
        raise InvalidParameterError(
            parameter,
            _("The value of a button has at most {limit} characters.", limit=MAX_VALUE_LENGTH),
        )
    asked = button.confirm
    return msgspec.structs.replace(
        button,
        id=line(button.id, "id", MAX_ID_LENGTH, is_needed=True),
        label=line(button.label, "label", MAX_LABEL_LENGTH, is_needed=True),
        confirm=asked
        and Confirmation(
            title=line(asked.title, "confirm.title", MAX_LABEL_LENGTH),
            text=line(asked.text, "confirm.text", MAX_QUESTION_LENGTH),
            confirm=line(asked.confirm, "confirm.confirm", MAX_LABEL_LENGTH),
            deny=line(asked.deny, "confirm.deny", MAX_LABEL_LENGTH),
        ),
    )


# -- the request to the service


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonCall(SignedServiceCall):
    """A click on a button, with what the bot may know of it."""

    click_id: str
    message_id: MessageId
    content: str
    """The message in Markdown: the bot's own words."""
    button: Button
    user_id: UserId
    user_full_name: str
    user_email: str
    is_direct: bool
    conversation: CallOrigin | None
    """None if neither the bot nor its owner can read it."""
    clicked_at: int
    response_url: str

    @override
    def _payload(self) -> dict[str, Any]:
        return {
            "bot_email": self.bot_email,
            "bot_full_name": self.bot_full_name,
            "trigger": TRIGGER,
            "click_id": self.click_id,
            "message_id": self.message_id,
            "data": self.content,
            "button": {
                "id": self.button.id,
                "label": self.button.label,
                "value": self.button.value,
            },
            "user": {
                "user_id": self.user_id,
                "full_name": self.user_full_name,
                "email": self.user_email,
            },
            "conversation": self.conversation,
            "response_url": self.response_url,
            "token": self.token,
        }

    @override
    def _form(self) -> Mapping[str, Any]:
        is_attachment = self.button.slack is not None and self.button.slack.callback_id is not None
        payload = self._attachment_action() if is_attachment else self._block_action()
        return {"payload": orjson.dumps(payload).decode()}

    def _attachment_action(self) -> dict[str, Any]:
        slack = self.button.slack or SlackAction()
        return {
            **self._slack_frame("interactive_message"),
            "callback_id": slack.callback_id,
            "attachment_id": str(slack.attachment_id),
            "actions": [{"name": self._name, "type": "button", "value": self.button.value}],
            "action_ts": self._time,
            "message_ts": self._message_ts,
            "original_message": {"ts": self._message_ts, "text": self.content},
        }

    def _block_action(self) -> dict[str, Any]:
        slack = self.button.slack or SlackAction()
        channel = self._slack_channel["id"]
        action = {
            "type": "button",
            "action_id": self._name,
            "block_id": slack.block_id,
            "value": self.button.value,
            "text": {"type": "plain_text", "text": self.button.label, "emoji": True},
            "action_ts": self._time,
        }
        if self.button.style != "default":
            action["style"] = self.button.style
        return {
            **self._slack_frame("block_actions"),
            "api_app_id": f"A{self.organization_id}",
            "container": {
                "type": "message",
                "message_ts": self._message_ts,
                "channel_id": channel,
                "is_ephemeral": False,
            },
            "message": {"type": "message", "ts": self._message_ts, "text": self.content},
            "actions": [action],
        }

    def _slack_frame(self, kind: str) -> dict[str, Any]:
        team = {"id": f"T{self.organization_id}", "domain": self.organization_host}
        user = {
            "id": f"U{self.user_id}",
            "name": self.user_full_name,
            "username": self.user_full_name,
            "team_id": team["id"],
        }
        return {
            "type": kind,
            "team": team,
            "user": user,
            "channel": self._slack_channel,
            "token": self.token,
            "trigger_id": self.click_id,
            "response_url": self.response_url,
        }

    @property
    def _slack_channel(self) -> dict[str, str]:
        if isinstance(self.conversation, ChannelOrigin):
            return {"id": f"C{self.conversation.stream_id}", "name": self.conversation.name}
        return {"id": "", "name": "directmessage" if self.is_direct else "privategroup"}

    @property
    def _name(self) -> str:
        return self.button.name or self.button.id

    @property
    def _time(self) -> str:
        return f"{self.clicked_at}.000000"

    @property
    def _message_ts(self) -> str:
        """The message's id, in the form of Slack's times, by which it names messages."""
        return f"{self.message_id}.000000"


# -- the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonAnswer:
    """What a service answers to a click."""

    content: str = ""
    """In Markdown; may be empty."""
    buttons: Buttons = ()
    kind: Literal["ephemeral", "in_channel", "replace", "delete"] = "ephemeral"

    @property
    def is_empty(self) -> bool:
        return self.kind != "delete" and not self.content.strip() and not self.buttons


class _AnswerForm(msgspec.Struct):
    text: str | None = None
    content: str | None = None
    buttons: Buttons = ()
    response_type: Literal["ephemeral", "in_channel"] | None = None
    replace_original: bool | None = None
    delete_original: bool = False
    response_not_required: bool = False

    @property
    def kind(self) -> Literal["ephemeral", "in_channel", "replace", "delete"]:
        if self.delete_original:
            return "delete"
        if self.replace_original:
            return "replace"
        return self.response_type or "ephemeral"


Form = TypeVar("Form")


def _parsed(body: bytes, form: type[Form]) -> Form | None:
    """Return the answer; None if it is empty. Raises AnswerError."""
    if not body.strip() or body.strip() == b'""':
        return None
    try:
        return decode_untrusted(body, form)
    except msgspec.ValidationError as error:
        raise AnswerError(f"The answer is not valid: {error}") from None
    except msgspec.DecodeError:
        raise AnswerError("The answer is not JSON.") from None


def answer_in(body: bytes) -> ButtonAnswer:
    """Return the answer of a service. Raises AnswerError."""
    form = _parsed(body, _AnswerForm)
    if form is None or form.response_not_required:
        return ButtonAnswer()
    try:
        buttons = checked_buttons(form.buttons)
    except InvalidParameterError as error:
        raise AnswerError(error.message) from None
    said = form.content if form.content is not None else form.text
    return ButtonAnswer(content=said or "", buttons=buttons, kind=form.kind)


class _SlackForm(msgspec.Struct):
    response_type: Any = None
    replace_original: Any = None
    delete_original: Any = None


def slack_answer_in(
    body: bytes, content: str, buttons: Sequence[Button], *, replaces_by_default: bool
) -> ButtonAnswer:
    """Return an answer in Slack's format, of which the text is already Markdown.

    Answers to buttons of attachments replace the message, unless they say otherwise. Raises
    AnswerError.
    """
    form = _parsed(body, _SlackForm)
    if form is None:
        return ButtonAnswer()
    try:
        checked = checked_buttons(buttons)
    except InvalidParameterError as error:
        raise AnswerError(error.message) from None
    is_new = form.response_type is not None and form.replace_original is not True
    if form.delete_original is True:
        return ButtonAnswer(kind="delete")
    if form.replace_original is True or (
        replaces_by_default and form.replace_original is None and not is_new
    ):
        return ButtonAnswer(content=content, buttons=checked, kind="replace")
    kind: Literal["ephemeral", "in_channel"] = (
        "in_channel" if form.response_type == "in_channel" else "ephemeral"
    )
    return ButtonAnswer(content=content, buttons=checked, kind=kind)
