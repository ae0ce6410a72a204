"""The browser client's model as a process, which is given what the server sends."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

WEB = Path(__file__).parents[1] / "web"
BUILD_SECONDS = 300


class WebModel:
    """Models of the browser client, one for each client's name."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in: IO[str] = process.stdin
        self._out: IO[str] = process.stdout
        self.registration: dict[str, Any] = self._read()
        """The parameters with which the client registers."""

    def register(self, client: str, registered: dict[str, Any]) -> None:
        """Make a model of a response of register."""
        self._write(client=client, registered=registered)

    def take(self, client: str, fetched: dict[str, Any]) -> bool:
        """Give messages that were asked for beside register; return whether they are of use."""
        self._write(client=client, fetched=fetched)
        return bool(self._read()["isOfUse"])

    def apply(self, client: str, events: Sequence[dict[str, Any]]) -> None:
        """Apply a batch of events."""
        self._write(client=client, events=events)

    def state(self, client: str) -> dict[str, Any]:
        """Return what the model holds."""
        self._write(client=client, show=True)
        return self._read()

    def _write(self, **line: Any) -> None:
        self._in.write(json.dumps(line) + "\n")
        self._in.flush()

    def _read(self) -> dict[str, Any]:
        line = self._out.readline()
        assert line, "the model has failed: see its traceback above"
        return dict(json.loads(line))


@contextmanager
def web_model(directory: Path) -> Iterator[WebModel]:
    """Bundle and run the model; `directory` is for the bundle."""
    _install()
    bundle = directory / "model-process.mjs"
    rolldown = WEB / "node_modules" / ".bin" / "rolldown"
    subprocess.run(
        [rolldown, "tests/model-process.ts", "--platform", "node", "--file", bundle],
        cwd=WEB,
        check=True,
        capture_output=True,
        timeout=BUILD_SECONDS,
    )
    with subprocess.Popen(
        ["node", bundle], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield WebModel(process)
        finally:
            process.kill()


def _install() -> None:
    """Install what the client is built with, unless it is there."""
    if (WEB / "node_modules" / ".package-lock.json").exists():
        return
    npm = shutil.which("npm")
    assert npm is not None, "the browser client is built with npm"
    subprocess.run([npm, "ci"], cwd=WEB, check=True, capture_output=True, timeout=BUILD_SECONDS)
