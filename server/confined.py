"""Starts processes of our own that work on what strangers have made, and get nothing else of us."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Final

import server

ROOT: Final = Path(server.__file__).parents[1]
ENVIRONMENT: Final = {"LC_ALL": "C.UTF-8"}
"""Ours holds the passwords of databases and brokers."""


async def start(
    module: str, *arguments: str, stderr: int | None = None
) -> asyncio.subprocess.Process:
    """Run the module with a pipe at either end. It is the caller's to end."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=ROOT,
        env=ENVIRONMENT,
        start_new_session=True,
    )
