"""Several topics lose their last messages at once: one event of each kind for each channel."""

from typing import Any

import pytest

from server.actions.messages import bulk_delete, bulk_move, pins
from server.actions.messages.move import Begun, MoveRequest
from server.actions.messages.topic_descriptions import set_topic_description
from storage.channels import ChannelRow
from storage.topic_descriptions import TopicDescription
from testkit.message_changes import Changes
from testkit.oracles.agreement import Witness
from testkit.realm_with_roles import Hall
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio

PROTECTED: dict[str, Any] = {"invite_only": True, "shares_history": False}
SHARED: dict[str, Any] = {"invite_only": True, "shares_history": True}


async def furnish(hall: Hall, changes: Changes, channel: ChannelRow, late: Any) -> list[Any]:
    """Pin and describe topics `a` and `b`; the late user is there for the second alone."""
    actor = hall.actor(hall.admin)
    sent = [await changes.send(hall.admin, channel.name, topic="a")]
    await hall.make.subscribe(channel, [late])
    sent.append(await changes.send(hall.admin, channel.name, topic="b"))
    for name in ("a", "b"):
        now = hall.stage.clock.now()
        here = channel.channel_id, name
        await hall.stage.write(pins.set_topic_pinned, actor, *here, now, is_pinned=True)
        text = TopicDescription(f"all of {name}", f"<p>all of {name}</p>")
        await hall.stage.write(set_topic_description, actor, *here, text)
    return sent


async def move(hall: Hall, ids: list[Any], **request: Any) -> None:
    wanted = MoveRequest(**{"notify_new": False, **request})
    begun: Any = Begun(is_begun=False)
    while not begun.is_begun:
        now = hall.stage.clock.now()
        begun = await hall.stage.write(bulk_move.begin, hall.actor(hall.admin), ids, wanted, now)
        begun = begun if isinstance(begun, Begun) else begun.result


def heard(seen: list[Witness], name: str) -> list[tuple[str, int, Any]]:
    """What the newest client of a user got of pins and descriptions."""
    [witness] = [w for w in seen if w.view is NEWEST_CLIENT and w.user.full_name == name]
    return [
        (
            event["type"],
            event["stream_id"],
            event["topics"]
            if event["type"] == "pinned_topics"
            else {each["topic"]: each["description"] for each in event["topics"]},
        )
        for event in witness.events
        if event["type"] in ("pinned_topics", "topic_descriptions")
    ]


@pytest.mark.parametrize("kind", [{}, SHARED, PROTECTED])
async def test_topics_of_a_channel_become_one(
    hall: Hall, changes: Changes, witnesses, kind: dict[str, Any]
):
    channel = await hall.make.channel("plans", subscribers=[hall.admin, hall.member], **kind)
    ids = await furnish(hall, changes, channel, hall.guest)
    seen = await witnesses.watch(lambda: move(hall, ids, topic="c"), hall.everyone)
    pinned = ("pinned_topics", channel.channel_id, ["c"])
    gone = {"a": "", "b": "", "c": "all of a"}
    described = ("topic_descriptions", channel.channel_id, gone)
    assert heard(seen, "Member") == [pinned, described]
    if kind is PROTECTED:
        described = (*described[:2], {"b": "", "c": "all of a"})
    assert heard(seen, "Guest") == [pinned, described]
    assert heard(seen, "Other") == []


@pytest.mark.parametrize("kind", [{}, PROTECTED])
async def test_topics_go_to_another_channel(
    hall: Hall, changes: Changes, witnesses, kind: dict[str, Any]
):
    source = await hall.make.channel("source", subscribers=[hall.admin, hall.member], **kind)
    target = await hall.make.channel("target", subscribers=[hall.admin, hall.other], **PROTECTED)
    ids = await furnish(hall, changes, source, hall.guest)
    seen = await witnesses.watch(
        lambda: move(hall, ids, channel_id=target.channel_id), hall.everyone
    )
    left = {"a": "", "b": ""}
    here, there = source.channel_id, target.channel_id
    assert heard(seen, "Member") == [
        ("pinned_topics", here, []),
        ("topic_descriptions", here, left),
    ]
    assert heard(seen, "Other") == [
        ("pinned_topics", there, ["a", "b"]),
        ("topic_descriptions", there, {"a": "all of a", "b": "all of b"}),
    ]
    if kind is PROTECTED:
        left = {"b": ""}
    assert heard(seen, "Guest")[-1] == ("topic_descriptions", here, left)
    assert len(heard(seen, "Guest")) == 2


@pytest.mark.parametrize("kind", [{}, PROTECTED])
async def test_topics_end_at_once(hall: Hall, changes: Changes, witnesses, kind: dict[str, Any]):
    channel = await hall.make.channel("plans", subscribers=[hall.admin, hall.member], **kind)
    ids = await furnish(hall, changes, channel, hall.guest)

    async def delete() -> None:
        now = hall.stage.clock.now()
        await hall.stage.write(bulk_delete.delete_messages, hall.actor(hall.admin), ids, now)

    seen = await witnesses.watch(delete, hall.everyone)
    nothing: list[str] = []
    pinned = ("pinned_topics", channel.channel_id, nothing)
    described = ("topic_descriptions", channel.channel_id, {"a": "", "b": ""})
    assert heard(seen, "Member") == [pinned, described]
    if kind is PROTECTED:
        described = (*described[:2], {"b": ""})
    assert heard(seen, "Guest") == [pinned, described]
