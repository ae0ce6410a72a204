"""Run a fault plan: start everything, inject faults under load, drain, check, report."""

import asyncio
import random
import tempfile
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
)
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import uvloop

from storage import migrate
from testkit.faults import world as worlds
from testkit.faults.checker import check
from testkit.faults.clients import Habits, Mover, Pace, Poller, Sender, Surroundings
from testkit.faults.history import Narrow
from testkit.faults.http import InFlight
from testkit.faults.mail import check_mail, mail_server, mailed
from testkit.faults.nemesis import Nemesis
from testkit.faults.oracle import forwarded_writes, read_ledger
from testkit.faults.plan import Plan, Report
from testkit.faults.postgres import PrivatePostgres
from testkit.faults.processes import Servers, Workers
from testkit.faults.proxy import proxy_to
from testkit.faults.pushes import (
    SERVER_ID,
    SERVER_KEY,
    bouncer_server,
    check_pushes,
    give_phones,
    pushed,
)
from testkit.faults.rabbitmq import PrivateRabbit, rabbitmq_script
from testkit.faults.world import EVERYONE, FINISH_TOPIC

T = TypeVar("T", bound=Workers)

ROOT = Path(__file__).parents[2]
START_SECONDS = 30.0

HABITS = (
    Habits(),
    Habits(),
    Habits(pause_seconds=1.0),
    Habits(drops=0.1, forgets=0.1),
    Habits(rivals=0.05),
    Habits(leaves=0.001),
    Habits(all_public=True),
    Habits(narrow=Narrow(EVERYONE, "everyone"), drops=0.05, forgets=0.05),
    Habits(narrow=Narrow(EVERYONE, "everyone", FINISH_TOPIC), rivals=0.05),
    Habits(all_public=True, narrow=Narrow(EVERYONE, "everyone")),
    Habits(pause_seconds=0.3, drops=0.05, forgets=0.05, rivals=0.02),
)


def run(plan: Plan, say: Callable[[str], None] = lambda _: None) -> Report:
    """Do it; everything that it starts has ended when it returns."""
    with tempfile.TemporaryDirectory(prefix="parley-faults-") as name:
        directory = Path(name)
        directory.chmod(0o711)
        return uvloop.run(_run(plan, directory, say))


async def _run(plan: Plan, directory: Path, say: Callable[[str], None]) -> Report:
    report = Report(plan)
    world = worlds.imagine(
        random.Random(f"{plan.seed} world"),
        users=plan.users,
        public=plan.public_channels,
        private=plan.private_channels,
        away=plan.away,
    )
    async with AsyncExitStack() as stack:
        around, nemesis = await begin(stack, plan, directory, world, report)
        started = time.monotonic()
        report.moves = await _live(plan, around, nemesis, say)
        report.seconds = time.monotonic() - started
        if plan.workers:
            sends = report.evidence.sends
            await asyncio.gather(
                mailed(nemesis.mail, world, sends, plan.notices_seconds),
                pushed(nemesis.bouncer, world, sends, plan.notices_seconds),
            )
        await _end(plan, nemesis, world, report)
    return report


async def begin(
    stack: AsyncExitStack, plan: Plan, directory: Path, world: worlds.World, report: Report
) -> tuple[Surroundings, Nemesis]:
    """Start everything, with the world in it; the stack ends it again."""
    postgres = await stack.enter_async_context(_postgres(directory))
    rabbit = await stack.enter_async_context(_rabbit(plan, directory))
    await asyncio.to_thread(_prepare, plan, postgres.url(), world)
    database_proxy = await stack.enter_async_context(proxy_to(postgres.port))
    mail = await stack.enter_async_context(mail_server())
    bouncer = await stack.enter_async_context(bouncer_server())
    environment = _environment(
        directory,
        postgres.url(database_proxy.port),
        rabbit.url if rabbit else plan.amqp_url,
        PARLEY_SMTP_PORT=str(mail.port),
        PARLEY_PUSH_BOUNCER_URL=f"http://127.0.0.1:{bouncer.port}",
        **plan.settings,
    )
    servers = stack.enter_context(
        _kept(
            Servers(plan.serve, environment, plan.processes, directory / "servers.log", plan.spared)
        )
    )
    workers = stack.enter_context(
        _kept(Workers(plan.work, environment, plan.workers, directory / "workers.log", plan.spared))
    )
    client_proxy = await stack.enter_async_context(proxy_to(servers.port))
    pace = Pace(plan.think_seconds)
    around = Surroundings(
        world,
        pace,
        (servers.port, client_proxy.port),
        InFlight(),
        report.evidence,
        plan.seed,
    )
    nemesis = Nemesis(
        servers=servers,
        workers=workers,
        mail=mail,
        bouncer=bouncer,
        postgres=postgres,
        rabbit=rabbit,
        client_proxy=client_proxy,
        database_proxy=database_proxy,
        pace=pace,
        in_flight=around.in_flight,
        evidence=report.evidence,
        rng=random.Random(f"{plan.seed} nemesis"),
        tally=report.tally,
    )
    return around, nemesis


async def _end(plan: Plan, nemesis: Nemesis, world: worlds.World, report: Report) -> None:
    """Drain the processes, and compare what was seen and mailed with what the database holds."""
    servers, workers, mail = nemesis.servers, nemesis.workers, nemesis.mail
    report.starts = servers.starts + workers.starts
    report.notices = mail.tally + nemesis.bouncer.tally
    report.forwarded = await asyncio.to_thread(forwarded_writes, nemesis.postgres.url())
    if not (await servers.stop() and await workers.stop()):
        report.evidence.violation("not all processes drained in the end")
    ledger = await asyncio.to_thread(read_ledger, nemesis.postgres.url())
    report.commits = ledger.position
    report.violations = await asyncio.to_thread(check, world, ledger, report.evidence)
    report.violations += check_mail(world, ledger, mail.held)
    report.violations += check_pushes(world, ledger, nemesis.bouncer.held)
    if plan.keep_log is not None:
        plan.keep_log.write_bytes(servers.log.read_bytes() + workers.log.read_bytes())


