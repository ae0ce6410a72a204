"""What people say of themselves: what is kept, who hears of it, and what administrators may."""

import asyncio

import pytest
import pytest_asyncio

from server.actions.user_status import (
    MAX_TEXT_LENGTH,
    StatusChange,
    change_own_status,
    change_status_of,
    checked_text,
)
from server.domain.emoji import Emoji
from server.domain.errors import BadRequestError, UserDeactivatedError
from storage import audit_log, user_status, users

pytestmark = pytest.mark.asyncio

CAR = Emoji("car", "1f697", "unicode_emoji")


def events_of(witness):
    return [event for event in witness.events if event["type"] == "user_status"]


async def say(hall, row, *, away=None, **change):
    await hall.stage.write(change_own_status, hall.actor(row), StatusChange(**change), away=away)


async def kept(hall, row):
    [found] = await user_status.of_users(hall.make.connection, hall.make.realm_id, [row.user_id])
    return found


async def test_all_users_hear_of_a_status(hall, witnesses):
    steps = [
        ({"text": "In a car"}, {"status_text": "In a car"}),
        (
            {"emoji": CAR},
            {"emoji_name": "car", "emoji_code": "1f697", "reaction_type": "unicode_emoji"},
        ),
        ({"text": ""}, {"status_text": ""}),
        ({"text": "Here", "emoji": CAR}, None),
        (
            {"text": "", "clears_emoji": True},
            {"status_text": "", "emoji_name": "", "emoji_code": "", "reaction_type": ""},
        ),
    ]
    for change, said in steps:
        seen = await witnesses.watch(
            lambda change=change: say(hall, hall.member, **change), hall.everyone
        )
        for each in seen:
            [event] = events_of(each)
            assert event["user_id"] == hall.member.user_id
            if said is not None:
                assert event.items() >= said.items()
                assert event.keys() - said.keys() == {"type", "id", "user_id"}
    rows = await hall.make.connection.value(
        "SELECT count(*) FROM user_statuses WHERE realm_id = %(realm_id)s",
        realm_id=hall.make.realm_id,
    )
    assert rows == 0, "who says nothing takes no room"


async def test_an_unchanged_status_sends_no_event(hall):
    await say(hall, hall.member, text="Here", emoji=CAR)
    hall.stage.happened.clear()
    await say(hall, hall.member, text="Here", emoji=CAR)
    await say(hall, hall.member, text="Here")
    await say(hall, hall.other, text="", clears_emoji=True)
    assert hall.stage.kinds() == []


async def test_being_away_is_not_wanting_to_be_seen(hall, witnesses):
    seen = await witnesses.watch(
        lambda: say(hall, hall.member, away=True, text="Gone"), [hall.other, hall.member]
    )
    for each in seen:
        first, second = events_of(each)
        assert first["away"] is True
        assert second["status_text"] == "Gone"
    [row] = await users.by_ids(hall.make.connection, hall.make.realm_id, [hall.member.user_id])
    assert row.settings == {"presence_enabled": False}
    assert (await kept(hall, hall.member)).away is True

    await witnesses.watch(
        lambda: say(hall, hall.member, away=False), [hall.other, hall.member, hall.guest]
    )
    assert (await kept(hall, hall.member)).away is False
    hall.stage.happened.clear()
    await say(hall, hall.member, away=False)
    assert hall.stage.kinds() == []


async def test_what_is_said_at_once_is_all_kept(hall):
    await asyncio.gather(
        *[say(hall, hall.member, **change) for change in ({"text": "A"}, {"emoji": CAR})],
        *[say(hall, row, text=row.full_name) for row in hall.everyone if row != hall.member],
    )
    found = await kept(hall, hall.member)
    assert (found.status_text, found.emoji_name) == ("A", "car")
    for row in hall.everyone:
        if row != hall.member:
            assert (await kept(hall, row)).status_text == row.full_name


async def test_who_has_been_deactivated_says_nothing_more(hall):
    actor = hall.actor(hall.member)
    await users.update_active(
        hall.make.connection, hall.make.realm_id, [hall.member.user_id], active=False
    )
    with pytest.raises(UserDeactivatedError):
        await hall.stage.run(change_own_status, actor, StatusChange(text="Still here"))
    assert (await kept(hall, hall.member)).status_text == ""


async def test_a_text_has_a_length():
    assert checked_text("  " + "ä" * MAX_TEXT_LENGTH + "\n") == "ä" * MAX_TEXT_LENGTH
    with pytest.raises(BadRequestError, match="limit: 60 characters"):
        checked_text("x" * (MAX_TEXT_LENGTH + 1))


# -- guests who know only people they meet


@pytest_asyncio.fixture
async def shy(hall):
    await hall.make.change_settings(can_access_all_users_group="role:members")
    hall.stage.realm_caches.of(hall.make.realm_id).forget_everything()
    return hall


async def test_guests_hear_only_those_whom_they_know(shy, witnesses):
    await shy.make.channel("meeting", subscribers=[shy.guest, shy.other])
    for row, heard in ((shy.member, 0), (shy.other, 1), (shy.guest, 1)):
        seen = await witnesses.watch(
            lambda row=row: say(shy, row, text="Hello"), [shy.guest, shy.admin]
        )
        assert [len(events_of(each)) for each in seen] == [heard, heard, 1, 1]


# -- administrators


async def test_an_administrator_may_change_a_users_status(hall, witnesses):
    await say(hall, hall.member, text="Rude", emoji=CAR)
    for actor in (hall.admin, hall.owner):
        text = f"By {actor.full_name}"
        seen = await witnesses.watch(
            lambda actor=actor, text=text: hall.stage.write(
                change_status_of,
                hall.actor(actor),
                hall.member.user_id,
                StatusChange(text=text, clears_emoji=True),
            ),
            [hall.member, hall.guest],
        )
        assert [events_of(each)[0]["status_text"] for each in seen] == [text] * 4
    rows = await audit_log.newest(hall.make.connection, hall.make.realm_id, limit=10)
    newest, first = rows[:2]
    assert (first.action, first.actor_id, first.subject_id) == (
        "user_status_changed",
        hall.admin.user_id,
        hall.member.user_id,
    )
    assert first.before["status_text"] == "Rude"
    assert first.before["emoji_name"] == "car"
    assert first.after == {"status_text": "By Admin"}
    assert newest.actor_id == hall.owner.user_id


async def test_what_people_say_themselves_is_not_audited(hall):
    await say(hall, hall.admin, text="Hello")
    rows = await audit_log.newest(hall.make.connection, hall.make.realm_id, limit=10)
    assert rows == []


async def test_who_is_no_administrator_any_more_is_refused(hall):
    for row in (hall.member, hall.guest):
        with pytest.raises(BadRequestError, match="administrator"):
            await hall.stage.run(
                change_status_of, hall.actor(row), hall.other.user_id, StatusChange(text="x")
            )


async def test_bots_deactivated_and_unknown_users_have_no_status(hall):
    bot = await hall.make.user(bot_type=1)
    gone = await hall.make.user(is_active=False)
    for user_id in (bot.user_id, gone.user_id, 10**9):
        with pytest.raises(BadRequestError):
            await hall.stage.run(
                change_status_of, hall.actor(hall.admin), user_id, StatusChange(text="x")
            )
