"""Commands of `parley` run within the process of the test."""

import asyncio
import os
from pathlib import Path

from click.testing import CliRunner, Result

from scripts.cli.main import cli
from testkit.clients.server import ROOT_DOMAIN, Server


def parley(*arguments: str | Path, **settings: str) -> Result:
    """Run a command in this process, with only these settings in its environment."""
    unset = {name: None for name in os.environ if "PARLEY" in name}  # noqa: TID251
    words = [str(argument) for argument in arguments]
    environment = {**unset, "PARLEY_DATA": "/nonexistent/parley", **settings}
    return CliRunner().invoke(cli, words, env=environment, prog_name="parley")


def refusal(*arguments: str | Path, **settings: str) -> str:
    """Run a command that must fail; its error message."""
    done = parley(*arguments, **settings)
    assert done.exit_code == 1, done.output
    return done.stderr


async def run(server: Server, *arguments: str | Path, **settings: str) -> str:
    """A command beside the server, which must succeed; what it says."""
    here = {
        "DATABASE_URL": server.app.settings.database_url or "",
        "PARLEY_DATA": str(server.app.settings.data_directory),
        "PARLEY_ROOT_DOMAIN": ROOT_DOMAIN,
        **settings,
    }
    done = await asyncio.to_thread(parley, *arguments, **here)
    assert done.exit_code == 0, done.output
    return done.stdout