async def _live(
    plan: Plan, around: Surroundings, nemesis: Nemesis, say: Callable[[str], None]
) -> int:
    """Run the clients and the nemesis; how many moves there were."""
    world, pace, evidence = around.world, around.pace, around.evidence
    pollers = [
        Poller(around, world.present[n % plan.users], HABITS[n % len(HABITS)], f"poller {n}")
        for n in range(plan.queues)
    ]
    senders = [Sender(around, user) for user in world.present[: plan.senders]]
    movers = [Mover(around, world.users[0], n) for n in range(plan.movers)]
    writers: list[Sender | Mover] = [*senders, *movers]
    polling = together(poller.run() for poller in pollers)
    writing = together(writer.run() for writer in writers)
    breaking = together([_break(plan, nemesis)])
    reporting = asyncio.create_task(_report(plan, nemesis, say))
    respawning = asyncio.gather(nemesis.servers.keep_running(), nemesis.workers.keep_running())
    try:
        await until_done(breaking, polling, writing)
        pace.stop()
        async with asyncio.timeout(plan.drain_seconds):
            await until_done(writing, polling)
            await Sender(around, world.users[0]).finish()
            await polling
    except TimeoutError:
        unfinished = [p for p in pollers if p.queue is None or not p.queue.is_finished]
        evidence.violation(
            f"{len(unfinished)} clients did not see the end within {plan.drain_seconds:.0f} s"
        )
    finally:
        tasks = (breaking, polling, writing, reporting, respawning)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        around.hang_up()
    return sum(mover.moves for mover in movers)


def together(coroutines: Iterable[Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
    """Run them all; the task fails, and the others end, if one does."""

    async def all_of_them() -> None:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)

    return asyncio.create_task(all_of_them())


async def until_done(wanted: asyncio.Task[None], *others: asyncio.Task[None]) -> None:
    """Wait for the first of them; raises what any of them raises meanwhile."""
    await asyncio.wait([wanted, *others], return_when=asyncio.FIRST_COMPLETED)
    for task in (wanted, *others):
        if task.done():
            task.result()
    await wanted


async def _break(plan: Plan, nemesis: Nemesis) -> None:
    try:
        async with asyncio.timeout(START_SECONDS):
            await nemesis.sends_accepted()
    except TimeoutError:
        raise RuntimeError(f"no server answered: {nemesis.servers.last_words()}") from None
    faults = nemesis.shuffled(int(plan.seconds)) if plan.faults is None else plan.faults
    if faults:
        await nemesis.run(faults, plan.seconds, plan.pause_seconds)
    else:
        await asyncio.sleep(plan.seconds)


async def _report(plan: Plan, nemesis: Nemesis, say: Callable[[str], None]) -> None:
    """Say from time to time how it goes."""
    evidence = nemesis.evidence
    started = time.monotonic()
    while True:
        await asyncio.sleep(plan.report_seconds)
        say(
            f"{time.monotonic() - started:6.0f} s: {nemesis.tally.all.total()} faults"
            f" ({nemesis.tally.counted.total()} counted), {evidence.accepted} sends,"
            f" {evidence.events} events, {len(evidence.violations)} violations so far"
        )


def _prepare(plan: Plan, url: str, world: worlds.World) -> None:
    migrate.migrate(url)
    worlds.create(url, world)
    give_phones(url, world)
    if plan.sabotage is not None:
        with psycopg.connect(url, autocommit=True) as database:
            plan.sabotage(database)


def _environment(
    directory: Path, database_url: str, amqp_url: str | None, **more: str
) -> dict[str, str]:
    found = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "DATABASE_URL": database_url,
        "PARLEY_RATE_LIMITS": "off",
        "PARLEY_DATA": str(directory),
        "PARLEY_LOG_FORMAT": "json",
        "PARLEY_LOG_LEVEL": "warning",
        "PARLEY_SMTP_HOST": "127.0.0.1",
        "PARLEY_SMTP_SECURITY": "none",
        "PARLEY_PUSH_SERVER_ID": SERVER_ID,
        "PARLEY_PUSH_SERVER_KEY": SERVER_KEY,
        **more,
    }
    return found if amqp_url is None else found | {"AMQP_URL": amqp_url}


@asynccontextmanager
async def _postgres(directory: Path) -> AsyncIterator[PrivatePostgres]:
    postgres = PrivatePostgres(directory)
    try:
        await asyncio.to_thread(postgres.create)
        await postgres.start()
        yield postgres
    finally:
        postgres.close()


@asynccontextmanager
async def _rabbit(plan: Plan, directory: Path) -> AsyncIterator[PrivateRabbit | None]:
    if plan.bus != "rabbitmq" or plan.amqp_url is not None:
        yield None
        return
    script = rabbitmq_script()
    if script is None:
        raise FileNotFoundError("RabbitMQ is not installed: choose the Postgres bus.")
    rabbit = PrivateRabbit(directory, script)
    try:
        await rabbit.start()
        yield rabbit
    finally:
        rabbit.close()


@contextmanager
def _kept(processes: T) -> Iterator[T]:
    """The processes, started; they have ended when the block has."""
    try:
        processes.start_missing()
        yield processes
    finally:
        processes.close()
