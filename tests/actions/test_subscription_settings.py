"""People set the color, the pin and the notifications of their channels."""

import pytest

from server.actions.subscriptions import settings
from server.actions.subscriptions.settings import change_properties, checked_change
from server.domain.errors import BadRequestError
from server.events import subscriptions as subscription_events
from storage import audit_log, subscriptions
from storage.ids import ChannelId

pytestmark = pytest.mark.asyncio


async def change(hall, row, *wanted):
    changes = [checked_change(channel.channel_id, name, value) for channel, name, value in wanted]
    await hall.stage.run(change_properties, hall.actor(row), changes)


async def own(hall, row, channel):
    found = await subscriptions.of_user_in(
        hall.make.connection, hall.make.realm_id, row.user_id, channel.channel_id
    )
    assert found is not None
    return found


async def test_only_the_subscriber_is_told(hall, witnesses):
    plans = await hall.make.channel("plans", subscribers=[hall.member, hall.other])
    closed = await hall.make.channel("closed", subscribers=[hall.member], is_archived=True)
    wanted = [
        (plans, "color", "#AbC"),
        (plans, "is_muted", True),
        (plans, "pin_to_top", True),
        (plans, "desktop_notifications", True),
        (plans, "audible_notifications", False),
        (plans, "push_notifications", True),
        (plans, "email_notifications", False),
        (plans, "wildcard_mentions_notify", False),
        (closed, "color", "#123456"),
    ]

    seen = await witnesses.watch(
        lambda: change(hall, hall.member, *wanted), [hall.member, hall.other]
    )

    newest, oldest, *others = seen
    assert len(newest.events) == len(wanted) + 1
    # Clients that do not know archived channels hear nothing of them.
    assert len(oldest.events) == len(wanted)
    assert [witness.events for witness in others] == [[], []]
    row = await own(hall, hall.member, plans)
    assert (row.color, row.is_muted, row.pin_to_top) == ("#aabbcc", True, True)
    colors = [e["value"] for e in newest.events if e.get("property") == "color"]
    assert sorted(colors) == ["#123456", "#aabbcc"]
    assert row.changed_at == hall.stage.happened[0].position
    kept = await audit_log.newest(hall.make.connection, hall.make.realm_id, limit=5)
    assert [(row.action, row.subject_id) for row in kept] == [
        ("subscription_changed", closed.channel_id),
        ("subscription_changed", plans.channel_id),
    ]
    assert len(kept[1].after) == len(wanted) - 1


async def test_the_same_again_and_back_tells_nothing(hall):
    plans = await hall.make.channel("plans", subscribers=[hall.member])
    await change(hall, hall.member, (plans, "is_muted", True))

    await change(hall, hall.member, (plans, "in_home_view", False))
    assert hall.stage.happened == []
    await change(hall, hall.member, (plans, "is_muted", False), (plans, "is_muted", True))
    assert hall.stage.happened == []
    await change(hall, hall.member, (plans, "in_home_view", True))
    assert hall.stage.kinds() == ["subscription/update"]
    assert not (await own(hall, hall.member, plans)).is_muted


async def test_many_are_told_in_few_entries(hall, witnesses, monkeypatch):
    monkeypatch.setattr(subscription_events, "UPDATES_PER_ENTRY", 4)
    made = [await hall.make.channel(f"c{n}", subscribers=[hall.member]) for n in range(5)]
    wanted = [(channel, "is_muted", True) for channel in made]

    await witnesses.watch(lambda: change(hall, hall.member, *wanted), [hall.member])

    assert hall.stage.kinds() == ["subscription/update"] * 2
    for channel in made:
        row = await own(hall, hall.member, channel)
        assert row.is_muted
        assert row.changed_at == hall.stage.happened[0].position
    kept = await audit_log.newest(hall.make.connection, hall.make.realm_id, limit=9)
    assert [(row.subject_id, row.before, row.after) for row in reversed(kept)] == [
        (channel.channel_id, {"is_muted": False}, {"is_muted": True}) for channel in made
    ]


async def test_what_was_set_stays_for_who_comes_back(hall, witnesses):
    plans = await hall.make.channel("plans", subscribers=[hall.member])
    await change(hall, hall.member, (plans, "color", "#123456"), (plans, "pin_to_top", True))

    async def leave_and_return():
        await hall.unsubscribe(hall.member, "plans")
        await hall.subscribe(hall.member, "plans")

    await leave_and_return()
    row = await own(hall, hall.member, plans)
    assert (row.color, row.pin_to_top) == ("#123456", True)


async def test_only_for_channels_in_which_one_is(hall, monkeypatch):
    plans = await hall.make.channel("plans", subscribers=[hall.member, hall.other])
    secret = await hall.make.channel("secret", invite_only=True, subscribers=[hall.other])
    left = await hall.make.channel("left", subscribers=[hall.member])
    await hall.unsubscribe(hall.member, "left")

    for channel in (secret, left):
        with pytest.raises(BadRequestError, match="Not subscribed"):
            await change(hall, hall.member, (plans, "is_muted", True), (channel, "is_muted", True))
    assert not (await own(hall, hall.member, plans)).is_muted
    monkeypatch.setattr(settings, "MAX_CHANGES", 1)
    with pytest.raises(BadRequestError, match="Too many"):
        await change(hall, hall.member, *[(plans, "is_muted", True)] * 2)


async def test_a_mute_counts_for_the_next_message(hall, changes):
    """What is decided on a cached subscription is decided again."""
    await hall.make.connection.execute(
        """
        UPDATE users SET settings = '{"automatically_unmute_topics_in_muted_streams_policy": 1,
                                      "automatically_follow_topics_policy": 4}'
        """
    )
    plans = await hall.make.channel("plans", subscribers=[hall.member])
    await changes.send(hall.member, "plans", topic="before")
    await change(hall, hall.member, (plans, "is_muted", True))
    hall.stage.happened.clear()

    await changes.send(hall.member, "plans", topic="after")

    [told] = hall.told("user_topic")
    assert (told.event.topic_name, told.event.visibility_policy) == ("after", 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("color", "red"),
        ("color", "#12345"),
        ("color", "#1234567"),
        ("color", True),
        ("is_muted", "true"),
        ("role", True),
        ("active", False),
        ("user_id", "1"),
    ],
)
async def test_what_a_property_cannot_be(name, value):
    with pytest.raises(BadRequestError):
        checked_change(ChannelId(1), name, value)
