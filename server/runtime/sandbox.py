"""Sandboxed worker processes for untrusted input, without secrets in their environment."""

import asyncio
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Final

import server
from server.runtime.sandbox_worker import HEADER

ROOT: Final = Path(server.__file__).parents[1]
ENVIRONMENT: Final = {"LC_ALL": "C.UTF-8"}
"""Ours holds the passwords of databases and brokers."""


_FROM_OUTSIDE: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


class WorkerDiedError(Exception):
    """The process has ended before its response."""

    def __init__(self, returncode: int | None = None) -> None:
        super().__init__()
        self.returncode = returncode

    @property
    def is_of_the_request(self) -> bool:
        """Whether the request has ended it: by a limit, or by a fault that it has provoked.

        After an exit by itself, or a kill by the system, a retry may succeed.
        """
        code = self.returncode
        return code is not None and code < 0 and -code not in _FROM_OUTSIDE


class Process:
    """A child process with streams.

    As those of asyncio, but started by `vfork`: uvloop forks, which copies the page tables of this
    process. At 700 MB that takes 75 ms, in which the event loop stands still.
    """

    def __init__(
        self,
        child: "subprocess.Popen[bytes]",
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        output: asyncio.BaseTransport,
    ) -> None:
        self.pid = child.pid
        self.stdin = stdin
        self.stdout = stdout
        self._child = child
        self._output = output
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[int] = self._loop.create_future()
        # Reaps the process whenever it exits.
        Thread(target=self._reap, name=f"wait-{self.pid}", daemon=True).start()

    @property
    def returncode(self) -> int | None:
        """The exit status, negative after a signal; None while it runs."""
        return self._child.returncode

    def kill(self) -> None:
        """Send SIGKILL. Does nothing if the process has exited."""
        self._child.kill()

    async def wait(self) -> int:
        """Wait until the process has exited, close the streams, and return `returncode`."""
        returncode = await asyncio.shield(self._exit)
        self.stdin.close()
        self._output.close()
        return returncode

    def _reap(self) -> None:
        returncode = self._child.wait()
        with suppress(RuntimeError):  # the loop may be closed
            self._loop.call_soon_threadsafe(self._exit.set_result, returncode)


async def start(module: str, *arguments: str, stderr: int | None = None) -> Process:
    """Run the module with pipes for input and output. The caller ends it."""
    child = _spawn([sys.executable, "-m", module, *arguments], stderr)
    loop = asyncio.get_running_loop()
    stdout = asyncio.StreamReader()
    output, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stdout), child.stdout
    )
    # Of its protocol only the flow control is used.
    input_, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), child.stdin
    )
    stdin = asyncio.StreamWriter(input_, protocol, None, loop)
    return Process(child, stdin, stdout, output)


def _spawn(command: list[str], stderr: int | None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=ROOT,
        env=ENVIRONMENT,
        start_new_session=True,
    )


class Worker:
    """A worker process of a module, started at the first request; it handles one at a time.

    Requests and responses are frames of bytes, which the module reads and writes with
    `server/runtime/sandbox_worker.py`. Callers must not send two requests at once.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self.process: Process | None = None
        self.starts = 0

    async def ask(self, request: bytes) -> bytes:
        """Send a request, and return the response. Raises WorkerDiedError.

        Cancellation or any failure ends the process, which may still be working.
        """
        is_done = False
        try:
            with suppress(WorkerDiedError):
                answer = await self._exchange(request)
                is_done = True
                return answer
            # An idle process exits with status 0: not because of this request.
            returncode = None if self.process is None else await self.process.wait()
            if returncode != 0:
                raise WorkerDiedError(returncode)
            answer = await self._exchange(request)
            is_done = True
            return answer
        finally:
            if not is_done:
                await self.end()

    async def end(self) -> None:
        """End the process; the next request starts another."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        # A killed process ends at once, so this wait is never long.
        await asyncio.shield(process.wait())

    async def _exchange(self, request: bytes) -> bytes:
        process = await self._running()
        try:
            process.stdin.write(HEADER.pack(len(request)))
            process.stdin.write(request)  # apart, because to join them copies all of it
            await process.stdin.drain()
            [length] = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
            return await process.stdout.readexactly(length)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise WorkerDiedError from error

    async def _running(self) -> Process:
        if self.process is None or self.process.returncode is not None:
            self.starts += 1
            starting = asyncio.ensure_future(start(self._module))
            try:
                self.process = await asyncio.shield(starting)
            except asyncio.CancelledError:
                # The process is about to exist all the same, and has to be ended.
                self.process = await starting
                raise
        return self.process
