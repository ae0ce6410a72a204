"""Levels of the protocol after 421 about accounts (docs/protocol.md), each over HTTP."""

from datetime import datetime, timedelta

import pytest

from server.actions.erasing import ERASING, erase_person
from server.actions.signing_in import begin_account
from server.actions.stepped_work import finish
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR
from server.domain.bots import GENERIC
from storage import user_grants
from testkit.clients.page_client import PASSWORD, give_password

pytestmark = pytest.mark.asyncio


async def change_source(admin, source):
    await admin.patch("/realm", default_avatar_source=source)


async def own_source(client):
    return (await client.register(fetch_event_types=["realm_user"])).state["avatar_source"]


async def made_over_the_api(admin, make, email="new@example.com"):
    await user_grants.grant(make.connection, make.realm_id, admin.user.user_id, create_users=True)
    made = await admin.post("/users", email=email, full_name="New", password=PASSWORD)
    return made["user_id"]


async def sign_in(client, email):
    await client.post("/fetch_api_key", username=email, password=PASSWORD)


async def people_of(client):
    state = (await client.register(fetch_event_types=["realm_user"], event_types=[])).state
    lists = ("realm_users", "realm_non_active_users", "cross_realm_bots")
    return {each["user_id"]: each for name in lists for each in state[name]}


async def test_new_accounts_have_the_pictures_that_the_organization_wants(log_in, make):  # 456
    admin = await log_in(role=ADMINISTRATOR)
    queue = await admin.register(fetch_event_types=["realm"], event_types=["realm", "realm_user"])
    assert queue.state["realm_default_avatar_source"] == "G"
    await change_source(admin, "J")
    event = await queue.until("realm", "update")
    assert (event["property"], event["value"]) == ("default_avatar_source", "J")
    user_id = await made_over_the_api(admin, make)
    person = (await queue.until("realm_user", "add"))["person"]
    assert person["avatar_url"].endswith(f"/identicon/{user_id}.png")
    bot = await admin.post("/bots", full_name="Helper", short_name="helper")
    assert bot["avatar_url"].endswith(f"/identicon/{bot['user_id']}.png")
    assert await own_source(admin) == "G"  # existing accounts keep theirs
    await change_source(admin, "G")
    shown = (await admin.get(f"/users/{user_id}"))["user"]
    assert shown["avatar_url"] == person["avatar_url"]
    later = await made_over_the_api(admin, make, "later@example.com")
    shown = (await admin.get(f"/users/{later}", client_gravatar=False))["user"]
    assert "gravatar.com" in shown["avatar_url"]


async def test_a_source_of_pictures_is_one_of_two(log_in):  # 456
    admin, member = await log_in(role=ADMINISTRATOR), await log_in()
    for wrong in ("U", "", "j"):
        answer = await admin.call("PATCH", "/realm", default_avatar_source=wrong)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "default_avatar_source"
    (await member.call("PATCH", "/realm", default_avatar_source="J")).refused()


async def test_removed_pictures_give_way_to_the_accounts_own_default(log_in, make):  # 456
    row = await make.user()
    await make.connection.execute(
        "UPDATE users SET avatar_source = 'J' WHERE user_id = %(user_id)s", user_id=row.user_id
    )
    client = await log_in(row)
    assert await own_source(client) == "J"
    assert (await client.delete("/users/me/avatar"))["avatar_url"].endswith(
        f"/identicon/{row.user_id}.png"
    )


async def test_imported_people_are_stubs_until_they_sign_in(log_in, make, spectator):  # 433, 475
    admin = await log_in(role=ADMINISTRATOR)
    stub = await make.user(email="stub@example.com", stub="imported")
    gone = await make.user(stub="imported", is_active=False)
    await give_password(make, stub)
    shown = await people_of(admin)
    assert [shown[each.user_id]["is_imported_stub"] for each in (stub, gone)] == [True, True]
    assert shown[admin.user.user_id]["is_imported_stub"] is False
    assert (await admin.get(f"/users/{stub.user_id}"))["user"]["is_imported_stub"] is True
    listed = (await admin.get("/users"))["members"]
    assert {e["user_id"] for e in listed if e["is_imported_stub"]} == {stub.user_id, gone.user_id}
    queue = await admin.register(event_types=["realm_user"])
    await sign_in(await spectator(), "stub@example.com")
    changes = [each["person"] for each in await queue.poll()]
    assert changes[0] == {"user_id": stub.user_id, "is_imported_stub": False}
    joined = changes[1]["date_joined"]
    assert changes[1:] == [{"user_id": stub.user_id, "date_joined": joined}]
    assert datetime.fromisoformat(joined) > stub.date_joined
    shown = (await people_of(admin))[stub.user_id]
    assert (shown["is_imported_stub"], shown["date_joined"]) == (False, joined)
    await sign_in(await spectator(), "stub@example.com")
    assert await queue.poll(dont_block=True) == []
    assert (await people_of(admin))[gone.user_id]["is_imported_stub"] is True


