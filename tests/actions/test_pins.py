"""Pins of topics and messages: events lead where register does, and no one learns of too much."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from server.actions.channels.change import change_channel
from server.actions.messages import pins
from server.actions.messages.delete import delete_from_topic
from server.domain.access import MODERATOR
from server.domain.channel_changes import ChannelChange
from server.domain.errors import BadRequestError
from server.domain.pins import MAX_PINNED_MESSAGES, MAX_PINNED_TOPICS
from storage.channels import ChannelRow
from storage.ids import MessageId
from storage.users import UserRow
from testkit.message_changes import Changes
from testkit.oracles.agreement import Witness
from testkit.realm_with_roles import Hall
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio

PROTECTED: dict[str, Any] = {"invite_only": True, "shares_history": False}


class Board:
    """Pins and unpins, as the admin unless another user is given."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall

    async def message(
        self, message_id: MessageId, *, by: UserRow | None = None, is_pinned: bool = True
    ) -> None:
        actor = self.hall.actor(by or self.hall.admin)
        await self.hall.stage.write(pins.set_message_pinned, actor, message_id, is_pinned=is_pinned)

    async def topic(
        self,
        channel: ChannelRow,
        name: str,
        *,
        by: UserRow | None = None,
        is_pinned: bool = True,
    ) -> None:
        self.hall.stage.clock.advance(timedelta(microseconds=1))
        actor, now = self.hall.actor(by or self.hall.admin), self.hall.stage.clock.now()
        await self.hall.stage.write(
            pins.set_topic_pinned, actor, channel.channel_id, name, now, is_pinned=is_pinned
        )

    async def change(self, channel: ChannelRow, **change: Any) -> None:
        wanted = ChannelChange(**change)
        await self.hall.stage.write(
            change_channel,
            self.hall.actor(self.hall.owner),
            channel.channel_id,
            wanted,
            web_public_enabled=True,
        )

    async def pinned(self) -> tuple[list[int], list[str]]:
        """All that is pinned in the realm."""
        connection, realm_id = self.hall.make.connection, self.hall.make.realm_id
        messages = await connection.values(
            "SELECT id FROM messages WHERE realm_id = %(r)s AND traits & {PINNED} <> 0 ORDER BY id",
            r=realm_id,
        )
        topics = await connection.values(
            """
            SELECT t.name FROM topics t WHERE t.realm_id = %(r)s AND t.pinned_at IS NOT NULL
             ORDER BY t.name
            """,
            r=realm_id,
        )
        return messages, topics


@pytest.fixture
def board(hall: Hall) -> Board:
    return Board(hall)


def lists(seen: Sequence[Witness], kind: str, name: str) -> dict[str, list[Any]]:
    """What events of this type listed, for the newest client of each user."""
    return {
        each.user.full_name: [e[name] for e in each.events if e["type"] == kind]
        for each in seen
        if each.view is NEWEST_CLIENT
    }


async def test_subscribers_get_the_lists_and_other_clients_nothing(
    hall: Hall, changes: Changes, witnesses, board: Board
):
    channel = await hall.make.channel("plans", subscribers=[hall.admin, hall.member, hall.guest])
    first = await changes.send(hall.member, "plans")
    second = await changes.send(hall.member, "plans", topic="u")

    async def change():
        for _ in range(2):
            await board.message(second)
            await board.message(first)
            await board.topic(channel, "u")
            await board.topic(channel, "T")
        await board.message(second, is_pinned=False)
        await board.topic(channel, "u", is_pinned=False)
        await board.topic(channel, "u", is_pinned=False)

    seen = await witnesses.watch(change, hall.everyone)
    messages = lists(seen, "pinned_messages", "message_ids")
    assert messages["Guest"] == messages["Member"] == [[second], [first, second], [first]]
    topics = lists(seen, "pinned_topics", "topics")
    assert topics["Guest"] == topics["Member"] == [["u"], ["u", "t"], ["t"]]
    assert messages["Other"] == topics["Other"] == []
    oldest = [each for each in seen if each.view is not NEWEST_CLIENT]
    assert not [e for each in oldest for e in each.events if e["type"].startswith("pinned")]


async def test_in_a_protected_channel_users_learn_of_pins_of_what_they_were_given(
    hall: Hall, changes: Changes, witnesses, board: Board
):
    """The guest came after the first message, and other left before the second."""
    channel = await hall.make.channel(
        "plans", subscribers=[hall.admin, hall.member, hall.other], **PROTECTED
    )
    first = await changes.send(hall.member, "plans")
    await hall.make.subscribe(channel, [hall.guest])
    await hall.make.unsubscribe(channel, [hall.other])
    second = await changes.send(hall.member, "plans", topic="u")

    async def change():
        await board.message(first)
        await board.topic(channel, "t")
        await board.message(second)
        await board.topic(channel, "u")
        await board.topic(channel, "t", is_pinned=False)
        await board.message(first, is_pinned=False)

    seen = await witnesses.watch(change, hall.everyone)
    messages = lists(seen, "pinned_messages", "message_ids")
    assert messages["Member"] == [[first], [first, second], [second]]
    assert messages["Guest"] == [[second]]
    topics = lists(seen, "pinned_topics", "topics")
    assert topics["Member"] == [["t"], ["t", "u"], ["u"]]
    assert topics["Guest"] == [["u"]]
    assert messages["Other"] == topics["Other"] == messages["Owner"] == topics["Owner"] == []


