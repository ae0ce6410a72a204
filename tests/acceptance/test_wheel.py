"""A wheel in an empty environment runs every command, without the checkout beside it."""

import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
import pytest

from scripts.cli.main import cli
from testkit.clients.parley_run import Run
from testkit.clients.web_build import BUILD, write_build
from testkit.faults.postgres import PrivatePostgres
from testkit.faults.processes import kill_session, spawn
from testkit.free_ports import free_port
from testkit.sources import ROOT

PATIENCE_SECONDS = 60
PACKAGES = {"server", "queue_processors", "storage", "scripts"}

OF_EXTRAS = {"server.telemetry.otlp": "opentelemetry", "server.telemetry.sentry": "sentry_sdk"}
"""Modules that need an extra, which is not installed here, and what they miss."""

IMPORT_EACH = """
import importlib, json, sys
missed = {}
for name in sys.stdin.read().split():
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missed[name] = error.name
print(json.dumps(missed))
"""
PRINT_HELP = """
import json, sys
from click.testing import CliRunner
from scripts.cli.main import cli

def help_of(command):
    done = CliRunner().invoke(cli, [*command, "--help"], prog_name="parley")
    assert done.exit_code == 0, done.output
    return done.output

print(json.dumps([help_of(command) for command in json.load(sys.stdin)]))
"""


