"""`actions` of DELETE /users/{user_id} (level 459): what goes with a deactivated user."""

from typing import Any

import pytest
import pytest_asyncio

from queue_processors import deferred_work
from server.actions.departed_users import DELETING, DeletionRequest, deactivate_and_delete
from server.actions.stepped_work import take_step
from server.domain.access import ADMINISTRATOR, OWNER
from testkit.factories import new_realm
from testkit.images import picture

pytestmark = pytest.mark.asyncio

PLACES = {
    "delete_public_channel_messages": {"public", "web-public"},
    "delete_private_channel_messages": {"private", "archived"},
    "delete_direct_messages": {"direct"},
}
EVERYTHING = dict.fromkeys(PLACES, True)


class Office:
    """Gus, who goes, a bot of his, and the boss, who is not in Gus's private channels."""

    def __init__(self, make, boss, gus, bot, bob):
        self.make, self.boss, self.gus, self.bot, self.bob = make, boss, gus, bot, bob
        self.sent: dict[str, list[int]] = {}

    @property
    def path(self):
        return f"/users/{self.gus.user.user_id}"

    async def fill(self):
        people = [self.gus.user, self.bob.user, self.bot.user]
        channels = {
            "public": {},
            "web-public": {"is_web_public": True},
            "private": {"invite_only": True},
            "archived": {"invite_only": True},
        }
        for name, fields in channels.items():
            channel = await self.make.channel(name, subscribers=people, **fields)
            there = {"type": "channel", "to": channel.channel_id, "topic": "t"}
            await self.send(name, **there)
            if name == "archived":
                await self.make.connection.execute(
                    "UPDATE channels SET is_archived = true WHERE channel_id = %(channel_id)s",
                    channel_id=channel.channel_id,
                )
        await self.send("direct", type="direct", to=[person.user_id for person in people])

    async def send(self, place, **where):
        senders = (self.gus, self.bot, self.bob)
        self.sent[place] = [
            (await client.post("/messages", content=place, **where))["id"] for client in senders
        ]

    async def left(self):
        """By place, which of the messages of Gus, of the bot and of Bob are still there."""
        ids = [each for some in self.sent.values() for each in some]
        there = await self.make.connection.values(
            "SELECT id FROM messages WHERE realm_id = %(realm_id)s AND id = ANY(%(ids)s::bigint[])",
            realm_id=self.make.realm_id,
            ids=ids,
        )
        return {place: [each in there for each in some] for place, some in self.sent.items()}


@pytest_asyncio.fixture
async def office(make, log_in):
    boss, bob = await log_in(role=OWNER), await log_in()
    gus = await log_in(await make.user("Gus", email="gus@example.com"))
    bot = await log_in(await make.user("Robot", bot_type=1, bot_owner=gus.user))
    office = Office(make, boss, gus, bot, bob)
    await office.fill()
    return office


@pytest.mark.parametrize("name", [None, *PLACES])
async def test_messages_go_from_the_places_that_are_named(office, name):
    queue = await office.bob.register(event_types=["delete_message"])
    await office.boss.delete(office.path, actions={} if name is None else {name: True})
    gone = PLACES.get(name, set())
    assert await office.left() == {
        place: [False, False, True] if place in gone else [True, True, True]
        for place in office.sent
    }
    deleted = {event["message_id"] for event in await queue.poll(dont_block=True)}
    assert deleted == {each for place in gone for each in office.sent[place][:2]}


async def test_profiles_go_and_accounts_can_be_opened_again(office):
    boss, gus, bob = office.boss, office.gus, office.bob
    field = (await boss.post("/realm/profile_fields", name="Likes", field_type=1))["id"]
    await gus.patch("/users/me/profile_data", data=[{"id": field, "value": "secrets"}])
    await gus.upload("/users/me/avatar", file=("face.png", picture()))
    await gus.post("/users/me/status", status_text="secrets")
    queue = await bob.register(event_types=["realm_user", "user_status"])
    await boss.delete(office.path, actions={"delete_profile": True})
    shown = (await bob.get(office.path, include_custom_profile_fields=True))["user"]
    user_id = gus.user.user_id
    assert (shown["full_name"], shown["is_active"]) == (f"Deleted user {user_id}", False)
    assert shown["is_deleted"] is True
    assert (shown["avatar_version"], shown["profile_data"]) == (3, {})
    bot_id = office.bot.user.user_id
    bot = (await bob.get(f"/users/{bot_id}"))["user"]
    assert (bot["full_name"], bot["is_deleted"]) == (f"Deleted user {bot_id}", True)
    changed = [event for event in await queue.poll() if event["type"] == "realm_user"]
    people = [event["person"] for event in changed if event["person"]["user_id"] == user_id]
    assert {"user_id": user_id, "full_name": shown["full_name"], "is_deleted": True} in people
    assert any("avatar_url" in person for person in people)
    assert not any("new_email" in person for person in people)
    state = (await bob.register(fetch_event_types=["user_status"])).state
    assert str(user_id) not in state["user_status"]
    assert (await office.left())["public"] == [True, True, True]
    await boss.post(f"{office.path}/reactivate")
    reactivated = (await boss.get(office.path))["user"]
    assert (reactivated["is_active"], reactivated["delivery_email"]) == (True, "gus@example.com")
    assert "is_deleted" not in reactivated


