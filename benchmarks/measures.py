"""What is measured, each on a fresh server: functions from nothing to figures by name."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import cast

import uvloop

import benchmarks.changing
import benchmarks.holding
import benchmarks.narrows
import benchmarks.notifying
import benchmarks.organization
import benchmarks.presence
import benchmarks.processing
import benchmarks.pushing
import benchmarks.signing_in
import benchmarks.transferring
import benchmarks.uploading
from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.crowd_measures import masses, queue_memory, reconnecting, slow_sockets, waking
from benchmarks.figures import Figures, milliseconds, percentile
from benchmarks.server import Server, running, temporary_data

SECONDS = 5.0
SENDING_CONNECTIONS = 64


async def _send_for(clients: list[Client], channel_id: int, seconds: float) -> list[float]:
    """Each client sends one message after another."""
    end = time.perf_counter() + seconds
    taken: list[float] = []

    async def one(client: Client) -> None:
        request = client.send_request(channel_id, "benchmark", "A message of an ordinary length.")
        while time.perf_counter() < end:
            taken.append(await client.timed(request))

    await asyncio.gather(*[one(client) for client in clients])
    return taken


def _clients(server: Server, world: worlds.World, count: int) -> list[Client]:
    return [
        Client(server.port, world.email(number), worlds.API_KEY) for number in range(1, count + 1)
    ]


def sends() -> Figures:
    """Latency of one sender, and sends a second of 8 and 16, by the number of subscribers."""
    figures: Figures = {}
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=10_000)
            channels = {
                n: worlds.channel(database, world, f"channel of {n}", n)
                for n in (20, 1_000, 10_000)
            }
        for subscribers, channel_id in channels.items():
            for senders in (1, 8, 16):
                clients = _clients(server, world, senders)
                uvloop.run(_send_for(clients[:1], channel_id, 0.5))
                taken = uvloop.run(_measure_sends(server, world, senders, channel_id))
                name = f"send to {subscribers}, {senders} senders"
                figures |= milliseconds(name, taken)
                figures[f"{name}, a second"] = len(taken) / SECONDS
    return figures


async def _measure_sends(
    server: Server, world: worlds.World, senders: int, channel_id: int
) -> list[float]:
    return await _send_for(_clients(server, world, senders), channel_id, SECONDS)


def slow_disk() -> Figures:
    """16 senders where each flush takes 5 ms more."""
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=1_000)
        channel_id = worlds.channel(database, world, "slow", 1_000)
        server.configure_postgres("commit_delay = 5000", "commit_siblings = 0")
        time.sleep(0.5)
        taken = uvloop.run(_measure_sends(server, world, 16, channel_id))
        [(writes,)] = database.execute(
            "SELECT count(*)::float8 / count(DISTINCT xmin::text) FROM event_log"
            " WHERE kind = 'message'"
        ).fetchall()
    return {
        "slow disk, 16 senders, a second": len(taken) / SECONDS,
        **milliseconds("slow disk, 16 senders", taken),
        "slow disk, writes a commit": cast("float", writes),
    }


SNAPSHOT_POSITIONS = 20_000
"""How much happens while the snapshot is open, before sends are measured again."""


def snapshot() -> Figures:
    """Sends while somebody has held an old snapshot, and another an idle transaction, for long.

    Long is counted in positions: what the snapshot keeps is every version of the clock's row.
    """
    figures: Figures = {}
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=1_000)
        channel_id = worlds.channel(database, world, "snapshot", 1_000)
        uvloop.run(_send_for(_clients(server, world, 1), channel_id, 1.0))
        alone = uvloop.run(_measure_sends(server, world, 1, channel_id))
        with server.database() as dump, server.database() as forgotten:
            for holder, level in ((dump, "REPEATABLE READ"), (forgotten, "READ COMMITTED")):
                holder.execute(f"BEGIN ISOLATION LEVEL {level}")
                holder.execute("SELECT count(*) FROM realm_clock")
            worlds.let_time_pass(database, world, SNAPSHOT_POSITIONS)
            beside = uvloop.run(_measure_sends(server, world, 1, channel_id))
            for holder in (dump, forgotten):
                holder.execute("ROLLBACK")
    figures |= milliseconds("send, no snapshot open", alone)
    figures |= milliseconds(f"send, snapshot open for {SNAPSHOT_POSITIONS} positions", beside)
    figures["send p99, with a snapshot / without"] = percentile(beside, 0.99) / percentile(
        alone, 0.99
    )
    return figures


def delivery() -> Figures:
    """From a send to its delivery in 200 queues, at 5, 50 and 200 messages a second."""
    figures: Figures = {}
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=201)
            channel_id = worlds.channel(database, world, "delivery", 201)
        for rate in (5, 50, 200):
            latencies, sent = uvloop.run(_deliver(server, world, channel_id, rate))
            name = f"delivery to 200 queues at {rate}/s"
            figures |= milliseconds(name, latencies)
            figures[f"{name}, deliveries a second"] = len(latencies) / SECONDS
            assert len(latencies) == 200 * sent, "every message reaches every queue"
    return figures


async def _deliver(
    server: Server, world: worlds.World, channel_id: int, rate: int
) -> tuple[list[float], int]:
    clients = _clients(server, world, 201)
    readers = clients[1:]
    latencies: list[float] = []
    wanted = int(rate * SECONDS)
    started: dict[str, float] = {}

    async def read(client: Client) -> None:
        queue_id = await client.register(event_types=["message"], fetch_event_types=[])
        last, got = -1, 0
        ready.release()
        while got < wanted:
            answer = await client.get("/events", queue_id=queue_id, last_event_id=last)
            now = time.perf_counter()
            for event in json.loads(answer)["events"]:
                last = event["id"]
                if event["type"] == "message":
                    latencies.append(now - started[event["message"]["content"]])
                    got += 1

    ready = asyncio.Semaphore(0)
    reading = [asyncio.create_task(read(client)) for client in readers]
    for _ in readers:
        await ready.acquire()
    await asyncio.sleep(1)
    free: asyncio.Queue[Client] = asyncio.Queue()
    for _ in range(SENDING_CONNECTIONS):
        free.put_nowait(Client(server.port, world.email(1), worlds.API_KEY))

    async def send(content: str) -> None:
        connection = await free.get()
        started[content] = time.perf_counter()
        await connection.timed(connection.send_request(channel_id, "benchmark", content))
        free.put_nowait(connection)

    begin = time.perf_counter()
    async with asyncio.timeout(SECONDS + 60), asyncio.TaskGroup() as sending:
        for number in range(wanted):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            sending.create_task(send(f"m{number}"))
    async with asyncio.timeout(60):
        await asyncio.gather(*reading)
    for client in readers:
        client.close()
    return latencies, wanted


def marking() -> Figures:
    """Sends at 5/s while 200 people mark each message as read."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=201)
            channel_id = worlds.channel(database, world, "marking", 201)
        return milliseconds(
            "send while 200 mark as read", uvloop.run(_send_and_mark(server, world, channel_id))
        )


