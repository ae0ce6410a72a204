"""Legal holds: what they cover stays, however it is deleted, until they are released."""

from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from queue_processors.blob_keeper import BlobKeeper
from queue_processors.retention import RetentionKeeper
from server.actions.erasing import ERASING, erase_person
from server.actions.stepped_work import finish
from server.domain.access import ADMINISTRATOR, OWNER
from server.domain.clock import SystemClock
from server.domain.errors import LegalHoldError
from testkit.clock import StoppedClock
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

HOLDS = "/compliance/legal_holds"
CASE = {"name": "Case 7", "reason": "Smith against Jones"}


@pytest.fixture
def clock():
    return StoppedClock(SystemClock().now())


@pytest_asyncio.fixture
async def owner(log_in, make):
    await make.notification_bot()
    return await log_in(role=OWNER)


@pytest_asyncio.fixture
async def channels(make, owner, alice, bob):
    """Channels by name, with all of them."""
    people = [owner.user, alice.user, bob.user]
    return {name: await make.channel(name, subscribers=people) for name in ("held", "other")}


async def place(owner, **scope):
    return (await owner.post(HOLDS, **CASE, **scope))["id"]


async def release(owner, hold_id):
    await owner.post(f"{HOLDS}/{hold_id}/release", reason="The case is closed")


async def say(client, to, content="hello"):
    kind = "channel" if isinstance(to, str) else "direct"
    return (await client.post("/messages", type=kind, to=to, topic="t", content=content))["id"]


async def kept(make):
    """The contents of the archive by id."""
    return dict(
        await make.connection.tuples(
            "SELECT id, message ->> 'content' FROM expired_messages WHERE realm_id = %(r)s",
            r=make.realm_id,
        )
    )


async def there(make):
    found = await make.connection.values(
        "SELECT id FROM messages WHERE realm_id = %(r)s", r=make.realm_id
    )
    return {*found}


async def tidy(server):
    app = server.app
    keeper = RetentionKeeper(
        app.database, app.realm_services, app.clock, kept_aside=timedelta(days=5), pause_seconds=0
    )
    return await keeper.tidy()


async def test_retention_leaves_what_is_held_until_the_release(
    server, clock, make, owner, alice, bob, channels
):
    await owner.patch("/realm", message_retention_days=10)
    asked = int(clock.now().timestamp())
    ids = {
        "by the sender": await say(alice, "other"),
        "by the channel": await say(bob, "held"),
        "by the partner": await say(bob, [alice.user.user_id]),
    }
    unheld = {await say(bob, "other"), await say(bob, [owner.user.user_id])}
    moved, through = await say(bob, "held"), await say(bob, "other", "through")
    other, held = channels["other"].channel_id, channels["held"].channel_id
    for message_id, target in ((moved, other), (through, held), (through, other)):
        quiet = {"send_notification_to_old_thread": False}
        await owner.patch(
            f"/messages/{message_id}",
            stream_id=target,
            propagate_mode="change_one",
            send_notification_to_new_thread=False,
            **quiet,
        )
    clock.advance(timedelta(days=2))
    later = await say(alice, "other")
    hold = await place(
        owner,
        user_ids=[alice.user.user_id],
        channel_ids=[channels["held"].channel_id],
        sent_until=asked + 86_400,
    )
    clock.advance(timedelta(days=20))
    await tidy(server)
    kept_there = {*ids.values(), moved, through}
    assert await there(make) & {*kept_there, later, *unheld} == kept_there

    clock.advance(timedelta(days=6))
    await tidy(server)
    assert await kept(make) == {}
    await release(owner, hold)
    await tidy(server)
    assert await there(make) == set()
    expected = dict.fromkeys([*ids.values(), moved], "hello") | {through: "through"}
    assert await kept(make) == expected


