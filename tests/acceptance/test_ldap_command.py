"""`parley ldap check`, and what `parley check` says of directories."""

import asyncio

import pytest
import pytest_asyncio

from testkit.services.ldap import PEOPLE, READER, READER_PASSWORD
from tests.acceptance.test_operations import parley

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def check(make, database_url, people, certificate):
    """`parley ldap check` in the realm, with the settings of the directory that Ada is in."""
    people.put("ada", "a secret", cn="Ada King", mail="ada@example.com")
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )
    settings = {
        "DATABASE_URL": database_url,
        "PARLEY_LDAP_URL": people.url,
        "PARLEY_LDAP_CA": str(certificate.folder / "certificate.pem"),
        "PARLEY_LDAP_BIND_DN": READER,
        "PARLEY_LDAP_BIND_PASSWORD": READER_PASSWORD,
        "PARLEY_LDAP_BASE": PEOPLE,
    }

    async def checked(name, *options, **changes):
        arguments = ("ldap", "check", name, "--realm", subdomain, *options)
        return await asyncio.to_thread(parley, *arguments, **{**settings, **changes})

    return checked


@pytest.fixture
def password(tmp_path):
    """A file with Ada's password."""
    file = tmp_path / "password"
    file.write_text("a secret\n")
    return file


async def test_an_operator_looks_a_person_up(check, make, password):
    async def told(name="ada", *options):
        answer = await check(name, *options)
        assert answer.status == 0, answer
        return dict(line.split(maxsplit=1) for line in answer.out.splitlines())

    assert (await told())["account"].startswith("none: A realm does not use the directory")
    await make.change_settings(authentication_methods=["LDAP"])
    assert "You need an invitation" in (await told())["account"]
    await make.change_settings(authentication_methods=["LDAP"], invite_required=False)
    assert await told("ada", "--password-file", str(password)) == {
        "entry": f"uid=ada,{PEOPLE}",
        "name": "Ada King",
        "email": "ada@example.com",
        "password": "right",
        "account": "would be made in A realm with the first sign-in",
    }
    ada = await make.user("Ada", email="ADA@example.com")
    assert (await told())["account"] == f"ADA@example.com, user id {ada.user_id}"
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=ada.user_id
    )
    assert "deactivated" in (await told())["account"]


async def test_an_operator_sees_what_groups_mean(check, people, make, database_url):
    await make.change_settings(authentication_methods=["LDAP"])
    engineers, leads = people.put_group("Engineers", "ada"), people.put_group("leads", "ada")
    settings = {
        "PARLEY_LDAP_GROUPS": f'{{"{engineers.upper()}": "engineers", "cn=x": "cooks"}}',
        "PARLEY_LDAP_ROLES": f'{{"{leads}": "moderator"}}',
    }
    answer = await check("ada", **settings)
    assert f"groups    {engineers}; {leads}\n" in answer.out, answer
    assert "mapped to engineers; role moderator\n" in answer.out
    await make.group("Engineers")
    await make.group("cooks", deactivated=True)
    away = {"PARLEY_LDAP_URL": "ldap://127.0.0.1:1", "PARLEY_LDAP_BASE": PEOPLE}
    settings |= {"DATABASE_URL": database_url, **away}
    checked = await asyncio.to_thread(parley, "check", **settings)
    assert "note   directory  LDAP maps groups to cooks, and the organization " in checked.out


async def test_an_operator_is_told_what_is_wrong(check, no_directory, password):
    password.write_text("wrong\n")
    for answer, sentence in (
        (
            await check("ada", "--password-file", str(password)),
            "has no entry for ada with this password",
        ),
        (await check("nobody"), "The directory has no entry for nobody that the server can read"),
        (await check("ada", PARLEY_LDAP_URL="ldap://127.0.0.1:1"), "The directory cannot be asked"),
        (await check("ada", PARLEY_LDAP_URL=no_directory), "does not speak LDAP."),
        (
            await check("ada", PARLEY_LDAP_CA="/nowhere"),
            "PARLEY_LDAP_CA names /nowhere, but: No such file or directory.",
        ),
        (
            await check("ada", PARLEY_LDAP_CA=str(password)),
            f"PARLEY_LDAP_CA names {password}, which holds no certificate in PEM.",
        ),
        (await check("ada", PARLEY_LDAP_BIND_PASSWORD="wrong"), "it does not let this server in"),
        (await check("ada", PARLEY_LDAP_EMAIL_ATTRIBUTE="title"), "has no address in title"),
    ):
        assert (answer.status, sentence in str(answer)) == (1, True), answer
        assert len(answer.err.splitlines()) == 1, answer


async def test_parley_check_asks_the_directory(database_url, people, certificate, no_directory):
    settings = {
        "DATABASE_URL": database_url,
        "PARLEY_LDAP_URL": people.url,
        "PARLEY_LDAP_CA": str(certificate.folder / "certificate.pem"),
        "PARLEY_LDAP_USER_DN": f"uid=%s,{PEOPLE}",
    }
    answer = await asyncio.to_thread(parley, "check", **settings)
    assert "ok     directory  The directory responds" in answer.out
    for wrong in (
        {"PARLEY_LDAP_URL": "ldap://127.0.0.1:1"},
        {"PARLEY_LDAP_URL": no_directory},
        {"PARLEY_LDAP_URL": no_directory, "PARLEY_LDAP_STARTTLS": "off"},
    ):
        answer = await asyncio.to_thread(parley, "check", **{**settings, **wrong})
        assert "wrong  directory  The directory cannot be asked" in answer.out
        assert answer.status == 1
