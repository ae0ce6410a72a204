"""Channel folders: who may change them, who hears of it, and the channels in them."""

import asyncio
from functools import partial

import pytest

from server.actions import channel_folders
from server.actions.channel_folders import FolderWish, add_folder, change_folder, order_folders
from server.actions.channels.change import change_channel
from server.domain.access import MODERATOR
from server.domain.channel_changes import ChannelChange
from server.domain.errors import BadRequestError, InvalidParameterError
from storage import audit_log
from storage import channel_folders as rows

pytestmark = pytest.mark.asyncio


async def add(hall, name, description="", row=None):
    now = hall.stage.clock.now()
    actor = hall.actor(row or hall.admin)
    return await hall.stage.write(add_folder, actor, name, description, now=now)


async def change(hall, folder_id, row=None, **wish):
    actor = hall.actor(row or hall.admin)
    await hall.stage.write(change_folder, actor, folder_id, FolderWish(**wish))


async def order(hall, *folder_ids, row=None):
    await hall.stage.write(order_folders, hall.actor(row or hall.admin), list(folder_ids))


async def put(hall, channel, folder_id):
    """Let the administrator put the channel into the folder; None: out of it."""
    return await hall.stage.run(
        change_channel,
        hall.actor(hall.admin),
        channel.channel_id,
        ChannelChange(folder_id=folder_id),
        web_public_enabled=False,
    )


async def kept(hall):
    found = await rows.of_realm(hall.make.connection, hall.make.realm_id)
    return [(row.name, row.sort_order, row.is_archived) for row in found]


async def test_every_change_is_told_to_everyone_and_kept_in_the_audit_log(hall, witnesses):
    async def all_of_it():
        first = await add(hall, " Work ", "What we *do*")
        second = await add(hall, "Play")
        third = await add(hall, "Rest")
        await order(hall, third, first, second)
        await change(hall, first, name="Labour", description="")
        await change(hall, second, is_archived=True)
        await order(hall, second, third, first)
        await change(hall, second, is_archived=False, name="Games")

    seen = await witnesses.watch(all_of_it, hall.everyone)

    assert {len(witness.events) for witness in seen} == {8}
    assert await kept(hall) == [("Games", 0, False), ("Rest", 1, False), ("Labour", 2, False)]
    log = await audit_log.newest(hall.make.connection, hall.make.realm_id, limit=20)
    changed, added, ordered = (
        [row for row in reversed(log) if row.action == action]
        for action in ("channel_folder_changed", "channel_folder_added", "channel_folders_ordered")
    )
    assert (len(added), len(ordered), len(log)) == (3, 2, 8)
    assert added[0].after == {"name": "Work", "description": "What we *do*", "is_archived": False}
    assert (changed[0].before, changed[0].after) == (
        {"name": "Work", "description": "What we *do*"},
        {"name": "Labour", "description": ""},
    )


async def test_an_unchanged_folder_sends_no_event(hall):
    first, second = await add(hall, "Work", "We do"), await add(hall, "Play")
    hall.stage.happened.clear()

    await change(hall, first, name=" Work ", description="We do", is_archived=False)
    await change(hall, first)
    await order(hall, first, second)

    assert hall.stage.happened == []


async def test_only_administrators_change_them(hall):
    folder_id = await add(hall, "Work")
    moderator = await hall.make.user(role=MODERATOR)
    for row in (moderator, hall.member, hall.guest):
        for attempt in (
            partial(add, hall, "Play", row=row),
            partial(change, hall, folder_id, row, name="Mine"),
            partial(order, hall, folder_id, row=row),
        ):
            with pytest.raises(BadRequestError, match="administrator"):
                await attempt()
    assert await kept(hall) == [("Work", 0, False)]
    await change(hall, folder_id, hall.owner, name="Owned")


