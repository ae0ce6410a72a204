"""People and bots join an organization and leave it, and the right ones hear of it."""

import asyncio
from dataclasses import replace

import pytest
import pytest_asyncio

from server.actions.users import NewUser, create_users
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.errors import BadRequestError
from server.domain.user_settings import ADMINISTRATORS, MEMBERS, MODERATORS, NOBODY
from storage import subscription_spans, subscriptions, users
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio

COOK = NewUser(email="Cook@example.com", full_name="Cook")
ROLES = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST)


class Kitchen:
    """A realm with a user of each role, in which people come and go."""

    def __init__(self, stage: Stage, make, people):
        self.stage, self.make, self.people = stage, make, people

    async def create(self, *new):
        now = self.stage.clock.now()
        writer = self.stage.writers.of(self.make.realm_id)
        return await writer.write(lambda tx: create_users(tx, new, now=now))

    async def row(self, user_id):
        [row] = await users.by_ids(self.make.connection, self.make.realm_id, [user_id])
        return row

    def told(self, kind):
        return [each for each in self.stage.happened if each.event.kind == kind]


@pytest_asyncio.fixture
async def kitchen(stage, make):
    return Kitchen(stage, make, {role: await make.user(role=role) for role in ROLES})


async def test_a_newcomer_has_an_account(kitchen):
    [created] = await kitchen.create(replace(COOK, role=MODERATOR, password_hash="hash"))

    row = await kitchen.row(created.user_id)
    assert (row.email, row.full_name, row.role) == ("Cook@example.com", "Cook", MODERATOR)
    assert (row.api_key, row.date_joined) == (created.api_key, kitchen.stage.clock.now())
    assert row.is_active
    assert not row.is_system_bot


async def test_everyone_hears_of_a_newcomer(kitchen, witnesses):
    seen = await witnesses.watch(lambda: kitchen.create(COOK), list(kitchen.people.values()))

    for witness in seen:
        [added] = [e for e in witness.events if e["type"] == "realm_user"]
        assert added["person"]["full_name"] == "Cook"
        assert added["person"]["delivery_email"] == "Cook@example.com"
        assert (added["person"]["avatar_url"] is None) == witness.view.client_gravatar


async def test_many_newcomers_come_together_or_not_at_all(kitchen):
    people = [replace(COOK, email=f"cook{n}@example.com", full_name=f"Cook {n}") for n in range(50)]

    created = await kitchen.create(*people)

    assert [c.email for c in created] == [p.email for p in people]
    assert len({c.api_key for c in created}) == 50
    with pytest.raises(BadRequestError, match="already in use"):
        await kitchen.create(COOK, replace(COOK, email="COOK7@example.com"))
    connection, realm_id = kitchen.make.connection, kitchen.make.realm_id
    assert await users.by_emails(connection, realm_id, [COOK.email]) == []


@pytest.mark.parametrize(
    "new",
    [
        replace(COOK, email="no address"),
        replace(COOK, email="a@b@c"),
        replace(COOK, email="x" * 250 + "@example.com"),
        replace(COOK, full_name=" "),
        replace(COOK, full_name="x" * 101),
        replace(COOK, full_name="a\nb\x00"),
        replace(COOK, full_name="**Cook**"),
        replace(COOK, role=500),
        replace(COOK, bot_type=9),
        replace(COOK, bot_type=1, role=OWNER),
    ],
)
async def test_what_cannot_be_is_refused(kitchen, new):
    with pytest.raises(BadRequestError):
        await kitchen.create(new)

    assert kitchen.stage.happened == []


async def test_an_address_of_who_has_left_is_still_theirs(kitchen, make):
    gone = await make.user(is_active=False)
    with pytest.raises(BadRequestError, match="deactivated"):
        await kitchen.create(replace(COOK, email=gone.email.upper()))


async def test_the_address_that_stands_for_a_hidden_one_is_reserved(kitchen, make):
    realm_cache = kitchen.stage.realm_caches.of(make.realm_id)
    hidden = f"user{kitchen.people[OWNER].user_id}@{(await realm_cache.address()).domain}"
    with pytest.raises(BadRequestError, match="reserved"):
        await kitchen.create(replace(COOK, email=hidden.upper()))


async def test_an_address_is_taken_once_in_a_request_too(kitchen):
    with pytest.raises(BadRequestError, match="twice"):
        await kitchen.create(COOK, replace(COOK, email="COOK@example.com"))


async def test_two_requests_for_one_address_give_one_account(kitchen):
    results = await asyncio.gather(
        *(kitchen.create(COOK) for _ in range(5)), return_exceptions=True
    )

    assert sum(isinstance(r, list) for r in results) == 1
    assert sum(isinstance(r, BadRequestError) for r in results) == 4


