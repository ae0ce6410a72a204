"""Commands of the operator, run as processes of their own."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from testkit.faults.plan import SERVE


class Output(NamedTuple):
    """What a command has printed, errors included, and its status."""

    text: str
    status: int


async def output(environment: Mapping[str, str], *arguments: str) -> Output:
    """Run `parley` with these arguments."""
    process = await asyncio.create_subprocess_exec(
        *SERVE[:-1],
        *arguments,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        printed, _ = await process.communicate()
    except asyncio.CancelledError:
        process.terminate()
        raise
    return Output(printed.decode(errors="replace"), process.returncode or 0)
