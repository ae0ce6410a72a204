"""`parley faults`: break everything on purpose, and prove that nothing was lost."""

import sys
from pathlib import Path
from typing import Final, Literal

import click

from scripts.cli.failures import Failure

CHECKOUT: Final = Path(__file__).parents[2]


@click.command()
@click.option("--minutes", type=float, default=1.0, show_default=True, help="How long.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which faults, and when.")
@click.option(
    "--bus",
    type=click.Choice(["postgres", "rabbitmq"]),
    default="rabbitmq",
    show_default=True,
    help="What carries events between server processes.",
)
@click.option("--processes", type=int, default=3, show_default=True, help="Server processes.")
@click.option("--queues", type=int, default=80, show_default=True, help="Event queues.")
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to leave what the server processes have logged.",
)
def faults(
    *,
    minutes: float,
    seed: int,
    bus: Literal["postgres", "rabbitmq"],
    processes: int,
    queues: int,
    log: Path | None,
) -> None:
    """Prove that no kill loses, doubles or reorders anything.

    Starts a Postgres, a RabbitMQ, a mail server, a bouncer, server processes and workers of its
    own, lets clients send and poll, and kills, stops, restarts and cuts everything meanwhile. In
    the end it compares what each client saw with what the log says it must have seen, and what was
    mailed and pushed to people who were away with what they missed. Fails if there is any
    difference.
    """
    # An installation maps packages one by one, and `benchmarks` is none that is installed.
    sys.path.append(str(CHECKOUT))
    try:
        from benchmarks.faults.plan import Plan
        from benchmarks.faults.run import run
    except ModuleNotFoundError as missing:
        raise Failure("`parley faults` needs the source: run it in a checkout.") from missing
    plan = Plan(
        seconds=minutes * 60, seed=seed, bus=bus, processes=processes, queues=queues, keep_log=log
    )
    try:
        report = run(plan, click.echo)
    except FileNotFoundError as missing:
        raise Failure(str(missing)) from missing
    for line in report.lines():
        click.echo(line)
    if report.violations:
        sys.exit(1)
