"""DELETE /messages/{id} and deleting topics: who may, what is told, and that nothing is left."""

from datetime import timedelta

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST

pytestmark = pytest.mark.asyncio

SECRET = "canary-4711"


@pytest_asyncio.fixture
async def admin(make, log_in, channel):
    row = await make.user(role=ADMINISTRATOR)
    await make.subscribe(channel, [row])
    return await log_in(row)


async def send(client, content="hello", to="general", topic="t", kind="channel"):
    body = await client.post("/messages", type=kind, to=to, topic=topic, content=content)
    return body["id"]


def delete(client, message_id):
    return client.call("DELETE", f"/messages/{message_id}")


async def is_there(client, message_id):
    return (await client.call("GET", f"/messages/{message_id}")).status == 200


async def test_its_readers_are_told_in_the_form_they_know(alice, bob, channel):
    message_id = await send(alice)
    old = await bob.register(event_types=["delete_message"])
    new = await alice.register(
        event_types=["delete_message"], client_capabilities={"bulk_message_deletion": True}
    )
    (await delete(alice, message_id)).succeeded()
    place = {"message_type": "stream", "stream_id": channel.channel_id, "topic": "t"}
    [gone] = await old.poll()
    assert {name: gone[name] for name in place} == place
    assert gone["message_id"] == message_id
    assert "message_ids" not in gone
    [gone] = await new.poll()
    assert {name: gone[name] for name in place} == place
    assert gone["message_ids"] == [message_id]
    assert "message_id" not in gone
    (await delete(alice, message_id)).refused()


async def test_a_direct_message_is_deleted_for_all(alice, bob):
    message_id = await send(alice, to=[bob.user.user_id], kind="direct")
    queue = await bob.register(event_types=["delete_message"])
    (await delete(alice, message_id)).succeeded()
    [gone] = await queue.poll()
    assert (gone["message_type"], gone["message_id"]) == ("private", message_id)
    assert not await is_there(bob, message_id)


async def test_nothing_is_left_of_what_it_said(make, alice, bob):
    message_id = await send(alice, content=SECRET)
    mention = f"{SECRET} @**{bob.user.full_name}**"
    (await alice.call("PATCH", f"/messages/{message_id}", content=mention)).succeeded()
    (await bob.call("POST", f"/messages/{message_id}/reactions", emoji_name="tada")).succeeded()
    queue = await bob.register(event_types=["message", "update_message", "delete_message"])
    late = await bob.register(event_types=["message", "update_message", "delete_message"])
    other = await send(alice, content="stays")
    (await alice.call("PATCH", f"/messages/{message_id}", content=f"{SECRET} 2")).succeeded()
    assert SECRET in str(await queue.poll())

    (await delete(alice, message_id)).succeeded()

    for table in ("event_log", "messages", "message_flags", "reactions"):
        rows = await make.connection.tuples(f"SELECT t::text FROM {table} t")
        assert SECRET not in str(rows)
        bodies = await make.connection.tuples("SELECT convert_from(body, 'UTF8') FROM event_log")
        assert SECRET not in str(bodies)
    left = await make.connection.values(
        "SELECT message_id FROM message_flags UNION SELECT message_id FROM reactions"
    )
    assert left == []
    told = await late.poll()
    assert SECRET not in str(told)
    assert [e["type"] for e in told] == ["message", "delete_message"]
    assert told[0]["message"]["id"] == other


DELETERS = [
    # who, what permits it, whether they may delete (another user's, their own)
    ("admin", {}, (True, True)),
    ("member", {}, (False, True)),
    ("member", {"realm": {"can_delete_own_message_group": "role:nobody"}}, (False, False)),
    ("member", {"realm": {"can_delete_any_message_group": "role:members"}}, (True, True)),
    ("guest", {}, (False, True)),
    ("guest", {"realm": {"can_delete_any_message_group": "role:members"}}, (False, True)),
    ("member", {"channel": "can_delete_any_message_group"}, (True, True)),
    (
        "member",
        {
            "realm": {"can_delete_own_message_group": "role:nobody"},
            "channel": "can_delete_own_message_group",
        },
        (False, True),
    ),
]


