"""Several server processes of one host send to one organization at the same time."""

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from benchmarks.client import Client
from testkit.clients.server import ROOT_DOMAIN
from testkit.factories import Make
from tests.acceptance.test_operations import Serving, parley

PROCESSES = 3
SENDERS = 9
WITHIN_SECONDS = 180


def forwarded(serving: Serving, url: str) -> int:
    """Writes that processes say that others have committed for them."""
    text = parley("status", "--json", "--port", serving.port, DATABASE_URL=url).out
    return sum(int(each["state"]["writes_forwarded"]) for each in json.loads(text)["processes"])


def listening(serving: Serving) -> None:
    for _ in range(PROCESSES):
        serving.until("server.listening")


@asynccontextmanager
async def ended(serving: Serving) -> AsyncIterator[None]:
    """End it after the block, which has to go well if the block has."""
    try:
        yield
    except BaseException:
        serving.process.kill()
        serving.end()
        raise
    assert await asyncio.to_thread(serving.end) == 0


@pytest.mark.asyncio
async def test_processes_send_together_and_outlive_each_other(make: Make, database_url: str):
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(r)s", r=make.realm_id
    )
    people = await make.users(SENDERS)
    channel = await make.channel(subscribers=people)
    await make.topic(channel, "t")
    options = ("--processes", str(PROCESSES), "--rate-limits", "off")
    serving = Serving(database_url, *options, PARLEY_ROOT_DOMAIN=ROOT_DOMAIN)
    started = [serving.started_process() for _ in range(PROCESSES)]
    await asyncio.to_thread(listening, serving)
    accepted: list[tuple[int, str]] = []
    is_over = asyncio.Event()

    async def speak(number: int) -> None:
        person = people[number]
        client = Client(
            int(serving.port), person.email, person.api_key, f"{subdomain}.{ROOT_DOMAIN}"
        )
        count = 0
        try:
            while not is_over.is_set():
                content, count = f"{number} {count}", count + 1
                with suppress(ConnectionError, asyncio.IncompleteReadError):  # it was killed
                    answer = await client.post(
                        "/messages",
                        type="channel",
                        to=channel.channel_id,
                        topic="t",
                        content=content,
                    )
                    accepted.append((json.loads(answer)["id"], content))
                    continue
                client.close()
        finally:
            client.close()

    async with ended(serving), asyncio.timeout(WITHIN_SECONDS), asyncio.TaskGroup() as group:
        for number in range(SENDERS):
            group.create_task(speak(number))
            await asyncio.sleep(0.02)
        deadline = time.monotonic() + WITHIN_SECONDS / 2
        while not await asyncio.to_thread(forwarded, serving, database_url):
            assert time.monotonic() < deadline, "no process commits for another"
        for process in started:
            os.kill(process, signal.SIGKILL)
            before = len(accepted)
            while len(accepted) < before + 5 * SENDERS:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        is_over.set()
    rows = await make.connection.tuples(
        "SELECT id, content FROM messages WHERE realm_id = %(r)s", r=make.realm_id
    )
    assert len(dict(rows)) == len({content for _, content in rows})
    assert set(accepted) <= set(rows)
