"""Flags of one reader: those with a bit, and those that follow."""

import pytest

from storage import message_flags
from storage.database import Connection
from storage.ids import MessageId, UserId
from storage.message_bits import (
    CHANNEL_WILDCARD,
    COLLAPSED,
    HISTORICAL,
    MENTIONED,
    STARRED,
    TOPIC_WILDCARD_MENTIONED,
    UNREAD,
)
from tests.storage.read_state_driver import Driver
from tests.storage.read_state_model import Channel

PUBLIC = Channel(invite_only=False, is_web_public=False, shares_history=True)
PRIVATE = Channel(invite_only=True, is_web_public=False, shares_history=True)


def test_names_of_bits():
    assert message_flags.names(UNREAD) == ()
    assert message_flags.names(STARRED | COLLAPSED) == ("starred", "collapsed")
    assert message_flags.names(TOPIC_WILDCARD_MENTIONED) == (
        "topic_wildcard_mentioned",
        "wildcard_mentioned",
    )


@pytest.mark.parametrize(
    ("bits", "facts", "expected"),
    [
        (0, {}, ()),
        (0, {"unread": False}, ("read",)),
        (0, {"received": False, "unread": False}, ("historical", "read")),
        (0, {"has_wildcard": True}, ("stream_wildcard_mentioned", "wildcard_mentioned")),
        (0, {"has_wildcard": True, "received": False}, ("historical",)),
        (MENTIONED, {}, ("mentioned",)),
        (HISTORICAL | STARRED, {"received": False}, ("historical", "starred")),
    ],
)
def test_flags_that_follow(bits, facts, expected):
    all_facts = {"unread": True, "received": True, "has_wildcard": False} | facts

    assert message_flags.of_reader(bits, **all_facts) == expected


@pytest.mark.asyncio
async def test_starring_what_one_did_not_receive_makes_it_historical(connection: Connection):
    driver = await Driver.in_new_realm(connection, 2, [PUBLIC])
    writer, reader = sorted(driver.people)
    [channel] = driver.channels
    message_id, _ = await driver.send_to_channel(writer, channel, "a", traits=0, mentioned=[])

    assert await driver.star(reader, [message_id]) == [message_id]
    assert await driver.star(reader, [message_id]) == []

    [state] = await message_flags.states(
        connection,
        driver.realm_id,
        user_ids=[UserId(reader)],
        message_ids=[MessageId(message_id)],
    )
    assert state.flag_bits == STARRED | HISTORICAL
    assert state.flags == ("historical", "read", "starred")


@pytest.mark.asyncio
async def test_unreadable_messages_cannot_be_flagged(connection: Connection):
    driver = await Driver.in_new_realm(connection, 2, [PRIVATE])
    writer, outsider = sorted(driver.people)
    [channel] = driver.channels
    await driver.subscribe(writer, channel)
    message_id, _ = await driver.send_to_channel(writer, channel, "a", traits=0, mentioned=[])

    assert await driver.star(outsider, [message_id]) == []
    await driver.clocked(
        message_flags.remember(driver.realm_id, UserId(outsider), [MessageId(message_id)])
    )

    assert await connection.value("SELECT count(*) FROM message_flags") == 0


@pytest.mark.asyncio
async def test_starred_messages_out_of_sight_are_not_listed(connection: Connection):
    driver = await Driver.in_new_realm(connection, 2, [PRIVATE])
    writer, reader = sorted(driver.people)
    [channel] = driver.channels
    await driver.subscribe(reader, channel)
    message_id, _ = await driver.send_to_channel(writer, channel, "a", traits=0, mentioned=[])
    await driver.star(reader, [message_id])
    assert await message_flags.starred_ids(connection, driver.realm_id, UserId(reader)) == [
        message_id
    ]

    await driver.unsubscribe(reader, channel)

    assert await message_flags.starred_ids(connection, driver.realm_id, UserId(reader)) == []


@pytest.mark.asyncio
async def test_a_message_stands_differently_to_each_user(connection: Connection):
    driver = await Driver.in_new_realm(connection, 3, [PRIVATE])
    inside, mentioned, outside = sorted(driver.people)
    [channel] = driver.channels
    await driver.subscribe(inside, channel)
    await driver.subscribe(mentioned, channel)
    message_id, _ = await driver.send_to_channel(
        inside, channel, "a", traits=CHANNEL_WILDCARD | 1, mentioned=[mentioned]
    )

    states = await message_flags.states(
        connection,
        driver.realm_id,
        user_ids=map(UserId, (inside, mentioned, outside)),
        message_ids=[MessageId(message_id)],
    )

    wildcard = ("stream_wildcard_mentioned", "wildcard_mentioned")
    assert {s.user_id: (s.accessible, s.flags) for s in states} == {
        inside: (True, ("read", *wildcard)),
        mentioned: (True, ("mentioned", *wildcard)),
        outside: (False, ("historical", "read")),
    }
