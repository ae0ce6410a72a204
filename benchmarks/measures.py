"""The measurements, each on a fresh server: functions from nothing to figures by name."""

import asyncio
import time
from collections.abc import Callable
from typing import cast

import uvloop

import benchmarks.changing
import benchmarks.holding
import benchmarks.holds
import benchmarks.idling
import benchmarks.narrows
import benchmarks.notifying
import benchmarks.organization
import benchmarks.presence
import benchmarks.processing.measure
import benchmarks.pushing
import benchmarks.signing_in
import benchmarks.transferring
import benchmarks.uploading
import benchmarks.web.measures
import benchmarks.web.scene
import benchmarks.webhooks
import benchmarks.working
from benchmarks.crowds.measures import (
    deliveries,
    delivery,
    masses,
    queue_memory,
    reconnecting,
    slow_sockets,
    waking,
)
from benchmarks.figures import Figures, milliseconds, percentile
from benchmarks.marking import marking
from benchmarks.registering import register
from benchmarks.sending import log, sends, slow_disk, snapshot
from benchmarks.server import Server, running, temporary_data


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


def holds() -> Figures:
    """How long the worst that is sent to each entry holds the event loop, at its longest."""
    with running() as server, server.database() as database:
        found = benchmarks.holds.measure(server, database)
    figures: Figures = {}
    for name, meter in found.items():
        entry = benchmarks.holds.entry_of(name)
        for kind, seconds in (("held", meter.held), ("processor", meter.used)):
            figure = f"{entry}: loop {kind} at most ms"
            figures[figure] = max(figures.get(figure, 0.0), seconds * 1000)
    benchmarks.holds.print_longest(found)
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
        taken = uvloop.run(benchmarks.processing.measure.measure(server))
    figures: Figures = {}
    for queue, found in taken.items():
        figures |= milliseconds(f"{queue}, asked to done", found.single)
        figures[f"{queue}, jobs a second"] = found.a_second
    return figures


def presence() -> Figures:
    """The cost of pings for the serving process: 1,000 people present, 10,000 pings a minute."""
    figures: Figures = {}
    with running() as server, server.database() as database:
        measured = benchmarks.presence.measure(server, database)
        [(writes,)] = database.execute(
            "SELECT max(last_update_id)::float8 FROM presence_clocks"
        ).fetchall()
    for name, each in measured.items():
        figures[f"{name}, CPU ms"] = each.cpu_seconds * 1000
        figures |= milliseconds(name, each.latencies)
        if each.crowded:
            figures |= milliseconds(f"{name}, 8 at once", each.crowded)
    return figures | {"writes of all these pings": cast("float", writes)}


def transferring() -> Figures:
    """An organization of a million messages is exported, and imported beside itself."""
    with running() as server, server.database() as database:
        taken = benchmarks.transferring.measure(server, database)
    figures: Figures = {}
    for name, each in taken.items():
        figures |= {f"{name} of a million messages s": each.seconds, f"{name} MiB": each.mib}
    return figures


def importing() -> Figures:
    """An export of Slack with 200,000 messages is imported beside the server."""
    with running() as server:
        taken = benchmarks.transferring.import_of_slack(server)
    rate = benchmarks.transferring.SLACK_MESSAGES / taken.seconds
    return {"imported messages a second": rate, "import from Slack MiB": taken.mib}


def importing_into_use() -> Figures:
    """Sends of 100 a second while 60,000 messages of Slack come into their organization."""
    with running() as server, server.database() as database:
        found = benchmarks.transferring.import_into_use(server, database)
    figures = milliseconds("send, no import", found.alone)
    for phase, taken in found.beside.items():
        if len(taken) >= 100:
            figures |= milliseconds(f"send beside an import, {phase}", taken)
            figures[f"import into an organization in use, {phase} s"] = found.seconds[phase]
    everything = [each for taken in found.beside.values() for each in taken]
    figures |= milliseconds("send beside an import, all of it", everything)
    ratio = percentile(everything, 0.99) / percentile(found.alone, 0.99)
    rate = benchmarks.transferring.IN_USE_MESSAGES / found.seconds["messages"]
    return figures | {
        "send p99, beside an import / without": ratio,
        "messages a second, into an organization in use": rate,
    }


