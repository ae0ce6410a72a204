"""GET /realm/audit_log: who changed what."""

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from storage import audit_log
from storage.ids import UserId
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def owner(log_in):
    return await log_in(role=OWNER)


async def entries(client, **filters):
    return (await client.get("/realm/audit_log", **filters))["entries"]


async def test_it_tells_who_changed_what_newest_first(owner, log_in, make):
    cook = await log_in()
    await owner.patch("/realm", name="Town")
    await cook.patch("/settings", color_scheme=2)
    await owner.patch("/realm/user_settings_defaults", enter_sends=True)

    newest, second, oldest = await entries(owner)

    assert newest["action"] == "settings_default_changed"
    assert (second["actor_id"], second["subject_id"]) == (cook.user.user_id, cook.user.user_id)
    assert (second["before"], second["after"]) == ({"color_scheme": 1}, {"color_scheme": 2})
    assert (oldest["actor_id"], oldest["subject_id"]) == (owner.user.user_id, None)
    assert (oldest["before"], oldest["after"]) == ({"name": "A realm"}, {"name": "Town"})
    assert oldest["id"] < second["id"] < newest["id"]
    assert oldest["position"] < second["position"] < newest["position"] <= await make.position()


async def test_it_is_read_page_by_page_and_by_actor_and_action(owner, log_in):
    admin = await log_in(role=ADMINISTRATOR)
    for name in ("One", "Two", "Three"):
        await owner.patch("/realm", name=name)
    await admin.patch("/settings", color_scheme=3)

    first = await entries(owner, limit=2)
    rest = await entries(owner, limit=1000, before=first[-1]["id"])

    assert [e["after"].get("name") for e in [*first, *rest]] == [None, "Three", "Two", "One"]
    assert len(await entries(admin, actor_id=owner.user.user_id)) == 3
    assert len(await entries(admin, action="user_setting_changed")) == 1
    assert await entries(admin, action="realm_changed", actor_id=admin.user.user_id) == []
    for limit in (0, 1001):
        answer = await owner.call("GET", "/realm/audit_log", limit=limit)
        answer.refused("REQUEST_VARIABLE_INVALID")


@pytest.mark.parametrize("role", [MODERATOR, MEMBER, GUEST])
async def test_it_is_for_administrators(log_in, role):
    (await (await log_in(role=role)).call("GET", "/realm/audit_log")).refused()


async def test_another_organization_has_its_own(owner, make, connect, server):
    other = await new_realm(make.connection)
    stranger = await connect(server, other.realm_id, await other.user(role=OWNER))
    await owner.patch("/realm", name="Town")

    assert await entries(stranger) == []


async def test_what_is_refused_leaves_nothing(owner):
    (await owner.call("PATCH", "/realm", name="Town", video_chat_provider=3)).refused(
        "REQUEST_VARIABLE_INVALID"
    )
    assert await entries(owner) == []


async def test_each_way_to_read_it_has_an_index(make):
    await make.connection.execute(
        """
        INSERT INTO audit_log (realm_id, position, actor_id, action, before, after)
        SELECT %(realm_id)s, n, n %% 1000, 'action ' || n %% 1000, '{}', '{}'
          FROM generate_series(1, 20000) AS n
        """,
        realm_id=make.realm_id,
    )
    await make.connection.execute("ANALYZE audit_log")
    for condition, index in (
        ("actor_id = 7", "audit_log_by_actor"),
        ("action = 'action 7'", "audit_log_by_action"),
        ("audit_id < 500000", "audit_log_pkey"),
    ):
        plan = await make.connection.values(
            f"EXPLAIN SELECT * FROM audit_log WHERE realm_id = {make.realm_id} AND {condition}"
            " ORDER BY audit_id DESC LIMIT 100"
        )
        assert any(index in line for line in plan), plan
    rows = await audit_log.newest(make.connection, make.realm_id, limit=5, actor_id=UserId(7))
    assert {row.actor_id for row in rows} == {7}


async def test_an_entry_says_what_its_subject_is(owner, log_in, make):
    cook = await log_in()
    channel = await make.channel("kitchen", subscribers=[owner.user])
    group = await owner.post("/user_groups/create", name="cooks", description="", members=[])
    await owner.patch(f"/users/{cook.user.user_id}", role=MODERATOR)
    await owner.post(
        "/users/me/subscriptions",
        subscriptions=[{"name": "kitchen"}],
        principals=[cook.user.user_id],
    )
    await owner.patch("/realm", name="Town")
    await owner.post(
        "/realm/playgrounds",
        name="Play",
        pygments_language="Python",
        url_template="https://x/{code}",
    )

    found = {each["action"]: each for each in await entries(owner)}

    subjects = {
        name: (each["subject_type"], each["subject_id"])
        for name, each in found.items()
        if name != "playground_added"
    }
    assert subjects == {
        "group_created": ("group", group["group_id"]),
        "user_role_changed": ("user", cook.user.user_id),
        "subscribers_added": ("channel", channel.channel_id),
        "realm_changed": (None, None),
    }
    assert found["playground_added"]["subject_type"] == "playground"
