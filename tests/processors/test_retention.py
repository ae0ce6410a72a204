"""Messages are deleted when they are too old, and nothing else is; all clients keep up with it."""

import asyncio
from datetime import timedelta

import pytest
import pytest_asyncio

from queue_processors import retention as processor
from queue_processors.retention import RetentionKeeper
from server.actions.channels.change import change_channel
from server.actions.messages.expire import expire
from server.domain.channel_changes import ChannelChange
from server.domain.channel_creation import KEPT_FOR_EVER
from storage import audit_log, retention
from storage.retention import Expired

pytestmark = pytest.mark.asyncio

ASIDE = timedelta(days=5)


@pytest.fixture
def keeper(hall):
    stage = hall.stage
    return RetentionKeeper(
        stage.database,
        stage.realm_services,
        stage.clock,
        kept_aside=ASIDE,
        pause_seconds=0,
    )


class Days:
    """Time in the hall goes by in days."""

    def __init__(self, hall):
        self._clock = hall.stage.clock

    def pass_by(self, count):
        self._clock.advance(timedelta(days=count))


@pytest.fixture
def days(hall):
    return Days(hall)


async def organization_keeps(hall, count):
    await hall.make.change_settings(message_retention_days=count)
    hall.stage.realm_caches.of(hall.make.realm_id).forget_everything()


async def channel(hall, name, keeps=None, **facts):
    """A channel of two people that keeps messages for so many days; None: as the organization."""
    people = [hall.member, hall.other]
    made = await hall.make.channel(name, subscribers=people, **facts)
    await hall.make.connection.execute(
        """
        UPDATE channels SET message_retention_days = %(keeps)s
         WHERE realm_id = %(r)s AND channel_id = %(c)s
        """,
        r=hall.make.realm_id,
        c=made.channel_id,
        keeps=keeps,
    )
    return made


async def there(hall):
    """The messages that there are."""
    return await hall.make.connection.values(
        "SELECT id FROM messages WHERE realm_id = %(r)s ORDER BY id", r=hall.make.realm_id
    )


async def aside(hall):
    """What is kept of others: ids and contents."""
    return await hall.make.connection.tuples(
        """
        SELECT id, message ->> 'content' FROM expired_messages
         WHERE realm_id = %(r)s ORDER BY id
        """,
        r=hall.make.realm_id,
    )


@pytest_asyncio.fixture
async def sent(hall, changes):
    """A message in each place, by its name."""
    await organization_keeps(hall, 30)
    await channel(hall, "week", 7)
    await channel(hall, "default")
    await channel(hall, "ever", KEPT_FOR_EVER)
    ids = {name: await changes.send(hall.member, name) for name in ("week", "default", "ever")}
    ids["direct"] = await changes.send(hall.member, [hall.other.user_id])
    return ids


async def test_each_place_keeps_its_messages_as_long_as_is_said(hall, sent, keeper, days, changes):
    days.pass_by(6)
    newer = await changes.send(hall.member, "week")
    assert await keeper.tidy() == 0
    days.pass_by(2)
    assert await keeper.tidy() == 1
    assert await there(hall) == [sent["default"], sent["ever"], sent["direct"], newer]
    days.pass_by(30)
    assert await keeper.tidy() == 3
    assert await there(hall) == [sent["ever"]]
    assert await keeper.tidy() == 0


async def test_where_nothing_is_said_everything_is_kept(hall, changes, keeper, days):
    await channel(hall, "plans")
    kept = [
        await changes.send(hall.member, "plans"),
        await changes.send(hall.member, [hall.other.user_id]),
    ]
    days.pass_by(36_000)
    assert await keeper.tidy() == 0
    assert await there(hall) == kept


