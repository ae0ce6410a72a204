"""A phone registers while workers are killed: the bouncer has its token, and the phone knows."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from testkit import fork_server
from testkit.clients.phone import Phone, token_id_of
from testkit.clients.server import ServerFactory
from testkit.factories import Make
from testkit.services.push_bouncer import SERVER_ID, SERVER_KEY, FakeBouncer

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS = 60


@asynccontextmanager
async def worker(settings: dict[str, str]) -> AsyncIterator[fork_server.Popen]:
    process = fork_server.Popen(
        (sys.executable, "-m", "scripts.cli.main", "worker", "push_registrations"),
        env={**settings, "PATH": os.defpath},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


async def test_a_worker_that_is_killed_before_the_bouncer_answers_loses_no_phone(
    serving_with: ServerFactory,
    bouncer: FakeBouncer,
    make: Make,
    connect: Any,
    database_url: str,
    amqp_url: str,
):
    pushing = {
        "push_bouncer_url": bouncer.url,
        "push_server_id": SERVER_ID,
        "push_server_key": SERVER_KEY,
    }
    environment = {f"PARLEY_{name.upper()}": value for name, value in pushing.items()}
    environment |= {"DATABASE_URL": database_url, "AMQP_URL": amqp_url}
    async with (
        serving_with(**pushing, amqp_url=amqp_url) as server,
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        client = await connect(server, make.realm_id, await make.user())
        now = server.app.clock.now
        phone = Phone(client, bouncer.public_key, lambda: now().timestamp(), token="android")
        bouncer.held = asyncio.Event()
        async with worker(environment) as killed:
            await phone.load()
            await bouncer.holding.wait()
            killed.send_signal(signal.SIGKILL)
            await asyncio.to_thread(killed.wait)
        assert len(bouncer.tokens) == 1
        bouncer.held = None
        shown = (await client.register(event_types=["device"])).state["devices"]
        [state] = shown.values()
        assert state["push_token_id"] is None
        assert state["pending_push_token_id"] == token_id_of("android")
        async with worker(environment):
            while phone.me is None or phone.me["push_token_id"] is None:
                await phone.follow()
        assert phone.me["push_token_id"] == token_id_of("android")
        assert phone.me["push_registration_error_code"] is None
        assert len(bouncer.tokens) == 1
        assert bouncer.requests.count("push/e2ee/register") == 2
        await client.post("/mobile_push/e2ee/test_notification", device_id=phone.device_id)
        [taken] = bouncer.tokens.values()
        assert len(taken.got) == 1
