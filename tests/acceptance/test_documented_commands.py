"""The commands of the documentation, pasted into a shell beside a running server."""

import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from storage.embedded import embedded_postgres
from testkit.clients.parley_run import ROOT, Run, started
from testkit.documented_commands import shell_blocks
from testkit.free_ports import free_port
from testkit.images import picture

SECONDS: Final = 120
PYTHON: Final = """#!/bin/sh
# `python3 -m venv DIR` at once: the packages of the tests are there already.
[ "$1" = - ] && exec "{python}" "$@"
mkdir -p "$3/bin"
printf '#!/bin/sh\\nexec "{python}" "$@"\\n' >"$3/bin/python"
printf '#!/bin/sh\\n' >"$3/bin/pip"
chmod +x "$3/bin/python" "$3/bin/pip"
"""


class Shell:
    """A shell of a user with a checkout in the current directory, and `parley` on the PATH."""

    def __init__(self, directory: Path) -> None:
        self.cwd = directory / "checkout"
        self.home = directory / "home"
        programs = directory / "bin"
        for folder in (self.cwd, self.home, programs):
            folder.mkdir()
        for name in ("scripts", "docs", "server", "storage", "queue_processors", "setup.cfg"):
            (self.cwd / name).symlink_to(ROOT / name)
        (self.cwd / ".venv" / "bin").mkdir(parents=True)
        parley = f'#!/bin/sh\nexec "{sys.executable}" -m scripts.cli.main "$@"\n'
        self._program(self.cwd / ".venv" / "bin" / "parley", parley)
        self._program(programs / "parley", parley)
        self._program(programs / "id", "#!/bin/sh\necho 1000\n")
        self._program(programs / "python3", PYTHON.format(python=sys.executable))
        self.environment = {
            **os.environ,  # noqa: TID251 - as from a shell
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(directory / "state"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "PATH": f"{programs}:{os.environ['PATH']}",  # noqa: TID251
            "PYTHONPATH": str(ROOT),
        }

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *scripts: str, **environment: str) -> str:
        """Run scripts in one shell, which ends at the first failure; what it has printed."""
        done = subprocess.run(
            ["sh", "-e", "-c", "\n".join(scripts)],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.cwd,
            env={**self.environment, **environment},
            timeout=SECONDS,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def serve(self, script: str, ready: str, **environment: str) -> None:
        """Run a script that ends with a server, until that answers, and stop it."""
        before, _, last = script.rstrip().rpartition("\n")
        process = subprocess.Popen(
            ["sh", "-e", "-c", f"{before}\n{with_exec(last)}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.cwd,
            env={**self.environment, **environment},
        )
        started.append(process)
        deadline = time.monotonic() + SECONDS
        while not answers(ready):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)  # a process of its own: nothing else says that it is ready
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=SECONDS)[0]
        assert process.returncode == 0, output


def with_exec(command: str) -> str:
    """So that signals reach the server; assignments come first."""
    return re.sub(r"^((?:\w+=\S+ )*)", r"\1exec ", command)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except urllib.error.HTTPError:
        return False
    except OSError:
        return False


@pytest.fixture
def shell(data: Path) -> Iterator[Shell]:
    """Beside the data: that folder has a short name, and goes at the end."""
    yield Shell(data.parent)
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.communicate()


@pytest.fixture
def run(data: Path, shell: Shell) -> Iterator[Run]:
    # So that services of bots may be programs of the test.
    run = Run(data, environment={**shell.environment, "PARLEY_EGRESS_ALLOW": "127.0.0.1"})
    share = shell.home / ".local" / "share"
    share.mkdir(parents=True)
    (share / "parley").symlink_to(data)
    shutil.copy(data / "zuliprc", shell.home / "zuliprc")
    yield run
    if run.process.poll() is None:
        assert run.end() == 0


def blocks_with(document: str, *texts: str) -> list[str]:
    """The shell block of a document that holds each text."""
    found = []
    for text in texts:
        [block] = [block for block in shell_blocks(document) if text in block]
        found.append(block)
    return found


def test_clients_are_connected_as_the_readme_says(run: Run, shell: Shell):
    place, send, poll, program, create = blocks_with(
        "README.md", "key=$(", "Hello from curl", "queue=$(", "Hello from a bot", "user create"
    )
    talk = (
        'while sleep 1; do curl -s -u owner@example.com:$key "$site/api/v1/messages" '
        "-d type=channel -d to=general -d topic=welcome -d content=again >/dev/null; done & talk=$!"
    )
    output = shell.run(place, send, talk, poll, "kill $talk", program, create)
    assert "Hello from curl" in output
    assert '"content":"<p>again</p>"' in output or '"content":"again"' in output
    assert "'result': 'success'" in output
    assert "/accounts/password/reset/" in output


