"""Levels of the protocol after 421 about who gets what (docs/protocol.md), each over HTTP."""

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, OWNER
from server.domain.bots import GENERIC

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("knows_archived", [True, False])
async def test_archived_channels_lose_who_is_deactivated(log_in, make, knows_archived):  # 428
    admin = await log_in(role=ADMINISTRATOR)
    leaving = await make.user()
    archived = await make.channel(subscribers=[leaving, admin.user], is_archived=True)
    active = await make.channel(subscribers=[leaving])
    queue = await admin.register(
        event_types=["subscription"],
        client_capabilities={"archived_channels": knows_archived, "bulk_message_deletion": True},
    )
    await admin.delete(f"/users/{leaving.user_id}")
    events = [e for e in await queue.poll() if e["op"] == "peer_remove"]
    assert {tuple(e["user_ids"]) for e in events} == {(leaving.user_id,)}
    expected = {active.channel_id, *([archived.channel_id] if knows_archived else [])}
    assert {each for e in events for each in e["stream_ids"]} == expected


async def test_who_may_not_post_gets_no_address_of_the_channel(log_in, make):  # 448
    groups = await make.role_groups()
    admin, reader, guest = (
        await log_in(role=ADMINISTRATOR),
        await log_in(),
        await log_in(role=GUEST),
    )
    everyone = [admin.user, reader.user, guest.user]
    news = await make.channel(
        "news", subscribers=everyone, can_send_message_group=groups["role:administrators"]
    )
    path = f"/streams/{news.channel_id}/email_address"
    await admin.get(path)
    for client in (reader, guest):
        refused = (await client.call("GET", path)).refused()
        assert refused["msg"] == "You do not have permission to post in channel 'news'."
    own = await make.user(bot_type=GENERIC, bot_owner=reader.user)
    (await reader.call("GET", path, sender_id=own.user_id)).refused()
    change = {"new": groups["role:members"]}
    await admin.patch(f"/streams/{news.channel_id}", can_send_message_group=change)
    await reader.get(path, sender_id=own.user_id)
    (await guest.call("GET", path)).refused()


async def test_a_bot_gets_the_address_of_a_channel_where_its_owner_posts(log_in, make):  # 448
    owner = await make.user()
    await make.channel("news", can_send_message_group=[owner])
    bot, other = await log_in(bot_type=GENERIC, bot_owner=owner), await log_in(bot_type=GENERIC)
    [news] = (await bot.get("/streams"))["streams"]
    path = f"/streams/{news['stream_id']}/email_address"
    await bot.get(path)
    (await other.call("GET", path)).refused()


async def test_neither_register_nor_events_hold_addresses_of_channels(log_in, make):  # 448
    admin = await log_in(role=ADMINISTRATOR)
    channel = await make.channel("news", subscribers=[admin.user])
    queue = await admin.register()
    await admin.patch(f"/streams/{channel.channel_id}", description="All that is new")
    await admin.post("/users/me/subscriptions", subscriptions=[{"name": "more"}])
    for events in (queue.state, *await queue.poll()):
        assert "'email_address'" not in str(events)


async def deletions(queue):
    return [each["message_ids"] for each in await queue.poll(dont_block=True)]


def listening(client):
    return client.register(
        event_types=["delete_message"], client_capabilities={"bulk_message_deletion": True}
    )


async def sent(client, channel, content="x"):
    body = await client.post(
        "/messages", type="channel", to=channel.channel_id, topic="t", content=content
    )
    return body["id"]


async def test_a_deletion_names_what_each_reader_may_read(log_in, make):  # 457
    writer, late, gone, outsider = [await log_in() for _ in range(4)]
    admin = await log_in(role=OWNER)
    channel = await make.channel(
        subscribers=[writer.user, gone.user],
        invite_only=True,
        shares_history=False,
        can_add_subscribers_group=[writer.user],
    )
    early = await sent(writer, channel)
    await make.subscribe(channel, [late.user, admin.user])
    await make.unsubscribe(channel, [gone.user])
    writer.server.forget(make.realm_id)
    shared = await sent(writer, channel)
    queues = [await listening(each) for each in (writer, admin, late, gone, outsider)]
    (await admin.call("DELETE", f"/messages/{early}")).refused()
    again = True
    while again:
        body = await admin.post(f"/streams/{channel.channel_id}/delete_topic", topic_name="t")
        again = not body["complete"]
    assert [await deletions(each) for each in queues] == [[[shared]]] * 3 + [[], []]
    await writer.delete(f"/messages/{early}")
    assert [await deletions(each) for each in queues] == [[[early]]] + [[]] * 4


async def test_who_deletes_without_a_subscription_learns_of_it(log_in, make):  # 457
    admin, member = await log_in(role=ADMINISTRATOR), await log_in()
    channel = await make.channel(subscribers=[member.user])
    message_id = await sent(member, channel)
    queues = [await listening(each) for each in (admin, member, await log_in())]
    await admin.delete(f"/messages/{message_id}")
    assert [await deletions(each) for each in queues] == [[[message_id]], [[message_id]], []]


async def test_bots_that_are_administrators_set_statuses(log_in, make):  # 473
    person = await log_in()
    path = f"/users/{person.user.user_id}/status"
    owner = await make.user(role=OWNER)
    bot = await log_in(bot_type=GENERIC, bot_owner=owner, role=ADMINISTRATOR)
    queue = await person.register(event_types=["user_status"])
    await bot.post(path, status_text="Away for lunch", emoji_name="car")
    assert (await queue.until("user_status"))["status_text"] == "Away for lunch"
    await bot.post(path, status_text="", emoji_name="")
    [row] = await make.connection.tuples(
        "SELECT actor_id, subject_id FROM audit_log WHERE action = 'user_status_changed'"
        " ORDER BY audit_id LIMIT 1"
    )
    assert row == (bot.user.user_id, person.user.user_id)
    plain = await log_in(bot_type=GENERIC, bot_owner=owner)
    (await plain.call("POST", path, status_text="x")).refused()
    (await bot.call("POST", f"/users/{plain.user.user_id}/status", status_text="x")).refused()
