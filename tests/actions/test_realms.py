"""Founding an organization."""

from dataclasses import replace

import pytest

from server.actions.realms import create_realm
from server.actions.users import NewUser
from server.domain.access import OWNER, SYSTEM_GROUP_NESTING, SYSTEM_GROUPS
from server.domain.errors import BadRequestError
from server.domain.realm_settings import RealmSettings
from server.domain.system_bots import SYSTEM_BOTS
from storage import clock, credentials, groups, realms, users
from testkit.clock import StoppedClock

pytestmark = pytest.mark.asyncio

OWNER_TO_BE = NewUser(email="olga@example.com", full_name="Olga", password_hash="hash")
NOW = StoppedClock().now()


async def found(connection, **facts):
    facts = {"name": "The Kitchen", "owner": OWNER_TO_BE, "now": NOW, **facts}
    return await create_realm(connection, **facts)


async def test_it_has_an_owner_who_can_sign_in(connection):
    realm = await found(connection, subdomain="Kitchen")

    row = await realms.by_id(connection, realm.realm_id)
    assert row is not None
    assert (row.name, row.subdomain) == ("The Kitchen", "kitchen")
    [owner] = await users.by_emails(connection, realm.realm_id, ["olga@example.com"])
    assert (owner.role, owner.date_joined, len(owner.api_key)) == (OWNER, NOW, 32)
    assert (realm.owner.user_id, realm.owner.api_key) == (owner.user_id, owner.api_key)
    known = await credentials.by_email(connection, realm.realm_id, "OLGA@example.com")
    assert known is not None
    assert known.password_hash == "hash"


async def test_people_see_who_has_read_a_message(connection):
    realm = await found(connection)
    row = await realms.by_id(connection, realm.realm_id)
    assert row is not None
    assert RealmSettings.of(row.settings).enable_read_receipts


async def test_its_clock_is_at_the_start(connection):
    realm = await found(connection)

    row = await clock.read(connection, realm.realm_id)

    assert row is not None
    assert row.position == 0


async def test_it_has_the_role_groups_each_within_the_next(connection):
    realm = await found(connection)

    rows = await groups.all_of_realm(connection, realm.realm_id)

    names = {row.group_id: row.name for row in rows}
    assert [row.name for row in rows] == list(SYSTEM_GROUPS)
    assert all(row.is_system_group and row.description for row in rows)
    nested = {row.name: names[row.subgroup_ids[0]] for row in rows if row.subgroup_ids}
    assert nested == SYSTEM_GROUP_NESTING


async def test_it_has_the_system_bots(connection):
    realm = await found(connection)

    rows = await users.by_emails(connection, realm.realm_id, [bot.email for bot in SYSTEM_BOTS])

    assert {row.full_name for row in rows} == {bot.full_name for bot in SYSTEM_BOTS}
    assert all(row.is_system_bot and row.bot_type == 1 for row in rows)
    assert await credentials.by_email(connection, realm.realm_id, SYSTEM_BOTS[0].email) is None


async def test_every_realm_has_system_bots_of_its_own(connection):
    one, other = await found(connection, subdomain="one"), await found(connection, subdomain="two")

    for realm in (one, other):
        assert len(await users.by_emails(connection, realm.realm_id, [SYSTEM_BOTS[0].email])) == 1


async def test_the_owner_starts_with_the_settings_that_people_start_with(connection):
    settings = RealmSettings(waiting_period_threshold=3, user_settings_defaults={"color_scheme": 2})

    realm = await found(connection, settings=settings)

    row = await realms.by_id(connection, realm.realm_id)
    assert row is not None
    assert RealmSettings.of(row.settings) == settings
    [owner] = await users.by_ids(connection, realm.realm_id, [realm.owner.user_id])
    assert owner.settings == {"color_scheme": 2}


async def test_a_subdomain_is_given_once(connection):
    await found(connection, subdomain="kitchen")

    with pytest.raises(BadRequestError, match="already in use"):
        await found(connection, subdomain="KITCHEN")


@pytest.mark.parametrize(
    "facts",
    [
        {"name": "   "},
        {"name": "x" * 41},
        {"subdomain": "a b"},
        {"subdomain": "-a"},
        {"subdomain": "x" * 41},
        {"owner": replace(OWNER_TO_BE, email="olga")},
        {"owner": replace(OWNER_TO_BE, full_name="@")},
        {"owner": replace(OWNER_TO_BE, email="Welcome-Bot@zulip.com")},
    ],
)
async def test_what_cannot_be_is_refused(connection, facts):
    with pytest.raises(BadRequestError):
        await found(connection, **facts)
