"""Buttons of payloads written for Slack: actions of attachments, and of blocks."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from server.domain.message_buttons import (
    MAX_BUTTONS,
    MAX_ID_LENGTH,
    MAX_LABEL_LENGTH,
    MAX_QUESTION_LENGTH,
    MAX_VALUE_LENGTH,
    Button,
    Buttons,
    Confirmation,
    SlackAction,
    Style,
)
from server.domain.slack_text import MAX_PARTS, text_of, unescape

_STYLES: Final[Mapping[str, Style]] = {"primary": "primary", "danger": "danger"}
_LONGEST: Final = 10
"""Characters beside the limit: a longer text is refused, not cut unnoticed."""


def buttons_of(payload: Any) -> Buttons:
    """Return the buttons, without those that only lead to an address: these are links in the text.

    Menus and other elements are left out. At most one more than a message may have.
    """
    found: list[Button] = []
    seen: set[str] = set()
    for button in _all_of(payload):
        # Slack permits the same name for buttons with different values.
        number, button_id = len(found) + 1, button.name or f"button{len(found) + 1}"
        if button_id in seen:
            button_id = f"{button_id}#{number}"
        seen.add(button_id)
        found.append(msgspec.structs.replace(button, id=button_id))
        if len(found) > MAX_BUTTONS:
            break
    return tuple(found)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    for item in value[:MAX_PARTS] if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def _all_of(payload: Any) -> Iterator[Button]:
    if not isinstance(payload, dict):
        return
    yield from _of_blocks(payload.get("blocks"))
    for number, attachment in enumerate(_objects(payload.get("attachments")), 1):
        yield from _of_blocks(attachment.get("blocks"))
        slack = SlackAction(
            callback_id=_cut(attachment.get("callback_id"), MAX_ID_LENGTH), attachment_id=number
        )
        for action in _objects(attachment.get("actions")):
            if action.get("type", "button") == "button" and not action.get("url"):
                yield _button(action, "name", slack)


def _of_blocks(blocks: Any) -> Iterator[Button]:
    for block in _objects(blocks):
        slack = SlackAction(block_id=_cut(block.get("block_id"), MAX_ID_LENGTH))
        elements = [*_objects(block.get("elements"))] if block.get("type") == "actions" else []
        accessory = block.get("accessory")
        if isinstance(accessory, dict):
            elements.append(accessory)
        for element in elements:
            if element.get("type") == "button" and not element.get("url"):
                yield _button(element, "action_id", slack)


def _button(action: dict[str, Any], name: str, slack: SlackAction) -> Button:
    return Button(
        id="",
        name=_cut(action.get(name), MAX_ID_LENGTH),
        label=_line(action.get("text"), MAX_LABEL_LENGTH),
        value=_cut(action.get("value"), MAX_VALUE_LENGTH),
        style=_STYLES.get(text_of(action.get("style")), "default"),
        confirm=_confirmation(action.get("confirm")),
        slack=slack,
    )


def _confirmation(value: Any) -> Confirmation | None:
    """Return the question; attachments and blocks name its buttons differently."""
    if not isinstance(value, dict):
        return None
    return Confirmation(
        title=_line(value.get("title"), MAX_LABEL_LENGTH),
        text=_line(value.get("text"), MAX_QUESTION_LENGTH),
        confirm=_line(value.get("confirm") or value.get("ok_text"), MAX_LABEL_LENGTH),
        deny=_line(value.get("deny") or value.get("dismiss_text"), MAX_LABEL_LENGTH),
    )


def _line(value: Any, longest: int) -> str:
    """Return a text, or that of a text object, in one line."""
    text = value.get("text") if isinstance(value, dict) else value
    return unescape(" ".join(_cut(text, longest).split()))


def _cut(value: Any, longest: int) -> str:
    """Return the text, a little longer than is allowed at most."""
    return text_of(value)[: longest + _LONGEST]
