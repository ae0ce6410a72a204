"""`parley leaks`: prove that nobody sees more than they may, or less."""

import secrets
import sys

import click

from scripts.cli.failures import Failure
from scripts.cli.faults import CHECKOUT


@click.command()
@click.option("--checks", type=int, default=100_000, show_default=True, help="At least so many.")
@click.option("--seed", type=int, help="Which histories; a random one if left out.")
@click.option("--operations", type=int, default=200, show_default=True, help="A history's length.")
def leaks(*, checks: int, seed: int | None, operations: int) -> None:
    """Prove that nobody sees what they may not, or misses what they may.

    Starts a Postgres and a server of its own, and lets the people of two organizations send,
    join, leave and change things at random. A model that shares no code with the server says who
    may see each message and event; everything that the server shows is compared with it. Fails
    if there is any difference, and shows the shortest history that leads to it.
    """
    # An installation maps packages one by one, and `benchmarks` is none that is installed.
    sys.path.append(str(CHECKOUT))
    try:
        from benchmarks.leaks.run import Plan, run_alone
    except ModuleNotFoundError as missing:
        raise Failure("`parley leaks` needs the source: run it in a checkout.") from missing
    seed = secrets.randbelow(10**9) if seed is None else seed
    plan = Plan(checks=checks, seed=seed, operations=operations)
    report = run_alone(plan, click.echo)
    for line in report.lines():
        click.echo(line)
    if report.failure is not None:
        sys.exit(1)
