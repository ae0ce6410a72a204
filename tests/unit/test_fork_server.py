"""Processes that are forked get the files that they are given, whatever their numbers."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from testkit import fork_server


def number_of_its_connection() -> int:
    """The number that the connection to this process has in the process that forks."""
    fork_server.start()
    commands = (child.cmdline() for child in psutil.Process().children())
    return next(int(command[-1]) for command in commands if "testkit.fork_server" in command)


def test_a_file_may_have_any_number():
    number = number_of_its_connection()
    reading, writing = os.pipe()
    kept = os.dup(number) if number in {reading, writing} or _is_open(number) else None
    os.dup2(writing, number)
    try:
        # `http.server` keeps running, and with it its end of the pipe.
        process = fork_server.Popen(
            [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[number],
        )
        try:
            deadline = time.monotonic() + 60
            while not _is_serving(process.pid):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert str(_file(process.pid, number).readlink()).startswith("pipe:")
        finally:
            process.kill()
            process.wait()
    finally:
        if kept is None:
            os.close(number)
        else:
            os.dup2(kept, number)
            os.close(kept)
        for each in {reading, writing} - {number}:
            os.close(each)


def _is_open(number: int) -> bool:
    return _file(os.getpid(), number).exists()


def _file(process_id: int, number: int) -> Path:
    return Path(f"/proc/{process_id}/fd/{number}")


def _is_serving(process_id: int) -> bool:
    return any(each.status == "LISTEN" for each in psutil.Process(process_id).net_connections())