@pytest.mark.parametrize(("who", "settings", "expected"), DELETERS)
async def test_realm_and_channel_say_who_deletes(
    make, log_in, alice, admin, server, who, settings, expected
):
    row = {
        "admin": admin.user,
        "member": await make.user(),
        "guest": await make.user(role=GUEST),
    }[who]
    groups = await make.role_groups()
    of_channel = {settings["channel"]: [row]} if "channel" in settings else {}
    await make.channel("place", subscribers=[alice.user, row], **of_channel)
    of_realm = settings.get("realm", {})
    await make.change_settings(**{name: groups[group] for name, group in of_realm.items()})
    server.app.realm_caches.of(make.realm_id).forget_everything()
    client = await log_in(row)
    for author, is_permitted in zip((alice, client), expected, strict=True):
        message_id = await send(author, to="place")
        assert (await delete(client, message_id)).status == (200 if is_permitted else 400)
        assert await is_there(author, message_id) is not is_permitted


async def test_the_time_for_ones_own_runs_out_but_not_for_those_who_delete_any(
    make, alice, admin, channel, server
):
    topic = await make.topic(channel, "old")
    now = server.app.clock.now()
    old = await make.message(alice.user, topic, sent_at=now - timedelta(seconds=610))
    young = await make.message(alice.user, topic, sent_at=now - timedelta(seconds=590))
    (await delete(alice, old)).refused()
    (await delete(alice, young)).succeeded()
    (await delete(admin, old)).succeeded()


async def test_those_who_delete_any_need_to_read_it(make, alice, admin):
    await make.channel("private", invite_only=True, subscribers=[alice.user])
    message_id = await send(alice, to="private")
    (await delete(admin, message_id)).refused()
    direct = await send(alice, to=[alice.user.user_id], kind="direct")
    (await delete(admin, direct)).refused()


async def test_ones_bots_messages_are_ones_own(make, log_in, alice, channel):
    bot = await make.user(bot_type=1, bot_owner=alice.user)
    await make.subscribe(channel, [bot])
    message_id = await send(await log_in(bot))
    (await delete(alice, message_id)).succeeded()


# -- whole topics


def delete_topic(client, channel, topic):
    path = f"/streams/{channel.channel_id}/delete_topic"
    return client.call("POST", path, topic_name=topic)


async def test_a_topic_is_deleted_with_all_its_messages(alice, admin, channel):
    sent = [await send(alice) for _ in range(3)]
    kept = await send(alice, topic="other")
    queue = await alice.register(
        event_types=["delete_message"], client_capabilities={"bulk_message_deletion": True}
    )
    assert (await delete_topic(admin, channel, "T")).succeeded()["complete"] is True
    [gone] = await queue.poll()
    assert gone["message_ids"] == sent
    assert [await is_there(alice, i) for i in [*sent, kept]] == [False] * 3 + [True]
    topics = await alice.get(f"/users/me/{channel.channel_id}/topics")
    assert [topic["name"] for topic in topics["topics"]] == ["other"]


async def test_only_administrators_delete_topics(alice, channel):
    await send(alice)
    (await delete_topic(alice, channel, "t")).refused("UNAUTHORIZED_PRINCIPAL")


async def test_a_topic_that_is_not_there_is_not_deleted(make, alice, admin, channel):
    private = await make.channel("private", invite_only=True, subscribers=[alice.user])
    await send(alice, to="private")
    (await delete_topic(admin, channel, "nothing")).refused()
    (await delete_topic(admin, private, "t")).refused()
    (await admin.call("POST", "/streams/1000000000/delete_topic", topic_name="t")).refused()


async def test_a_long_topic_takes_several_entries(make, alice, admin, channel):
    topic = await make.topic(channel, "long")
    await make.connection.execute(
        """
        INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                              origin_channel_id, origin_conversation_id, sent_at, client,
                              content, rendered_content)
        SELECT %(realm_id)s, i, %(sender_id)s, %(channel_id)s, %(topic_id)s, %(channel_id)s,
               %(topic_id)s, now(), 'x', 'x', 'x' FROM generate_series(1000001, 1001200) AS i
        """,
        realm_id=make.realm_id,
        sender_id=alice.user.user_id,
        channel_id=channel.channel_id,
        topic_id=topic.topic_id,
    )
    queue = await alice.register(
        event_types=["delete_message"], client_capabilities={"bulk_message_deletion": True}
    )
    assert (await delete_topic(admin, channel, "long")).succeeded()["complete"] is True
    told: list[int] = []
    while len(told) < 1200:
        told += [i for event in await queue.poll() for i in event["message_ids"]]
    assert sorted(told) == list(range(1000001, 1001201))
    (await delete_topic(admin, channel, "long")).succeeded()
