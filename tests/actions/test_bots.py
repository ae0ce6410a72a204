"""Bots change: all clients end with what register says."""

import pytest

from server.actions import bots
from server.actions.bots import BotChanges, NewBot
from server.actions.users import NewService
from server.domain.access import ADMINISTRATOR
from storage.ids import UserId

pytestmark = pytest.mark.asyncio

SERVICE = NewService(base_url="https://bots.example.com/", interface=1)


async def make_bot(hall, row, *, service=SERVICE) -> UserId:
    new = NewBot(full_name="Helper", short_name="helper", bot_type=3, service=service)
    now = hall.stage.clock.now()
    made = await hall.stage.run(bots.create_bot, hall.actor(row), new, now=now)
    return UserId(made.user_id)


async def change(hall, row, bot_id, **changes):
    now = hall.stage.clock.now()
    wanted = BotChanges(**changes)
    return await hall.stage.run(bots.change_bot, hall.actor(row), bot_id, wanted, now=now)


async def test_who_looks_after_a_new_bot_is_told_where_it_is_called(hall, witnesses):
    seen = await witnesses.watch(lambda: make_bot(hall, hall.member), hall.everyone)
    told = {w.user.user_id for w in seen for e in w.events if e["type"] == "realm_bot"}
    assert told == {row.user_id for row in (hall.owner, hall.admin, hall.member)}


@pytest.mark.parametrize(
    "changes",
    [
        {"full_name": "Butler"},
        {"payload_url": "https://other.example.com/"},
        {"interface": 2},
        {"full_name": "Butler", "payload_url": "https://x.example.com/", "role": ADMINISTRATOR},
    ],
)
async def test_changes_reach_who_looks_after_it(hall, witnesses, changes):
    actor = hall.admin if "role" in changes else hall.member
    bot_id = await make_bot(hall, actor)
    await witnesses.watch(lambda: change(hall, actor, bot_id, **changes), hall.everyone)


@pytest.mark.parametrize(
    ("giver", "heir"), [("member", "other"), ("member", "admin"), ("admin", "member")]
)
async def test_another_owner_takes_over(hall, witnesses, giver, heir):
    giver, heir = getattr(hall, giver), getattr(hall, heir)
    bot_id = await make_bot(hall, giver)
    seen = await witnesses.watch(
        lambda: change(hall, giver, bot_id, owner_id=heir.user_id, full_name="Gift"),
        hall.everyone,
    )
    held = {w.user.user_id for w in seen if w.model.state["realm_bots"]}
    assert held == {row.user_id for row in (hall.owner, hall.admin, heir)}


async def test_what_is_so_already_changes_nothing(hall):
    bot_id = await make_bot(hall, hall.member)
    same = {"full_name": "Helper", "owner_id": hall.member.user_id, "interface": 1}
    changed = await change(hall, hall.member, bot_id, **same)
    assert hall.stage.happened == []
    assert changed.row.full_name == "Helper"


async def test_a_closed_account_is_told(hall, witnesses):
    bot_id = await make_bot(hall, hall.member)
    now = hall.stage.clock.now()

    async def close():
        await hall.stage.run(bots.deactivate_bot, hall.actor(hall.member), bot_id, now=now)

    await witnesses.watch(close, hall.everyone)
    hall.stage.happened.clear()
    await close()
    assert hall.stage.happened == []


async def test_another_key_is_in_no_event(hall, witnesses):
    bot_id = await make_bot(hall, hall.member)

    async def regenerate():
        await hall.stage.run(bots.regenerate_key, hall.actor(hall.member), bot_id)

    seen = await witnesses.watch(regenerate, hall.everyone)
    assert [w.user.user_id for w in seen if w.events] == []
