"""The way to one's organization, and to a new one."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from server.domain.sessions import form_token
from testkit.clients.api import Client
from testkit.clients.mailing_server import Posting
from testkit.clients.page_client import Visitor
from testkit.clients.server import ROOT_DOMAIN, serve
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

NEW = "another good password"


@pytest_asyncio.fixture
async def posting(database, database_url, make, sink) -> AsyncIterator[Posting]:
    mail: dict[str, Any] = {"smtp_host": "127.0.0.1", "smtp_port": sink.port}
    async with serve(
        database_url, **mail, smtp_security="none", open_realm_creation=True
    ) as running:
        yield Posting(running, sink, make.realm_id)


@pytest.fixture
def server(posting):
    return posting.server


@pytest.fixture
def newcomer(posting):
    """A visitor at the server's own address, where there is no organization."""
    return Visitor(Client(posting.server, ROOT_DOMAIN))


async def test_people_find_their_organization(newcomer, make):
    assert (await newcomer.look("/")).headers["Location"] == "/accounts/go"
    assert (await newcomer.look("/login/")).headers["Location"] == "/accounts/go"
    answer = await newcomer.look("/accounts/go")
    assert f"http://*.{ROOT_DOMAIN}" in answer.headers["Content-Security-Policy"]
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(r)s", r=make.realm_id
    )
    answer = await newcomer.look(f"/accounts/go?subdomain={subdomain}")
    assert answer.headers["Location"].startswith(f"http://{subdomain}.{ROOT_DOMAIN}")
    for wanted in ("unknown", "%2F%2Fevil.example", "a b"):
        assert (await newcomer.look(f"/accounts/go?subdomain={wanted}")).status == 404
        assert newcomer.problem


async def test_the_desktop_app_finds_organizations_too(newcomer, serving_with, make):
    assert (await newcomer.look("/accounts/find/")).status == 200
    assert any("/accounts/go" in line for line in newcomer.page.splitlines())
    await make.connection.execute(
        "UPDATE realms SET deactivated = realm_id <> %(r)s", r=make.realm_id
    )
    await make.connection.execute(
        "UPDATE realms SET subdomain = '' WHERE realm_id = %(r)s", r=make.realm_id
    )
    async with serving_with(root_domain=None) as server:
        answer = await Visitor(Client(server, "localhost")).look("/accounts/find")
        assert answer.status == 303
        assert answer.headers["Location"].endswith("/login/")


async def test_a_server_with_one_organization_leads_there(serving_with, make):
    """From any address, whatever it is called; where there is a choice, the page asks."""

    async def place(**settings):
        async with serving_with(**settings) as server:
            answer = await Visitor(Client(server, ROOT_DOMAIN)).look("/accounts/go/")
            return answer.headers.get("Location")

    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(r)s", r=make.realm_id
    )
    await make.connection.execute(
        "UPDATE realms SET deactivated = realm_id <> %(r)s", r=make.realm_id
    )
    only = await place()
    assert only is not None
    assert only.startswith(f"http://{subdomain}.{ROOT_DOMAIN}")
    assert only.endswith("/login/")
    assert await place(open_realm_creation=True) is None
    assert await place(root_domain=None) is None
    other = await new_realm(make.connection)
    assert await place() is None
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(r)s", r=other.realm_id
    )
    assert await place() == only


async def test_a_newcomer_founds_an_organization_and_signs_in(newcomer, posting):
    await newcomer.look("/new")
    answer = await newcomer.submit("/new", email="grace@example.com")
    assert (await newcomer.follow(answer)).status == 200
    link = posting.link(await posting.mail_of_the_server())
    assert link.startswith("/new/")
    await newcomer.look(link)
    fields = {
        "name": "Navy",
        "subdomain": "Navy",
        "full_name": "Grace Hopper",
        "new_password": NEW,
    }
    for wrong, problem in (
        ({"name": " "}, "cannot be empty"),
        ({"subdomain": "a_b"}, "Subdomain can only have"),
        ({"subdomain": "www"}, "another name"),
        ({"full_name": " "}, "Name too short!"),
        ({"new_password": "password1"}, "easy to guess"),
    ):
        assert (await newcomer.submit(link, **{**fields, **wrong})).status == 400
        assert problem in newcomer.problem
    answer = await newcomer.submit(link, **fields)
    assert answer.headers["Location"].startswith(f"http://navy.{ROOT_DOMAIN}")
    assert answer.headers["Location"].endswith("/login/?done=founded")
    assert (await newcomer.look(link)).status == 400

    client = Client(posting.server, f"navy.{ROOT_DOMAIN}")
    owner = Visitor(client)
    await owner.sign_in("grace@example.com", NEW)
    me = (await owner.send("GET", "/json/users/me")).succeeded()
    assert me["is_owner"] is True
    found = (await owner.send("GET", "/json/users/me/subscriptions")).succeeded()
    assert [each["name"] for each in found["subscriptions"]] == ["general"]
    found = (await owner.send("GET", "/json/streams?include_default=true")).succeeded()
    assert [each["is_default"] for each in found["streams"]] == [True]


async def test_a_name_that_is_taken_keeps_the_link_good(newcomer, posting, make):
    taken = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(r)s", r=make.realm_id
    )
    await newcomer.look("/new")
    await newcomer.submit("/new", email="grace@example.com")
    link = posting.link(await posting.mail_of_the_server())
    await newcomer.look(link)
    fields = {"name": "Navy", "full_name": "Grace", "new_password": NEW}
    answer = await newcomer.submit(link, **fields, subdomain=taken)
    assert answer.status == 400
    assert "already in use" in newcomer.problem
    assert (await newcomer.submit(link, **fields, subdomain="other-navy")).status == 303


async def test_who_throws_addresses_away_founds_nothing(newcomer):
    await newcomer.look("/new")
    assert (await newcomer.submit("/new", email="x@mailinator.com")).status == 400
    assert "disposable" in newcomer.problem


async def test_the_operator_may_keep_that_to_themselves(serving_with):
    async with serving_with() as server:
        client = Client(server, ROOT_DOMAIN)
        visitor = Visitor(client)
        await visitor.look("/accounts/go")
        assert "/new" not in visitor.page
        await visitor.look("/new")
        assert "Ask the operator of this server" in visitor.text
        visitor.cookies["parley_visitor"] = "x" * 43
        await visitor.look("/new")
        answer = await visitor.post(
            "/new", csrfmiddlewaretoken=form_token("x" * 43), email="grace@example.com"
        )
        assert answer.status == 400
