"""Administrators see which addresses are not confirmed, and confirm them."""

import pytest

from server.domain.access import ADMINISTRATOR
from server.domain.avatars import GRAVATAR
from storage import users
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

PATH = "/realm/unconfirmed_addresses"


async def unconfirmed(make, name, *, active=True, **fields):
    """A user whose address was only entered."""
    row = await make.user(name, **fields)
    await make.connection.execute(
        """
        UPDATE users SET email_confirmed = false, is_active = %(active)s
         WHERE user_id = %(user_id)s
        """,
        user_id=row.user_id,
        active=active,
    )
    return row


async def is_confirmed(make, row) -> bool:
    [now] = await users.by_ids(make.connection, make.realm_id, [row.user_id])
    return now.email_confirmed


async def test_ones_own_account_says_whether_it_is_confirmed(log_in, make):
    nina, known = await unconfirmed(make, "Nina"), await make.user("Known")
    for user, expected in ((nina, False), (known, True)):
        own = await (await log_in(user)).get("/users/me")
        assert own["email_confirmed"] is expected


async def test_administrators_confirm_them(log_in, make):
    admin = await log_in(role=ADMINISTRATOR)
    nina = await unconfirmed(make, "Nina")
    gone = await unconfirmed(make, "Gone", active=False)
    queue = await admin.register(event_types=["realm_user"])
    assert (await admin.get(PATH))["user_ids"] == [nina.user_id]

    for _ in range(2):  # the second time nothing happens
        await admin.delete(f"{PATH}/{nina.user_id}")

    assert (await admin.get(PATH))["user_ids"] == []
    person = (await queue.until("realm_user"))["person"]
    assert (person["user_id"], person["avatar_source"]) == (nina.user_id, GRAVATAR)
    logged = (await admin.get("/realm/audit_log", limit=10))["entries"]
    assert [e["action"] for e in logged].count("user_email_confirmed") == 1
    # An account that is opened again is as it was.
    await admin.post(f"/users/{gone.user_id}/reactivate")
    assert (await admin.get(PATH))["user_ids"] == [gone.user_id]


async def test_others_do_not(log_in, make, connect, server):
    member, nina = await log_in(), await unconfirmed(make, "Nina")
    (await member.call("GET", PATH)).refused()
    (await member.call("DELETE", f"{PATH}/{nina.user_id}")).refused()
    elsewhere = await new_realm(make.connection)
    boss = await elsewhere.user("Boss", role=ADMINISTRATOR)
    stranger = await connect(server, elsewhere.realm_id, boss)
    assert (await stranger.get(PATH))["user_ids"] == []
    (await stranger.call("DELETE", f"{PATH}/{nina.user_id}")).refused()
    assert not await is_confirmed(make, nina)


@pytest.mark.parametrize("user_id", ["0", "-1", "9223372036854775807", "9223372036854775808", "x"])
async def test_only_people_have_addresses_to_confirm(log_in, make, user_id):
    admin = await log_in(role=ADMINISTRATOR)
    answer = await admin.call("DELETE", f"{PATH}/{user_id}")
    assert answer.status in {400, 404}
    bot = await make.user("Bot", bot_type=1)
    (await admin.call("DELETE", f"{PATH}/{bot.user_id}")).refused()
