"""RealmCaches that are away, or do not do as they should."""

import asyncio

import pytest

from testkit.clients.ldap_server import SECRET
from testkit.clients.page_client import PASSWORD, Visitor
from testkit.services.ldap import READER_PASSWORD

pytestmark = pytest.mark.asyncio


async def test_a_certificate_of_another_host_is_not_trusted(
    asking, ldap_search, ldap_names, of_directory, grace
):
    for settings in (ldap_search, ldap_names):
        async with asking({**settings, "ldap_ca": None}) as ask:
            (await ask("grace", SECRET)).refused("SERVER_NOT_READY", 503)
        other = settings["ldap_url"].replace("127.0.0.1", "localhost")
        async with asking({**settings, "ldap_url": other}) as ask:
            (await ask("grace", SECRET)).refused("SERVER_NOT_READY", 503)


async def test_without_encryption_where_the_operator_says_so(
    asking, ldap_search, of_directory, grace
):
    async with asking({**ldap_search, "ldap_starttls": "off", "ldap_ca": None}) as ask:
        (await ask("grace", SECRET)).succeeded()


@pytest.mark.parametrize(
    "mistake",
    [
        {"ldap_bind_password": "wrong"},
        {"ldap_bind_dn": None, "ldap_bind_password": None},
        {"ldap_base": "ou=nowhere,dc=example,dc=com"},
        {"ldap_filter": "((uid=%s))"},
        {"ldap_url": "ldap://127.0.0.1:1"},
        {"ldap_url": "ldap://nowhere.invalid"},
        {"ldap_ca": "/nowhere"},
    ],
)
async def test_mistakes_of_the_operator_are_told_in_the_log_alone(
    asking, ldap_search, of_directory, grace, mistake, capfd
):
    settings = {
        name: value for name, value in {**ldap_search, **mistake}.items() if value is not None
    }
    async with asking(settings) as ask:
        refusal = (await ask("grace", SECRET)).refused("SERVER_NOT_READY", 503)
    assert refusal["msg"] == "The directory does not answer. Try again later."
    told = "".join(capfd.readouterr())
    assert " ldap." in told
    assert SECRET not in told
    assert READER_PASSWORD not in told


@pytest.mark.parametrize("starttls", ["on", "off"])
async def test_a_server_that_is_no_directory_signs_no_user_in(
    asking, ldap_search, of_directory, grace, no_directory, starttls, capfd
):
    settings = {**ldap_search, "ldap_url": no_directory, "ldap_starttls": starttls}
    async with asking(settings) as ask:
        (await ask("grace", SECRET)).refused("SERVER_NOT_READY", 503)
    assert f"{no_directory.removeprefix('ldap://')} does not speak LDAP" in "".join(
        capfd.readouterr()
    )


async def test_the_next_directory_is_asked_where_one_is_away(
    asking, ldap_search, of_directory, grace
):
    urls = f"ldap://127.0.0.1:1, {ldap_search['ldap_url']}"
    async with asking({**ldap_search, "ldap_url": urls}) as ask:
        (await ask("grace", SECRET)).succeeded()


async def test_no_other_request_waits_for_a_silent_directory(asking, ldap_search, make, ada):
    await make.change_settings(authentication_methods=["Email", "LDAP"])
    asked: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    listening = await asyncio.start_server(
        lambda _, writer: asked.put_nowait(writer), "127.0.0.1", 0
    )
    port = listening.sockets[0].getsockname()[1]
    settings = {"ldap_url": f"ldap://127.0.0.1:{port}", "ldap_timeout_seconds": 5}
    async with asking({**ldap_search, **settings, "ldap_connections": 1}) as ask:
        waiting = [asyncio.create_task(ask("grace", SECRET)) for _ in range(3)]
        silent = await asked.get()
        (await ask(ada.email, PASSWORD)).succeeded()
        assert not any(each.done() for each in waiting)
        for each in waiting:
            (await each).refused("SERVER_NOT_READY", 503)
    silent.close()
    while not asked.empty():
        asked.get_nowait().close()
    listening.close()
    await listening.wait_closed()


async def test_a_directory_that_is_away_is_told_on_the_page(
    serving_with, connect, ldap_search, of_directory, make
):
    async with serving_with(**{**ldap_search, "ldap_url": "ldap://127.0.0.1:1"}) as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/login/")
        answer = await browser.submit("/login/", username="grace", password=SECRET)
        assert (answer.status, browser.problem) == (
            503,
            "The directory does not answer. Try again later.",
        )


async def test_one_that_says_nothing_leaves_time_for_the_next(
    asking, ldap_search, of_directory, grace
):
    asked: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    listening = await asyncio.start_server(
        lambda _, writer: asked.put_nowait(writer), "127.0.0.1", 0
    )
    silent = f"ldap://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    settings = {"ldap_url": f"{silent}, {ldap_search['ldap_url']}", "ldap_timeout_seconds": 10}
    async with asking({**ldap_search, **settings}) as ask:
        for _ in range(3):
            (await ask("grace", SECRET)).succeeded()
    listening.close()
    assert asked.qsize() == 1
    asked.get_nowait().close()
    await listening.wait_closed()
