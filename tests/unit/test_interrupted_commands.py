"""Signals to a command that cleans up before it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = """
import os, signal, sys
from scripts.cli.signals import in_peace, interrupted_once

def signalled(name):
    os.kill(os.getpid(), getattr(signal, name))

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with interrupted_once():
        {block}
except KeyboardInterrupt:
    print("interrupted", flush=True)
{then}
print("ended", flush=True)
"""


def run(block: str, then: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(block=block, then=then)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.split()


@pytest.mark.parametrize("first", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("later", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_after_the_interruption_changes_nothing(first: str, later: str):
    assert run(f"signalled({first!r})", f"signalled({later!r})") == (0, ["interrupted", "ended"])


def test_a_block_that_ends_by_itself_leaves_signals_as_they_were():
    assert run("in_peace()", "signalled('SIGTERM')") == (-15, [])
