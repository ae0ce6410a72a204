"""What people say in custom profile fields: what may be said, and who hears of it."""

import pytest
import pytest_asyncio

from server.actions.profile_data import change_data_of, change_own_data
from server.actions.profile_fields import add_field
from server.actions.user_changes import UserChange, change_user
from server.domain.access import GUEST, MEMBER, MODERATOR, OWNER
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.domain.profile_fields import FieldType
from storage import audit_log, profile_data, users
from testkit.factories import new_realm
from tests.actions.test_profile_fields import terms

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def field(hall):
    """Make a field; its id."""

    async def field(name="Team", field_type=FieldType.SHORT_TEXT, **facts):
        return await hall.stage.write(
            add_field, hall.actor(hall.admin), terms(name, field_type, **facts)
        )

    return field


@pytest_asyncio.fixture
async def say(hall):
    async def say(row, answers):
        await hall.stage.write(change_own_data, hall.actor(row), answers)

    return say


async def said(make, row):
    found = await profile_data.of_users(make.connection, make.realm_id, [row.user_id])
    return {f: each.value for f, each in found.get(row.user_id, {}).items()}


async def test_all_users_hear_of_a_value(hall, make, witnesses, field, say):
    text, people = await field(), await field("Friends", FieldType.USER)
    friends = [hall.other.user_id, hall.guest.user_id]

    async def change():
        await say(hall.member, {text: "a *b*", people: friends})
        await say(hall.member, {text: "another"})
        await say(hall.member, {people: None})

    seen = await witnesses.watch(change, hall.everyone)

    assert {len(witness.events) for witness in seen} == {4}
    first = seen[0].events[0]["person"]["custom_profile_field"]
    assert first == {
        "id": text,
        "value": "a *b*",
        "rendered_value": "<p>a <em>b</em></p>",
    }
    assert await said(make, hall.member) == {text: "another"}
    newest = await audit_log.newest(make.connection, make.realm_id, limit=3)
    assert [(row.before, row.after) for row in reversed(newest)] == [
        (
            {str(text): None, str(people): None},
            {str(text): "a *b*", str(people): f"[{friends[0]},{friends[1]}]"},
        ),
        ({str(text): "a *b*"}, {str(text): "another"}),
        ({str(people): f"[{friends[0]},{friends[1]}]"}, {str(people): None}),
    ]
    assert {(row.action, row.subject_id) for row in newest} == {
        ("profile_data_changed", hall.member.user_id)
    }


async def test_guests_hear_of_those_whom_they_have_met(hall, make, witnesses, field, say):
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    await make.channel("met", subscribers=[hall.member, hall.guest])
    text, stranger = await field(), await make.user(role=GUEST)

    async def change():
        await say(hall.member, {text: "one"})
        await say(hall.other, {text: "two"})

    seen = await witnesses.watch(change, [*hall.everyone, stranger])

    told = {w.user.user_id: len(w.events) for w in seen}
    assert told == {row.user_id: 2 for row in hall.everyone} | {
        hall.guest.user_id: 1,
        stranger.user_id: 0,
    }


async def test_whom_a_guest_comes_to_know_is_introduced_with_what_they_say(
    hall, make, witnesses, field, say
):
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    await say(hall.member, {await field(): "one"})
    channel = await make.channel("new", subscribers=[hall.member])

    seen = await witnesses.watch(
        lambda: hall.subscribe(hall.member, channel.name, people=[hall.guest]), [hall.guest]
    )

    [added] = [e for e in seen[0].events if e["type"] == "realm_user" and e["op"] == "add"]
    assert [v["value"] for v in added["person"]["profile_data"].values()] == ["one"]


async def test_an_unchanged_value_sends_no_event(hall, field, say):
    text, other = await field(), await field("Other")
    await say(hall.member, {text: "one"})
    hall.stage.happened.clear()

    await say(hall.member, {text: " one ", other: ""})
    await say(hall.member, {other: None})

    assert hall.stage.happened == []


async def test_nothing_of_it_is_kept_if_some_of_it_cannot_be(hall, make, field, say):
    text, day = await field(), await field("Birthday", FieldType.DATE)

    with pytest.raises(BadRequestError, match="Birthday is not a date"):
        await say(hall.member, {text: "one", day: "tomorrow"})
    with pytest.raises(BadRequestError, match="not found"):
        await say(hall.member, {text: "one", 2**62: "two"})

    assert await said(make, hall.member) == {}


async def test_some_fields_only_administrators_fill_in(hall, make, field, say):
    closed = await field(editable_by_user=False)

    for answer in ("one", None):
        with pytest.raises(BadRequestError, match="not allowed"):
            await say(hall.member, {closed: answer})
    await say(hall.admin, {closed: "mine"})
    await hall.stage.write(
        change_data_of, hall.actor(hall.admin), hall.member.user_id, {closed: "theirs"}
    )

    assert await said(make, hall.admin) == {closed: "mine"}
    assert await said(make, hall.member) == {closed: "theirs"}


