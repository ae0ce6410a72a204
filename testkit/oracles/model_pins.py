"""How events change what a client holds of pinned topics and messages."""

from typing import Any, Final

State = dict[str, Any]

PINS_HELD: Final = ("pinned_messages", "pinned_topics")
LISTED: Final = {"pinned_messages": "message_ids", "pinned_topics": "topics"}


def by_channel(listed: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The lists that are not empty, by channel."""
    return sorted(
        (each for each in listed if each[LISTED[name]]), key=lambda each: int(each["stream_id"])
    )


def listing(state: State, event: dict[str, Any]) -> None:
    name = event["type"]
    listed = [each for each in state[name] if each["stream_id"] != event["stream_id"]]
    shown = {"stream_id": event["stream_id"], LISTED[name]: event[LISTED[name]]}
    state[name] = by_channel([*listed, shown], name)


def subscription(state: State, event: dict[str, Any]) -> None:
    if event["op"] == "remove":
        gone = {each["stream_id"] for each in event["subscriptions"]}
        for name in PINS_HELD:
            state[name] = [each for each in state[name] if each["stream_id"] not in gone]


def deletion(state: State, event: dict[str, Any]) -> None:
    _take_out(state, event.get("message_ids") or [event["message_id"]])


def update(state: State, event: dict[str, Any]) -> None:
    if "new_stream_id" in event:
        _take_out(state, event["message_ids"])


def _take_out(state: State, message_ids: list[int]) -> None:
    for each in state["pinned_messages"]:
        each["message_ids"] = [i for i in each["message_ids"] if i not in message_ids]
    state["pinned_messages"] = by_channel(state["pinned_messages"], "pinned_messages")


PIN_RULES: Final = {
    "pinned_messages": listing,
    "pinned_topics": listing,
    "subscription": subscription,
    "delete_message": deletion,
    "update_message": update,
}
"""For clients that hold pins, after other rules of the event's type."""
