"""Custom profile fields: who may change them, who hears of it, and what goes with them."""

import asyncio

import pytest
import pytest_asyncio

from queue_processors.deferred_work import KINDS
from server.actions.profile_choices import PEOPLE_PER_STEP, WITHDRAWING
from server.actions.profile_data import change_own_data
from server.actions.profile_fields import (
    FieldWish,
    add_field,
    change_field,
    order_fields,
    remove_field,
)
from server.actions.stepped_work import finish
from server.domain import profile_fields as rules
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.profile_fields import FieldDefinition, FieldType
from server.events.users import ProfileValueWithdrawn
from storage import audit_log, profile_data, profile_fields, users
from testkit.database import until_blocked_on_lock
from testkit.factories import new_realm, user_ids

pytestmark = pytest.mark.asyncio

CHOICES = {"t": {"text": "Tea", "order": "1"}, "c": {"text": "Coffee", "order": "2"}}
ONLY_TEA = {"t": CHOICES["t"]}


def terms(name="Team", field_type=FieldType.SHORT_TEXT, **facts):
    return FieldDefinition(
        **{
            "field_type": field_type,
            "name": name,
            "hint": "",
            "field_data": {},
            "required": False,
            "editable_by_user": True,
            "display_in_profile_summary": False,
            **facts,
        }
    )


class Office:
    def __init__(self, stage, make, admin, member, guest):
        self.stage, self.make, self.admin = stage, make, admin
        self.member, self.guest = member, guest

    @property
    def people(self):
        return [self.admin, self.member, self.guest]

    async def do(self, action, *args, row=None):
        actor = await self.make.actor(row or self.admin)
        return await self.stage.write(action, actor, *args)

    async def add(self, *args, **facts):
        return await self.do(add_field, terms(*args, **facts))

    async def say(self, row, **answers):
        await self.do(change_own_data, {int(k[1:]): v for k, v in answers.items()}, row=row)

    async def kept(self):
        rows = await profile_fields.of_realm(self.make.connection, self.make.realm_id)
        return [row.field_id for row in rows]

    async def said(self):
        found = await profile_data.of_realm(self.make.connection, self.make.realm_id)
        return {u: {f: row.value for f, row in data.items()} for u, data in found.items()}

    async def actions(self):
        rows = await audit_log.newest(self.make.connection, self.make.realm_id, limit=20)
        return [row.action for row in reversed(rows)]


@pytest_asyncio.fixture
async def office(stage, make):
    admin = await make.user(role=ADMINISTRATOR)
    return Office(stage, make, admin, await make.user(), await make.user(role=GUEST))


async def test_every_change_is_told_to_everyone_and_kept_in_the_audit_log(office, witnesses):
    async def change():
        first = await office.add()
        second = await office.add("Drink", FieldType.SELECT, field_data=CHOICES, required=True)
        await office.do(order_fields, [second, first])
        await office.do(change_field, first, FieldWish(name="Crew", hint="Which one?"))
        await office.do(remove_field, second)

    seen = await witnesses.watch(change, office.people)

    assert {len(witness.events) for witness in seen} == {5}
    assert await office.actions() == [
        "profile_field_added",
        "profile_field_added",
        "profile_fields_ordered",
        "profile_field_changed",
        "profile_field_removed",
    ]


async def test_what_people_said_goes_with_the_field(office, witnesses):
    first, second = await office.add("One"), await office.add("Two")
    for row in office.people:
        await office.say(row, **{f"f{first}": "a", f"f{second}": "b"})

    seen = await witnesses.watch(lambda: office.do(remove_field, first), office.people)

    assert {len(witness.events) for witness in seen} == {1}
    assert set(map(str, (await office.said()).values())) == {str({second: "b"})}
    with pytest.raises(BadRequestError, match="not found"):
        await office.say(office.member, **{f"f{first}": "again"})


