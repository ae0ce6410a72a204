"""People and bots as rows."""

import pytest

from server.domain.access import GUEST, MEMBER, OWNER
from storage import unconfirmed_addresses, users
from storage.database import Connection
from storage.users import NewUserRow
from testkit.factories import JOINED, Make, new_realm, user_ids

pytestmark = pytest.mark.asyncio


def new(user_id, **facts) -> NewUserRow:
    return NewUserRow(
        **{
            "user_id": user_id,
            "email": f"user{user_id}@example.com",
            "full_name": "Somebody",
            "role": MEMBER,
            "api_key": "k" * 32,
            "date_joined": JOINED,
            **facts,
        }
    )


async def test_a_thousand_are_inserted_in_one_statement(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    ids = await users.new_ids(connection, 1000)
    facts = {
        "bot_type": 1,
        "bot_owner_id": ids[0],
        "settings": {"a": [1]},
        "timezone": "Asia/Tokyo",
    }
    first = new(ids[0], password_hash="hash", **facts)

    await users.insert(connection, realm_id, [first, *map(new, ids[1:])])

    rows = await users.all_of_realm(connection, realm_id)
    assert user_ids(rows) == ids == sorted(ids)
    assert {name: getattr(rows[0], name) for name in facts} == facts
    assert rows[1].settings == {}
    assert all(row.is_active for row in rows)


async def test_addresses_count_once_they_are_confirmed(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    ids = await users.new_ids(connection, 3)
    rows = [new(ids[0]), *(new(each, email_confirmed=False) for each in ids[1:])]
    await users.insert(connection, realm_id, rows)
    assert await unconfirmed_addresses.user_ids(connection, realm_id) == ids[1:]
    assert (
        await unconfirmed_addresses.user_ids(connection, (await new_realm(connection)).realm_id)
        == []
    )
    await users.update_active(connection, realm_id, [ids[1]], active=False)
    assert await unconfirmed_addresses.user_ids(connection, realm_id) == [ids[2]]
    await users.update_email(connection, realm_id, ids[0], "a@example.com", confirmed=False)
    await unconfirmed_addresses.confirm(connection, realm_id, ids[2])
    found = await users.by_ids(connection, realm_id, ids)
    assert [row.email_confirmed for row in found] == [False, False, True]


async def test_an_empty_list_can_be_inserted_too(make_here: Make):
    await users.insert(make_here.connection, make_here.realm_id, [])

    assert await users.all_of_realm(make_here.connection, make_here.realm_id) == []


async def test_the_newest_change_is_found_and_what_came_after_another(make_here: Make):
    connection, realm_id = make_here.connection, make_here.realm_id
    cook, baker, _ = await make_here.users(3)
    assert await users.last_change(connection, realm_id) == 0
    first = await make_here.at_position(users.changed(realm_id, [cook.user_id]))
    second = await make_here.at_position(users.changed(realm_id, [baker.user_id]))

    assert await users.last_change(connection, realm_id) == second
    since = await users.changed_since(connection, realm_id, first)
    assert user_ids(since) == [baker.user_id]


async def test_the_newest_change_comes_from_an_index(make_here: Make):
    await make_here.users(200)
    connection = make_here.connection
    await connection.execute("ANALYZE users")
    await connection.execute("SET LOCAL enable_seqscan = off")

    plan = await connection.values(
        "EXPLAIN SELECT max(changed_at) FROM users WHERE realm_id = %(realm_id)s",
        realm_id=make_here.realm_id,
    )

    assert "users_changed" in "".join(plan)


async def test_active_people_by_role(make_here: Make):
    owner, guest = await make_here.user(role=OWNER), await make_here.user(role=GUEST)
    bot = await make_here.user(bot_type=1)
    await make_here.user(role=OWNER, is_active=False)
    [system_bot] = await users.new_ids(make_here.connection, 1)
    await users.insert(
        make_here.connection, make_here.realm_id, [new(system_bot, is_system_bot=True)]
    )

    by_role = await users.ids_by_role(make_here.connection, make_here.realm_id)

    assert by_role == {
        OWNER: (owner.user_id,),
        MEMBER: (bot.user_id,),
        GUEST: (guest.user_id,),
    }


async def test_bots_are_found_by_their_owner(make_here: Make):
    owner, other = await make_here.user(), await make_here.user()
    bot = await make_here.user(bot_type=1, bot_owner=owner)
    gone = await make_here.user(bot_type=2, bot_owner=other, is_active=False)

    async def bots(**owned_by):
        return user_ids(await users.bots(make_here.connection, make_here.realm_id, **owned_by))

    assert await bots() == [bot.user_id, gone.user_id]
    assert await bots(owner_id=owner.user_id) == [bot.user_id]


async def test_one_realm_does_not_see_the_people_of_another(connection: Connection):
    one, other = await new_realm(connection), await new_realm(connection)
    cook = await one.user()

    assert await users.all_of_realm(connection, other.realm_id) == []
    assert await users.by_ids(connection, other.realm_id, [cook.user_id]) == []
    assert await users.by_emails(connection, other.realm_id, [cook.email]) == []
