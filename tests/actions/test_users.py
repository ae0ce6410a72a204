"""People and bots join an organization and leave it, and the right ones hear of it."""

import asyncio
from dataclasses import replace

import pytest
import pytest_asyncio

from server.actions.users import NewUser, create_users, deactivate_user
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.errors import BadRequestError
from server.domain.user_settings import ADMINISTRATORS, MEMBERS, MODERATORS, NOBODY
from storage import event_queues, subscriptions, users
from storage.ids import Position, QueueId
from tests.fixtures.making import Stage

pytestmark = pytest.mark.asyncio

COOK = NewUser(email="Cook@example.com", full_name="Cook")
ROLES = (OWNER, ADMINISTRATOR, MODERATOR, MEMBER, GUEST)


class Kitchen:
    """A realm with somebody of each role, in which people come and go."""

    def __init__(self, stage: Stage, make, people):
        self.stage, self.make, self.people = stage, make, people

    async def create(self, *new):
        now = self.stage.clock.now()
        writer = self.stage.writers.of(self.make.realm_id)
        return await writer.write(lambda tx: create_users(tx, new, now=now))

    async def deactivate(self, user_id):
        writer = self.stage.writers.of(self.make.realm_id)
        now = self.stage.clock.now()
        return await writer.write(lambda tx: deactivate_user(tx, user_id, now=now))

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
        replace(COOK, full_name="x"),
        replace(COOK, full_name="x" * 101),
        replace(COOK, full_name="a\nb\x00"),
        replace(COOK, full_name="**Cook**"),
        replace(COOK, role=500),
        replace(COOK, bot_type=9),
    ],
)
async def test_what_cannot_be_is_refused(kitchen, new):
    with pytest.raises(BadRequestError):
        await kitchen.create(new)

    assert kitchen.stage.happened == []


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


async def test_guests_who_may_not_know_everybody_hear_of_no_newcomer(kitchen, make, witnesses):
    role_groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=role_groups["role:members"])
    kitchen.stage.directories.of(make.realm_id).forget_everything()
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
    kitchen.stage.directories.of(make.realm_id).forget_everything()

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
    [span] = await subscriptions.spans_of(make.connection, make.realm_id, [cook.user_id])
    assert span.last is None
    [joined] = kitchen.told("subscription/add")
    assert span.first == joined.position + 1


async def test_a_changed_row_says_when(kitchen):
    [created] = await kitchen.create(COOK)

    row = await kitchen.row(created.user_id)

    assert row.changed_at in {each.position for each in kitchen.stage.happened}


async def test_who_leaves_is_a_deactivated_user_to_everyone(kitchen, make, witnesses):
    cook = await make.user("Cook")
    group_id = await make.group("cooks", members=[cook])
    watching = list(kitchen.people.values())

    seen = await witnesses.watch(lambda: kitchen.deactivate(cook.user_id), watching)

    assert not (await kitchen.row(cook.user_id)).is_active
    for witness in seen:
        [change] = [e["person"] for e in witness.events if e["type"] == "realm_user"]
        assert change == {"user_id": cook.user_id, "is_active": False}
        assert group_id in {e.get("group_id") for e in witness.events}


async def test_bots_leave_with_their_owner(kitchen, make, witnesses):
    cook = await make.user("Cook")
    bot = await make.user("Oven", bot_type=1, bot_owner=cook)

    await witnesses.watch(lambda: kitchen.deactivate(cook.user_id), [kitchen.people[OWNER]])

    assert not (await kitchen.row(bot.user_id)).is_active


async def test_event_queues_end_when_their_user_leaves(kitchen, make):
    cook = await make.user()
    row = event_queues.EventQueueRow(
        queue_id=QueueId("queue"),
        user_id=cook.user_id,
        epoch=1,
        base=Position(0),
        params={},
        lifespan_seconds=600,
    )
    await event_queues.insert(make.connection, make.realm_id, row)

    await kitchen.deactivate(cook.user_id)

    assert await event_queues.live(make.connection, make.realm_id, QueueId("queue")) is None
    [ended] = kitchen.told("queues_ended")
    assert ended.event.ended_queues() == (cook.user_id,)


async def test_others_no_longer_see_them_as_subscribers(kitchen, make):
    cook = await make.user()
    channel = await make.channel(subscribers=[cook, kitchen.people[MEMBER]])

    await kitchen.deactivate(cook.user_id)

    [gone] = kitchen.told("subscription/peer_remove")
    assert (gone.event.stream_ids, gone.event.user_ids) == ([channel.channel_id], [cook.user_id])
    assert (await make.again(channel)).subscriber_count == 1


async def test_the_only_owner_stays(kitchen, make):
    with pytest.raises(BadRequestError, match="only organization owner"):
        await kitchen.deactivate(kitchen.people[OWNER].user_id)

    await make.user(role=OWNER)
    await kitchen.deactivate(kitchen.people[OWNER].user_id)


async def test_nobody_leaves_who_is_not_there(kitchen):
    with pytest.raises(BadRequestError, match="No such user"):
        await kitchen.deactivate(999_999_999)


async def test_leaving_twice_is_leaving_once(kitchen, make):
    cook = await make.user(is_active=False)

    await kitchen.deactivate(cook.user_id)

    assert kitchen.stage.happened == []