def test_programs_use_the_api_as_the_protocol_says(run: Run, shell: Shell):
    [place] = blocks_with("README.md", "key=$(")
    keys, stream, webhook = blocks_with("docs/protocol.md", "api_keys", "curl -N", "slack_incoming")
    (shell.cwd / "password-file").write_text(run.password)
    bot = run.ask(run.login, "POST", "/bots", bot_type="2", full_name="Builds", short_name="builds")
    queue = run.ask(run.login, "POST", "/register", event_types='["message"]')["queue_id"]
    stream = stream.replace("EMAIL:KEY", run.login).replace("QUEUE", queue)
    stream = stream.replace("localhost:9991", f"localhost:{run.port}")
    stream = stream.rstrip().replace("curl -N", "curl -s -N --max-time 5") + " || test $? = 28"
    directory = blocks_with("docs/directories.md", "create-token", "Bearer", "closures")
    output = shell.run(f"bot_key={bot['api_key']}", place, keys, *directory, webhook, stream)
    assert "plyscim_" in output
    assert '"userName":"owner@example.com"' in output
    assert '"ends_at":' in output
    assert '"key_id":' in output
    assert "ply_" in output
    assert "Build 7" in output.rpartition("id:")[2]


def test_compliance_works_as_its_document_says(run: Run, shell: Shell):
    [place] = blocks_with("README.md", "key=$(")
    (shell.cwd / "password-file").write_text(run.password)
    output = shell.run(place, *shell_blocks("docs/compliance.md"))
    assert '"result":"error"' not in output
    assert '"name":"Smith v. Jones"' in output
    assert '"percent":' in output
    assert '"is_complete":true' in output
    assert '"appointed_by":' in output
    assert '"next_before":' in output


def test_a_service_is_called_by_a_button(run: Run, shell: Shell):
    [place] = blocks_with("README.md", "key=$(")
    texts = ("full_name=Releases", "http.server", "buttons=[", "buttons/click")
    port = str(free_port())
    create, serve, send, click = (
        block.replace("8090", port) for block in blocks_with("docs/integrations.md", *texts)
    )
    narrow = '[{"operator":"topic","operand":"deploys"}]'
    wait = (
        f"for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.5;"
        f" curl -s -G -u $email:$key $site/api/v1/messages -d anchor=newest -d num_before=9"
        f" -d num_after=0 -d apply_markdown=false --data-urlencode 'narrow={narrow}'"
        " | grep 'deploys version 7' && break; done"
    )
    output = shell.run(
        "email=owner@example.com",
        place,
        create,
        serve,
        "service=$!",
        "trap 'kill $service' EXIT",
        "sleep 1",
        send,
        click,
        wait,
    )
    assert '"click_id"' in output
    assert "deploys version 7." in output


def test_a_program_finds_the_picture_that_it_has_sent(run: Run, shell: Shell):
    [program] = blocks_with("docs/start.md", "bowl.png")
    (shell.cwd / "bowl.png").write_bytes(picture())
    assert "of soup" in shell.run(program)
    assert run.process.poll() is None


def test_an_organization_and_a_server_are_taken_elsewhere(run: Run, shell: Shell):
    for document, text in (("docs/exports.md", "parley export"), ("docs/operations.md", "backup")):
        [block] = blocks_with(document, text)
        port = free_port()
        moved = re.sub(r"--port \d+", f"--port {port}", block).replace("./elsewhere", f"./{port}")
        shell.serve(moved, f"http://127.0.0.1:{port}/ready")
    assert run.process.poll() is None


def test_operators_have_pages(shell: Shell, data: Path):
    [block] = blocks_with("docs/operations.md", "PARLEY_OPERATOR_PASSWORD_FILE")
    port = free_port()
    block = block.replace("9980", str(port)).rstrip() + f" --port 0 --data {data}"
    shell.serve(block, f"http://127.0.0.1:{port}/operator")


def test_production_begins_as_the_readme_says(shell: Shell, data: Path, amqp_url: str):
    serve, worker = blocks_with("README.md", "parley serve", ".venv/bin/parley worker")
    ports: Mapping[str, str] = {
        "PARLEY_PORT": str(free_port()),
        "PARLEY_METRICS_PORT": str(free_port()),
    }
    with embedded_postgres(data) as database_url:
        serve = re.sub(r"postgresql://\S+", shlex.quote(database_url), serve)
        serve = serve.replace("amqp://guest:guest@127.0.0.1:5672/", amqp_url)
        shell.serve(serve, f"http://127.0.0.1:{ports['PARLEY_PORT']}/ready", **ports)
        settings = {"DATABASE_URL": database_url, "AMQP_URL": amqp_url, **ports}
        url = f"http://127.0.0.1:{ports['PARLEY_METRICS_PORT']}/metrics"
        shell.serve(worker, url, **settings)


@pytest.mark.parametrize("module", ["__main__", "api_fuzz", "faults", "leaks", "growth"])
def test_benchmarks_explain_themselves(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("sys.argv", [module, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"benchmarks.{module}", run_name="__main__")
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out