@pytest.mark.parametrize("kind", [{}, {"invite_only": True, "shares_history": True}, PROTECTED])
async def test_pins_come_and_go_with_subscriptions_and_with_history(
    hall: Hall, changes: Changes, witnesses, board: Board, kind: dict[str, Any]
):
    channel = await hall.make.channel(
        "plans", subscribers=[hall.admin, hall.member, hall.owner], **kind
    )
    sent = await changes.send(hall.member, "plans")
    await board.message(sent)
    await board.topic(channel, "t")

    async def join():
        await hall.subscribe(hall.owner, "plans", people=[hall.guest, hall.other])

    async def hide():
        await board.change(channel, invite_only=True, history_public_to_subscribers=False)

    async def show():
        await board.change(channel, invite_only=True, history_public_to_subscribers=True)

    async def leave():
        await hall.unsubscribe(hall.owner, "plans", people=[hall.guest, hall.member])

    seen = await witnesses.watch(join, hall.everyone)
    joined = [] if kind is PROTECTED else [[sent]]
    assert lists(seen, "pinned_messages", "message_ids")["Guest"] == joined
    await witnesses.watch(hide, hall.everyone)
    await witnesses.watch(show, hall.everyone)
    await witnesses.watch(leave, hall.everyone)


@pytest.mark.parametrize("is_whole", [True, False])
async def test_pins_follow_a_rename_and_are_merged(
    hall: Hall, changes: Changes, witnesses, board: Board, *, is_whole: bool
):
    channel = await hall.make.channel("plans", subscribers=hall.everyone)
    first = await changes.send(hall.admin, "plans")
    await changes.send(hall.admin, "plans")
    await changes.send(hall.admin, "plans", topic="u")
    await board.message(first)
    await board.topic(channel, "t")
    mode = "change_all" if is_whole else "change_one"

    async def rename():
        await changes.move(hall.admin, first, topic="v", mode=mode)

    async def merge():
        await changes.move(hall.admin, first, topic="u", mode="change_all")

    seen = await witnesses.watch(rename, hall.everyone)
    assert lists(seen, "pinned_topics", "topics")["Guest"] == ([["v"]] if is_whole else [])
    assert await board.pinned() == ([first], ["v" if is_whole else "t"])
    await witnesses.watch(merge, hall.everyone)
    assert await board.pinned() == ([first], ["u" if is_whole else "t"])


KINDS: dict[str, dict[str, Any]] = {
    "public": {},
    "private": {"invite_only": True, "shares_history": True},
    "protected": PROTECTED,
}


@pytest.mark.parametrize("steps", [1, 1_000])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("public", "private"),
        ("private", "public"),
        ("public", "protected"),
        ("protected", "public"),
        ("protected", "protected"),
    ],
)
async def test_pins_follow_to_another_channel(
    hall: Hall, changes: Changes, witnesses, board: Board, old: str, new: str, steps: int
):
    """Member is in both, other in the old one, guest in the new one; other pins are there."""
    source = await hall.make.channel(
        "source", subscribers=[hall.admin, hall.member, hall.other], **KINDS[old]
    )
    target = await hall.make.channel(
        "target", subscribers=[hall.admin, hall.member, hall.guest], **KINDS[new]
    )
    sent = [await changes.send(hall.member, "source") for _ in range(2)]
    there = await changes.send(hall.member, "target", topic="other")
    for message_id in (sent[0], there):
        await board.message(message_id)
    await board.topic(source, "t")
    await board.topic(target, "other")
    changes.steps = steps

    async def move():
        await changes.move(hall.admin, sent[0], channel_id=target.channel_id)

    async def back():
        await changes.move(hall.admin, sent[0], channel_id=source.channel_id, mode="change_one")

    await witnesses.watch(move, hall.everyone)
    assert await board.pinned() == ([sent[0], there], ["other", "t"])
    await witnesses.watch(back, hall.everyone)


@pytest.mark.parametrize("kind", [{}, PROTECTED])
async def test_pins_go_with_what_is_deleted(
    hall: Hall, changes: Changes, witnesses, board: Board, kind: dict[str, Any]
):
    channel = await hall.make.channel("plans", subscribers=hall.everyone, **kind)
    sent = [await changes.send(hall.member, "plans") for _ in range(3)]
    other = await changes.send(hall.member, "plans", topic="u")
    for message_id in (*sent[:2], other):
        await board.message(message_id)
    for name in ("t", "u"):
        await board.topic(channel, name)

    async def some():
        await changes.delete(hall.admin, sent[0])

    async def rest():
        now = hall.stage.clock.now()
        await hall.stage.write(
            delete_from_topic, hall.actor(hall.admin), channel.channel_id, "t", now
        )
        await changes.delete(hall.admin, other)

    seen = await witnesses.watch(some, hall.everyone)
    assert not any(lists(seen, "pinned_topics", "topics").values())
    seen = await witnesses.watch(rest, hall.everyone)
    assert lists(seen, "pinned_topics", "topics")["Guest"] == [["u"], []]
    assert await board.pinned() == ([], [])


