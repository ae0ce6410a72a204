"""What operators of a larger installation use: migrate, check, status, serve, worker."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psutil
import psycopg
import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from scripts.cli.main import cli
from server.domain.clock import SystemClock
from storage.connector import CONNECT_SECONDS
from testkit import fork_server
from testkit.database import new_database
from testkit.free_ports import free_port

CONNECTIONS = 30
PARLEY = (sys.executable, "-m", "scripts.cli.main")


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


@pytest.fixture
def url(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        yield url


@pytest.fixture(scope="module")
def migrated(database_url: str) -> str:
    """A migrated database that the tests of this file share: they put nothing into it."""
    return database_url


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "PARLEY" not in name}  # noqa: TID251
    return {**kept, **settings}


def parley(*arguments: str, **settings: str) -> Done:
    """Run a command in this process, with only these settings in its environment."""
    unset = {name: None for name in os.environ if "PARLEY" in name}  # noqa: TID251
    done = CliRunner().invoke(cli, arguments, env={**unset, **settings}, prog_name="parley")
    return Done(done.exit_code, done.stdout, done.stderr)


def status_of(port: str, path: str = "/server_settings") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
    connection.request("GET", f"/api/v1{path}")
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize("command", [("user", "create"), ("ldap", "check", "ada")])
def test_a_password_that_is_no_text_is_said_so(command: tuple[str, ...], tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"\xff\xfe\n")
    settings = {"PARLEY_LDAP_URL": "ldaps://127.0.0.1", "PARLEY_LDAP_BASE": "dc=a"}
    options = ("--name", "Ada", "--email", "ada@example.com") if command[0] == "user" else ()
    done = parley(*command, *options, "--password-file", str(secret), **settings)
    assert done == Done(
        1,
        "",
        f"parley: --password-file names {secret}, which is not text in UTF-8: write it anew.\n",
    )


@pytest.mark.parametrize("variable", ["PARLEY_SIGN_IN_PROVIDERS", "PARLEY_JWT_KEYS"])
def test_check_says_what_is_wrong_with_a_table(variable: str):
    done = parley("check", **{variable: '{"x": 1}'})
    assert (done.status, done.err) == (1, "")
    assert done.out.startswith(f"wrong  settings   {variable} must be ")
    assert done.out.endswith(": `x` is not a table.\n")


def test_check_and_serve_look_at_certificates(migrated: str, certificate, tmp_path: Path):
    missing = str(tmp_path / "none")
    wrong = {"DATABASE_URL": migrated, "PARLEY_CERTIFICATE": missing}
    sentence = f"PARLEY_CERTIFICATE names {missing}, but: No such file or directory.\n"
    done = parley("check", **wrong, PARLEY_MAIL_IN_CERTIFICATE=missing)
    assert f"wrong  https      {sentence}" in done.out
    assert "wrong  mail in    PARLEY_MAIL_IN_CERTIFICATE names " in done.out
    assert done.status == 1
    for processes in ("1", "2"):
        done = parley("serve", "--port", "0", "--processes", processes, **wrong)
        assert done == Done(1, "", f"parley: {sentence}")
    own = {
        "PARLEY_CERTIFICATE": str(certificate.folder / "certificate.pem"),
        "PARLEY_CERTIFICATE_KEY": str(certificate.folder / "key.pem"),
    }
    done = parley("check", DATABASE_URL=migrated, **own)
    soon = r"^note   https      The certificate and its key can be used until \S+: renew it\.$"
    assert re.search(soon, done.out, re.MULTILINE), done.out
    assert done.status == 0


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ((-9, -1), "Clients refuse the certificate in {}: certificate has expired."),
        ((1, 9), "Clients refuse the certificate in {}: certificate is not yet valid."),
        ((-9, 90), "ok     https      The certificate and its key can be used until "),
    ],
)
def test_check_reads_the_dates_of_certificates(tmp_path: Path, days: tuple[int, int], said: str):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "chat.example.com")])
    begins, ends = (SystemClock().now() + timedelta(days=each) for each in days)
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), begins, ends
    ).sign(key, SHA256())
    file = tmp_path / "both.pem"
    file.write_bytes(
        made.public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )

    done = parley("check", PARLEY_CERTIFICATE=str(file), PARLEY_DATA=str(tmp_path / "data"))

    assert said.format(file) in done.out


@pytest.fixture
def stranger(server_url: str) -> Iterator[str]:
    """The name, and password, of a role that owns nothing."""
    name = f"stranger {os.getpid()}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"""CREATE ROLE "{name}" LOGIN PASSWORD '{name}'""")
        try:
            yield name
        finally:
            connection.execute(f'DROP ROLE "{name}"')


def as_role(url: str, role: str) -> str:
    """The address with this role's name and password."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{quote(role)}:{quote(role)}@{place}").geturl()


