"""A command that starts the private Postgres is told to stop: nothing runs on, nothing is half."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.embedded import running_url
from storage.embedded.pid_file import read_postmaster
from testkit import fork_server
from tests.acceptance.test_operations import PARLEY, environment

INTERRUPTED = 130
PATIENCE_SECONDS = 60
CREATE = (
    *("realm", "create", "--name", "Example", "--owner-email", "olivia@example.com"),
    *("--owner-name", "Olivia"),
)


def is_made(data: Path) -> bool:
    return any(data.glob("unfinished-*"))


def is_starting(data: Path) -> bool:
    return read_postmaster(data / "postgres") is not None


def is_ready(data: Path) -> bool:
    return running_url(data) is not None


def begin(
    data: Path, *arguments: str, at_ctrl_c: signal.Handlers = signal.SIG_DFL
) -> "subprocess.Popen[str]":
    """Start the command as a shell in a terminal does, wherever the tests themselves run."""
    before = signal.signal(signal.SIGINT, at_ctrl_c)
    try:
        return fork_server.Popen(
            [*PARLEY, *arguments, "--data", str(data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for(moment: Callable[[Path], bool], data: Path, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment(data):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("moment", [is_made, is_starting, is_ready])
def test_nothing_is_left_behind(data: Path, number: signal.Signals, moment: Callable[[Path], bool]):
    process = begin(data, *CREATE)
    wait_for(moment, data, process)
    postmaster = read_postmaster(data / "postgres")
    process.send_signal(number)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert (process.returncode, "Traceback" in out + err) == (INTERRUPTED, False), err
    assert postmaster is None or not postmaster.is_alive()
    assert read_postmaster(data / "postgres") is None
    again = begin(data, *CREATE)
    out, err = again.communicate(timeout=PATIENCE_SECONDS)
    assert again.returncode == 0, err
    assert list(data.glob("unfinished-*")) == []


def test_a_job_in_the_background_of_a_script_is_stopped_too(data: Path):
    """The shell ignores Ctrl-C there: that is for the person who runs the script."""
    process = begin(data, *CREATE, at_ctrl_c=signal.SIG_IGN)
    wait_for(is_starting, data, process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == INTERRUPTED, err
    assert read_postmaster(data / "postgres") is None