@pytest.mark.parametrize("name", ["", "   ", "x" * 61, "a\nb", "a\x07"])
async def test_what_a_folder_is_not_called(hall, name):
    folder_id = await add(hall, "Work")
    with pytest.raises(InvalidParameterError):
        await add(hall, name)
    with pytest.raises(InvalidParameterError):
        await change(hall, folder_id, name=name)


async def test_a_name_is_composed_and_may_hold_what_people_see(hall):
    decomposed, family = "Cafe\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    await add(hall, f" {decomposed} {family} ")
    [(name, _, _)] = await kept(hall)
    assert name == f"Café {family}"
    with pytest.raises(InvalidParameterError, match="already"):
        await add(hall, f"CAFÉ {family}")


async def test_a_description_has_an_end(hall):
    folder_id = await add(hall, "Work", "x" * 1024)
    for attempt in (
        partial(add, hall, "Play", "x" * 1025),
        partial(change, hall, folder_id, description="x" * 1025),
    ):
        with pytest.raises(InvalidParameterError) as refusal:
            await attempt()
        assert refusal.value.details == {"var_name": "description"}


async def test_a_name_is_given_once_among_those_in_use(hall):
    first, second = await add(hall, "Work"), await add(hall, "Play")
    with pytest.raises(InvalidParameterError):
        await add(hall, "WORK")
    with pytest.raises(InvalidParameterError):
        await change(hall, second, name="work")
    await change(hall, first, name="WORK")
    await change(hall, first, is_archived=True)
    await change(hall, second, name="work")
    with pytest.raises(InvalidParameterError):
        await change(hall, first, is_archived=False)
    await change(hall, first, is_archived=False, name="Labour")


async def test_two_of_one_name_at_once(hall):
    answers = await asyncio.gather(
        *(add(hall, name) for name in ("Work", "work")), return_exceptions=True
    )
    assert sum(isinstance(answer, InvalidParameterError) for answer in answers) == 1
    assert len(await kept(hall)) == 1


async def test_an_order_names_each_of_them_once(hall):
    first, second = await add(hall, "Work"), await add(hall, "Play")
    await change(hall, second, is_archived=True)
    for wrong in ([], [first], [first, first], [first, second, second], [first, 10**9]):
        with pytest.raises(InvalidParameterError):
            await order(hall, *wrong)
    await order(hall, second, first)


async def test_there_are_only_so_many(hall, monkeypatch):
    monkeypatch.setattr(channel_folders, "MAX_FOLDERS", 1)
    await add(hall, "Work")
    with pytest.raises(BadRequestError, match="Too many"):
        await add(hall, "Play")


async def test_channels_go_into_folders_and_out_again(hall, witnesses):
    work, away = await add(hall, "Work"), await add(hall, "Away")
    await change(hall, away, is_archived=True)
    channel = await hall.make.channel("plans", subscribers=[hall.member, hall.guest])

    await witnesses.watch(lambda: put(hall, channel, work), hall.everyone)
    assert (await hall.make.again(channel)).folder_id == work
    for wrong in (away, 10**9):
        with pytest.raises(BadRequestError, match="Invalid channel folder ID"):
            await put(hall, channel, wrong)
    # What is in a folder that is put away stays there, and changes like any other.
    await change(hall, work, is_archived=True)
    assert (await hall.make.again(channel)).folder_id == work
    assert await put(hall, channel, work) is None
    await witnesses.watch(lambda: put(hall, channel, None), hall.everyone)
    assert (await hall.make.again(channel)).folder_id is None


async def test_channels_are_made_in_folders(hall, witnesses):
    work, away = await add(hall, "Work"), await add(hall, "Away")
    await change(hall, away, is_archived=True)

    for wrong in (away, 10**9):
        with pytest.raises(BadRequestError, match="Invalid channel folder ID"):
            await hall.subscribe(hall.admin, "plans", folder_id=wrong)
    await witnesses.watch(
        lambda: hall.subscribe(hall.admin, "plans", folder_id=work), hall.everyone
    )

    [created] = [each.event.streams[0] for each in hall.told("stream/create")]
    assert created.folder_id == work