async def test_deleting_hides_it_and_keeps_a_copy_until_the_release(
    server, make, owner, alice, bob, channels
):
    hold = await place(owner, channel_ids=[channels["held"].channel_id])
    first, second, third = [await say(alice, "held", f"text {n}") for n in range(3)]
    elsewhere = await say(alice, "other")
    await bob.post(f"/messages/{first}/reactions", emoji_name="tada")
    await alice.patch(f"/messages/{first}", content="harmless")
    for deleted in (first, elsewhere):
        await owner.delete(f"/messages/{deleted}")
    await owner.post("/messages/delete", message_ids=[second])
    channel_id = channels["held"].channel_id
    await owner.post(f"/streams/{channel_id}/delete_topic", topic_name="t")

    assert not await there(make) & {first, second, third}
    assert await kept(make) == {first: "harmless", second: "text 1", third: "text 2"}
    [row] = await make.connection.tuples(
        """
        SELECT actor_id, context -> 'channel', context -> 'topic',
               context -> 'reactions' -> 0 -> 'user_id',
               message -> 'edit_history' -> 0 -> 'prev_content'
          FROM expired_messages WHERE id = %(id)s
        """,
        id=first,
    )
    assert row == (owner.user.user_id, "held", "t", bob.user.user_id, "text 0")
    answer = await alice.call("GET", f"/messages/{first}")
    answer.refused()
    await tidy(server)
    assert len(await kept(make)) == 3
    await release(owner, hold)
    await tidy(server)
    assert await kept(make) == {}


async def test_the_archive_keeps_what_a_later_hold_covers(
    server, clock, make, owner, alice, channels
):
    await owner.patch("/realm", message_retention_days=1)
    old = await say(alice, "held", "old")
    clock.advance(timedelta(days=2))
    await tidy(server)
    hold = await place(owner, whole_organization=True)
    clock.advance(timedelta(days=30))
    await tidy(server)
    assert await kept(make) == {old: "old"}
    await release(owner, hold)
    await tidy(server)
    assert await kept(make) == {}


def stored(server):
    """How many contents of files are in the store."""
    return sum(path.is_file() for path in server.app.settings.files.rglob("*"))


async def test_files_stay_that_are_held_by_owner_or_message(
    server, clock, make, owner, alice, bob, channels
):
    async def uploaded(client):
        answer = await client.upload("/user_uploads", file=("a.txt", b"content"))
        return answer.succeeded()["url"]

    await uploaded(alice)
    await uploaded(bob)
    await say(bob, "held", f"[a]({await uploaded(bob)})")
    deleted = await say(bob, "held", f"[a]({await uploaded(bob)})")
    edited = await say(bob, "held", f"[a]({await uploaded(bob)})")
    await bob.patch(f"/messages/{edited}", content="nothing")
    hold = await place(
        owner, user_ids=[alice.user.user_id], channel_ids=[channels["held"].channel_id]
    )
    await owner.delete(f"/messages/{deleted}")
    for client in (alice, bob):
        files = (await client.get("/attachments"))["attachments"]
        for file in files[::2]:
            await client.delete(f"/attachments/{file['id']}")
    clock.advance(timedelta(days=60))
    keeper = BlobKeeper.of(server.app)
    await keeper.tidy()
    assert stored(server) == 4, "all but the one that nothing holds"
    await release(owner, hold)
    await tidy(server)
    await keeper.tidy()
    assert stored(server) == 0
    rows = await make.connection.values(
        "SELECT attachment_id FROM held_files UNION ALL"
        " SELECT attachment_id FROM former_attachment_messages"
    )
    assert rows == []