async def test_a_channel_has_a_limit_of_pins(hall: Hall, changes: Changes, board: Board):
    channel = await hall.make.channel("plans", subscribers=[hall.admin])
    names = [f"topic {number}" for number in range(MAX_PINNED_TOPICS + 1)]
    for name in names:
        await changes.send(hall.admin, "plans", topic=name)
    for name in names[:-1]:
        await board.topic(channel, name)
    await board.topic(channel, names[0])
    with pytest.raises(BadRequestError, match="at most 10 pinned topics"):
        await board.topic(channel, names[-1])
    sent = [await changes.send(hall.admin, "plans") for _ in range(MAX_PINNED_MESSAGES + 1)]
    for message_id in sent[:-1]:
        await board.message(message_id)
    await board.message(sent[0])
    with pytest.raises(BadRequestError, match="at most 50 pinned messages"):
        await board.message(sent[-1])
    await board.message(sent[0], is_pinned=False)
    await board.message(sent[-1])


async def test_the_organization_the_channel_and_its_administrators_permit_it(
    hall: Hall, changes: Changes, board: Board
):
    """Administrators administer every channel, whatever the two permissions are."""
    moderator, second = [await hall.make.user(role=MODERATOR) for _ in range(2)]
    chosen = {"direct_members": [moderator.user_id], "direct_subgroups": []}
    await hall.make.change_settings(can_pin_group=chosen)
    channel = await hall.make.channel(
        "plans",
        subscribers=[hall.member, hall.other, hall.guest, moderator, second],
        can_pin_group=[hall.other],
        can_administer_channel_group=[hall.member],
    )
    sent = await changes.send(hall.member, "plans")
    for user in (moderator, hall.other, hall.member, hall.owner, hall.admin):
        await board.message(sent, by=user)
        await board.topic(channel, "t", by=user)
        await board.message(sent, by=user, is_pinned=False)
        await board.topic(channel, "t", by=user, is_pinned=False)
    third = await hall.make.user()
    for user in (hall.guest, third, second):
        with pytest.raises(BadRequestError, match="permission to pin"):
            await board.message(sent, by=user)
        with pytest.raises(BadRequestError, match="permission to pin"):
            await board.topic(channel, "t", by=user)


async def test_what_the_actor_may_not_read_does_not_exist(
    hall: Hall, changes: Changes, board: Board
):
    channel = await hall.make.channel("plans", subscribers=[hall.member], **PROTECTED)
    sent = await changes.send(hall.member, "plans")
    with pytest.raises(BadRequestError, match="Invalid message"):
        await board.message(sent)
    with pytest.raises(BadRequestError, match="no topic 't'"):
        await board.topic(channel, "t")
    await hall.make.subscribe(channel, [hall.admin])
    for name in ("t", "never used"):
        with pytest.raises(BadRequestError, match="no topic"):
            await board.topic(channel, name)
    direct = await changes.send(hall.member, [hall.admin.user_id])
    with pytest.raises(BadRequestError, match="Direct messages cannot be pinned"):
        await board.message(direct)


async def test_an_archived_channel_keeps_its_pins_and_gets_none(
    hall: Hall, changes: Changes, witnesses, board: Board
):
    channel = await hall.make.channel("plans", subscribers=hall.everyone)
    sent = await changes.send(hall.member, "plans")
    await board.topic(channel, "t")

    async def archive():
        await board.change(channel, is_archived=True)

    async def unarchive():
        await board.change(channel, is_archived=False)

    await witnesses.watch(archive, hall.everyone)
    with pytest.raises(BadRequestError, match="archived"):
        await board.message(sent)
    with pytest.raises(BadRequestError, match="archived"):
        await board.topic(channel, "t", is_pinned=False)
    # Other clients lose their topic policies with an archived channel.
    await witnesses.watch(unarchive, hall.everyone, views=[NEWEST_CLIENT])
    assert await board.pinned() == ([], ["t"])


async def test_pins_are_in_the_audit_log(hall: Hall, changes: Changes, board: Board):
    channel = await hall.make.channel("plans", subscribers=[hall.admin])
    sent = await changes.send(hall.admin, "plans")
    await board.message(sent)
    await board.message(sent)
    await board.topic(channel, "T")
    rows = await hall.make.connection.tuples(
        """
        SELECT action, actor_id, subject_id, after FROM audit_log
         WHERE realm_id = %(r)s AND action LIKE 'channel%%pinned' ORDER BY audit_id
        """,
        r=hall.make.realm_id,
    )
    about = (hall.admin.user_id, channel.channel_id)
    assert [tuple(row) for row in rows] == [
        ("channel_message_pinned", *about, {"message_id": sent}),
        ("channel_topic_pinned", *about, {"topic": "t"}),
    ]
