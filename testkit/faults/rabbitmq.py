"""A private RabbitMQ node that can be killed and paused."""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

from testkit.faults.processes import kill_session, spawn
from testkit.free_ports import free_port

READY_SECONDS = 90.0
SCRIPTS = (
    Path("/usr/lib/rabbitmq/bin/rabbitmq-server"),
    Path("/opt/homebrew/sbin/rabbitmq-server"),
    Path("/usr/local/sbin/rabbitmq-server"),
)
CONFIRM_MILLISECONDS = 10_000
"""After that a queue hands on anew what no other has confirmed: delayed jobs, after a kill. By
itself a broker waits for three minutes."""
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"


def rabbitmq_script() -> Path | None:
    """The program that starts a broker, where RabbitMQ is installed."""
    return next((script for script in SCRIPTS if script.exists()), None)


class PrivateRabbit:
    """One broker with its own node name, ports and directories; Erlang's port mapper is shared."""

    def __init__(self, directory: Path, script: Path) -> None:
        self._directory = directory / "rabbitmq"
        self._script = script
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self._distribution_port = free_port()
        self.is_stopped = False

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/%2F"

    async def start(self) -> None:
        """Start it, and wait until it speaks AMQP."""
        self._launch()
        assert self._process is not None
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if await self._answers():
                return
            if self._process.poll() is not None:
                self._launch()
            await asyncio.sleep(0.2)
        raise TimeoutError("the private RabbitMQ does not start")

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._process is not None:
            kill_session(self._process)
            self._process = None

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    async def _answers(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            writer.write(PROTOCOL_HEADER)
            async with asyncio.timeout(2):
                return bool(await reader.read(1))
        except (OSError, TimeoutError):
            return False
        finally:
            writer.transport.abort()

    def _launch(self) -> None:
        home = self._directory
        home.mkdir(exist_ok=True)
        for name in ("plugins", "environment"):
            (home / name).write_text("[]." if name == "plugins" else "")
        (home / "rabbitmq.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{self.port}\n")
        node = f"parley_faults_{os.getpid()}_{self.port}@localhost"
        environment = {
            "PATH": "/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin:/sbin:/bin",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_CRASH_DUMP_SECONDS": "0",
            "RABBITMQ_CONF_ENV_FILE": str(home / "environment"),
            "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_NODENAME": node,
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
            "RABBITMQ_LOG_BASE": str(home / "log"),
            "RABBITMQ_PID_FILE": str(home / "pid"),
            # Two schedulers that do not spin: the machine has other work to do.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"
            " -kernel inet_dist_use_interface {127,0,0,1}"
            f" -rabbit dead_letter_worker_publisher_confirm_timeout {CONFIRM_MILLISECONDS}",
        }
        with (home / "output").open("ab") as output:
            self._process = spawn(
                [str(self._script)],
                dying_signal=signal.SIGTERM,  # it stops the broker, which is a process of its own
                env=environment,
                stdout=output,
                stderr=output,
            )