async def _send_and_mark(server: Server, world: worlds.World, channel_id: int) -> list[float]:
    sender, *readers = _clients(server, world, 201)
    wanted = int(5 * SECONDS)
    taken: list[float] = []

    async def read(client: Client) -> None:
        queue_id = await client.register(event_types=["message"], fetch_event_types=[])
        last, got = -1, 0
        ready.release()
        while got < wanted:
            answer = await client.get("/events", queue_id=queue_id, last_event_id=last)
            for event in json.loads(answer)["events"]:
                last = event["id"]
                if event["type"] == "message":
                    got += 1
                    await client.post(
                        "/messages/flags", messages=[event["message"]["id"]], op="add", flag="read"
                    )

    ready = asyncio.Semaphore(0)
    reading = [asyncio.create_task(read(client)) for client in readers]
    for _ in readers:
        await ready.acquire()
    begin = time.perf_counter()
    for number in range(wanted):
        await asyncio.sleep(max(0.0, begin + number / 5 - time.perf_counter()))
        taken.append(await sender.timed(sender.send_request(channel_id, "benchmark", f"m{number}")))
    async with asyncio.timeout(60):
        await asyncio.gather(*reading)
    return taken


def register() -> Figures:
    """Register with everything, in realms of 1,000 and 10,000 people."""
    figures: Figures = {}
    for people in (1_000, 10_000):
        with running() as server:
            with server.database() as database:
                world = worlds.fill(database, people=people)
                channels = [
                    worlds.channel(database, world, f"register {n}", people) for n in range(20)
                ]
            nothing = uvloop.run(_register_often(server, world))
            figures |= milliseconds(f"register, {people} people, nothing unread", nothing)
            with server.database() as database:
                worlds.messages(database, world, channels, count=9_000, topics_a_channel=5)
            much = uvloop.run(_register_often(server, world))
            figures |= milliseconds(f"register, {people} people, 9,000 unread", much)
    return figures


