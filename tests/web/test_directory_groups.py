"""Groups of LDAP, SAML and OpenID Connect become user groups and roles at each sign-in."""

import base64
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from storage import groups, users
from testkit.clients.ldap_server import SECRET
from testkit.clients.page_client import FORM, Visitor
from testkit.factories import new_realm
from testkit.services.ldap import GROUPS
from testkit.services.oauth_provider import CLIENT_ID
from testkit.services.oauth_provider import SECRET as CLIENT_SECRET
from testkit.services.saml_provider import SIGN_IN_URL, SITE

pytestmark = pytest.mark.asyncio

ROLES = {"admins": "administrator", "leads": "moderator", "visitors": "guest"}


async def state_of(make, email: str) -> tuple[int, set[str]]:
    """The role of an account, and the names of its groups."""
    [row] = await users.by_emails(make.connection, make.realm_id, [email])
    rows = await groups.all_of_realm(make.connection, make.realm_id)
    return row.role, {each.name for each in rows if row.user_id in each.member_ids}


async def causes(make) -> list[dict[str, Any]]:
    found = await make.connection.values(
        "SELECT after FROM audit_log WHERE realm_id = %(r)s AND action = 'user_claims_followed'"
        " ORDER BY audit_id",
        r=make.realm_id,
    )
    return [json.loads(each) if isinstance(each, str) else each for each in found]


def mapped(**also):
    names = {
        "CN=Engineers, OU=groups,dc=example,dc=COM": "engineers",
        f"cn=cooks,{GROUPS}": "Cooks",
        f"cn=lost,{GROUPS}": "no such group",
    }
    roles = {f"cn={name},{GROUPS}": role for name, role in ROLES.items()}
    return {"ldap_groups": json.dumps(names), "ldap_roles": roles, **also}


@pytest.mark.parametrize("way", ["attribute", "search"])
async def test_groups_of_ldap_are_followed_at_each_sign_in(
    asking, ldap_search, of_directory, people, grace, make, capfd, way
):
    await make.user(role=OWNER)
    await make.group("engineers")
    await make.group("cooks")
    people.put_group("Engineers", "grace")
    people.put_group("lost", "grace")
    people.put_group("leads", "grace")
    search = {"ldap_group_attribute": "ou", "ldap_group_base": GROUPS}
    settings = mapped(**search) if way == "search" else mapped()
    async with asking({**ldap_search, **settings}) as ask:
        user_id = (await ask("grace", SECRET)).succeeded()["user_id"]
        assert await state_of(make, "grace@example.com") == (MODERATOR, {"engineers"})
        people.put_group("Engineers")
        people.put_group("cooks", "grace")
        people.put_group("admins", "grace")
        (await ask("grace", SECRET)).succeeded()
        (await ask("grace", SECRET)).succeeded()
    assert await state_of(make, "grace@example.com") == (ADMINISTRATOR, {"cooks"})
    first, then = await causes(make)
    assert (first["provider"], first["role"], first["groups_removed"]) == ("LDAP", MODERATOR, [])
    assert (then["role"], len(then["groups_added"]), len(then["groups_removed"])) == (200, 1, 1)
    assert "".join(capfd.readouterr()).count("directory.group_unknown") == 1
    actors = await make.connection.values(
        "SELECT count(DISTINCT actor_id) FROM audit_log WHERE realm_id = %(r)s"
        " AND action = 'group_members_changed' AND actor_id <> %(u)s",
        r=make.realm_id,
        u=user_id,
    )
    assert actors == [1]


async def test_other_groups_and_the_only_owner_stay(
    asking, ldap_search, of_directory, people, make
):
    owner = await make.user("Ada", email="ada@example.com", role=OWNER)
    await make.group("own", members=[owner])
    await make.group("engineers", members=[owner], deactivated=True)
    await make.group("cooks", members=[owner])
    people.put("ada", SECRET, cn="Ada", mail="ada@example.com")
    people.put_group("visitors", "ada")
    async with asking({**ldap_search, **mapped()}) as ask:
        (await ask("ada", SECRET)).succeeded()
        assert await state_of(make, "ada@example.com") == (OWNER, {"own", "engineers"})
        people.put_group("visitors")
        await make.user(role=OWNER)
        (await ask("ada", SECRET)).succeeded()
        assert (await state_of(make, "ada@example.com"))[0] == OWNER
        people.put_group("visitors", "ada")
        (await ask("ada", SECRET)).succeeded()
    assert (await state_of(make, "ada@example.com"))[0] == GUEST


# -- other sites


