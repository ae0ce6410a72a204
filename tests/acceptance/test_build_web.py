"""`./scripts/build-web`, run several times at once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "build-web"
TOOLS = ("cat", "cksum", "dirname", "find", "mkdir", "rm", "sh", "sort")

NPM = """#!/bin/sh
# An npm whose build takes until the named pipe $PIPE was opened and closed.
case "$*" in
    ci*) mkdir -p node_modules ;;
    *build)
        echo built >>"{log}"
        mkdir -p ../server/web/static/app
        cat "$PIPE"
        ;;
esac
"""


class Checkout:
    """The script with sources to build, and tools that stand for Node.js."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "a checkout"
        self.log = directory / "log"
        self._pipes = directory / "pipes"
        self._pipes.mkdir()
        self._path = directory / "bin"
        for each in ("scripts", "web/src", "web/build", "web/locales", ".venv/bin"):
            (self.root / each).mkdir(parents=True)
        for each in ("package.json", "package-lock.json", "vite.config.ts", "src/main.tsx"):
            (self.root / "web" / each).write_text(each)
        shutil.copy(SCRIPT, self.root / "scripts")
        (self.root / ".venv" / "bin" / "python").symlink_to(sys.executable)
        self._path.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found
            (self._path / tool).symlink_to(found)
        for name, text in (
            ("node", "#!/bin/sh\n"),
            ("npm", NPM.format(log=self.log)),
        ):
            (self._path / name).write_text(text)
            (self._path / name).chmod(0o755)

    @contextmanager
    def building(self) -> Iterator["Build"]:
        """Start the script; it is killed at the end if it runs then."""
        pipe = self._pipes / str(len(list(self._pipes.iterdir())))
        os.mkfifo(pipe)
        with subprocess.Popen(
            [self.root / "scripts" / "build-web"],
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": str(self._path), "PIPE": str(pipe)},
        ) as process:
            try:
                yield Build(process, pipe)
            finally:
                process.kill()

    def builds(self) -> int:
        return len(self.log.read_text().splitlines())


@dataclass(frozen=True)
class Build:
    """A run of the script."""

    process: "subprocess.Popen[str]"
    pipe: Path

    def line(self) -> str:
        """Wait for the next line that it prints."""
        assert self.process.stderr
        return self.process.stderr.readline()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait until npm builds, and let it go on at the end."""
        with self.pipe.open("w"):
            yield


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_second_build_waits_for_the_first_and_finds_it_built(checkout: Checkout):
    with checkout.building() as first, ExitStack() as stack:
        with first.held():
            second = stack.enter_context(checkout.building())
            assert "Waiting for another build" in second.line()
        assert first.process.wait() == second.process.wait() == 0
    assert checkout.builds() == 1


def test_a_build_that_was_killed_holds_up_no_other(checkout: Checkout):
    with checkout.building() as killed, killed.held():
        killed.process.kill()
        killed.process.wait()
    with checkout.building() as second:
        with second.held():
            pass
        assert second.process.wait() == 0
    assert checkout.builds() == 2


def test_what_was_changed_is_built_again(checkout: Checkout):
    for text in ("one", "two"):
        (checkout.root / "web" / "src" / "main.tsx").write_text(text)
        with checkout.building() as build:
            with build.held():
                pass
            assert build.process.wait() == 0
    with checkout.building() as build:
        assert build.process.wait() == 0
    assert checkout.builds() == 2