async def test_accounts_made_over_the_api_begin_with_the_first_sign_in(
    log_in, make, spectator
):  # 475
    admin = await log_in(role=ADMINISTRATOR)
    user_id = await made_over_the_api(admin, make)
    before = (await admin.get(f"/users/{user_id}"))["user"]
    assert before["is_imported_stub"] is False
    queue = await admin.register(event_types=["realm_user"])
    wrong = {"username": "new@example.com", "password": "wrong"}
    (await (await spectator()).call("POST", "/fetch_api_key", **wrong)).refused(
        "AUTHENTICATION_FAILED", 401
    )
    assert await queue.poll(dont_block=True) == []
    await sign_in(await spectator(), "new@example.com")
    [changes] = [each["person"] for each in await queue.poll()]
    assert changes["date_joined"] > before["date_joined"]
    assert (await admin.get(f"/users/{user_id}"))["user"]["date_joined"] == changes["date_joined"]


async def begin(hall, row):
    now = hall.stage.clock.now()
    await hall.realm_services().write(lambda tx: begin_account(tx, row.user_id, now=now))


@pytest.mark.parametrize("days", [0, 3])
@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_all_clients_learn_of_a_first_sign_in(hall, make, witnesses, role, days):  # 475
    await make.change_settings(
        waiting_period_threshold=days, can_access_all_users_group="role:members"
    )
    joined = hall.stage.clock.now() - timedelta(days=9)
    stub = await make.user("Stub", role=role, stub="imported", date_joined=joined)
    stranger = await make.user("Stranger", role=GUEST)
    seen = await witnesses.watch(lambda: begin(hall, stub), [*hall.everyone, stranger])
    removed = {e["op"] for w in seen for e in w.events if e["type"] == "user_group"}
    assert removed == ({"remove_members"} if days and role == MEMBER else set())


async def test_who_is_erased_is_deleted_until_reactivated(hall, make, witnesses):  # 490
    gone = await make.user("Gone", stub="imported")

    async def erase():
        now = hall.stage.clock.now()
        work_id = await hall.realm_services().write(
            lambda tx: erase_person(tx, gone.user_id, now=now)
        )
        await finish(hall.realm_services(), ERASING, work_id, size=100)

    seen = await witnesses.watch(erase, [hall.owner])
    changes = [e["person"] for e in seen[0].events if e["type"] == "realm_user"]
    name = f"Deleted user {gone.user_id}"
    assert {"user_id": gone.user_id, "full_name": name, "is_deleted": True} in changes
    assert {"user_id": gone.user_id, "is_imported_stub": False} in changes


async def test_deleted_users_are_marked_while_they_are_deactivated(log_in, make):  # 490
    admin = await log_in(role=ADMINISTRATOR)
    gone, bot = await make.user(is_active=False), await make.user(bot_type=GENERIC)
    await make.connection.execute(
        "UPDATE users SET is_deleted = true WHERE user_id = %(user_id)s", user_id=gone.user_id
    )
    path = f"/users/{gone.user_id}"
    assert (await admin.get(path))["user"]["is_deleted"] is True
    shown = await people_of(admin)
    assert [row.user_id for row in (gone, bot) if "is_deleted" in shown[row.user_id]] == [
        gone.user_id
    ]
    queue = await admin.register(event_types=["realm_user"])
    await admin.post(f"{path}/reactivate")
    [event] = await queue.poll()
    assert event["person"] == {"user_id": gone.user_id, "is_active": True, "is_deleted": False}
    assert "is_deleted" not in (await admin.get(path))["user"]
    await admin.delete(path)
    assert "is_deleted" not in (await admin.get(path))["user"]