@pytest.mark.parametrize(
    "command",
    [
        ("migrate",),
        ("status",),
        ("serve", "--port", "0"),
        ("worker",),
        ("queues", "list"),
        ("audit",),
        ("user", "create", "--name", "Ada", "--email", "a@example.com"),
        ("backup", "{}/made.zip"),
    ],
)
def test_a_role_without_rights_is_told_what_it_needs(
    migrated: str, stranger: str, tmp_path: Path, command: tuple[str, ...]
):
    arguments = [each.format(tmp_path) for each in command]
    done = parley(*arguments, DATABASE_URL=as_role(migrated, stranger))
    assert done.status == 1
    assert f'The role "{stranger}" lacks a right in the database "' in done.out + done.err
    assert "(permission denied for " in done.out + done.err
    assert f'OWNER TO "{stranger}"`' in done.out + done.err


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("worker",)])
def test_a_role_that_may_only_look_is_told_at_once(
    url: str, stranger: str, command: tuple[str, ...]
):
    assert parley("migrate", DATABASE_URL=url).status == 0
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f'GRANT SELECT ON schema_migrations, schema_functions TO "{stranger}"')
    began = time.monotonic()

    done = parley(*command, DATABASE_URL=as_role(url, stranger))

    assert (done.status, f'The role "{stranger}" lacks a right' in done.err) == (1, True), done
    assert "Traceback" not in done.err
    assert time.monotonic() - began < CONNECT_SECONDS / 2
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f'REVOKE ALL ON schema_migrations, schema_functions FROM "{stranger}"')


def test_check_looks_at_what_the_role_may_do(url: str, stranger: str, tmp_path: Path):
    strangers = as_role(url, stranger)
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("REVOKE ALL ON SCHEMA public FROM public")
        for rights in ("none", "USAGE"):
            if rights != "none":
                owner.execute(f'GRANT {rights} ON SCHEMA public TO "{stranger}"')
            for command in ("check", "migrate"):
                done = parley(command, DATABASE_URL=strangers)
                assert done.status == 1
                assert f'The role "{stranger}" lacks a right in' in done.out + done.err
        owner.execute(f'GRANT ALL ON SCHEMA public TO "{stranger}"')
        assert parley("migrate", DATABASE_URL=url).status == 0
        backup = str(tmp_path / "made.zip")
        assert parley("backup", backup, DATABASE_URL=url).status == 0
        done = parley("restore", backup, "--force", DATABASE_URL=strangers)
        assert (done.status, f'The role "{stranger}" lacks a right' in done.err) == (1, True), done
        owner.execute(f'GRANT SELECT ON schema_migrations, schema_functions TO "{stranger}"')
        assert "(the tables are another role's)" in parley("check", DATABASE_URL=strangers).out
        owner.execute(f'REVOKE ALL ON schema_migrations, schema_functions FROM "{stranger}"')
        owner.execute(f'REVOKE ALL ON SCHEMA public FROM "{stranger}"')