class Installed:
    """An environment with the wheel and what it requires, and a working directory elsewhere."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.wheel = _wheel(directory)
        self.environment = directory / "environment"
        self.python = self.environment / "bin" / "python"
        self.parley = self.environment / "bin" / "parley"
        self.elsewhere = directory / "elsewhere"
        self.elsewhere.mkdir()
        _run(sys.executable, "-m", "venv", "--without-pip", self.environment)
        _install(self.python, self.wheel)

    def variables(self, **settings: str) -> dict[str, str]:
        """Environment variables: none of this process's, but where programs are."""
        return {"PATH": os.defpath, "HOME": str(self.elsewhere), **settings}

    def run(
        self,
        *arguments: str | Path,
        status: int | None = 0,
        settings: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command; its output. Fails if its status is another than the given one."""
        done = subprocess.run(
            [self.parley, *arguments],
            cwd=self.elsewhere,
            env=self.variables(**(settings or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert status is None or done.returncode == status, done.stdout
        return done.stdout

    def execute(self, program: str, stdin: str) -> str:
        """Run a program in Python; what it prints."""
        done = subprocess.run(
            [self.python, "-c", program],
            cwd=self.elsewhere,
            env=self.variables(),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(
        self, *arguments: str | Path, log: Path, **settings: str
    ) -> "subprocess.Popen[bytes]":
        """Start a command that runs until it is stopped."""
        with log.open("ab") as file:
            return spawn(
                [str(self.parley), *map(str, arguments)],
                cwd=self.elsewhere,
                env=self.variables(**settings),
                stdout=file,
                stderr=file,
            )


def _wheel(directory: Path) -> Path:
    """Build it from a copy of what git knows: a build leaves files, and takes those of earlier."""
    source = directory / "source"
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in _run(*listed, directory=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    # Not what this checkout has built, or has not.
    write_build(source / "server" / "web" / "static" / "app")
    built = directory / "wheels"
    _run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", built, source)
    shutil.rmtree(source)
    [wheel] = built.iterdir()
    return wheel


def _install(python: Path, wheel: Path) -> None:
    """Install as scripts/prepare.sh does: uv shares files with its cache where it is there."""
    if importlib.util.find_spec("uv") is None:
        _run(sys.executable, "-m", "pip", "--python", python, "install", wheel)
    else:
        command = (sys.executable, "-m", "uv", "pip", "install", "--system-certs")
        _run(*command, "--python", python, wheel)


def _run(*command: str | Path, directory: Path | None = None) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    # Readable for the user under which the private Postgres runs where this one is root.
    directory = Path(tempfile.mkdtemp(prefix="parley-wheel-"))
    directory.chmod(0o755)
    yield Installed(directory)
    shutil.rmtree(directory)


def commands(group: click.Group, *before: str) -> Iterator[tuple[str, ...]]:
    yield before
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)
        else:
            yield (*before, name)


def listed_in(help_text: str) -> set[str]:
    _, _, listed = help_text.partition("\nCommands:\n")
    return set(re.findall(r"^  ([a-z][a-z-]*)\b", listed, re.MULTILINE))


def test_the_wheel_holds_these_packages_and_each_module_can_be_imported(installed: Installed):
    with zipfile.ZipFile(installed.wheel) as archive:
        files = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in files} == PACKAGES
    app = "server/web/static/app/"
    assert {name.removeprefix(app) for name in files if name.startswith(app)} == set(BUILD)
    modules = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in files
        if name.endswith(".py")
    }
    missed = installed.execute(IMPORT_EACH, "\n".join(sorted(modules)))
    assert json.loads(missed) == OF_EXTRAS


def test_every_command_that_is_listed_has_help(installed: Installed):
    known = sorted(commands(cli))
    printed = json.loads(installed.execute(PRINT_HELP, json.dumps(known)))
    helps = dict(zip(known, printed, strict=True))
    assert listed_in(helps[()]) == listed_in(installed.run("--help"))
    shown = {(*command, name) for command, text in helps.items() for name in listed_in(text)}
    assert {(), *shown} == set(known)


def test_what_a_small_installation_has_backed_up_a_larger_one_serves(
    installed: Installed, data: Path, tmp_path: Path
):
    run = Run(
        data,
        program=(str(installed.parley), "run"),
        environment=installed.variables(),
        cwd=installed.elsewhere,
    )
    sent = run.send(run.login, "kept")
    assert sent["result"] == "success", sent
    backup, export = tmp_path / "parley.backup", tmp_path / "realm.export"
    here = {"PARLEY_DATA": str(data), "PARLEY_PORT": str(run.port)}
    assert json.loads(installed.run("status", "--json", settings=here))["server"]["answers"]
    assert "wrong" not in installed.run("check", settings=here)
    installed.run("backup", backup, settings=here)
    installed.run("export", export, settings=here)
    installed.run("import", "--dry-run", export, settings=here)
    for command in ("audit", "activity", "user list", "queues list", "push credentials"):
        installed.run(*command.split(), settings=here)
    refused = installed.run("ldap", "check", run.owner, status=1, settings=here)
    assert "PARLEY_LDAP_URL" in refused
    assert run.end() == 0

    with private_postgres(installed.directory) as url:
        settings = {
            "DATABASE_URL": url,
            "PARLEY_DATA": str(tmp_path / "served"),
            "PARLEY_PORT": str(free_port()),
            "PARLEY_MAIL_IN_PORT": str(free_port()),
        }
        installed.run("migrate", settings=settings)
        installed.run("restore", "--force", backup, settings=settings)
        with running(installed, tmp_path / "log", **settings):
            run.port = int(settings["PARLEY_PORT"])
            kept = run.ask(run.login, "GET", f"/messages/{sent['id']}")
            assert kept["raw_content"] == "kept", kept


@contextmanager
def private_postgres(directory: Path) -> Iterator[str]:
    """The address of a Postgres that is there for as long as the block."""
    cluster = directory / "cluster"
    cluster.mkdir()
    postgres = PrivatePostgres(cluster)
    try:
        postgres.create()
        asyncio.run(postgres.start())
        yield postgres.url()
    finally:
        postgres.close()


@contextmanager
def running(installed: Installed, log: Path, **settings: str) -> Iterator[None]:
    """A server, a worker and a mail receiver, which the block finds ready and which end well."""
    with ExitStack() as stack:
        processes = [
            installed.start(name, log=log, **settings) for name in ("serve", "worker", "mail-in")
        ]
        for process in processes:
            stack.callback(kill_session, process)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not all_take_part(installed.run("status", "--json", status=None, settings=settings)):
            assert time.monotonic() < deadline, log.read_text()
            assert [process.poll() for process in processes] == [None] * 3, log.read_text()
        yield
        for process in processes:
            process.terminate()
        statuses = [process.wait(PATIENCE_SECONDS) for process in processes]
        assert statuses == [0] * 3, log.read_text()


def all_take_part(status: str) -> bool:
    found = json.loads(status)
    processes = found["processes"] if found["server"]["answers"] else []
    return (
        any(each["serves"] for each in processes)
        and any(each["takes_mail"] for each in processes)
        and any(each["queues"] for each in processes)
    )
