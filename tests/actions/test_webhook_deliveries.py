"""The last delivery to a bot is recorded, and a flood of them is not a flood of writes."""

from datetime import timedelta

import pytest

from server.domain.actor import Actor
from server.presences import webhook_deliveries as recording
from server.presences.webhook_deliveries import LastDeliveries
from storage import webhook_deliveries
from testkit.clock import StoppedClock

pytestmark = pytest.mark.asyncio


async def test_one_delivery_a_second_is_recorded_for_each_outcome(make, database, monkeypatch):
    clock = StoppedClock()
    last = LastDeliveries(database, clock)
    bots = [Actor(make.realm_id, await make.user(f"bot {i}", bot_type=2)) for i in range(2)]

    async def recorded(bot: Actor) -> tuple[str, str, timedelta] | None:
        row = await webhook_deliveries.last(make.connection, make.realm_id, bot.user_id)
        if row is None:
            return None
        return (row.service, row.outcome, clock.now() - row.received_at)

    assert await recorded(bots[0]) is None
    await last.note(bots[0], "github", "message")
    clock.advance(timedelta(seconds=0.5))
    await last.note(bots[0], "github", "message")
    assert await recorded(bots[0]) == ("github", "message", timedelta(seconds=0.5))
    await last.note(bots[0], "github", "refused")
    assert await recorded(bots[0]) == ("github", "refused", timedelta(0))
    clock.advance(timedelta(seconds=1))
    await last.note(bots[0], "github", "refused")
    assert await recorded(bots[0]) == ("github", "refused", timedelta(0))
    assert await recorded(bots[1]) is None

    # Another process has recorded a later one.
    clock.step(-timedelta(hours=1))
    await LastDeliveries(database, clock).note(bots[0], "gitlab", "message")
    row = await webhook_deliveries.last(make.connection, make.realm_id, bots[0].user_id)
    assert row is not None
    assert row.service == "github"

    monkeypatch.setattr(recording, "MAX_BOTS", 1)
    for bot in bots:
        await last.note(bot, "json", "message")
    assert await recorded(bots[1]) == ("json", "message", timedelta(0))