def test_a_database_that_is_set_to_take_no_writes_is_told(url: str):
    with psycopg.connect(url, autocommit=True) as owner:
        name = owner.info.dbname
        owner.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    for command in ("check", "migrate"):
        done = parley(command, DATABASE_URL=url)
        assert done.status == 1
        assert "takes no writes, for default_transaction_read_only is on" in done.out + done.err
        assert f'ALTER DATABASE "{name}" SET' in done.out + done.err


@pytest.mark.parametrize("command", ["check", "migrate"])
def test_an_address_of_a_database_that_cannot_be_read_is_told_without_its_password(command: str):
    done = parley(command, DATABASE_URL="postgresql://127.0.0.1/parley?canary=1")
    assert done.status == 1
    assert "DATABASE_URL is not an address that can be read" in done.out + done.err
    assert "canary" not in done.out + done.err


def test_check_says_where_the_server_could_not_start():
    for host, said in (
        ("nosuch.invalid", "The host nosuch.invalid is not known here"),
        ("203.0.113.5", "This machine does not have the address 203.0.113.5"),
    ):
        done = parley("check", PARLEY_HOST=host)
        assert (done.status, f"wrong  settings   {said}" in done.out) == (1, True)
    done = parley("check", PARLEY_DATA="/proc/x")
    assert (done.status, "wrong  data       /proc/x cannot be written" in done.out) == (1, True)


def test_help_is_there_for_every_command():
    top = parley("--help").out
    for command in ("run", "serve", "worker", "migrate", "check", "status", "realm", "user"):
        assert re.search(rf"^  {command} +\S", top, re.MULTILINE)
        assert "Usage: " in parley(command, "--help").out
    assert "--processes" in parley("serve", "--help").out
    assert "--lifeline" not in parley("serve", "--help").out
    assert parley("--version").out.startswith("Parley ")


def test_check_finds_nothing_wrong_with_a_good_installation(migrated: str, amqp_url: str):
    done = parley("check", DATABASE_URL=migrated, AMQP_URL=amqp_url)

    assert done.status == 0, done.out
    assert "RabbitMQ answers" in done.out
    assert "Postgres 1" in done.out
    assert "wrong " not in done.out
    # The tests' databases have it off, to be fast.
    assert "synchronous_commit is off" in done.out


