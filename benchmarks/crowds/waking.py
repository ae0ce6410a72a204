"""One message to many who wait, and how long it holds up others."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.crowds.crowd import Crowd, after
from benchmarks.crowds.waiting import polls, settled
from benchmarks.probe import Answer, Probe
from benchmarks.server import Server
from benchmarks.world import World

WAITING: Final = 2_000
MESSAGES: Final = 10
PAUSE_SECONDS: Final = 3.0
"""Between two messages: all clients poll anew."""
AGAIN_SECONDS: Final = 1.0
"""The time in which all clients have polled anew."""
PATIENCE_SECONDS: Final = 60.0


@dataclass(slots=True)
class Woken:
    """Some messages to a crowd that waits."""

    last: list[float] = field(default_factory=list)
    """Seconds from each send to the last one who has it."""
    held: list[float] = field(default_factory=list)
    """The longest that a request beside had to wait while each was delivered."""
    held_again: list[float] = field(default_factory=list)
    """The same while all clients poll again, in one instant."""
    idle: list[float] = field(default_factory=list)
    """Durations of such requests when nothing is delivered."""


async def wake(server: Server, world: World, channel_id: int, queue_ids: list[str]) -> Woken:
    """Some messages to all clients, with a probe beside."""
    crowd, woken = Crowd(), Woken()
    await crowd.come(server.port, polls(server.port, world, queue_ids))
    await settled(server)
    sender = Client(server.port, world.email(1), worlds.API_KEY)
    await sender.timed(sender.request("GET", "/users/me"))
    probe = Probe(server.port)
    spans: list[tuple[float, float]] = []
    again: list[tuple[float, float]] = []
    for number in range(MESSAGES):
        await asyncio.sleep(PAUSE_SECONDS)
        request = sender.send_request(channel_id, "topic", f"message {number}")
        crowd.expect(len(queue_ids))
        begin = time.perf_counter()
        await sender.timed(request)
        await crowd.all_there(PATIENCE_SECONDS)
        spans.append((begin, max(crowd.arrived)))
        woken.last.append(max(after(begin, crowd.arrived)))
        asked = [_polls_again(server, world, queue_ids, crowd, w.number) for w in crowd.waiters]
        begin = time.perf_counter()
        for waiter, request in zip(crowd.waiters, asked, strict=True):
            waiter.ask(request)
        again.append((begin, begin + AGAIN_SECONDS))
    answers = await asyncio.to_thread(probe.answers)
    woken.held = longest(answers, spans)
    woken.held_again = longest(answers, again)
    woken.idle = [a.seconds for a in answers if not any(b < a.at < e for b, e in spans + again)]
    crowd.leave()
    return woken


def longest(answers: list[Answer], spans: list[tuple[float, float]]) -> list[float]:
    """The longest that a client had to wait in each of these times, from the one to the other."""
    return [
        max(a.seconds for a in answers if a.at > begin and a.at - a.seconds < end)
        for begin, end in spans
    ]


def _polls_again(
    server: Server, world: World, queue_ids: list[str], crowd: Crowd, number: int
) -> bytes:
    """The next poll of one of them."""
    client = Client(server.port, world.email(number + 1), worlds.API_KEY)
    return client.request(
        "GET", "/events", queue_id=queue_ids[number], last_event_id=crowd.last_ids.get(number, -1)
    )
