"""Users who hide their presence, and people met by guests: all hear what follows."""

from datetime import timedelta

import pytest
import pytest_asyncio

from server.actions.user_activation import deactivate_user
from server.actions.user_settings import OwnChange, change_own_settings
from server.actions.users import NewUser, create_users
from server.domain.presence import OFFLINE_AFTER_SECONDS
from server.domain.user_settings import ADMINISTRATORS
from storage import presences
from storage.presences import Ping
from storage.user_status import UserStatusRow, put
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio


async def seen(hall, *people, ago=timedelta(0)):
    """They pinged so long ago."""
    at = hall.stage.clock.now() - ago
    pings = [Ping(row.user_id, at, at) for row in people]
    await hall.make.connection.run(presences.record(hall.make.realm_id, pings))


async def choose(hall, row, *, presence_enabled, **others):
    change = OwnChange(settings={"presence_enabled": presence_enabled, **others})
    await hall.stage.write(change_own_settings, hall.actor(row), change)


def told(witness, kind):
    return [event for event in witness.events if event["type"] == kind]


async def test_who_does_not_want_to_be_seen_looks_gone_at_once(hall, witnesses):
    await seen(hall, hall.member, hall.owner)
    watching = await witnesses.watch(
        lambda: choose(hall, hall.member, presence_enabled=False), [hall.member, hall.guest]
    )
    gone = int(hall.stage.clock.now().timestamp()) - OFFLINE_AFTER_SECONDS - 1
    for newest, oldest in (watching[:2], watching[2:]):
        [modern] = told(newest, "presence")
        assert modern["presences"] == {
            str(hall.member.user_id): {"active_timestamp": gone, "idle_timestamp": gone}
        }
        [legacy] = told(oldest, "presence")
        assert legacy["presence"]["website"]["timestamp"] == gone
        assert legacy["email"] == hall.member.email
        for each in (newest, oldest):
            [status] = told(each, "user_status")
            assert (status["user_id"], status["away"]) == (hall.member.user_id, True)


async def test_who_wants_it_again_is_active_at_once(hall, witnesses):
    quiet = await hall.make.user(settings={"presence_enabled": False})
    [watching] = await witnesses.watch(
        lambda: choose(hall, quiet, presence_enabled=True),
        [hall.other],
        views=[NEWEST_CLIENT],
    )
    now = int(hall.stage.clock.now().timestamp())
    [event] = told(watching, "presence")
    assert set(event["presences"][str(quiet.user_id)].values()) == {now}
    [status] = told(watching, "user_status")
    assert status["away"] is False


async def test_of_who_has_never_been_seen_there_is_only_the_choice(hall, witnesses):
    watching = await witnesses.watch(
        lambda: choose(hall, hall.member, presence_enabled=False), [hall.other]
    )
    for each in watching:
        assert told(each, "presence") == []
        assert len(told(each, "user_status")) == 1


async def test_who_left_long_ago_does_not_come_nearer_by_it(hall, witnesses):
    await seen(hall, hall.member, ago=timedelta(days=1))
    watching = await witnesses.watch(
        lambda: choose(hall, hall.member, presence_enabled=False), [hall.other]
    )
    [event] = told(watching[0], "presence")
    before = int((hall.stage.clock.now() - timedelta(days=1)).timestamp())
    assert set(event["presences"][str(hall.member.user_id)].values()) == {before}


async def test_an_unchanged_choice_sends_no_event(hall):
    await choose(hall, hall.member, presence_enabled=True)
    assert hall.stage.kinds() == []


async def test_with_presence_disabled_no_presence_is_sent(hall, witnesses):
    await hall.make.change_settings(presence_disabled=True)
    await seen(hall, hall.member)
    watching = await witnesses.watch(
        lambda: choose(hall, hall.member, presence_enabled=False), [hall.other]
    )
    for each in watching:
        assert told(each, "presence") == []


async def test_bots_are_never_there(hall):
    bot = await hall.make.user(bot_type=1, bot_owner=hall.owner)
    await choose(hall, bot, presence_enabled=False)
    assert not {"presence", "user_status"} & set(hall.stage.kinds())


