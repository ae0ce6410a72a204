"""`./scripts/run` on a machine with nothing but Python: installs once, and says what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TOOLS = ("cat", "chmod", "cksum", "cp", "dirname", "id", "mkdir", "mktemp", "rm", "sh", "tail")

PYTHON = """#!/bin/sh
# A Python that makes virtual environments and installs as quickly as a test wants it.
echo "$*" >>"{log}"
case "$*" in
    *"{broken}"*) exit 1 ;;
    "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip config list") echo "{configured}" ;;
    "-m pip install "*uv==*) ;;
    "-m pip install "* | "-m uv pip install "*)
        here=$(dirname "$0")
        printf '#!/bin/sh\\nprintf "<%%s>" "$@"\\n' >"$here/parley" && chmod +x "$here/parley"
        ;;
    "-m pip "*) ;;
    *) exec "{python}" "$@" ;;
esac
"""


class Machine:
    """A checkout, and a PATH with a few tools and perhaps a Python."""

    def __init__(self, directory: Path) -> None:
        self.checkout = directory / "a checkout"
        self.path = directory / "bin"
        self.log = directory / "log"
        (self.checkout / "scripts").mkdir(parents=True)
        self.path.mkdir()
        for name in ("run", "prepare.sh"):
            shutil.copy(ROOT / "scripts" / name, self.checkout / "scripts" / name)
        shutil.copy(ROOT / "setup.cfg", self.checkout)
        self.let_build("")
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found
            (self.path / tool).symlink_to(found)

    def let_build(self, script: str) -> None:
        """Let the build of the browser client be this script."""
        build = self.checkout / "scripts" / "build-web"
        build.write_text(f"#!/bin/sh\n{script}\n")
        build.chmod(0o755)

    def install_python(self, broken: str = "nothing is broken", configured: str = "") -> None:
        text = PYTHON.format(
            log=self.log, broken=broken, configured=configured, python=sys.executable
        )
        (self.path / "python3").write_text(text)
        (self.path / "python3").chmod(0o755)

    def install(self, program: str) -> None:
        (self.path / program).write_text("#!/bin/sh\n")
        (self.path / program).chmod(0o755)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.checkout / "scripts" / "run", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={"PATH": str(self.path), "HOME": "/nonexistent"},
        )

    def installations(self) -> list[str]:
        """What has installed the server, each time."""
        told = self.log.read_text().splitlines()
        return [line.split()[1] for line in told if " -e " in line]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_installs_once_and_passes_its_arguments_on(machine: Machine):
    machine.install_python()

    first = machine.run("--port", "1", "two words")
    second = machine.run("--data", "/x")

    assert first.stdout == "<run><--port><1><two words>"
    assert "Installing into" in first.stderr
    assert second.stdout == "<run><--data></x>"
    assert second.stderr == ""
    assert machine.installations() == ["uv"]


def test_it_starts_without_a_browser_client_that_cannot_be_built(machine: Machine):
    machine.install_python()
    machine.let_build("exit 1")

    started = machine.run()

    assert started.stdout == "<run>"
    assert "parley: starting without the browser client." in started.stderr


def test_it_installs_again_when_something_else_is_needed(machine: Machine):
    machine.install_python()
    machine.run()
    with (machine.checkout / "setup.cfg").open("a") as setup:
        setup.write("# another library\n")

    assert machine.run().stdout == "<run>"
    assert machine.installations() == ["uv", "uv"]


def test_it_installs_again_where_the_checkout_was_moved(machine: Machine):
    machine.install_python()
    machine.run()
    machine.checkout = machine.checkout.rename(machine.checkout.with_name("elsewhere"))

    assert machine.run().stdout == "<run>"
    assert machine.installations() == ["uv", "uv"]


def test_a_failed_installation_is_tried_again(machine: Machine):
    machine.install_python(broken="pip install")

    failed = machine.run()
    assert failed.returncode == 1
    assert "parley: The installation failed" in failed.stderr
    shutil.rmtree(machine.checkout / ".venv")
    machine.install_python()

    assert machine.run().stdout == "<run>"


@pytest.mark.parametrize("broken", ["uv pip install", "uv=="])
def test_where_uv_does_not_get_on_pip_does_it(machine: Machine, broken: str):
    machine.install_python(broken=broken)

    assert machine.run().stdout == "<run>"
    assert machine.installations()[-1] == "pip"


@pytest.mark.parametrize("setting", ["global.index-url='https://x/'", ":env:.no-index='1'"])
def test_an_index_that_pip_was_told_of_is_asked_and_no_other(machine: Machine, setting: str):
    machine.install_python(configured=setting)

    assert machine.run().stdout == "<run>"
    assert machine.installations() == ["pip"]
    assert "uv" not in machine.log.read_text()


def test_a_machine_without_python_is_told(machine: Machine):
    assert machine.run().stderr == (
        "parley: Python 3.11 or newer is needed, and there is none here.\n"
    )
    machine.install_python(broken="version_info < (3, 11)")
    assert "Python 3.11 or newer is needed" in machine.run().stderr


def test_a_python_without_venv_is_told_the_one_command(machine: Machine):
    machine.install_python(broken="import ensurepip, venv")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"

    assert "venv and ensurepip are missing" in machine.run().stderr
    machine.install("apt-get")
    sudo = "" if os.geteuid() == 0 else "sudo "
    assert machine.run().stderr == (
        "parley: Python's venv module is missing."
        f" Run: {sudo}apt-get install -y python{version}-venv\n"
    )