async def test_held_accounts_are_not_erased(server, make, owner, alice, bob, channels):
    services = server.app.realm_services(make.realm_id)
    now = server.app.clock.now()
    work_id = await services.write(lambda tx: erase_person(tx, bob.user.user_id, now=now))
    said = await say(alice, "held")
    hold = await place(owner, channel_ids=[channels["held"].channel_id])
    with pytest.raises(LegalHoldError):
        await services.write(lambda tx: erase_person(tx, alice.user.user_id, now=now))
    answer = await owner.call(
        "DELETE", f"/users/{alice.user.user_id}", actions={"delete_profile": True}
    )
    body = answer.refused()
    assert "legal hold" in body["msg"]
    assert CASE["reason"] not in body["msg"]
    assert said in await there(make)

    # Bob has sent no messages there; his erasing began before.
    await finish(services, ERASING, work_id)
    assert (
        await make.connection.value(
            "SELECT full_name FROM users WHERE user_id = %(u)s", u=bob.user.user_id
        )
    ).startswith("Deleted user")
    await release(owner, hold)
    work_id = await services.write(lambda tx: erase_person(tx, alice.user.user_id, now=now))
    await place(owner, channel_ids=[channels["held"].channel_id])
    await finish(services, ERASING, work_id)
    assert said in await there(make), "a hold ends an erasure that is under way"
    ended = (await owner.get("/realm/audit_log", action="user_erasure_ended"))["entries"]
    assert [entry["subject_id"] for entry in ended] == [alice.user.user_id]


@pytest.mark.parametrize("is_direct", [True, False])
async def test_an_account_is_held_by_what_it_has_sent(
    server, make, owner, alice, bob, channels, is_direct
):
    """To a held user, or to a held channel from which it was moved."""
    services, now = server.app.realm_services(make.realm_id), server.app.clock.now()
    if is_direct:
        await say(bob, [alice.user.user_id])
    else:
        moved, target = await say(bob, "held"), channels["other"].channel_id
        quiet = {"send_notification_to_old_thread": False}
        await owner.patch(f"/messages/{moved}", stream_id=target, **quiet)
    hold = await place(
        owner, user_ids=[alice.user.user_id], channel_ids=[channels["held"].channel_id]
    )
    with pytest.raises(LegalHoldError):
        await services.write(lambda tx: erase_person(tx, bob.user.user_id, now=now))
    await release(owner, hold)
    await services.write(lambda tx: erase_person(tx, bob.user.user_id, now=now))


async def test_holds_are_for_owners_and_named_in_the_audit_log(owner, log_in, alice, channels):
    admin = await log_in(role=ADMINISTRATOR)
    hold = await place(owner, user_ids=[alice.user.user_id], sent_from=1_000_000_000)
    await release(owner, hold)
    [listed] = (await owner.get(HOLDS))["legal_holds"]
    assert (listed["id"], listed["name"], listed["sent_from"], listed["release_reason"]) == (
        hold,
        "Case 7",
        1_000_000_000,
        "The case is closed",
    )
    for client in (admin, alice):
        for method, path in (("GET", HOLDS), ("POST", HOLDS), ("POST", f"{HOLDS}/{hold}/release")):
            (await client.call(method, path, **CASE, whole_organization=True)).refused()
    for client, reason in ((owner, "Smith against Jones"), (admin, None)):
        entries = (await client.get("/realm/audit_log", action="legal_hold_placed"))["entries"]
        assert [(e["subject_id"], e["after"].get("reason")) for e in entries] == [(hold, reason)]


async def test_holds_are_checked(owner, make, alice, channels):
    elsewhere = await new_realm(make.connection)
    stranger = await elsewhere.user("Stranger")
    channel = await elsewhere.channel("far", subscribers=[stranger])
    mine = [alice.user.user_id]
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"user_ids": mine, "whole_organization": True},
        {"user_ids": [stranger.user_id]},
        {"channel_ids": [channel.channel_id]},
        {"user_ids": mine, "sent_from": 20, "sent_until": 20},
        {"user_ids": mine, "sent_from": -1},
        {"user_ids": mine, "name": " "},
        {"user_ids": mine, "name": "x" * 101},
        {"user_ids": mine, "reason": "x" * 2_001},
        {"user_ids": ["x"]},
    )
    for fields in wrong:
        answer = await owner.call("POST", HOLDS, **{**CASE, **fields})
        assert answer.status == 400, fields
    hold = await place(owner, user_ids=mine * 2)
    assert (await owner.get(HOLDS))["legal_holds"][0]["user_ids"] == mine
    await release(owner, hold)
    for hold_id in (hold, hold + 1):
        path = f"{HOLDS}/{hold_id}/release"
        (await owner.call("POST", path, reason="again")).refused()
