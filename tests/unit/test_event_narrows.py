"""Narrows of event queues: which message events pass."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from server.domain.errors import BadNarrowError
from server.domain.narrow import EventNarrow, QueueReader


@dataclass
class Event:
    message: Any
    wire_type: str = "message"


def in_topic(topic: str, **facts: Any) -> Event:
    sender = SimpleNamespace(id=5, email="Bob@example.com")
    message = {
        "channel_id": 3,
        "channel_name": "General",
        "topic": topic,
        "empty_topic_display_name": "" if topic else "general chat",
        "sender": sender,
        "recipients": (),
    }
    return Event(SimpleNamespace(**message | facts))


def passes(narrow: list[Any], event: Event, *flags: str, reader: int = 5) -> bool:
    return EventNarrow.parse(narrow).admits(event, QueueReader(reader, flags))


def direct(*ids: int) -> Event:
    """From the first of them, who is user N and userN@example.com, to all of them."""
    people = [SimpleNamespace(id=i, email=f"User{i}@example.com") for i in ids]
    message = SimpleNamespace(channel_id=None, sender=people[0], recipients=people)
    return Event(message)


@pytest.mark.parametrize("name", ["", "(no topic)", "general chat"])
def test_the_empty_topic_has_three_names(name):
    assert passes([["topic", name]], in_topic(""))
    assert not passes([["topic", name]], in_topic("other"))


def test_terms_hold_together():
    event = in_topic("Plans")
    assert passes(
        [["stream", "general"], ["subject", "plans"], ["sender", "bob@EXAMPLE.com"]], event
    )
    assert passes([["channel", "3"]], event)
    assert not passes([["channel", "general"], ["topic", "other"]], event)
    assert not passes([["is", "dm"]], event)


def test_numbers_are_ids_and_no_names():
    event = in_topic("Plans", channel_name="7")
    assert passes([["channel", 3], ["sender", 5]], event)
    assert passes([["channel", "7"]], event)
    assert not passes([["channel", 7]], event)
    assert not passes([["sender", 6]], event)


@pytest.mark.parametrize("sent", [(5, 6), (6, 5)])
@pytest.mark.parametrize(
    "named", ["user6@example.com", 6, [6], "user5@example.com, USER6@example.com"]
)
def test_a_direct_conversation_is_that_of_the_reader_for_each_sender(sent, named):
    assert passes([["dm", named]], direct(*sent), reader=5)
    assert not passes([["dm", named]], direct(*sent, 7), reader=5)
    assert not passes([["dm", named]], direct(5), reader=5)


def test_no_other_user_is_in_a_conversation_with_oneself():
    assert passes([["dm", 5]], direct(5), reader=5)
    assert not passes([["dm", 5]], direct(6, 5), reader=5)
    assert not passes([["dm", 6]], direct(7, 6, 5), reader=5)


def test_flags_are_the_readers():
    event = in_topic("\N{HEAVY CHECK MARK} done")
    assert passes([["is", "resolved"]], event)
    assert passes([["is", "mentioned"]], event, "stream_wildcard_mentioned")
    assert not passes([["is", "mentioned"]], event, "starred")
    assert passes([["is", "unread"]], event)
    assert not passes([["is", "unread"]], event, "read")


def test_what_is_no_message_passes():
    assert passes([["is", "dm"]], Event(None, wire_type="typing"))


@pytest.mark.parametrize("narrow", [[["near", "1"]], [["is", "followed"]], [["search", "x"]]])
def test_what_queues_cannot_tell_is_refused(narrow):
    with pytest.raises(BadNarrowError):
        EventNarrow.parse(narrow)