@pytest.mark.parametrize(
    ("visibility", "knowing"),
    [
        (MEMBERS, {OWNER, ADMINISTRATOR, MODERATOR, MEMBER}),
        (MODERATORS, {OWNER, ADMINISTRATOR, MODERATOR}),
        (ADMINISTRATORS, {OWNER, ADMINISTRATOR}),
        (NOBODY, set()),
    ],
)
async def test_an_address_is_told_to_those_who_may_know_it(kitchen, witnesses, visibility, knowing):
    new = replace(COOK, settings={"email_address_visibility": visibility})

    seen = await witnesses.watch(lambda: kitchen.create(new), list(kitchen.people.values()))

    told = {}
    for witness in seen:
        [added] = [e for e in witness.events if e["type"] == "realm_user"]
        told[witness.user.role] = added["person"]
    assert {role for role, person in told.items() if person["delivery_email"]} == knowing
    assert all(person["email"].startswith("user") for person in told.values())


async def test_guests_with_limited_visibility_hear_of_no_newcomer(kitchen, make, witnesses):
    role_groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=role_groups["role:members"])
    kitchen.stage.realm_caches.of(make.realm_id).forget_everything()
    guest, member = kitchen.people[GUEST], kitchen.people[MEMBER]

    complete, old, *others = await witnesses.watch(lambda: kitchen.create(COOK), [guest, member])

    assert [e for e in complete.events if e["type"] == "realm_user"] == []
    [placeholder] = [e["person"] for e in old.events if e["type"] == "realm_user"]
    assert placeholder["full_name"] == "Unknown user"
    assert "Cook" not in str(old.events)
    for witness in others:
        [added] = [e["person"] for e in witness.events if e["type"] == "realm_user"]
        assert added["full_name"] == "Cook"


async def test_a_bot_is_told_of_to_its_owner_and_the_administrators(kitchen, witnesses):
    owner = kitchen.people[MEMBER]
    bot = replace(COOK, bot_type=1, bot_owner_id=owner.user_id)

    seen = await witnesses.watch(lambda: kitchen.create(bot), list(kitchen.people.values()))

    told = {w.user.role for w in seen if any(e["type"] == "realm_bot" for e in w.events)}
    assert told == {OWNER, ADMINISTRATOR, MEMBER}
    [row] = await users.bots(kitchen.make.connection, kitchen.make.realm_id, owner_id=owner.user_id)
    assert (row.full_name, row.bot_type) == ("Cook", 1)


@pytest.mark.parametrize(
    ("role", "days", "group_names"),
    [
        (OWNER, 3, {"role:owners"}),
        (MEMBER, 0, {"role:members", "role:fullmembers"}),
        (MEMBER, 3, {"role:members"}),
        (GUEST, 0, {"role:everyone"}),
    ],
)
async def test_a_newcomer_is_in_the_role_groups_at_once(
    kitchen, make, witnesses, role, days, group_names
):
    await make.change_settings(waiting_period_threshold=days)
    kitchen.stage.realm_caches.of(make.realm_id).forget_everything()

    [witness, _] = await witnesses.watch(
        lambda: kitchen.create(replace(COOK, role=role)), [kitchen.people[MEMBER]]
    )

    names = {group_id: name for name, group_id in (await make.role_groups()).items()}
    joined = {names[e["group_id"]] for e in witness.events if e["type"] == "user_group"}
    assert joined == group_names


async def test_newcomers_are_in_the_default_channels(kitchen, make):
    general = await make.channel("general", is_default=True, subscribers=[kitchen.people[MEMBER]])
    await make.channel("other")

    cook, guest, bot = await kitchen.create(
        COOK,
        replace(COOK, email="guest@example.com", role=GUEST),
        replace(COOK, email="bot@example.com", bot_type=1),
    )

    ids = await subscriptions.active_user_ids(make.connection, make.realm_id, general.channel_id)
    assert ids == [kitchen.people[MEMBER].user_id, cook.user_id]
    assert {guest.user_id, bot.user_id}.isdisjoint(ids)
    assert (await make.again(general)).subscriber_count == 2
    [span] = await subscription_spans.of_users(make.connection, make.realm_id, [cook.user_id])
    assert span.last is None
    [joined] = kitchen.told("subscription/add")
    assert span.first == joined.position + 1


async def test_a_changed_row_says_when(kitchen):
    [created] = await kitchen.create(COOK)

    row = await kitchen.row(created.user_id)

    assert row.changed_at in {each.position for each in kitchen.stage.happened}
