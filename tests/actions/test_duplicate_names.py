"""What older releases let in twice is renamed, events tell of it, and administrators get a list."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.actions.duplicate_names import rename_duplicates
from server.domain.messages import MAX_TOPIC_LENGTH
from storage import channels, conversations, groups, name_duplicates
from storage.ids import ChannelId
from storage.name_folding import fold_name
from testkit.realm_with_roles import Hall

pytestmark = pytest.mark.asyncio

UNIQUE = """
    SELECT indexname, indexdef FROM pg_indexes
     WHERE schemaname = 'public' AND indexname LIKE '%%\\_folding'
"""


@pytest_asyncio.fixture
async def old(hall: Hall) -> AsyncIterator[Hall]:
    """Before names are unique; afterwards they are, or it fails."""
    await hall.make.notification_bot()
    indexes = await hall.make.connection.tuples(UNIQUE)
    assert len(indexes) == 5
    for name, _ in indexes:
        await hall.make.connection.execute(f"DROP INDEX {name}")
    yield hall
    for _, definition in indexes:
        await hall.make.connection.execute(definition)


async def insert(hall: Hall, table: str, *names: str, columns: str = "", values: str = "") -> None:
    """Rows as an older release writes them."""
    for name in names:
        await hall.make.connection.execute(
            f"INSERT INTO {table} (realm_id, name{columns})"
            f" VALUES (%(realm_id)s, %(name)s{values})",
            realm_id=hall.make.realm_id,
            name=name,
        )


async def names(hall: Hall, table: str) -> list[str]:
    return await hall.make.connection.values(
        f"SELECT name FROM {table} WHERE realm_id = %(realm_id)s"
        ' ORDER BY realm_id, name COLLATE "C"',
        realm_id=hall.make.realm_id,
    )


async def direct_messages(hall: Hall) -> list[tuple[int, str]]:
    return await hall.make.connection.tuples(
        """
        SELECT m.user_id, x.content FROM messages x
          JOIN dm_group_members m ON m.realm_id = x.realm_id AND m.dm_group_id = x.conversation_id
         WHERE x.realm_id = %(realm_id)s AND m.user_id <> x.sender_id ORDER BY m.user_id
        """,
        realm_id=hall.make.realm_id,
    )


async def test_channels_folders_and_groups_are_renamed_and_administrators_are_told(old: Hall):
    private = await old.make.channel("Μισθός", invite_only=True)
    await insert(old, "channels", "ΜΙΣΘΌΣ", "ΜΙΣΘΌς (2)", columns=", created_at", values=", now()")
    await insert(old, "user_groups", "Straße", "STRASSE")
    more = ", description, rendered_description, created_at, sort_order"
    await insert(old, "channel_folders", "é", "E\u0301", columns=more, values=", '', '', now(), 1")
    filled = ", description, channel_ids"
    await insert(
        old, "default_channel_groups", "ﬁ", "FI", columns=filled, values=", '', '{}'::bigint[]"
    )

    done = await rename_duplicates(old.realm_services())

    assert {(each.row.name, each.new_name) for each in done} == {
        ("ΜΙΣΘΌΣ", "ΜΙΣΘΌΣ (3)"),
        ("STRASSE", "STRASSE (2)"),
        ("E\u0301", "E\u0301 (2)"),
        ("FI", "FI (2)"),
    }
    [found] = await channels.named(old.make.connection, old.make.realm_id, ["μισθόσ"])
    assert found.channel_id == private.channel_id
    assert sorted(await names(old, "channels")) == sorted(["Μισθός", "ΜΙΣΘΌΣ (3)", "ΜΙΣΘΌς (2)"])
    graph = {row.name for row in await groups.all_of_realm(old.make.connection, old.make.realm_id)}
    assert {"Straße", "STRASSE (2)"} <= graph
    assert {
        "stream/update",
        "user_group/update",
        "channel_folder/update",
        "default_stream_groups",
    } <= set(old.stage.kinds())
    told = await direct_messages(old)
    assert [user_id for user_id, _ in told] == [old.owner.user_id, old.admin.user_id]
    assert all("channel ΜΙΣΘΌΣ: now ΜΙΣΘΌΣ \\(3\\)" in content for _, content in told)
    audited = await old.make.connection.tuples(
        "SELECT actor_id, before ->> 'name', after ->> 'name' FROM audit_log"
        " WHERE realm_id = %(realm_id)s",
        realm_id=old.make.realm_id,
    )
    assert {row[1:] for row in audited} == {(e.row.name, e.new_name) for e in done}
    assert {actor for actor, _, _ in audited} == {None}
    assert await rename_duplicates(old.realm_services()) == []
    assert await direct_messages(old) == told


async def test_topics_are_renamed_with_their_messages(old: Hall):
    channel = await old.make.channel("general", subscribers=[old.member])
    long = "ß" + "x" * (MAX_TOPIC_LENGTH - 1)
    for name in ("Weiß", "WEISS", long, long.replace("ß", "ẞ")):
        topic = await conversations.topics_by_ids(
            old.make.connection,
            old.make.realm_id,
            [
                await old.make.connection.value(
                    "INSERT INTO topics (realm_id, channel_id, name)"
                    " VALUES (%(r)s, %(c)s, %(name)s) RETURNING topic_id",
                    r=old.make.realm_id,
                    c=channel.channel_id,
                    name=name,
                )
            ],
        )
        await old.make.message(old.member, topic[0])
    await insert(
        old,
        "topics",
        "weiss",  # without a message
        columns=", channel_id",
        values=f", {ChannelId(channel.channel_id)}",
    )

    done = await rename_duplicates(old.realm_services())

    renamed = {each.row.name: each.new_name for each in done}
    assert set(renamed) == {"WEISS", "weiss", long.replace("ß", "ẞ")}
    assert {renamed["WEISS"], renamed["weiss"]} == {"WEISS (2)", "weiss (3)"}
    assert all(len(name) <= MAX_TOPIC_LENGTH for name in renamed.values())
    there = await names(old, "topics")
    assert len({fold_name(name) for name in there}) == len(there) == 5
    [moved, _] = old.told("update_message")
    assert moved.event.move.orig_topic == "WEISS"
    assert moved.event.move.topic == "WEISS (2)"
    assert await name_duplicates.of_realm(old.make.connection, old.make.realm_id) == []


async def test_without_duplicates_no_event_is_sent(old: Hall):
    await old.make.channel("one")
    assert await rename_duplicates(old.realm_services()) == []
    assert await direct_messages(old) == []
