"""`parley run`: one command brings everything, keeps it, and ends without a trace."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import psycopg
from psycopg import sql

from scripts.cli.first_start import CHANNELS, MESSAGES, PEOPLE
from server.runtime.sockets import open_sockets, port_of
from storage.embedded import embedded_postgres, running_url
from testkit import fork_server
from testkit.clients.parley_run import ANSWER_SECONDS, PARLEY, Run


def refusal(*arguments: str, **environment: str) -> str:
    """What a command that cannot work says. It must be one line, and no traceback."""
    done = subprocess.run(
        [*PARLEY, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},  # noqa: TID251
    )
    assert done.returncode == 1, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    return line


def lines_of(*arguments: str, stdin: str = "") -> list[str]:
    """What a command prints that works."""
    done = subprocess.run(
        [*PARLEY, *arguments], input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_first_start_makes_an_organization_that_the_second_still_has(data: Path):
    first = Run(data)
    login = first.login
    sent = first.send(login, "kept")
    assert sent["result"] == "success", sent
    postmaster = first.postmaster()
    assert first.end() == 0
    assert not postmaster.is_alive()
    assert running_url(data) is None

    second = Run(data)
    assert "API key" not in second.printed
    kept = second.ask(login, "GET", f"/messages/{sent['id']}")
    assert kept["raw_content"] == "kept"
    assert second.end(signal.SIGTERM) == 0
    assert running_url(data) is None


def test_the_first_start_prints_a_link_that_signs_the_owner_in(data: Path):
    run = Run(data)
    again = lines_of("user", "sign-in-link", "--data", str(data))
    printed = run.printed.splitlines()
    links = [line.strip() for line in (*printed, *again) if "/sign-in-link/#" in line]
    for link in links:
        place, _, token = link.partition("#")
        assert place == f"http://localhost:{run.port}/sign-in-link/"
        browser = build_opener(HTTPCookieProcessor())
        with browser.open(place) as page:
            html = page.read().decode()
        [form_token] = re.findall(r'name="csrfmiddlewaretoken" value="(.*?)"', html)
        form = urlencode({"csrfmiddlewaretoken": form_token, "token": token}).encode()
        browser.open(place, form).close()
        with browser.open(f"http://localhost:{run.port}/account") as page:
            assert run.owner in page.read().decode()
    assert len(links) == 2
    assert run.end() == 0


def test_a_second_signal_leaves_no_postgres_behind(data: Path):
    for number in (signal.SIGTERM, signal.SIGHUP):
        for gap in (0.005, 0.05):
            run = Run(data)
            postmaster = run.postmaster()
            for _ in range(20):
                run.process.send_signal(number)
                time.sleep(gap)
            assert run.end(number) == 0
            assert not postmaster.is_alive()


def test_a_signal_at_any_moment_of_the_start_ends_it(data: Path):
    for tenths in range(2, 30, 4):
        process = fork_server.Popen(
            [*PARLEY, "run", "--data", str(data), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(tenths / 10)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=ANSWER_SECONDS)
        assert "Traceback" not in errors
        assert process.returncode in {0, -signal.SIGTERM}, errors
        assert running_url(data) is None
    assert Run(data).end() == 0


def test_what_is_started_with_nohup_outlives_the_terminal(data: Path):
    run = Run(data, program=("nohup", *PARLEY, "run"))
    run.process.send_signal(signal.SIGHUP)
    assert run.send(run.login, "still here")["result"] == "success"
    assert run.end(signal.SIGTERM) == 0


def test_what_it_says_to_try_works_when_pasted(data: Path):
    run = Run(data)
    send, watch, account = run.things_to_try

    with subprocess.Popen(["sh", "-c", watch], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        run.wait_for_queue()
        sent = subprocess.run(["sh", "-c", send], capture_output=True, text=True, check=True)
        assert json.loads(sent.stdout)["result"] == "success"
        made = subprocess.run(["sh", "-c", account], capture_output=True, text=True, check=True)
        assert "you@example.com  member" in made.stdout
        for line in watching.stdout:
            if '"message"' in line:
                break
        watching.kill()
    assert "Hello from curl" in line
    assert run.end() == 0


def test_clients_sign_in_with_the_file_that_it_writes(data: Path):
    run = Run(data)
    file = data / "zuliprc"

    assert file.stat().st_mode & 0o777 == 0o600
    email, key = run.login.split(":")
    assert file.read_text() == (
        f"[api]\nemail={email}\nkey={key}\nsite=http://localhost:{run.port}\n"
    )
    assert run.ask(run.login, "GET", "/users/me")["role"] == 100
    assert run.end() == 0


def test_the_file_for_clients_names_where_the_server_is_now(data: Path, certificate):
    first = Run(data)
    file = data / "zuliprc"
    written = file.read_text()
    assert first.end(signal.SIGTERM) == 0
    own = {
        "PARLEY_CERTIFICATE": str(certificate.folder / "certificate.pem"),
        "PARLEY_CERTIFICATE_KEY": str(certificate.folder / "key.pem"),
    }
    second = Run(data, environment=own)
    moved = written.replace(f"http://localhost:{first.port}", f"https://localhost:{second.port}")
    assert file.read_text() == moved
    assert file.stat().st_mode & 0o777 == 0o600
    assert second.end(signal.SIGTERM) == 0

    file.write_text(f"{written}insecure=true\n")
    assert Run(data).end(signal.SIGTERM) == 0
    assert file.read_text() == f"{written}insecure=true\n"


def test_it_runs_without_standard_error(data: Path):
    run = Run(data, program=("sh", "-c", 'exec "$@" 2>&-', "sh", *PARLEY, "run"))
    assert run.send(run.login, "quiet")["result"] == "success"
    assert run.end(signal.SIGTERM) == 0


def test_a_full_disk_is_said_in_a_sentence():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PARLEY, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    said = "parley: Not everything could be written: No space left on device.\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_emails_are_shown_where_it_says(data: Path):
    run = Run(data)
    [address] = re.findall(r"Emails are shown at (http://127\.0\.0\.1:\d+/)", run.printed)
    with psycopg.connect(str(running_url(data)), autocommit=True) as database:
        database.execute(
            """UPDATE users SET settings = '{"email_notifications_batching_period_seconds": 1}'"""
        )
    run.ask(
        run.login, "POST", "/messages", type="direct", to='["ada@example.com"]', content="Soup?"
    )
    deadline = time.monotonic() + ANSWER_SECONDS
    page = ""
    while "ada@example.com" not in page and time.monotonic() < deadline:
        time.sleep(0.1)
        page = urlopen(address).read().decode()
    [path] = re.findall(r'href="/(\w+)">[^<]*</a>\s*<span>to Ada', page)
    assert "Soup?" in urlopen(address + path).read().decode()
    assert run.end() == 0


def test_the_commands_beside_it_know_where_it_listens(data: Path):
    run = Run(data)

    def told(*words: str) -> str:
        command = [*PARLEY, *words, "--data", str(data)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    assert f"answers on 127.0.0.1, port {run.port} (status 200)" in told("status")
    assert f"People reach the server at http://localhost:{run.port}." in told("check")
    assert "does not answer on 127.0.0.1, port 1 " in told("status", "--port", "1")
    assert run.end() == 0
    assert f"port {run.port}" not in told("status")


def test_status_asks_where_the_server_listens(data: Path, certificate):
    own = {
        "PARLEY_CERTIFICATE": str(certificate.folder / "certificate.pem"),
        "PARLEY_CERTIFICATE_KEY": str(certificate.folder / "key.pem"),
    }
    for options, settings, address in (((), own, "127.0.0.1"), (("--host", "::"), {}, "::1")):
        run = Run(data, *options, environment=settings)
        said = lines_of("status", "--data", str(data))
        assert f"server       answers on {address}, port {run.port} (status 200)" in said
        if not settings:
            assert run.ask("a:b", "GET", "/server_settings")["result"] == "success"  # by IPv4
        assert run.end() == 0


def test_the_port_of_mail_is_chosen_by_its_setting(data: Path):
    taken = open_sockets("127.0.0.1", 0)
    port = str(port_of(taken))
    done = subprocess.run(
        [*PARLEY, "run", "--port", "0", "--data", str(data)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PARLEY_MAIL_IN_PORT": port},  # noqa: TID251
    )
    taken[0].close()
    assert done.stderr.splitlines()[-1] == (
        f"parley: Port {port} on 127.0.0.1 is used by another program:"
        " choose another with PARLEY_MAIL_IN_PORT."
    )
    with embedded_postgres(data) as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM realms").fetchone() == (0,)
    run = Run(data)
    assert run.send(run.login, "the first start")["result"] == "success"
    assert run.end() == 0


def rows(data: Path, table: LiteralString) -> int:
    """How many there are by now; none while there is no such table, or no server to ask."""
    with suppress(psycopg.Error), psycopg.connect(running_url(data) or "-") as connection:
        found = connection.execute(
            sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
        ).fetchone()
        return int(found[0]) if found else 0
    return 0


def is_killed_at(data: Path, is_there: Callable[[Path], bool]) -> bool:
    """Kill a first start as soon as something is there; whether it had not ended by then."""
    with subprocess.Popen(
        [*PARLEY, "run", "--port", "0", "--data", str(data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as killed:
        while not is_there(data):
            assert killed.poll() is None
        killed.kill()
        printed, _ = killed.communicate()
    return "Password" not in printed


STEPS: Sequence[Callable[[Path], bool]] = [
    lambda data: (data / "first-start").exists(),
    lambda data: rows(data, "realms") > 0,
    lambda data: (data / "zuliprc").exists(),
    lambda data: rows(data, "channels") > 0,
    lambda data: rows(data, "messages") > 0,
]
"""What a first start leaves, in this order."""


def test_a_first_start_that_is_killed_at_each_step_is_completed_by_the_next(data: Path):
    tries = iter(data / str(number) for number in range(10))
    data = next(tries)
    for step in STEPS:
        # A start may be quicker than this test, which then tries again elsewhere.
        while not is_killed_at(data, step):
            data = next(tries)

    run = Run(data)
    assert (data / "zuliprc").read_text().splitlines()[1:3] == [
        f"email={run.owner}",
        f"key={run.login.partition(':')[2]}",
    ]
    signed_in = run.ask(":", "POST", "/fetch_api_key", username=run.owner, password=run.password)
    assert signed_in["api_key"] == run.login.partition(":")[2]
    assert run.send(run.login, "the first command")["result"] == "success"
    with psycopg.connect(str(running_url(data))) as connection:
        people = "SELECT count(*) FROM users WHERE NOT is_system_bot"
        assert connection.execute(people).fetchone() == (1 + len(PEOPLE),)
        said = connection.execute(
            "SELECT m.content FROM messages m JOIN users u USING (realm_id)"
            " WHERE u.user_id = m.sender_id AND NOT u.is_system_bot ORDER BY m.id"
        ).fetchall()
        assert said == [(each[3],) for each in MESSAGES] + [("the first command",)]
        taken = connection.execute(
            "SELECT c.name, count(*) FROM channels c JOIN subscriptions s USING (realm_id)"
            " WHERE s.channel_id = c.channel_id GROUP BY c.name ORDER BY min(c.channel_id)"
        ).fetchall()
        assert taken == [(name, 1 + len(PEOPLE)) for name, _, _ in CHANNELS]
    assert not (data / "first-start").exists()
    assert run.end() == 0

    later = Run(data)
    assert "Password" not in later.printed
    assert later.end(signal.SIGTERM) == 0


def test_after_kill_9_the_next_start_adopts_what_is_left(data: Path):
    killed = Run(data)
    login = killed.login
    sent = killed.send(login, "answered, so kept")
    postmaster = killed.postmaster()
    killed.end(signal.SIGKILL)
    assert postmaster.is_alive()

    run = Run(data)
    assert run.postmaster().pid == postmaster.pid
    assert run.ask(login, "GET", f"/messages/{sent['id']}")["raw_content"] == "answered, so kept"
    assert run.end() == 0
    assert not postmaster.is_alive()


def test_a_postgres_that_dies_is_started_again(data: Path):
    run = Run(data)
    login = run.login
    before = run.postmaster()

    os.kill(before.pid, signal.SIGKILL)

    while (answer := run.send(login, "again"))["result"] != "success":
        assert answer["code"] == "SERVER_NOT_READY", answer
    assert run.postmaster().pid != before.pid
    assert run.end() == 0


def test_accounts_are_made_beside_the_running_server(data: Path):
    run = Run(data)
    people = [
        {"full_name": f"Person {n}", "email": f"person{n}@example.com", "role": "member"}
        for n in range(1000)
    ]
    people[0]["password"] = "correct horse battery"

    asked = ("user", "create", "--file", "-", "--json", "--data", str(data))
    accounts = [json.loads(line) for line in lines_of(*asked, stdin=json.dumps(people))]

    assert [account["email"] for account in accounts] == [person["email"] for person in people]
    assert set(accounts[0]) == {"user_id", "email", "role", "api_key"}
    last = accounts[-1]
    me = run.ask(f"{last['email']}:{last['api_key']}", "GET", "/users/me")
    assert me["user_id"] == last["user_id"]
    again = refusal(
        "user", "create", "--email", last["email"], "--name", "X Y", "--data", str(data)
    )
    assert again == f"parley: Email '{last['email']}' is already in use."
    assert run.end() == 0


def test_accounts_are_made_without_a_running_server(data: Path):
    person = ("--email", "a@example.com", "--name", "Ada L", "--data", str(data))
    assert "There is no Parley data" in refusal("user", "create", *person)

    owner = ("--owner-name", "Olga", "--owner-email", "o@example.com", "--data", str(data))
    [founded] = lines_of("realm", "create", "--name", "Acme", "--json", *owner)
    [made] = lines_of("user", "create", "--role", "moderator", "--json", *person)

    assert json.loads(founded)["role"] == "owner"
    assert json.loads(made)["role"] == "moderator"
    with embedded_postgres(data) as url, psycopg.connect(url) as connection:
        found = connection.execute("SELECT name, is_default FROM channels").fetchall()
    assert found == [("general", True)]
    assert running_url(data) is None


def test_what_keeps_it_from_starting_is_one_sentence(data: Path):
    taken = open_sockets("127.0.0.1", 0)
    port = str(port_of(taken))
    assert refusal("run", "--data", str(data), "--port", port) == (
        f"parley: Port {port} on 127.0.0.1 is used by another program: choose another with --port."
    )
    taken[0].close()
    place = ["run", "--port", "0", "--data", str(data)]

    with embedded_postgres(data) as url:
        assert "is in use by another Parley (process " in refusal(*place)
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE schema_migrations (number int, name text)")
            connection.execute("INSERT INTO schema_migrations VALUES (9999, '9999_the_future')")
    assert "newer than this Parley (it has 9999_the_future)" in refusal(*place)
    assert running_url(data) is None

    (data / "postgres" / "PG_VERSION").write_text("99\n")
    assert "was made by Postgres 99, and here is only Postgres " in refusal(*place)
    assert "cannot be written" in refusal("run", "--port", "0", "--data", "/dev/null/x")
    assert "PARLEY_PORT must be a port" in refusal(*place[:1], PARLEY_PORT="eighty")


def test_a_second_one_at_its_address_is_told_of_the_first(data: Path):
    run = Run(data)
    assert refusal("run", "--data", str(data), "--port", str(run.port)) == (
        f"parley: Parley runs at http://localhost:{run.port} already (process {run.process.pid}):"
        " stop it first, or choose another port with --port."
    )
    assert run.end() == 0


def test_serve_and_worker_want_a_database_of_their_own():
    for command in ("serve", "worker"):
        assert "set DATABASE_URL, or use `parley run`" in refusal(command)
    nowhere = "postgresql://parley@127.0.0.1:1/parley"
    assert "The database does not answer" in refusal("serve", DATABASE_URL=nowhere)
