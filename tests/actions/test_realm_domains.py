"""The organization's domains: who may change them, who hears of it, and what goes with the last."""

import pytest

from server.actions.realm_domains import add_domain, change_domain, remove_domain
from server.domain import realm_domains as rules
from server.domain.errors import BadRequestError, InvalidParameterError
from storage import audit_log, realm_domains, realms
from storage.realm_domains import DomainRow
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


async def restricted(make):
    realm = await realms.by_id(make.connection, make.realm_id)
    assert realm is not None
    return realm.settings.get("emails_restricted_to_domains", False)


async def add(hall, domain, *, row=None, allow_subdomains=False):
    return await hall.stage.write(
        add_domain, hall.actor(row or hall.owner), domain, allow_subdomains=allow_subdomains
    )


async def test_every_change_is_told_to_everyone_and_kept_in_the_audit_log(hall, make, witnesses):
    async def change():
        await add(hall, "Example.com")
        await add(hall, "example.org", allow_subdomains=True)
        owner = hall.actor(hall.owner)
        await hall.stage.write(change_domain, owner, "example.COM", allow_subdomains=True)
        await hall.stage.write(remove_domain, owner, "example.org")

    seen = await witnesses.watch(change, hall.everyone)

    assert {len(witness.events) for witness in seen} == {4}
    rows = await audit_log.newest(make.connection, make.realm_id, limit=4)
    assert [(row.action, row.before, row.after) for row in reversed(rows)] == [
        ("domain_added", {}, {"domain": "example.com", "allow_subdomains": False}),
        ("domain_added", {}, {"domain": "example.org", "allow_subdomains": True}),
        (
            "domain_changed",
            {"domain": "example.com", "allow_subdomains": False},
            {"domain": "example.com", "allow_subdomains": True},
        ),
        ("domain_removed", {"domain": "example.org", "allow_subdomains": True}, {}),
    ]


async def test_with_the_last_one_goes_the_restriction(hall, make, witnesses):
    """Or new users could not join any more."""
    await make.change_settings(emails_restricted_to_domains=True)
    for domain in ("example.com", "example.org"):
        await add(hall, domain)
    owner = hall.actor(hall.owner)
    await hall.stage.write(remove_domain, owner, "example.com")
    assert await restricted(make)

    await witnesses.watch(
        lambda: hall.stage.write(remove_domain, owner, "example.org"), hall.everyone
    )

    assert not await restricted(make)


async def test_a_change_without_effect_sends_no_event(hall):
    await add(hall, "example.com")
    hall.stage.happened.clear()
    owner = hall.actor(hall.owner)
    await hall.stage.write(change_domain, owner, "example.com", allow_subdomains=False)
    assert hall.stage.happened == []


async def test_a_domain_is_there_once_and_not_endlessly_many(hall, make):
    await add(hall, "example.com")
    with pytest.raises(InvalidParameterError, match="already"):
        await add(hall, "EXAMPLE.com")
    for n in range(1, rules.MAX_DOMAINS):
        row = DomainRow(f"{n}.example.com", allow_subdomains=False)
        await realm_domains.insert(make.connection, make.realm_id, row)
    with pytest.raises(BadRequestError, match="Too many"):
        await add(hall, "example.org")


async def test_they_are_for_owners(hall):
    await add(hall, "example.com")
    hall.stage.happened.clear()
    for row in (hall.admin, hall.member, hall.guest):
        with pytest.raises(BadRequestError, match="owner"):
            await add(hall, "example.org", row=row)
        for action, settings in ((change_domain, {"allow_subdomains": True}), (remove_domain, {})):
            with pytest.raises(BadRequestError, match="owner"):
                await hall.stage.write(action, hall.actor(row), "example.com", **settings)
    assert hall.stage.happened == []


async def test_another_realms_are_not_there(hall, make):
    other = await new_realm(make.connection)
    row = DomainRow("example.com", allow_subdomains=False)
    await realm_domains.insert(make.connection, other.realm_id, row)

    with pytest.raises(BadRequestError, match="No entry"):
        await hall.stage.write(remove_domain, hall.actor(hall.owner), "example.com")
    await add(hall, "example.com")