def holding() -> Figures:
    """200 people wait 95 seconds for one message."""
    with running() as server, server.database() as database:
        held = benchmarks.holding.measure(server, database)
    return {
        "a heartbeat comes after s, at least": min(held.beats),
        "a heartbeat comes after s, at most": max(held.beats),
        "unexpected answers and ends": held.strange,
        **milliseconds("delivery after 95 quiet seconds", held.delivered),
    }


def signing_in() -> Figures:
    """The cost of 4 password sign-ins a second for users who send messages."""
    with running() as server, server.database() as database:
        measured = benchmarks.signing_in.measure(server, database)
    ratio = percentile(measured.beside, 0.99) / percentile(measured.alone, 0.99)
    return {
        **milliseconds("send, without sign-ins", measured.alone),
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


def working() -> Figures:
    """200 people at work: cores of the server and of its database, and what was asked for."""
    with running() as server, server.database() as database:
        worked = benchmarks.working.measure(server, database)
    return {
        "200 at work, cores in all": worked.server_cores + worked.database_cores,
        "200 at work, cores of the server": worked.server_cores,
        "200 at work, cores of the database": worked.database_cores,
        "200 at work, requests in two minutes": worked.asked,
        "200 at work, polls in two minutes": worked.polls,
    }


def webhooks() -> Figures:
    """Deliveries of a push by GitHub to a channel of 1,000, from 16 connections."""
    with running() as server, server.database() as database:
        taken = benchmarks.webhooks.measure(server, database)
    figures: Figures = {}
    for name, found in taken.items():
        count = len(found.taken)
        figures |= milliseconds(f"webhook, {name}", found.taken)
        figures[f"webhook, {name}, a second"] = count / benchmarks.webhooks.SECONDS
        figures[f"webhook, {name}, CPU ms of the server"] = found.cpu_seconds / count * 1000
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


def idling() -> Figures:
    """The memory of an idle installation with RabbitMQ, by part."""
    taken = benchmarks.idling.measure()
    parts = {f"idle, {name}, MiB (PSS)": mib for name, mib in taken.items()}
    ours = taken["the server"] + taken["the worker"]
    return {"idle with RabbitMQ, server and worker, MiB (PSS)": ours} | parts


def after_load() -> Figures:
    """The memory of an embedded server before, at the end of, and a minute after much work."""
    with running() as server:
        with server.database() as database:
            world, channel_id = benchmarks.idling.fill(database)
        taken = uvloop.run(benchmarks.idling.after_load(server, world, channel_id))
    figures: Figures = {}
    for name, (ours, postgres) in taken.items():
        figures[f"memory {name}, MiB (PSS)"] = ours + postgres
        figures[f"memory {name}, of the server"] = ours
        figures[f"memory {name}, of Postgres"] = postgres
    return figures


def web() -> Figures:
    """The browser client's budgets, among 1,000 people, and of typing among 10,000."""
    with running() as server:
        figures = asyncio.run(benchmarks.web.measures.all_of(benchmarks.web.scene.large(server)))
    with running() as server:
        crowded = benchmarks.web.scene.crowded(server)
        return figures | asyncio.run(benchmarks.web.measures.typing_of(crowded))


MEASURES: dict[str, Callable[[], Figures]] = {
    "starts": starts,
    "idling": idling,
    "after-load": after_load,
    "sends": sends,
    "log": log,
    "slow-disk": slow_disk,
    "snapshot": snapshot,
    "delivery": delivery,
    "deliveries": deliveries,
    "marking": marking,
    "queue-memory": queue_memory,
    "waking": waking,
    "slow-sockets": slow_sockets,
    "reconnecting": reconnecting,
    "masses": masses,
    "register": register,
    "narrows": narrows,
    "changing": changing,
    "organization": organization,
    "notifying": notifying,
    "pushing": pushing,
    "processing": processing,
    "presence": presence,
    "transferring": transferring,
    "importing": importing,
    "importing-into-use": importing_into_use,
    "holding": holding,
    "holds": holds,
    "signing-in": signing_in,
    "uploading": uploading,
    "working": working,
    "webhooks": webhooks,
    "web": web,
}