async def test_a_field_of_people_names_active_people_of_the_realm(hall, make, field, say):
    people = await field("Friends", FieldType.USER)
    bot = await make.user(bot_type=1, bot_owner=hall.member)
    gone, stranger = await make.user(), await (await new_realm(make.connection)).user()
    await say(hall.member, {people: [gone.user_id]})
    await users.update_active(make.connection, make.realm_id, [gone.user_id], active=False)

    for named, why in (
        (bot, "is a bot"),
        (stranger, "Invalid user ID"),
    ):
        with pytest.raises(BadRequestError, match=why):
            await say(hall.member, {people: [hall.other.user_id, named.user_id]})
    with pytest.raises(BadRequestError, match="is deactivated"):
        await say(hall.other, {people: [gone.user_id]})
    # Who has left meanwhile may stay.
    await say(hall.member, {people: [gone.user_id, hall.other.user_id]})

    assert await said(make, hall.member) == {people: f"[{gone.user_id},{hall.other.user_id}]"}


async def test_a_guest_cannot_name_a_hidden_user(hall, make, field, say):
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    people = await field("Friends", FieldType.USER)
    await make.channel("met", subscribers=[hall.guest, hall.member])

    with pytest.raises(BadRequestError, match="Invalid user ID"):
        await say(hall.guest, {people: [hall.other.user_id]})
    await say(hall.guest, {people: [hall.member.user_id]})


async def test_a_deactivated_user_changes_nothing(hall, make, field, say):
    gone = await make.user(is_active=False)
    with pytest.raises(UserDeactivatedError):
        await say(gone, {await field(): "one"})


# -- what administrators change about others


async def change(hall, actor, row, **facts):
    now = hall.stage.clock.now()
    await hall.stage.run(change_user, hall.actor(actor), row.user_id, UserChange(**facts), now=now)


async def test_an_administrator_changes_all_at_once(hall, make, witnesses, field):
    text = await field()

    await witnesses.watch(
        lambda: change(
            hall, hall.admin, hall.member, full_name="New name", role=GUEST, answers={text: "x"}
        ),
        [row for row in hall.everyone if row != hall.member],
    )

    [row] = await users.by_ids(make.connection, make.realm_id, [hall.member.user_id])
    assert (row.full_name, row.role) == ("New name", GUEST)
    assert await said(make, hall.member) == {text: "x"}


async def test_all_of_it_or_nothing(hall, make, field):
    text = await field()
    for wrong in (
        {"role": 5},
        {"role": OWNER},
        {"answers": {text: "x" * 51}},
        {"full_name": "a*b"},
    ):
        right = {"full_name": "New name", "role": MODERATOR, "answers": {text: "x"}}
        with pytest.raises(BadRequestError):
            await change(hall, hall.admin, hall.member, **right | wrong)

    [row] = await users.by_ids(make.connection, make.realm_id, [hall.member.user_id])
    assert (row.full_name, row.role) == (hall.member.full_name, MEMBER)
    assert await said(make, hall.member) == {}


async def test_who_is_deactivated_or_a_bot_is_renamed(hall, make):
    gone = await make.user(is_active=False)
    bot = await make.user(bot_type=1, bot_owner=hall.member)

    for row in (gone, bot):
        name = f"New {row.full_name}"
        await change(hall, hall.admin, row, full_name=name, role=row.role)
        [now] = await users.by_ids(make.connection, make.realm_id, [row.user_id])
        assert now.full_name == name
    with pytest.raises(BadRequestError, match="in use"):
        await change(hall, hall.admin, bot, full_name=hall.other.full_name)


async def test_a_bot_says_nothing(hall, make, field):
    bot = await make.user(bot_type=1, bot_owner=hall.member)
    with pytest.raises(BadRequestError):
        await change(hall, hall.admin, bot, answers={await field(): "x"})


async def test_names_can_have_to_be_unique(hall, make):
    await make.change_settings(require_unique_names=True)
    with pytest.raises(BadRequestError, match="Unique names"):
        await change(hall, hall.admin, hall.member, full_name=hall.other.full_name.upper())


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_others_are_changed_by_administrators(hall, make, field, role):
    text, person = await field(), await make.user(role=role)
    hall.stage.happened.clear()

    for facts in ({"full_name": "New name"}, {"answers": {text: "x"}}, {"role": GUEST}, {}):
        with pytest.raises(BadRequestError, match="administrator"):
            await change(hall, person, hall.member, **facts)
    with pytest.raises(BadRequestError, match="administrator"):
        await hall.stage.write(change_data_of, hall.actor(person), hall.member.user_id, {text: "x"})
    assert hall.stage.happened == []


async def test_users_of_another_realm_are_unknown(hall, make):
    stranger = await (await new_realm(make.connection)).user()
    for row in (stranger, await make.notification_bot()):
        with pytest.raises(BadRequestError, match="No such user"):
            await change(hall, hall.admin, row, full_name="New name")
