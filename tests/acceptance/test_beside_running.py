"""Commands beside a running server find it; what production begins with, without mail."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scripts.cli.state_files import FOLDER, announced, running_servers
from server.settings import load_settings, state_directory
from storage import audit_log
from storage.embedded import running_url
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.clients.parley_run import Run
from testkit.factories import new_realm
from tests.acceptance.test_operations import parley

PERSON = ("user", "create", "--email", "new@example.com", "--name", "New Person")
NEW = "quite another battery staple"


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    """The folders of a user without servers but those of the test."""
    places = {"XDG_DATA_HOME": "share", "XDG_STATE_HOME": "state", "HOME": "home"}
    return {name: str(tmp_path / folder) for name, folder in places.items()}


def test_a_command_finds_the_running_server_and_several_are_named(data: Path, home, tmp_path):
    one = Run(data, environment=home)
    done = parley(*PERSON, **home)
    assert (done.status, "new@example.com  member" in done.out) == (0, True), done
    assert f"Using the server that runs at http://localhost:{one.port}, in {data}." in done.err
    link = re.search(r"http://localhost:(\d+)/accounts/password/reset/\S+", done.out)
    assert link is not None
    assert int(link[1]) == one.port
    listed = json.loads(parley("user", "list", "--json", **home).out)
    assert "new@example.com" in {row["email"] for row in listed}
    assert parley("status", **home).status == 0

    # One with a database of its own cannot be worked beside without its settings.
    own = load_settings(
        environ={"HOME": "/nonexistent"},
        overrides={"database_url": "postgresql://x:secret@127.0.0.1/y"},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", home["XDG_STATE_HOME"])
        with announced(own):
            both = parley(*PERSON, **home)
            assert both.status == 1
            assert both.err.startswith("parley: 2 servers run here: say which with one of\n")
            assert f"--data {data}   http://localhost:{one.port}" in both.err
            assert "DATABASE_URL as process" in both.err
            texts = [p.read_text() for p in (state_directory() / FOLDER).glob("*.json")]
            assert not [text for text in texts if "secret" in text]
            # Who names one is asked nothing.
            assert parley("user", "list", "--data", str(data), **home).status == 0
            assert one.end() == 0
            alone = parley(*PERSON, **home)
            assert alone.status == 1
            assert "has a database of its own: give this command the same settings" in alone.err
    assert not (tmp_path / "share").exists()
    assert running_url(data) is None

    # Without a server the Postgres of a named directory is started, and that is said.
    done = parley("user", "list", "--data", str(data), **home)
    assert (done.status, done.err) == (
        0,
        f"parley: No server runs in {data}: starting its Postgres meanwhile.\n",
    )
    assert "There is no Parley data in" in parley(*PERSON, **home).err


def test_state_files_of_killed_servers_are_stale(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings = load_settings(overrides={"data": tmp_path / "data"})
    folder = state_directory() / FOLDER
    with announced(settings):
        [server] = running_servers()
        assert server.data == str(tmp_path / "data")
        [path] = folder.iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        (folder / "stale.json").write_bytes(path.read_bytes())
        (folder / "broken.json").write_text("{")
        assert running_servers() == [server]
        assert list(folder.iterdir()) == [path]
    assert running_servers() == []
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with announced(settings):  # serves all the same
        assert running_servers() == []


@pytest.mark.asyncio
async def test_an_owner_signs_in_without_a_mail_server(
    database_url, make, visitor, server, connect
):
    found = ("realm", "create", "--name", "First", "--subdomain", "first", "--owner-name", "Olga")
    settings = {"DATABASE_URL": database_url, "PARLEY_ROOT_DOMAIN": "example.test"}
    options = ("--owner-email", "olga@example.com", "--json")
    done = await asyncio.to_thread(parley, *found, *options, **settings)
    line = json.loads(done.out)
    link = urlsplit(line["password_link"])
    assert link.hostname == "first.example.test"
    realm_id = await make.connection.value("SELECT realm_id FROM realms WHERE subdomain = 'first'")
    kept = await make.connection.value(
        "SELECT confirmations::text FROM confirmations WHERE realm_id = %(r)s", r=realm_id
    )
    assert link.path.rpartition("/")[2] not in kept
    phone = Visitor(await connect(server, realm_id))
    await phone.look(link.path)
    weak = await phone.submit(link.path, new_password="password1")
    assert weak.status == 400
    answer = await phone.submit(link.path, new_password=PASSWORD)
    assert answer.headers["Location"] == "/login/?done=password"
    await phone.sign_in("olga@example.com", PASSWORD)
    # An app asks for its key by the same password.
    given = await phone.client.post(
        "/fetch_api_key", username="olga@example.com", password=PASSWORD
    )
    assert given["api_key"] == line["api_key"]
    assert (await (Visitor(await connect(server, realm_id))).look(link.path)).status == 400


@pytest.mark.asyncio
async def test_an_owner_signs_in_by_the_link_that_is_printed(database_url, make, server, connect):
    """With nothing but what the command prints, by the link of the creation and by another."""
    found = ("realm", "create", "--name", "First", "--subdomain", "first", "--owner-name", "Olga")
    settings = {"DATABASE_URL": database_url, "PARLEY_ROOT_DOMAIN": "example.test"}
    options = ("--owner-email", "olga@example.com", "--json")
    made = json.loads((await asyncio.to_thread(parley, *found, *options, **settings)).out)
    realm_id = await make.connection.value("SELECT realm_id FROM realms WHERE subdomain = 'first'")
    again = ("user", "sign-in-link", "--realm", "first")
    printed = (await asyncio.to_thread(parley, *again, **settings)).out
    assert "Sign in as olga@example.com within ten minutes, by a link that works once:" in printed
    for link in (urlsplit(made["sign_in_link"]), urlsplit(printed.split()[-1])):
        assert (link.hostname, link.path) == ("first.example.test", "/sign-in-link/")
        browser = Visitor(await connect(server, realm_id))
        await browser.look(link.path)
        answer = await browser.submit(link.path, token=link.fragment)
        assert answer.headers["Location"] == "/"
        await browser.look("/account")
        assert "Olga" in browser.text
    unknown = await asyncio.to_thread(parley, *again, "--email", "x@example.com", **settings)
    assert unknown.status == 1


@pytest.mark.asyncio
async def test_an_operator_gives_passwords_and_links_to_them(
    database_url, make, visitor, ada, tmp_path
):
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )
    elsewhere = await new_realm(make.connection)
    namesake = await elsewhere.user(email=ada.email)
    await give_password(elsewhere, namesake)

    async def run(*options: str, email: str = ada.email):
        named = ("user", "set-password", "--realm", subdomain, "--email", email)
        return await asyncio.to_thread(parley, *named, *options, DATABASE_URL=database_url)

    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    first, second = [urlsplit(re.findall(r"http\S+", (await run()).out)[0]).path for _ in range(2)]
    assert (await (await visitor()).look(first)).status == 200
    secret = tmp_path / "secret"
    secret.write_text(f"{NEW}\n")
    done = await run("--password-file", str(secret))
    assert done.out == f"{ada.email} has a new password.\n"
    assert NEW not in str(done)
    # Sessions have ended, and so have the links.
    assert (await browser.look("/")).headers["Location"] == "/login/"
    for link in (first, second):
        assert (await (await visitor()).look(link)).status == 400
    await (await visitor()).sign_in(ada.email, NEW)
    kept = await make.connection.value(
        "SELECT count(*) FROM users WHERE email = %(e)s AND password_hash IS NOT NULL",
        e=ada.email,
    )
    assert kept == 2
    rows = await audit_log.newest(make.connection, make.realm_id, limit=10)
    said = [(row.actor_id, row.action, row.subject_id) for row in rows]
    assert said == [
        (None, "user_password_changed", ada.user_id),
        (None, "user_password_link_made", ada.user_id),
        (None, "user_password_link_made", ada.user_id),
    ]
    assert (await run(email="nobody@example.com")).status == 1
    secret.write_text("\n")
    assert (await run("--password-file", str(secret))).status == 1
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(u)s", u=ada.user_id
    )
    assert "is deactivated: reactivate it first" in (await run()).err


@pytest.mark.asyncio
async def test_accounts_are_listed(database_url, make):
    cook = await make.user("Cook", email="cook@example.com", role=600)
    gone = await make.user("Gone", email="gone@example.com")
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(u)s", u=gone.user_id
    )
    stranger = await (await new_realm(make.connection)).user("Stranger")
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )

    async def listed(*options: str) -> dict[str, dict[str, object]]:
        command = ("user", "list", "--realm", subdomain, "--json", *options)
        done = await asyncio.to_thread(parley, *command, DATABASE_URL=database_url)
        return {row["email"]: row for row in json.loads(done.out)}

    some = await listed()
    assert some["cook@example.com"]["role"] == "guest"
    assert (cook.email in some, gone.email in some, stranger.email in some) == (True, False, False)
    everyone = await listed("--deactivated")
    assert everyone["gone@example.com"]["active"] is False