def test_check_tells_everything_that_is_wrong(url: str, tmp_path: Path):
    def told(**settings: str) -> str:
        done = parley("check", **settings)
        assert done.status == 1, done.out
        assert "Traceback" not in done.err
        return done.out

    assert "PARLEY_PORT must be a port" in told(PARLEY_PORT="x")
    assert "did you mean PARLEY_PORT?" in told(PARLEY_PROT="1")
    assert "PARLEY_ELSEWHERE_HOST is set, and nothing reads it" in told(
        PARLEY_ELSEWHERE_HOST="1", PARLEY_PORT="x"
    )
    assert "The database does not answer" in told(DATABASE_URL="postgresql://a@127.0.0.1:1/b")
    assert "RabbitMQ does not answer at 127.0.0.1:1" in told(AMQP_URL="amqp://127.0.0.1:1/")
    assert "run `parley migrate`" in told(DATABASE_URL=url)
    assert "sign in as any user" in told(PARLEY_DEVELOPMENT="on", PARLEY_HOST="0.0.0.0")
    (tmp_path / "file").write_text("")
    assert "cannot be written" in told(PARLEY_DATA=str(tmp_path / "file" / "data"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE schema_migrations (number int, name text)")
        connection.execute("INSERT INTO schema_migrations VALUES (9999, '9999_the_future')")
    assert "newer than this Parley" in told(DATABASE_URL=url)


def test_check_says_where_operators_are_let_in(migrated: str):
    def told(**settings: str) -> str:
        return parley(
            "check", DATABASE_URL=migrated, PARLEY_OPERATOR_PASSWORD="canary-0123456789", **settings
        ).out

    assert "there are no pages" in told()
    assert "operator " not in told(PARLEY_METRICS_PORT="9980")
    open_wide = told(PARLEY_METRICS_PORT="9980", PARLEY_METRICS_HOST="0.0.0.0")
    assert "put a proxy with HTTPS in front" in open_wide
    assert "canary" not in open_wide


def test_check_does_not_tell_passwords():
    url = "postgresql://parley:canary-1@127.0.0.1:1/parley"
    broker = "amqp://parley:canary-2@127.0.0.1:1/"

    done = parley("check", DATABASE_URL=url, AMQP_URL=broker)

    assert "canary" not in done.out + done.err


def test_migrate_brings_an_empty_database_up_to_date(url: str):
    first = parley("migrate", DATABASE_URL=url)
    second = parley("migrate", DATABASE_URL=url)

    assert "applied 0001_initial" in first.out
    assert second.out == "Nothing to do: the database has all migrations.\n"


def test_status_says_what_runs(url: str, migrated: str):
    down = parley("status", "--port", "1", DATABASE_URL=url)
    assert down.status == 1
    assert "does not answer on 127.0.0.1, port 1" in down.out
    assert re.search(r"lacks \d+ migrations", down.out)

    assert "0 organizations, 0 people" in parley("status", DATABASE_URL=migrated).out


def test_top_prints_one_view_without_a_terminal(url: str, migrated: str):
    assert "The database lacks migrations" in parley("top", "--interval=0.5", DATABASE_URL=url).out
    found = parley("top", "--interval=0.5", DATABASE_URL=migrated)
    assert (found.status, found.out.count("Parley ")) == (0, 1), found
    assert "problem: No worker ships the jobs of the log: start one." in found.out


def test_serve_refuses_a_database_that_lacks_migrations(url: str):
    done = parley("serve", "--port", "0", DATABASE_URL=url)

    assert done.status == 1
    assert re.fullmatch(
        r"parley: The database lacks \d+ migrations?: run `parley migrate` first\.\n", done.err
    )


class Serving:
    """`parley serve` and what it logs."""

    def __init__(self, url: str, *options: str, **settings: str) -> None:
        self.port = str(free_port())
        command = [*PARLEY, "serve", "--port", self.port, *options]
        self.process: subprocess.Popen[str] = fork_server.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(DATABASE_URL=url, **settings),
        )

    def until(self, words: str) -> str:
        """The next line of the log that has these words."""
        assert self.process.stderr
        return next(line for line in self.process.stderr if words in line)

    def started_process(self) -> int:
        found = re.search(r"server process (\d+) started", self.until("started"))
        assert found
        return int(found[1])

    def end(self) -> int:
        self.process.terminate()
        self.process.communicate(timeout=60)
        return self.process.returncode


def test_processes_share_the_port_and_outlive_each_other(migrated: str):
    serving = Serving(migrated, "--processes", "2")
    victim, other = serving.started_process(), serving.started_process()
    assert status_of(serving.port) == 200

    os.kill(victim, signal.SIGKILL)
    assert f"server process {victim} ended (-9)" in serving.until("ended")
    successor = serving.started_process()
    assert len({victim, other, successor}) == 3
    assert status_of(serving.port) == 200

    assert serving.end() == 0
    for process in (other, successor):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_processes_have_as_many_connections_as_each_other(migrated: str):
    """The kernel alone would give most of those that come one by one to one process."""
    serving = Serving(migrated, "--processes", "2")
    processes = [psutil.Process(serving.started_process()) for _ in range(2)]
    for _ in processes:
        serving.until("server.listening")
    with ExitStack() as clients:
        for number in range(CONNECTIONS):
            clients.enter_context(socket.create_connection(("127.0.0.1", int(serving.port))))
            while sum(connections_at(serving.port, each) for each in processes) <= number:
                time.sleep(0.001)
            time.sleep(0.01)  # as clients come on a quiet day
        counted = [connections_at(serving.port, each) for each in processes]
        assert min(counted) >= CONNECTIONS // 3, counted
    assert serving.end() == 0


def connections_at(port: str, process: psutil.Process) -> int:
    return sum(
        each.status == psutil.CONN_ESTABLISHED and each.laddr.port == int(port)
        for each in process.net_connections("inet")
    )


def test_one_process_needs_no_parent(migrated: str):
    serving = Serving(migrated)
    assert status_of_when_ready(serving) == 200

    deadline = time.monotonic() + 60
    while not (process := told_of(serving, migrated)):
        assert time.monotonic() < deadline, "it gave no sign of life"
    assert (process["serves"], process["leads"], process["queues"]) == (True, False, [])
    assert process["state"]["event_queues"] == 0
    assert process["state"]["database_connections_size"] >= 1

    assert serving.end() == 0
    assert not told_of(serving, migrated)


def told_of(serving: Serving, url: str) -> dict[str, Any]:
    """What `parley status` knows of the process."""
    text = parley("status", "--json", "--port", serving.port, DATABASE_URL=url).out
    found = json.loads(text)["processes"]
    return next((process for process in found if process["pid"] == serving.process.pid), {})


def status_of_when_ready(serving: Serving) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return status_of(serving.port)
        except ConnectionRefusedError:
            assert serving.process.poll() is None
    raise AssertionError("it does not answer")


def test_a_worker_runs_the_queues_it_is_told(migrated: str):
    unknown = parley("worker", "nonsense", DATABASE_URL=migrated)
    assert unknown.status == 1
    assert "No such queue: nonsense. There are: " in unknown.err

    command = [*PARLEY, "worker", "deferred_work"]
    with fork_server.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment(DATABASE_URL=migrated)
    ) as worker:
        assert worker.stderr
        line = json.loads(next(line for line in worker.stderr if "shipper.started" in line))
        assert line["level"] == "info"
        worker.terminate()
        worker.communicate(timeout=60)
    assert worker.returncode == 0