async def test_their_readers_are_told_and_register_says_the_same(
    hall, sent, changes, keeper, days, witnesses
):
    secret = await channel(hall, "secret", 7, invite_only=True)
    hidden = await changes.send(hall.member, "secret", content="not for those who come later")
    days.pass_by(8)
    await hall.subscribe(hall.member, "secret", people=[hall.admin])
    watched = [hall.member, hall.other, hall.admin, hall.guest]

    seen = await witnesses.watch(keeper.tidy, watched)

    told = {
        user.user_id: {
            message_id
            for witness in seen
            if witness.user.user_id == user.user_id
            for event in witness.events
            if event["type"] == "delete_message"
            for message_id in event.get("message_ids", [event.get("message_id")])
        }
        for user in watched
    }
    both = {sent["week"], hidden}
    assert told[hall.member.user_id] == told[hall.other.user_id] == both
    assert hidden not in told[hall.admin.user_id] | told[hall.guest.user_id]
    rows = await audit_log.newest(
        hall.make.connection, hall.make.realm_id, limit=5, action="messages_expired"
    )
    assert [(row.actor_id, row.after["count"], row.after["days"]) for row in rows] == [
        (None, 1, 7)
    ] * 2
    assert secret.channel_id in {row.subject_id for row in rows}


async def test_they_are_kept_aside_for_a_while_and_nowhere_else(hall, sent, changes, keeper, days):
    await changes.edit(hall.member, sent["week"], "said once")
    days.pass_by(8)
    await keeper.tidy()
    assert await aside(hall) == [(sent["week"], "said once")]
    bodies = await hall.make.connection.values(
        "SELECT convert_from(body, 'UTF8') FROM event_log WHERE realm_id = %(r)s",
        r=hall.make.realm_id,
    )
    assert not [body for body in bodies if body and "said once" in body]
    days.pass_by(ASIDE.days)
    await keeper.tidy()
    assert len(await aside(hall)) == 1
    days.pass_by(1)
    await keeper.tidy()
    assert await aside(hall) == []


async def test_what_is_different_meanwhile_stays(hall, sent, changes, days):
    """The deletion looks again, holding the channel: at the time, the place and the age."""
    week = await hall.make.connection.value(
        "SELECT channel_id FROM channels WHERE realm_id = %(r)s AND name = 'week'",
        r=hall.make.realm_id,
    )
    days.pass_by(8)
    [found] = await retention.in_channels(
        hall.make.connection,
        hall.make.realm_id,
        realm_days=30,
        now=hall.stage.clock.now(),
        limit=9,
    )
    assert (found.channel_id, found.message_ids) == (week, [sent["week"]])
    services = hall.stage.realm_services(hall.make.realm_id)

    async def attempt(what=found):
        return await services.write(lambda tx: expire(tx, what, hall.stage.clock.now()))

    newer = await changes.send(hall.member, "week")
    young = Expired(week, found.conversation_id, [newer])
    assert await attempt(young) == 0
    for keeps in ("unlimited", 9, "realm_default"):
        await hall.stage.write(
            lambda tx, actor, keeps=keeps: change_channel(
                tx,
                actor,
                week,
                ChannelChange(message_retention_days=keeps),
                web_public_enabled=False,
            ),
            hall.actor(hall.owner),
        )
        assert await attempt() == 0
    elsewhere = Expired(week + 1, found.conversation_id, found.message_ids)
    assert await attempt(elsewhere) == 0
    assert sent["week"] in await there(hall)


async def test_much_goes_in_pieces_and_once_beside_another_keeper(
    hall, changes, keeper, days, monkeypatch
):
    monkeypatch.setattr(processor, "MAX_GONE", 2)
    await channel(hall, "week", 7)
    for number in range(7):
        await changes.send(hall.member, "week", topic=f"{number % 2}")
    days.pass_by(8)
    counts = await asyncio.gather(keeper.tidy(), keeper.tidy())
    assert sum(counts) == 7
    assert await there(hall) == []
    assert len(await aside(hall)) == 7


async def test_deactivated_organizations_rest(hall, sent, keeper, days):
    await hall.make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(r)s", r=hall.make.realm_id
    )
    days.pass_by(60)
    assert await keeper.tidy() == 0
    assert len(await there(hall)) == 4


async def test_what_cannot_be_deleted_holds_up_nothing_else(
    hall, sent, changes, keeper, days, monkeypatch
):
    others = await changes.send(hall.member, "week", topic="other")
    days.pass_by(8)
    monkeypatch.setattr(processor, "MAX_GONE", 1)

    async def expire_others(tx, found, now):
        if sent["week"] in found.message_ids:
            raise ValueError("it does not work")
        return await expire(tx, found, now)

    monkeypatch.setattr(processor, "expire", expire_others)
    assert await keeper.tidy() == 1
    assert others not in await there(hall)
    monkeypatch.undo()
    assert await keeper.tidy() == 1
    assert sent["week"] not in await there(hall)