async def test_deleting_messages_alone_keeps_the_profiles(office):
    await office.boss.delete(office.path, actions=EVERYTHING)
    user = (await office.boss.get(office.path))["user"]
    assert user["is_active"] is False
    assert "is_deleted" not in user


async def test_it_may_be_asked_for_later_and_again(office):
    for _ in range(2):
        await office.boss.delete(office.path)
    assert all(all(some) for some in (await office.left()).values())
    for _ in range(2):
        await office.boss.delete(office.path, actions=EVERYTHING)
    assert set(map(tuple, (await office.left()).values())) == {(False, False, True)}


async def test_the_log_has_what_was_asked_for(office):
    await office.boss.delete(office.path, actions={"delete_direct_messages": True})
    entries = (await office.boss.get("/realm/audit_log"))["entries"]
    found = [each for each in entries if each["action"] == "user_content_deleted"]
    assert {each["subject_id"] for each in found} == {
        office.gus.user.user_id,
        office.bot.user.user_id,
    }
    assert {each["actor_id"] for each in found} == {office.boss.user.user_id}
    assert found[0]["after"] == {"profile": False, "messages": ["direct"]}


async def test_whatever_is_refused_deletes_nothing(office, log_in):
    admin = await log_in(role=ADMINISTRATOR)
    elsewhere = await (await new_realm(office.make.connection)).user("Ella")
    boss_path = f"/users/{office.boss.user.user_id}"
    for client, path in (
        (office.bob, office.path),
        (office.gus, office.path),
        (admin, boss_path),
        (office.boss, boss_path),
        (office.boss, f"/users/{elsewhere.user_id}"),
        (office.boss, "/users/999999999"),
    ):
        (await client.call("DELETE", path, actions=EVERYTHING)).refused()
    wrong: list[Any] = [[], 1, {"delete_everything": True}, {"delete_profile": 1}]
    for actions in wrong:
        answer = await office.boss.call("DELETE", office.path, actions=actions)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "actions"
    assert all(all(some) for some in (await office.left()).values())
    assert (await office.boss.get(office.path))["user"]["is_active"]


async def begun(server, office):
    """Deactivate Gus as a request does that dies at once; return the work's id."""
    actor = await office.make.actor(office.boss.user)
    request = DeletionRequest(places=("public channel", "private channel", "direct"))
    services = server.app.realm_services(office.make.realm_id)
    now = server.app.clock.now()
    return services, await services.write(
        lambda tx: deactivate_and_delete(
            tx, actor, office.gus.user.user_id, request, comment=None, now=now
        )
    )


async def test_a_worker_finishes_what_a_request_began(server, office):
    services, work_id = await begun(server, office)
    for _ in range(2):
        assert await services.write(
            lambda tx: take_step(tx, DELETING, work_id, 1, now=services.clock.now())
        )
    assert sum(not each for some in (await office.left()).values() for each in some) == 1
    job = DELETING.job(office.make.realm_id, work_id)
    for _ in range(2):
        await deferred_work.handle(server.app, job)
    assert set(map(tuple, (await office.left()).values())) == {(False, False, True)}


async def test_who_is_reactivated_meanwhile_keeps_the_rest(server, office):
    services, work_id = await begun(server, office)
    for _ in range(2):
        await services.write(
            lambda tx: take_step(tx, DELETING, work_id, 1, now=services.clock.now())
        )
    await office.boss.post(f"{office.path}/reactivate")
    await deferred_work.handle(server.app, DELETING.job(office.make.realm_id, work_id))
    left = await office.left()
    assert sum(not of_gus for of_gus, _, _ in left.values()) == 1
    assert not any(of_bot for _, of_bot, _ in left.values())
    assert all(of_bob for _, _, of_bob in left.values())
