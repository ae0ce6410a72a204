"""Descriptions of topics: events lead where register does, and follow what happens to topics."""

from collections.abc import Sequence
from typing import Any

import pytest

from server.actions.channels.change import change_channel
from server.actions.messages.delete import delete_from_topic
from server.actions.messages.topic_descriptions import set_topic_description
from server.domain.channel_changes import ChannelChange
from server.domain.errors import BadRequestError
from server.domain.topic_descriptions import MAX_DESCRIBED_TOPICS, described
from storage.channels import ChannelRow
from storage.users import UserRow
from testkit.message_changes import Changes
from testkit.oracles.agreement import Witness
from testkit.realm_with_roles import Hall
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio

KINDS: dict[str, dict[str, Any]] = {
    "public": {},
    "private": {"invite_only": True, "shares_history": True},
    "protected": {"invite_only": True, "shares_history": False},
}


class Board:
    """Describes topics, as the admin unless another user is given."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall

    async def describe(
        self, channel: ChannelRow, name: str, text: str, *, by: UserRow | None = None
    ) -> None:
        actor = self.hall.actor(by or self.hall.admin)
        new = described(text)
        await self.hall.stage.write(set_topic_description, actor, channel.channel_id, name, new)

    async def change(self, channel: ChannelRow, **change: Any) -> None:
        actor, wanted = self.hall.actor(self.hall.owner), ChannelChange(**change)
        await self.hall.stage.write(
            change_channel, actor, channel.channel_id, wanted, web_public_enabled=True
        )

    async def texts(self) -> dict[str, str]:
        """All descriptions of the realm, by topic."""
        rows = await self.hall.make.connection.tuples(
            """
            SELECT name, description FROM topics
             WHERE realm_id = %(r)s AND description IS NOT NULL ORDER BY name
            """,
            r=self.hall.make.realm_id,
        )
        return dict(rows)


@pytest.fixture
def board(hall: Hall) -> Board:
    return Board(hall)


def heard(seen: Sequence[Witness]) -> dict[str, list[dict[str, str]]]:
    """What the events said, for the newest client of each user: texts by topic."""
    return {
        each.user.full_name: [
            {topic["topic"]: topic["description"] for topic in event["topics"]}
            for event in each.events
            if event["type"] == "topic_descriptions"
        ]
        for each in seen
        if each.view is NEWEST_CLIENT
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_descriptions_come_and_go_with_subscriptions_and_with_history(
    hall: Hall, changes: Changes, witnesses, board: Board, kind: str
):
    """Of `old` and `new`, the guest is given only what is in `new` where history is protected."""
    channel = await hall.make.channel(
        "plans", subscribers=[hall.admin, hall.member, hall.owner], **KINDS[kind]
    )
    await changes.send(hall.member, "plans", topic="old")
    await changes.send(hall.member, "plans", topic="plain")
    await board.describe(channel, "OLD", "As it *was*")

    async def join():
        await hall.subscribe(hall.owner, "plans", people=[hall.guest, hall.other])

    async def describe():
        for _ in range(2):
            await board.describe(channel, "old", "As it is")
            await board.describe(channel, "new", "For you")

    async def rename():
        await changes.move(hall.admin, first, topic="Newer")

    async def hide():
        await board.change(channel, invite_only=True, history_public_to_subscribers=False)

    async def show():
        await board.change(channel, invite_only=True, history_public_to_subscribers=True)

    async def leave():
        await hall.unsubscribe(hall.owner, "plans", people=[hall.guest, hall.member])

    is_open = kind != "protected"
    seen = await witnesses.watch(join, hall.everyone)
    assert heard(seen)["Guest"] == ([{"old": "As it *was*"}] if is_open else [])
    first = await changes.send(hall.member, "plans", topic="new")
    seen = await witnesses.watch(describe, hall.everyone)
    assert heard(seen)["Member"] == [{"old": "As it is"}, {"new": "For you"}]
    assert heard(seen)["Guest"] == heard(seen)["Member"][0 if is_open else 1 :]
    seen = await witnesses.watch(rename, hall.everyone)
    assert heard(seen)["Guest"] == [{"new": "", "Newer": "For you"}]
    seen = await witnesses.watch(hide, hall.everyone)
    assert heard(seen)["Guest"] == ([{"old": ""}] if is_open else [])
    seen = await witnesses.watch(show, hall.everyone)
    assert heard(seen)["Guest"] == [{"old": "As it is", "Newer": "For you"}]
    await witnesses.watch(leave, hall.everyone)
    old = [e for w in seen if w.view is not NEWEST_CLIENT for e in w.events]
    assert "topic_descriptions" not in {event["type"] for event in old}


@pytest.mark.parametrize("steps", [1, 1_000])
@pytest.mark.parametrize(
    ("old", "new"), [("public", "private"), ("protected", "public"), ("protected", "protected")]
)
async def test_descriptions_follow_moves_and_merges(
    hall: Hall, changes: Changes, witnesses, board: Board, old: str, new: str, steps: int
):
    """Member is in both channels, other in the source, guest in the target."""
    source = await hall.make.channel(
        "source", subscribers=[hall.admin, hall.member, hall.other], **KINDS[old]
    )
    target = await hall.make.channel(
        "target", subscribers=[hall.admin, hall.member, hall.guest], **KINDS[new]
    )
    sent = [await changes.send(hall.member, "source", topic="a") for _ in range(2)]
    there = await changes.send(hall.member, "target", topic="b")
    await board.describe(source, "a", "About a")
    changes.steps = steps

    async def move_one():
        await changes.move(hall.admin, sent[0], topic="c", mode="change_one")
        await changes.move(hall.admin, sent[0], topic="a", mode="change_one")

    async def move():
        await changes.move(hall.admin, sent[0], channel_id=target.channel_id)

    async def merge():
        await changes.move(hall.admin, sent[0], topic="b")

    async def back():
        await board.describe(source, "a", "Another")
        await changes.move(hall.admin, there, channel_id=source.channel_id, topic="a")

    seen = await witnesses.watch(move_one, hall.everyone)
    assert not any(heard(seen).values())
    seen = await witnesses.watch(move, hall.everyone)
    assert heard(seen)["Member"] == [{"a": ""}, {"a": "About a"}]
    await witnesses.watch(merge, hall.everyone)
    assert await board.texts() == {"b": "About a"}
    await changes.send(hall.member, "source", topic="a")
    await witnesses.watch(back, hall.everyone)
    assert await board.texts() == {"a": "Another"}


@pytest.mark.parametrize("kind", ["public", "protected"])
async def test_descriptions_end_with_the_last_message_and_stay_with_an_archived_channel(
    hall: Hall, changes: Changes, witnesses, board: Board, kind: str
):
    channel = await hall.make.channel("plans", subscribers=hall.everyone, **KINDS[kind])
    sent = [await changes.send(hall.member, "plans") for _ in range(2)]
    other = await changes.send(hall.member, "plans", topic="u")
    for name in ("t", "u"):
        await board.describe(channel, name, "News")

    async def some():
        await changes.delete(hall.admin, sent[0])

    async def rest():
        now, admin = hall.stage.clock.now(), hall.actor(hall.admin)
        await hall.stage.write(delete_from_topic, admin, channel.channel_id, "t", now)

    async def archive():
        await board.change(channel, is_archived=True)

    assert not any(heard(await witnesses.watch(some, hall.everyone)).values())
    assert heard(await witnesses.watch(rest, hall.everyone))["Guest"] == [{"t": ""}]
    await witnesses.watch(archive, hall.everyone)
    with pytest.raises(BadRequestError, match="archived"):
        await board.describe(channel, "u", "Older news")
    assert await board.texts() == {"u": "News"}
    await board.change(channel, is_archived=False)
    await changes.delete(hall.admin, other)
    assert await board.texts() == {}


async def test_a_channel_has_a_limit_of_described_topics(
    hall: Hall, changes: Changes, board: Board
):
    channel = await hall.make.channel("plans", subscribers=[hall.admin])
    names = [f"topic {number}" for number in range(MAX_DESCRIBED_TOPICS + 1)]
    for name in names:
        await changes.send(hall.admin, "plans", topic=name)
    for name in names[:-1]:
        await board.describe(channel, name, "News")
    await board.describe(channel, names[0], "Newer")
    with pytest.raises(BadRequestError, match="at most 100 described topics"):
        await board.describe(channel, names[-1], "News")
    await board.describe(channel, names[0], " ")
    await board.describe(channel, names[-1], "News")
