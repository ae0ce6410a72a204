"""Links of emails stop them for any holder of the link, without signing in."""

import pytest
from structlog.testing import capture_logs

from server.domain.unsubscribing import (
    DIGESTS,
    PATH,
    PURPOSE,
    Subscriber,
    subscriber_of,
    token_for,
)
from storage import audit_log, server_keys
from storage.ids import RealmId, UserId
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

EMAILS = (
    "enable_offline_email_notifications",
    "enable_stream_email_notifications",
    "enable_followed_topic_email_notifications",
)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def token_of(make, row, realm_id=None) -> str:
    key = await server_keys.key_for(make.connection, PURPOSE)
    return token_for(key, Subscriber(realm_id or make.realm_id, row.user_id))


async def click(anonymous, token):
    """What a mail program does with List-Unsubscribe-Post."""
    return await anonymous.send(
        "POST",
        f"/email_notifications/unsubscribe/{token}",
        body=b"List-Unsubscribe=One-Click",
        headers=FORM,
    )


async def look(anonymous, token):
    return await anonymous.send("GET", f"/email_notifications/unsubscribe/{token}")


async def emails_of(client) -> list[bool]:
    settings = (await client.register(fetch_event_types=["user_settings"])).state["user_settings"]
    return [settings[name] for name in EMAILS]


async def test_one_click_stops_all_emails_about_messages(log_in, spectator, make):
    ada = await make.user("Ada", settings={"enable_stream_email_notifications": True})
    client, anonymous = await log_in(ada), await spectator()
    assert await emails_of(client) == [True, True, True]
    queue = await client.register(event_types=["user_settings"])
    token = await token_of(make, ada)

    answer = await click(anonymous, token)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert await emails_of(client) == [False, False, False]
    told = [(await queue.until("user_settings"))["property"] for _ in EMAILS]
    assert sorted(told) == sorted(EMAILS)

    assert (await click(anonymous, token)).status == 200


async def test_channels_with_emails_are_silenced_too(log_in, spectator, make):
    ada = await make.user("Ada")
    loud, quiet = [await make.channel(subscribers=[ada]) for _ in range(2)]
    await make.connection.execute(
        "UPDATE subscriptions SET email_notifications = (channel_id = %(loud)s)",
        loud=loud.channel_id,
    )
    client = await log_in(ada)
    queue = await client.register(event_types=["subscription"])
    assert (await click(await spectator(), await token_of(make, ada))).status == 200
    event = await queue.until("subscription")
    assert (event["op"], event["stream_id"]) == ("update", loud.channel_id)
    assert (event["property"], event["value"]) == ("email_notifications", False)
    state = (await client.register(fetch_event_types=["subscription"])).state
    left = {each["stream_id"]: each["email_notifications"] for each in state["subscriptions"]}
    assert left == {loud.channel_id: False, quiet.channel_id: False}


async def test_each_channel_that_is_silenced_is_written_down_and_no_other(log_in, spectator, make):
    ada = await make.user("Ada")
    loud = await make.channel(subscribers=[ada], is_archived=True)
    quiet = await make.channel(subscribers=[ada])
    left = await make.channel(subscribers=[ada])
    client = await log_in(ada)
    await make.connection.execute(
        """
        UPDATE subscriptions SET email_notifications = (channel_id <> %(quiet)s),
               active = (channel_id <> %(left)s)
        """,
        quiet=quiet.channel_id,
        left=left.channel_id,
    )
    queue = await client.register(
        event_types=["subscription"], client_capabilities={"archived_channels": True}
    )
    assert (await click(await spectator(), await token_of(make, ada))).status == 200
    assert (await queue.until("subscription"))["stream_id"] == loud.channel_id
    kept = await audit_log.newest(make.connection, make.realm_id, limit=10)
    changed = [each for each in kept if each.action == "subscription_changed"]
    assert [(each.subject_id, each.before, each.after) for each in changed] == [
        (loud.channel_id, {"email_notifications": True}, {"email_notifications": False})
    ]
    # No notification for a channel that was left, and it is no louder after a return.
    await client.post("/users/me/subscriptions", subscriptions=[{"name": left.name}])
    state = (await client.register(fetch_event_types=["subscription"])).state
    back = {each["stream_id"]: each["email_notifications"] for each in state["subscriptions"]}
    assert back[left.channel_id] is False


async def test_a_look_at_the_link_changes_nothing(log_in, spectator, make):
    ada = await make.user("Ada")
    token = await token_of(make, ada)
    answer = await look(await spectator(), token)
    assert answer.status == 200
    page = answer.content.decode()
    assert '<form method="post">' in page
    assert "A realm" in page
    assert await emails_of(await log_in(ada)) == [True, False, True]


async def test_digests_are_stopped_by_links_of_their_own(log_in, spectator, make):
    ada = await make.user("Ada")
    client, anonymous = await log_in(ada), await spectator()
    key = await server_keys.key_for(make.connection, PURPOSE)
    token = token_for(key, Subscriber(make.realm_id, ada.user_id, DIGESTS))
    assert "weekly digests from A realm" in (await look(anonymous, token)).content.decode()
    assert (await click(anonymous, token)).status == 200
    state = (await client.register(fetch_event_types=["user_settings"])).state["user_settings"]
    assert state["enable_digest_emails"] is False
    assert await emails_of(client) == [True, False, True]
    assert (await click(anonymous, await token_of(make, ada))).status == 200
    assert await emails_of(client) == [False, False, False]


async def test_forged_links_are_refused(log_in, spectator, make):
    ada = await make.user("Ada")
    anonymous, token = await spectator(), await token_of(make, ada)
    other = await new_realm(make.connection)
    forged = token_for(b"another key", Subscriber(make.realm_id, ada.user_id))
    wrong = [
        token + "x",
        "x" + token,
        forged,
        "nonsense",
        await token_of(make, ada, other.realm_id),
    ]
    for each in wrong:
        for answer in (await click(anonymous, each), await look(anonymous, each)):
            assert (answer.status, answer.body["code"]) == (400, "BAD_REQUEST")
    assert await emails_of(await log_in(ada)) == [True, False, True]


async def test_who_has_no_account_any_more_gets_the_same_answer(spectator, make):
    gone = await make.user("Gone", is_active=False)
    assert (await click(await spectator(), await token_of(make, gone))).status == 200


async def test_no_link_is_ever_in_a_log(spectator, make):
    anonymous, token = await spectator(), await token_of(make, await make.user("Ada"))
    await make.connection.execute("ALTER TABLE server_keys RENAME TO keys")
    try:
        with capture_logs() as logs:
            assert (await click(anonymous, token)).status == 500
    finally:
        await make.connection.execute("ALTER TABLE keys RENAME TO server_keys")
    assert [line["endpoint"] for line in logs if "endpoint" in line] == [PATH]
    assert token not in str(logs)


async def test_links_expire():
    key, ada = b"k" * 32, Subscriber(RealmId(1), UserId(2))
    token = token_for(key, ada)
    assert subscriber_of(key, token) == ada
    assert subscriber_of(key, token, valid_seconds=-1) is None


async def test_there_is_one_key_for_each_purpose(make):
    keys = [await server_keys.key_for(make.connection, p) for p in ("a", "b", "a")]
    assert keys[0] == keys[2] != keys[1]
    assert len(keys[0]) == 32
