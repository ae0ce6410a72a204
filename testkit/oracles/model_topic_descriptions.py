"""How events change what a client holds of descriptions of topics."""

from typing import Any, Final

State = dict[str, Any]

DESCRIPTIONS_HELD: Final = ("topic_descriptions",)


def changed(state: State, event: dict[str, Any]) -> None:
    held = state["topic_descriptions"]
    for each in event["topics"]:
        place = (event["stream_id"], each["topic"].casefold())
        held = [known for known in held if _place(known) != place]
        if each["description"]:
            held.append({"stream_id": event["stream_id"], **each})
    state["topic_descriptions"] = held


def _place(known: dict[str, Any]) -> tuple[int, str]:
    return known["stream_id"], known["topic"].casefold()


def subscription(state: State, event: dict[str, Any]) -> None:
    if event["op"] == "remove":
        gone = {each["stream_id"] for each in event["subscriptions"]}
        held = state["topic_descriptions"]
        state["topic_descriptions"] = [each for each in held if each["stream_id"] not in gone]


DESCRIPTION_RULES: Final = {"topic_descriptions": changed, "subscription": subscription}
"""For clients that hold descriptions, after other rules of the event's type."""