async def test_newcomers_may_begin_unseen(hall, witnesses):
    await hall.make.change_settings(user_settings_defaults={"presence_enabled": False})
    new = [NewUser(email="new@example.com", full_name="New")]

    async def join():
        await hall.stage.write(
            lambda tx, _: create_users(tx, new, now=hall.stage.clock.now()),
            hall.actor(hall.owner),
        )

    watching = await witnesses.watch(join, [hall.owner, hall.guest])
    assert [len(told(each, "user_status")) for each in watching] == [1] * 4


async def test_who_is_deactivated_is_forgotten(hall, witnesses):
    await seen(hall, hall.member, hall.other)
    await put(hall.make.connection, hall.make.realm_id, status_of(hall.member))

    async def leave():
        await hall.stage.write(
            lambda tx, _: deactivate_user(tx, hall.member.user_id, now=hall.stage.clock.now()),
            hall.actor(hall.owner),
        )

    await witnesses.watch(leave, [hall.owner, hall.guest])


async def test_another_address_is_another_key_in_the_legacy_form(hall, witnesses):
    await seen(hall, hall.member)

    async def hide():
        change = OwnChange(settings={"email_address_visibility": ADMINISTRATORS})
        await hall.stage.write(change_own_settings, hall.actor(hall.member), change)

    await witnesses.watch(hide, [hall.owner, hall.other, hall.guest])


def status_of(row):
    return UserStatusRow(row.user_id, away=False, status_text="Away from here")


# -- guests


@pytest_asyncio.fixture
async def shy(hall):
    """Guests know only people they meet."""
    await hall.make.change_settings(can_access_all_users_group="role:members")
    hall.stage.realm_caches.of(hall.make.realm_id).forget_everything()
    return hall


async def test_guests_hear_of_those_whom_they_know(shy, witnesses):
    await seen(shy, shy.member, shy.other)
    await shy.make.channel("meeting", subscribers=[shy.guest, shy.other])
    for row, heard in ((shy.member, 0), (shy.other, 1)):
        watching = await witnesses.watch(
            lambda row=row: choose(shy, row, presence_enabled=False), [shy.guest, shy.owner]
        )
        counts = [len(told(each, "presence")) for each in watching]
        assert counts == [heard, heard, 1, 1]
        assert [len(told(each, "user_status")) for each in watching] == counts


async def test_whom_a_guest_comes_to_know_comes_with_presence_and_status(shy, witnesses):
    unseen = await shy.make.user(settings={"presence_enabled": False})
    await seen(shy, shy.member, shy.other)
    await seen(shy, shy.admin, ago=timedelta(days=20))
    for row in (shy.member, unseen):
        await put(shy.make.connection, shy.make.realm_id, status_of(row))
    people = [shy.member, shy.other, shy.admin, unseen]
    await shy.make.channel("plans", subscribers=people)

    watching = await witnesses.watch(
        lambda: shy.subscribe(shy.member, "plans", people=[shy.guest]), [shy.guest, shy.owner]
    )
    [event] = told(watching[0], "presence")
    assert set(event["presences"]) == {str(shy.member.user_id), str(shy.other.user_id)}
    assert [e["user_id"] for e in told(watching[1], "presence")] == [
        shy.member.user_id,
        shy.other.user_id,
    ]
    for each in watching[:2]:
        statuses = {event["user_id"]: event for event in told(each, "user_status")}
        assert set(statuses) == {shy.member.user_id, unseen.user_id}
        assert statuses[unseen.user_id]["away"] is True
        assert statuses[shy.member.user_id]["status_text"] == "Away from here"
    assert not [e for each in watching[2:] for e in told(each, "presence")]


async def test_whom_a_guest_knows_no_more_is_gone_with_it(shy, witnesses):
    await seen(shy, shy.member, shy.other)
    await put(shy.make.connection, shy.make.realm_id, status_of(shy.member))
    await shy.make.channel("plans", subscribers=[shy.member, shy.other, shy.guest])
    await witnesses.watch(lambda: shy.unsubscribe(shy.guest, "plans"), [shy.guest, shy.member])