@pytest.mark.parametrize("shy", [False, True])
async def test_a_value_disappears_with_its_choice(office, make, witnesses, shy):
    """Also where guests know only people they meet: they hear of no others."""
    if shy:
        groups = await make.role_groups()
        await make.change_settings(can_access_all_users_group=groups["role:members"])
    stranger = await make.user(role=GUEST)
    await make.channel("met", subscribers=[office.guest, office.member])
    field = await office.add("Drink", FieldType.SELECT, field_data=CHOICES)
    for row, choice in ((office.admin, "c"), (office.member, "c"), (office.guest, "t")):
        await office.say(row, **{f"f{field}": choice})

    seen = await witnesses.watch(
        lambda: office.do(change_field, field, FieldWish(field_data=ONLY_TEA)),
        [*office.people, stranger],
    )

    assert await office.said() == {office.guest.user_id: {field: "t"}}
    told = {
        witness.user.user_id: {
            e["person"]["user_id"] for e in witness.events if e["type"] == "realm_user"
        }
        for witness in seen
    }
    both = {office.admin.user_id, office.member.user_id}
    assert told == {
        office.admin.user_id: both,
        office.member.user_id: both,
        office.guest.user_id: {office.member.user_id} if shy else both,
        stranger.user_id: set() if shy else both,
    }
    assert (await office.actions())[-3:] == ["profile_field_changed"] + ["profile_data_changed"] * 2


async def test_locks_of_removed_choices_are_awaited_before_the_clock(office, make, database):
    field = await office.add("Drink", FieldType.SELECT, field_data=CHOICES)
    await office.say(office.member, **{f"f{field}": "c"})
    async with database.transaction() as busy:
        await users.locking(make.realm_id, [office.member.user_id]).waiting(busy)
        wish = FieldWish(field_data=ONLY_TEA)
        change = asyncio.create_task(office.do(change_field, field, wish))
        await until_blocked_on_lock(make.connection)
        assert await make.connection.value(
            "SELECT 1 FROM realm_clock WHERE realm_id = %(realm_id)s FOR UPDATE SKIP LOCKED",
            realm_id=make.realm_id,
        ), "others write meanwhile"
    await change
    assert await office.said() == {}


@pytest_asyncio.fixture
async def drinkers(office, make):
    """More who have chosen coffee than one transaction deals with; and the field."""
    field = await office.add("Drink", FieldType.SELECT, field_data=CHOICES)
    many = await make.users(PEOPLE_PER_STEP + 3)
    await make.connection.execute(
        "INSERT INTO profile_values (realm_id, user_id, field_id, value)"
        " SELECT %(realm_id)s, unnest(%(user_ids)s::bigint[]), %(field_id)s, 'c'",
        realm_id=make.realm_id,
        user_ids=user_ids(many),
        field_id=field,
    )
    office.stage.happened.clear()
    return many, field


async def test_many_values_of_a_removed_choice_disappear_in_steps(office, drinkers):
    many, field = drinkers
    services = office.stage.realm_services(office.make.realm_id)

    work_id = await office.do(change_field, field, FieldWish(field_data=ONLY_TEA))
    first = len(await office.said())
    await finish(services, WITHDRAWING, work_id)
    await finish(services, WITHDRAWING, work_id)

    told = [each.event for each in office.stage.happened]
    told = [each for each in told if isinstance(each, ProfileValueWithdrawn)]
    assert [len(each.user_ids) for each in told] == [PEOPLE_PER_STEP, 3]
    assert sorted(u for each in told for u in each.user_ids) == sorted(user_ids(many))
    assert (first, await office.said()) == (3, {})
    changes = await audit_log.newest(office.make.connection, office.make.realm_id, limit=9)
    assert {(row.actor_id, row.action) for row in changes[:3]} == {
        (office.admin.user_id, "profile_data_changed")
    }
    assert await office.make.connection.value("SELECT count(*) FROM stepped_work") == 0


async def test_what_is_a_choice_again_meanwhile_is_withdrawn_no_more(office, drinkers):
    _, field = drinkers
    services = office.stage.realm_services(office.make.realm_id)

    work_id = await office.do(change_field, field, FieldWish(field_data=ONLY_TEA))
    await office.do(change_field, field, FieldWish(field_data=CHOICES))
    await finish(services, WITHDRAWING, work_id)

    assert len(await office.said()) == 3


