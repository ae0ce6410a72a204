"""A process that has answered a write knows of it in whatever it answers next."""

import pytest

from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.writer import WriteTx
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio


async def tick(tx: WriteTx) -> None:
    tx.append(Tick(), NO_AUDIENCE)


async def test_a_write_after_one_of_another_process_is_known_when_it_is_answered(
    server: Server, make: Make, stage: Stage, log_in
):
    client: Client = await log_in()
    await client.register()
    for language, text in (("de", "Kanal"), ("en", "channel")) * 5:
        # The server hears nothing of this one, so the next is out of order there.
        await stage.writers.of(make.realm_id).write(tick)
        await client.patch("/settings", default_language=language)
        refused = await client.call("GET", "/streams/999999")
        assert text in refused.body["msg"]
