"""Processes forked from one that has loaded the server: each start saves what the imports take.

`Popen` takes the place of `subprocess.Popen` for `python -m MODULE ...`. The process is a child of
the caller, as any other is, with the arguments, environment, directory and files that it was given.
What cannot be started so is started as `subprocess` does it, with a new interpreter.
"""

import atexit
import ctypes
import fcntl
import gc
import io
import json
import os
import runpy
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
MODULES: Final = (
    *("aiosmtplib", "cryptography.x509", "httpcore", "jinja2", "pika", "uvloop", "zxcvbn"),
    *("queue_processors.registry", "scripts.cli.process", "server.main", "storage.embedded"),
    *("scripts.cli.first_start", "scripts.cli.run", "scripts.cli.serve", "scripts.cli.worker"),
)
"""Modules that the server's processes load sooner or later."""

HEADER: Final = struct.Struct("!I")
"""Length of the following request, or the process id that answers it."""
MAX_FILES: Final = 64
FIRST_SPARE_FILE: Final = 1_000
"""Files wait above this number for those that they are to have."""

ADOPTION_SECONDS: Final = 60

READ_AT_START: Final = ("PYTHON", "LC_", "LD_", "MALLOC_")
"""How names of variables begin that an interpreter reads when it starts, and never again."""
READ_LATER: Final = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONUNBUFFERED"}

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36


class Popen(subprocess.Popen[Any]):
    """Like `subprocess.Popen`, but forks modules of Python from a process that has loaded them.

    `dying_signal` is sent to the process when the thread ends that has started it.
    """

    def __init__(self, command: Sequence[str], *, dying_signal: int = 0, **options: Any) -> None:
        self._dying_signal = dying_signal
        super().__init__(command, **options)

    # The one hook of CPython between the pipes of a process and its start.
    def _execute_child(
        self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any,
        env: Any, startupinfo: Any, creationflags: Any, shell: Any, *rest: Any,
    ) -> None:  # fmt: skip
        pipes, start_new_session = rest[:6], rest[-2]
        if preexec_fn is not None or not _can_be_forked(args, env):
            if self._dying_signal:
                preexec_fn = _dies_with_its_parent(self._dying_signal)
            super()._execute_child(  # type: ignore[misc]
                args, executable, preexec_fn, close_fds, pass_fds, cwd,
                env, startupinfo, creationflags, shell, *rest,
            )  # fmt: skip
            return
        here = (pipes[0], pipes[3], pipes[5])
        files = {n: n if given == -1 else given for n, given in enumerate(here)}
        files |= {number: number for number in pass_fds}
        self.pid = _fork_server().start(
            {
                "arguments": [os.fspath(each) for each in args[2:]],
                "environment": dict(os.environ if env is None else env),  # noqa: TID251
                "cwd": os.fspath(cwd or Path.cwd()),
                "session": bool(start_new_session),
                "parent": os.getpid(),
                "dying_signal": self._dying_signal,
                "interruptible": signal.getsignal(signal.SIGINT) is not signal.SIG_IGN,
                "files": list(files),
            },
            list(files.values()),
        )
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _can_be_forked(args: Any, env: Mapping[str, str] | None) -> bool:
    """Whether the command is a module, for an interpreter like this one."""
    if not sys.platform.startswith("linux") or isinstance(args, str | os.PathLike):
        return False
    return list(args[:2]) == [sys.executable, "-m"] and not any(
        name.startswith(READ_AT_START) and name not in READ_LATER and os.environ.get(name) != value  # noqa: TID251
        for name, value in (env or {}).items()
    )


def _dies_with_its_parent(number: int) -> Any:
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)

    def ask() -> None:
        library.prctl(PR_SET_PDEATHSIG, number)

    return ask


class _ForkServer:
    """The process that forks, as its client sees it. It ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._library = ctypes.CDLL(None)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "testkit.fork_server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": ""},  # noqa: TID251
            )
        atexit.register(self._close)

    def start(self, request: dict[str, Any], files: list[int]) -> int:
        """Start a process with these files; its id."""
        body = json.dumps(request).encode()
        # An orphaned process is given to its nearest ancestor that is a child subreaper.
        assert self._library.prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
        try:
            socket.send_fds(self._socket, [HEADER.pack(len(body))], files)
            self._socket.sendall(body)
            [process_id] = HEADER.unpack(_received(self._socket, HEADER.size))
        finally:
            self._library.prctl(PR_SET_CHILD_SUBREAPER, 0)
        return int(process_id)

    def _close(self) -> None:
        self._socket.close()
        self._process.wait()


def start() -> None:
    """Start the process that forks, if it does not run."""
    _fork_server()


@cache
def _fork_server() -> _ForkServer:
    return _ForkServer()


def _received(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        more = connection.recv(size - len(content))
        if not more:
            raise EOFError
        content += more
    return content


def serve(connection: socket.socket) -> dict[str, Any]:
    """Fork a process for each request, until the client is gone.

    Returns, in each of these processes, the request.
    """
    gc.disable()
    for module in MODULES:
        import_module(module)
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        head, files, _, _ = socket.recv_fds(connection, HEADER.size, MAX_FILES)
        if not head:
            sys.exit()
        request: dict[str, Any] = json.loads(_received(connection, *HEADER.unpack(head)))
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            process_id = os.fork()
            if process_id == 0:
                # Its number may be that of a file which the process is to have.
                connection.detach()
                _become(request, files)
                return request
            os.write(writing, HEADER.pack(process_id))
            os._exit(0)
        os.waitpid(between, 0)  # after which the process has its parent
        answer = os.read(reading, HEADER.size)
        for number in (reading, writing, *files):
            os.close(number)
        connection.sendall(answer)


def _become(request: dict[str, Any], files: Sequence[int]) -> None:
    """Make this process what a new one would be."""
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, FIRST_SPARE_FILE) for number in files]
    os.closerange(3, FIRST_SPARE_FILE)
    for source, number in zip(moved, request["files"], strict=True):
        os.dup2(source, number, inheritable=True)
        os.close(source)
    deadline = time.monotonic() + ADOPTION_SECONDS
    while os.getppid() != request["parent"]:
        if time.monotonic() > deadline:
            os._exit(1)  # the process that asked for it has ended
        time.sleep(0.001)
    if request["session"]:
        os.setsid()
    if request["dying_signal"]:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, request["dying_signal"])
    if request["interruptible"]:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    os.environ.clear()  # noqa: TID251
    os.environ.update(request["environment"])  # noqa: TID251
    if os.environ.get("PYTHONUNBUFFERED") and isinstance(sys.stdout, io.TextIOWrapper):  # noqa: TID251
        sys.stdout.reconfigure(line_buffering=True)


if __name__ == "__main__":
    [module, *arguments] = serve(socket.socket(fileno=int(sys.argv[1])))["arguments"]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