@pytest.fixture
def site(provider):
    provider.claims = {"email": "ada@example.com", "email_verified": True, "name": "Ada L."}
    return {
        "issuer": provider.url,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "groups_claim": "realm_access.groups",
        "groups_scope": "groups",
        "groups": {"eng": "engineers", "COOKS": "cooks"},
        "roles": ROLES,
    }


async def signs_in(connect, server, realm_id, provider):
    """Sign in at the site; the browser, and the last answer."""
    browser = Visitor(await connect(server, realm_id))
    answer = await browser.look("/accounts/login/social/own")
    assert "openid+email+profile+groups" in answer.headers["Location"].replace("%20", "+")
    return browser, await browser.look(provider.sign_in(answer.headers["Location"]))


async def test_claims_of_openid_connect_are_followed(serving_with, connect, provider, site, make):
    await make.change_settings(authentication_methods=["OpenID Connect"])
    ada = await make.user("Ada", email="ada@example.com")
    await make.user(role=OWNER)
    await make.group("engineers")
    await make.group("cooks", members=[ada])
    async with serving_with(sign_in_providers={"own": site}) as server:
        for claimed, role, names in (
            (None, MEMBER, {"cooks"}),
            ({"groups": 7}, MEMBER, {"cooks"}),
            ({"groups": ["eng", "cooks", "leads", 7]}, MODERATOR, {"engineers"}),
            ({"groups": [f"g{n}" for n in range(1_001)]}, MODERATOR, {"engineers"}),
            ({"groups": "COOKS"}, MODERATOR, {"cooks"}),
            ({"groups": []}, MODERATOR, set()),
        ):
            provider.claims["realm_access"] = claimed
            await signs_in(connect, server, make.realm_id, provider)
            assert await state_of(make, "ada@example.com") == (role, names), claimed


async def test_a_newcomer_gets_groups_and_role_with_the_account(
    serving_with, connect, provider, site, make
):
    await make.change_settings(authentication_methods=["OpenID Connect"], invite_required=False)
    await make.user(role=OWNER)
    await make.group("engineers")
    provider.claims["realm_access"] = {"groups": ["eng", "visitors"]}
    async with serving_with(sign_in_providers={"own": site}) as server:
        browser, answer = await signs_in(connect, server, make.realm_id, provider)
        place = answer.headers["Location"].partition("?")[0]
        without_claims = place.rpartition(".")[0]
        assert (await browser.look(without_claims)).status == 400
        await browser.look(place)
        await browser.submit(place, full_name="Ada")
        assert "parley_session" in browser.cookies
    assert await state_of(make, "ada@example.com") == (GUEST, {"engineers"})
    assert [each["provider"] for each in await causes(make)] == ["own"]


async def test_another_organization_is_left_as_it_is(serving_with, connect, provider, site, make):
    other = await new_realm(make.connection)
    for each in (make, other):
        await each.change_settings(authentication_methods=["OpenID Connect"])
        await each.user(role=OWNER)
        await each.user("Ada", email="ada@example.com")
        await each.group("engineers")
    provider.claims["realm_access"] = {"groups": ["eng", "visitors"]}
    async with serving_with(sign_in_providers={"own": site}) as server:
        await signs_in(connect, server, make.realm_id, provider)
    assert await state_of(make, "ada@example.com") == (GUEST, {"engineers"})
    assert await state_of(other, "ada@example.com") == (MEMBER, set())


async def test_attributes_of_saml_are_followed(serving_with, connect, make, saml_site, pairs):
    described = {
        "kind": "saml",
        "entity_id": SITE,
        "sign_in_url": SIGN_IN_URL,
        "certificate": pairs["site"].certificate,
        "domains": ["example.com"],
        "groups": {"eng": "engineers"},
        "roles": ROLES,
    }
    await make.change_settings(authentication_methods=["SAML"])
    ada = await make.user("Ada", email="ada@example.com")
    await make.user(role=OWNER)
    await make.group("engineers", members=[ada])
    async with serving_with(sign_in_providers={"ours": described}) as server:
        for attributes, role, names in (
            ({}, MEMBER, {"engineers"}),
            ({"groups": []}, MEMBER, set()),
            ({"memberOf": ["eng", "leads"]}, MODERATOR, {"engineers"}),
        ):
            saml_site.attributes = attributes
            browser = Visitor(await connect(server, make.realm_id))
            answer = await browser.look("/accounts/login/social/ours")
            question = saml_site.read(answer.headers["Location"])
            xml = base64.b64encode(saml_site.answer(question)).decode()
            fields = {"SAMLResponse": xml, "RelayState": question.state}
            await browser.send(
                "POST", "/complete/ours", body=urlencode(fields).encode(), headers=FORM
            )
            assert "parley_session" in browser.cookies, browser.text
            assert await state_of(make, "ada@example.com") == (role, names), attributes
