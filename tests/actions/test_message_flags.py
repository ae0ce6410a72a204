"""Reads that arrive together are one statement, and one entry for each reader."""

import asyncio

import pytest

from server.actions.message_flags import change_flag
from server.events.message_flags import MessageFlagsChanged
from testkit.factories import Make
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio


def changes(stage: Stage) -> list[MessageFlagsChanged]:
    return [each.event for each in stage.happened if isinstance(each.event, MessageFlagsChanged)]


async def test_what_a_channel_reads_at_once_is_a_commit_or_two(stage: Stage, make: Make):
    people = await make.users(50)
    channel = await make.channel(subscribers=people)
    message_id = await make.message(people[0], await make.topic(channel, "t"))
    actors = [await make.actor(person) for person in people[1:]]
    writes, commits = stage.writers.totals()

    answers = await asyncio.gather(
        *[stage.write(change_flag, actor, [message_id], "add", "read") for actor in actors]
    )

    assert [answer.result.message_ids for answer in answers] == [[message_id]] * 49
    assert sorted(each.audience.users for each in stage.happened) == sorted(
        (actor.user_id,) for actor in actors
    )
    writes_now, commits_now = stage.writers.totals()
    assert writes_now - writes == 49
    assert commits_now - commits <= 2


async def test_reads_of_one_person_at_once_are_one_entry_and_each_change_is_answered_once(
    stage: Stage, make: Make
):
    people = await make.users(2)
    channel = await make.channel(subscribers=people)
    topic = await make.topic(channel, "t")
    ids = [await make.message(people[0], topic) for _ in range(4)]
    reader = await make.actor(people[1])
    wanted = [ids[:2], ids[1:3], ids[2:], []]

    answers = await asyncio.gather(
        *[stage.write(change_flag, reader, some, "add", "read") for some in wanted]
    )

    told = [answer.result.message_ids for answer in answers]
    assert told == [ids[:2], ids[2:3], ids[3:], []]
    assert [change.messages for change in changes(stage)] == [tuple(ids)]
    assert [each.audience.users for each in stage.happened] == [(reader.user_id,)]


async def test_reads_and_other_flags_in_one_batch_all_happen(stage: Stage, make: Make):
    people = await make.users(3)
    channel = await make.channel(subscribers=people)
    topic = await make.topic(channel, "t")
    ids = [await make.message(people[0], topic) for _ in range(2)]
    one, other = [await make.actor(person) for person in people[1:]]

    answers = await asyncio.gather(
        stage.write(change_flag, one, ids, "add", "read"),
        stage.write(change_flag, one, ids[:1], "add", "starred"),
        stage.write(change_flag, other, ids[1:], "add", "read"),
        stage.write(change_flag, other, ids[1:], "remove", "read"),
    )

    assert [answer.result.message_ids for answer in answers[:3]] == [ids, ids[:1], ids[1:]]
    told = sorted((change.flag, change.op) for change in changes(stage))
    # Taking a flag off and setting it at once may go either way round, never half.
    assert told in (
        [("read", "add"), ("read", "add"), ("starred", "add")],
        [("read", "add"), ("read", "add"), ("read", "remove"), ("starred", "add")],
    )