async def _register_often(server: Server, world: worlds.World) -> list[float]:
    client = Client(server.port, world.email(1), worlds.API_KEY)
    fields = {"client_capabilities": {"user_settings_object": True, "empty_topic_name": True}}
    request = client.request("POST", "/register", **fields)
    for _ in range(3):
        await client.timed(request)
    return [await client.timed(request) for _ in range(50)]


def history() -> Figures:
    """The newest 100 messages of a channel, a topic and everything, in a million."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=1_000)
            channels = [worlds.channel(database, world, f"history {n}", 1_000) for n in range(100)]
            worlds.messages(database, world, channels, count=1_000_000, topics_a_channel=7)
        return uvloop.run(_read_history(server, world, channels[50]))


async def _read_history(server: Server, world: worlds.World, channel_id: int) -> Figures:
    client = Client(server.port, world.email(1), worlds.API_KEY)
    figures: Figures = {}
    in_channel = {"operator": "channel", "operand": channel_id}
    narrows = {
        "channel": [in_channel],
        "topic": [in_channel, {"operator": "topic", "operand": "topic 3"}],
        "everything": [],
    }
    for name, narrow in narrows.items():
        request = client.request(
            "GET", "/messages", anchor="newest", num_before=100, num_after=0, narrow=narrow
        )
        for _ in range(5):
            await client.timed(request)
        taken = [await client.timed(request) for _ in range(100)]
        figures |= milliseconds(f"newest 100 of {name}", taken)
    return figures


def narrows() -> Figures:
    """The newest 100 messages of every narrow, and searches, in a million."""
    with running() as server:
        with server.database() as database:
            world, channels = benchmarks.narrows.fill(database)
        taken = uvloop.run(benchmarks.narrows.read(server, world, channels))
    figures: Figures = {}
    for name, seconds in taken.items():
        figures |= milliseconds(f"narrow {name}", seconds)
    return figures


def changing() -> Figures:
    """Renaming, merging, moving and deleting topics of 1,000 messages."""
    with running() as server:
        with server.database() as database:
            world, channels = benchmarks.changing.fill(database)
        taken = uvloop.run(benchmarks.changing.change(server, world, channels))
    return {
        f"{name} a topic of 1,000 p50 ms": percentile(seconds, 0.5) * 1000
        for name, seconds in taken.items()
    }


def organization() -> Figures:
    """10,000 people and 1,000 channels: register, subscribe many, send by nested groups."""
    with running() as server:
        with server.database() as database:
            world = benchmarks.organization.fill(database)
        taken = uvloop.run(benchmarks.organization.measure(server, world))
    by_groups = percentile(taken["nested"], 0.5) - percentile(taken["plain"], 0.5)
    return {
        **milliseconds("register, 10,000 people, 1,000 channels", taken["register"]),
        **milliseconds("subscribing 1,000 people to 10 channels", taken["subscribing"]),
        "a nested permission adds, p50 ms": by_groups * 1000,
    }


def notifying() -> Figures:
    """Deciding who is notified of a message to 10,000 subscribers, written down and handed on."""
    with running() as server, server.database() as database:
        taken = benchmarks.notifying.decide(database, server.database_url)
    figures: Figures = {}
    for name, seconds in taken.items():
        figures |= milliseconds(f"decide for 10,000, {name}", seconds)
    return figures


def pushing() -> Figures:
    """From a send to a bouncer on this machine: now and then, and to 1,000 phones at once."""
    measured = uvloop.run(benchmarks.pushing.measure())
    return {
        **milliseconds("push, now and then", measured.single),
        **milliseconds("push to 1,000 phones at once", measured.at_once),
        "push to 1,000 phones at once, a second": measured.a_second,
    }


def processing() -> Figures:
    """Each queue processor: how long a job takes from the log to its end, and how many a second."""
    with running() as server:
        taken = uvloop.run(benchmarks.processing.measure(server))
    figures: Figures = {}
    for queue, found in taken.items():
        figures |= milliseconds(f"{queue}, asked to done", found.single)
        figures[f"{queue}, jobs a second"] = found.a_second
    return figures


def presence() -> Figures:
    """What pings cost the serving process where 1,000 people are there, and 10,000 a minute."""
    figures: Figures = {}
    with running() as server, server.database() as database:
        measured = benchmarks.presence.measure(server, database)
        [(writes,)] = database.execute(
            "SELECT max(last_update_id)::float8 FROM presence_clocks"
        ).fetchall()
    for name, each in measured.items():
        figures[f"{name}, CPU ms"] = each.cpu_seconds * 1000
        figures |= milliseconds(name, each.latencies)
    return figures | {"writes of all these pings": cast("float", writes)}


def transferring() -> Figures:
    """An organization of a million messages is exported, and imported beside itself."""
    with running() as server, server.database() as database:
        taken = benchmarks.transferring.measure(server, database)
    figures: Figures = {}
    for name, each in taken.items():
        figures |= {f"{name} of a million messages s": each.seconds, f"{name} MiB": each.mib}
    return figures


def holding() -> Figures:
    """200 people wait 95 seconds for one message."""
    with running() as server, server.database() as database:
        held = benchmarks.holding.measure(server, database)
    return {
        "a heartbeat comes after s, at least": min(held.beats),
        "a heartbeat comes after s, at most": max(held.beats),
        "answers and ends that nobody expected": held.strange,
        **milliseconds("delivery after 95 quiet seconds", held.delivered),
    }


def signing_in() -> Figures:
    """What 4 people a second who sign in with a password cost those who send messages."""
    with running() as server, server.database() as database:
        measured = benchmarks.signing_in.measure(server, database)
    ratio = percentile(measured.beside, 0.99) / percentile(measured.alone, 0.99)
    return {
        **milliseconds("send, nobody signs in", measured.alone),
        **milliseconds("send, 4 a second sign in", measured.beside),
        **milliseconds("sign-in", measured.sign_ins),
        "send p99, with sign-ins / without": ratio,
    }


def uploading() -> Figures:
    """A file of 1 GiB comes and is read: seconds, and by how much the process grows."""
    limit = {"PARLEY_MAX_FILE_UPLOAD_MIB": str(benchmarks.uploading.FILE_MIB)}
    with running(environment=limit) as server, server.database() as database:
        moved = benchmarks.uploading.measure(server, database)
    figures: Figures = {}
    for name, each in moved.items():
        figures |= {
            f"1 GiB {name} s": each.seconds,
            f"1 GiB {name}, growth MiB": each.growth_mib,
            f"1 GiB {name}, CPU s": each.cpu_seconds,
        }
    return figures


def starts() -> Figures:
    """The first and the second start, and what an idle server takes."""
    with temporary_data() as data:
        server = Server(data)
        first = server.start()
        server.stop()
        second = server.start()
        time.sleep(5)
        memory = server.pss_mib()
        server.stop()
    return {"first start s": first, "second start s": second, "idle MiB (PSS)": memory}


MEASURES: dict[str, Callable[[], Figures]] = {
    "starts": starts,
    "sends": sends,
    "slow-disk": slow_disk,
    "snapshot": snapshot,
    "delivery": delivery,
    "marking": marking,
    "queue-memory": queue_memory,
    "waking": waking,
    "slow-sockets": slow_sockets,
    "reconnecting": reconnecting,
    "masses": masses,
    "register": register,
    "history": history,
    "narrows": narrows,
    "changing": changing,
    "organization": organization,
    "notifying": notifying,
    "pushing": pushing,
    "processing": processing,
    "presence": presence,
    "transferring": transferring,
    "holding": holding,
    "signing-in": signing_in,
    "uploading": uploading,
}
