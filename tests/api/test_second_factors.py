"""Second factors that an organization requires, and their resets."""

import pytest

from server.actions.second_factor_requirements import reset_as_operator
from server.domain.access import ADMINISTRATOR, OWNER
from server.domain.errors import BadRequestError
from storage import second_factors, sessions

pytestmark = pytest.mark.asyncio


async def give_factor(make, user):
    await second_factors.insert_totp(
        make.connection, make.realm_id, user.user_id, name="Phone", secret=b"x", step=0
    )


async def begin_session(make, user, digest):
    await sessions.insert(
        make.connection, make.realm_id, user.user_id, digest, user_agent="", seconds=900_000
    )


async def test_owners_with_a_factor_require_them(log_in, make):
    user = await make.user("Olga", role=OWNER)
    owner, admin = await log_in(user), await log_in(role=ADMINISTRATOR)
    wanted = {"second_factor_required_of": "everyone", "second_factor_grace_days": 2}
    (await admin.call("PATCH", "/realm", **wanted)).refused("BAD_REQUEST")
    body = (await owner.call("PATCH", "/realm", **wanted)).refused("BAD_REQUEST")
    assert body["msg"] == "Add a second factor to your own account first."
    await give_factor(make, user)
    guest = await make.user("Gast")
    await begin_session(make, user, b"own")
    await begin_session(make, guest, b"guest")
    await owner.patch("/realm", **wanted)
    limited = await make.connection.tuples(
        "SELECT token_digest, ends_at < now() + interval '2 days 1 minute' FROM sessions"
    )
    assert dict(limited) == {b"own": False, b"guest": True}
    for wrong in ({"second_factor_grace_days": 91}, {"second_factor_grace_days": -1},
                  {"second_factor_required_of": "me"}):  # fmt: skip
        assert (await owner.call("PATCH", "/realm", **wrong)).status == 400


async def test_an_administrator_resets_lost_factors(log_in, make):
    cook, owner = await make.user("Cook"), await make.user("Olga", role=OWNER)
    administrator = await make.user("Iago", role=ADMINISTRATOR)
    admin = await log_in(administrator)
    for user in (cook, owner, administrator):
        await give_factor(make, user)
    await begin_session(make, cook, b"lost")
    await second_factors.replace_codes(make.connection, make.realm_id, cook.user_id, [b"code"])
    await admin.delete(f"/users/{cook.user_id}/second_factors")
    assert not await second_factors.has_any(make.connection, make.realm_id, cook.user_id)
    assert await second_factors.codes_left(make.connection, make.realm_id, cook.user_id) == 0
    assert await sessions.of_user(make.connection, make.realm_id, cook.user_id) == []
    key = await make.connection.value(
        "SELECT api_key FROM users WHERE user_id = %(id)s", id=cook.user_id
    )
    assert key != cook.api_key
    for user_id in (cook.user_id, owner.user_id, administrator.user_id, 2**40):
        (await admin.call("DELETE", f"/users/{user_id}/second_factors")).refused("BAD_REQUEST")
    assert await second_factors.has_any(make.connection, make.realm_id, owner.user_id)


async def test_the_operator_resets_them(server, make):
    cook = await make.user("Cook")
    await give_factor(make, cook)
    writer = server.app.writers.of(make.realm_id)
    await writer.write(lambda tx: reset_as_operator(tx, cook.user_id))
    assert not await second_factors.has_any(make.connection, make.realm_id, cook.user_id)
    with pytest.raises(BadRequestError):
        await writer.write(lambda tx: reset_as_operator(tx, cook.user_id))