async def test_who_chooses_something_else_meanwhile_keeps_it(office, drinkers):
    many, field = drinkers
    services = office.stage.realm_services(office.make.realm_id)

    work_id = await office.do(change_field, field, FieldWish(field_data=ONLY_TEA))
    await office.say(many[-1], **{f"f{field}": "t"})
    await finish(services, WITHDRAWING, work_id)

    assert await office.said() == {many[-1].user_id: {field: "t"}}


async def test_the_step_goes_by_the_job_too():
    assert KINDS[WITHDRAWING.step] is WITHDRAWING


async def test_a_change_without_effect_sends_no_event(office):
    kept = await office.add(hint="Which?")
    office.stage.happened.clear()

    await office.do(change_field, kept, FieldWish(name=" Team ", hint="Which?", required=False))
    await office.do(order_fields, [kept])

    assert office.stage.happened == []


async def test_a_name_is_there_once(office):
    kept, other = await office.add("One"), await office.add("Two")

    with pytest.raises(InvalidParameterError, match="already"):
        await office.add("One")
    with pytest.raises(InvalidParameterError, match="already"):
        await office.do(change_field, other, FieldWish(name="One"))
    assert await office.kept() == [kept, other]


async def test_two_fields_stand_in_the_summary(office):
    first = await office.add("One", display_in_profile_summary=True)
    await office.add("Two", display_in_profile_summary=True)
    third = await office.add("Three")

    with pytest.raises(InvalidParameterError, match="Only 2"):
        await office.add("Four", display_in_profile_summary=True)
    with pytest.raises(InvalidParameterError, match="Only 2"):
        await office.do(change_field, third, FieldWish(display_in_profile_summary=True))
    await office.do(change_field, first, FieldWish(display_in_profile_summary=False))
    await office.do(change_field, third, FieldWish(display_in_profile_summary=True))


async def test_a_field_for_a_well_known_account_keeps_its_name(office):
    account = {"subtype": "github"}
    field = await office.add("", FieldType.EXTERNAL_ACCOUNT, field_data=account)
    [row] = await profile_fields.of_realm(office.make.connection, office.make.realm_id)
    assert row.name == "GitHub"

    for wish in (FieldWish(name="Hub"), FieldWish(hint="x"), FieldWish(field_data={"a": 1})):
        with pytest.raises(BadRequestError, match="Default custom field"):
            await office.do(change_field, field, wish)
    same = FieldWish(name="GitHub", field_data=account, display_in_profile_summary=True)
    await office.do(change_field, field, same)


async def test_an_order_names_each_once(office):
    ids = [await office.add(name) for name in "abc"]

    for wrong in ([], ids[:2], [*ids, ids[0]], [*ids[:2], 2**62]):
        with pytest.raises(InvalidParameterError):
            await office.do(order_fields, wrong)
    await office.do(order_fields, ids[::-1])
    new = await office.add("d")

    assert await office.kept() == [*ids[::-1], new]


async def test_there_are_not_endlessly_many(office):
    for n in range(rules.MAX_FIELDS):
        await office.add(f"Field {n}")

    with pytest.raises(BadRequestError, match="Too many"):
        await office.add()


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_they_are_for_administrators(office, make, role):
    person, kept = await make.user(role=role), await office.add()
    office.stage.happened.clear()

    for action, *args in (
        (add_field, terms("Another")),
        (change_field, kept, FieldWish(name="Another")),
        (remove_field, kept),
        (order_fields, [kept]),
    ):
        with pytest.raises(BadRequestError, match="administrator"):
            await office.do(action, *args, row=person)
    assert office.stage.happened == []


async def test_another_realms_are_not_there(office, make, stage):
    other = await new_realm(make.connection)
    boss = await other.actor(role=ADMINISTRATOR)
    theirs = await office.add()

    for action, *args in ((change_field, theirs, FieldWish(name="Ours")), (remove_field, theirs)):
        with pytest.raises(BadRequestError, match="not found"):
            await stage.write(action, boss, *args)
    assert await office.kept() == [theirs]
