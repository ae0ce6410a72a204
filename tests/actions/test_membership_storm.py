"""People join and leave beside sends: who gets a message is exact at its position."""

import asyncio
import random

import pytest

from server.actions.channels.create import ChannelSpec
from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.actions.subscriptions.subscribe import SubscriptionRequest, subscribe
from server.actions.subscriptions.unsubscribe import unsubscribe
from server.domain.errors import DomainError
from server.events import catalogue
from server.events.base import decode_audience
from server.realtime.audience import LiveUser, reaches
from storage import event_log, subscription_spans
from storage.ids import Position
from testkit.clock import StoppedClock
from testkit.factories import user_ids
from testkit.stage import NEWEST_CLIENT, Stage

pytestmark = pytest.mark.asyncio

PEOPLE = 6
TURNS = 60


class Person:
    """A user who joins, leaves and sends as chance has it, through one of the processes."""

    def __init__(self, hall, stages, row, adder, seed):
        self.hall, self.stages, self.row, self.adder = hall, stages, row, adder
        self.random = random.Random(seed)
        self.sent = 0

    async def live(self):
        for _ in range(TURNS):
            stage = self.random.choice(self.stages)
            turn = self.random.choice([self.join, self.leave, self.send, self.send])
            try:
                await turn(stage)
            except DomainError:
                continue

    async def join(self, stage):
        request = SubscriptionRequest(wanted=[ChannelSpec("secret")], principals=[self.row.user_id])
        actor = self.hall.actor(self.adder)
        await stage.write(subscribe, actor, request, web_public_enabled=False)

    async def leave(self, stage):
        await stage.write(unsubscribe, self.hall.actor(self.row), ["secret"])

    async def send(self, stage):
        realm_cache = stage.realm_caches.of(self.hall.make.realm_id)
        actor = self.hall.actor(self.row)
        draft = OutgoingMessage(type="channel", to="secret", topic="t", content="x")
        decision = await send.prepare(realm_cache, actor, draft, stage.database.connection)
        await stage.write(send.send_message, actor, draft, decision, stage.clock.now())
        self.sent += 1


async def entries(hall):
    """Everything that happened, in order: (position, event, audience)."""
    rows = await event_log.after(
        hall.make.connection,
        hall.make.realm_id,
        cursor=Position(0),
        limit=100_000,
        max_bytes=2**30,
    )
    return [
        (row.position, catalogue.decode(row.kind, row.body or b"{}"), decode_audience(row.audience))
        for row in rows
    ]


@pytest.mark.parametrize("seed", range(2))
async def test_a_message_goes_to_those_who_were_there_one_position_before(hall, seed):
    people = await hall.make.users(PEOPLE)
    channel = await hall.make.channel(
        "secret", invite_only=True, subscribers=[hall.member, *people[:2]]
    )
    # Two processes with caches and batches of their own.
    stages = [hall.stage, Stage(hall.stage.database, StoppedClock())]
    crowd = [
        Person(hall, stages, row, hall.member, 100 * seed + number)
        for number, row in enumerate(people)
    ]
    async with asyncio.TaskGroup() as living:
        for person in crowd:
            living.create_task(person.live())
    for stage in stages:
        await stage.writers.drain()

    spans = await subscription_spans.of_users(
        hall.make.connection, hall.make.realm_id, user_ids(people)
    )
    live = {
        row.user_id: LiveUser(row.user_id, row.role, [s for s in spans if s.user_id == row.user_id])
        for row in people
    }
    there = {hall.member.user_id, *user_ids(people[:2])}
    messages = changes = 0
    for position, event, audience in await entries(hall):
        if event.kind == "message":
            messages += 1
            reached = {u for u, user in live.items() if reaches(audience, user, position)}
            assert reached == there - {hall.member.user_id}, f"at {position}"
            [wire] = event.wire(position, NEWEST_CLIENT)
            sender_id = wire["message"].sender_id
            assert sender_id in there, f"at {position} user {sender_id} sent from outside"
        for user_id, channel_id, joined in event.membership():
            changes += 1
            assert channel_id == channel.channel_id
            assert joined == (user_id not in there), f"at {position} nothing changed"
            (there.add if joined else there.remove)(user_id)
    assert messages == sum(person.sent for person in crowd) > TURNS
    assert changes > TURNS
    assert set(await hall.subscribers(channel)) == there
    assert (await hall.make.again(channel)).subscriber_count == len(there)
