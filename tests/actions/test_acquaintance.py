"""Where guests may know only people they meet, channels are where they meet them."""

import pytest
import pytest_asyncio

from server.actions.subscriptions.shared_contacts import PEOPLE_PER_ENTRY
from server.domain.access import GUEST
from testkit.factories import user_ids

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def shy(hall, make):
    """The same hall, in an organization where guests know only people they meet."""
    members = (await make.role_groups())["role:members"]
    await make.connection.execute(
        "UPDATE realms SET settings = jsonb_build_object("
        "'can_access_all_users_group', %(id)s::int)",
        id=members,
    )
    hall.stage.realm_caches.of(make.realm_id).forget_everything()
    return hall


def met(witness):
    return [
        e["person"]["user_id"] for e in witness.events if e.get("op") == "add" and "person" in e
    ]


async def test_a_guest_who_joins_comes_to_know_those_who_are_there(shy, witnesses):
    bot = await shy.make.user(bot_type=1)
    await shy.make.channel("plans", subscribers=[shy.member, shy.admin, bot])

    async def change():
        await shy.subscribe(shy.member, "plans", people=[shy.guest, shy.other])

    seen = await witnesses.watch(change, [shy.guest, shy.owner])

    known = user_ids([shy.admin, shy.member, shy.other])
    assert [met(each) for each in seen] == [known, known, [], []]


async def test_guests_who_are_there_come_to_know_who_joins(shy, witnesses):
    another = await shy.make.user(role=GUEST)
    await shy.make.channel("plans", subscribers=[shy.guest, another])
    await shy.make.channel("other", subscribers=[another, shy.member])

    seen = await witnesses.watch(
        lambda: shy.subscribe(shy.member, "plans"), [shy.guest, another, shy.member]
    )

    assert met(seen[0]) == [shy.member.user_id]
    assert met(seen[2]) == []


async def test_who_leaves_is_known_no_more_unless_met_elsewhere(shy, witnesses):
    people = [shy.guest, shy.member, shy.other]
    await shy.make.channel("plans", subscribers=people)
    await shy.make.channel("more", subscribers=[shy.guest, shy.other])

    await witnesses.watch(lambda: shy.unsubscribe(shy.member, "plans"), people)
    await witnesses.watch(lambda: shy.unsubscribe(shy.guest, "plans"), people)
    await witnesses.watch(lambda: shy.unsubscribe(shy.guest, "more"), people)


async def test_meeting_very_many_takes_several_entries(shy):
    people = await shy.make.users(PEOPLE_PER_ENTRY + 10)
    await shy.make.channel("plans", subscribers=people)

    await shy.subscribe(people[0], "plans", people=[shy.guest])

    introduced = shy.told("realm_user/introduced")
    assert [len(each.event.people) for each in introduced] == [PEOPLE_PER_ENTRY, 10]
    await shy.unsubscribe(shy.guest, "plans")
    forgotten = shy.told("realm_user/forgotten")
    assert sum(len(each.event.people) for each in forgotten) == PEOPLE_PER_ENTRY + 10