def test_who_takes_mail_is_known_and_told(migrated: str):
    assert "Set PARLEY_MAIL_IN_PORT" in parley("mail-in", DATABASE_URL=migrated).err
    settings = {
        "DATABASE_URL": migrated,
        "PARLEY_MAIL_IN_PORT": "0",
        "PARLEY_METRICS_PORT": (port := str(free_port())),
        "PARLEY_OPERATOR_PASSWORD": "correct horse battery",
    }
    with fork_server.Popen(
        [*PARLEY, "mail-in"], stderr=subprocess.PIPE, text=True, env=environment(**settings)
    ) as process:
        assert process.stderr
        next(line for line in process.stderr if "mail_in.listening" in line)
        while not any(each["takes_mail"] for each in processes(migrated)):
            assert process.poll() is None
        text = parley("status", DATABASE_URL=migrated).out
        assert "takes mail" in text
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        connection.request("GET", "/operator/")
        assert connection.getresponse().status < 400
        connection.close()
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert not any(each["takes_mail"] for each in processes(migrated))


def processes(url: str) -> list[dict[str, Any]]:
    """What `parley status` knows of."""
    found: list[dict[str, Any]] = json.loads(parley("status", "--json", DATABASE_URL=url).out)[
        "processes"
    ]
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "--limit", "-1"),
        ("audit", "--limit", "99999999999999999999"),
        ("activity", "--limit", "0"),
        ("audit", "--before", "99999999999999999999"),
        ("scim", "revoke-token", "--id", "99999999999999999999"),
        ("queues", "inspect", "email_notifications", "--limit", "99999999999999999999"),
        ("realm", "quota", "--mib", "99999999999999999999"),
        ("top", "--once", "--interval", "nan"),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(arguments: tuple[str, ...]):
    done = parley(*arguments)
    assert done.status == 2
    assert f"Invalid value for '{arguments[-2]}'" in done.err


def test_passwords_in_addresses_are_not_shown():
    done = parley("config", PARLEY_S3_ENDPOINT="http://ada:canary@s3.example.com")
    assert "canary" not in done.out + done.err
