"""No narrow looks at messages that it does not need, however many there are."""

from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
import pytest_asyncio

from storage import conversations, history, message_bits, search
from storage.database import Connection
from storage.driver import PgConnection
from storage.history import NEWEST, OLDEST, HistoryScope, HistoryWindow, Without
from storage.ids import ChannelId, MessageId, RealmId, UserId
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

COUNT = 24_000
PAGE = HistoryWindow(anchor=NEWEST, before=20, after=0)


@dataclass(frozen=True, slots=True)
class Filled:
    """A realm with many messages: in 20 channels of 3 topics each, from 100 people."""

    connection: Connection
    realm_id: RealmId
    reader: UserId
    people: list[UserId]
    channels: list[ChannelId]
    topics: list[int]
    groups: list[int]
    """Of direct messages, from the reader's with ten people."""

    async def looked_at(self, scope: HistoryScope, window: HistoryWindow = PAGE) -> tuple[int, int]:
        """How many messages were on the page, and how many rows of them were read for it."""
        before = await self._rows_read()
        page = await history.page(
            self.connection, self.realm_id, self.reader, scope, window, rendered=True
        )
        return len(page.rows), await self._rows_read() - before

    async def _rows_read(self) -> int:
        read: int = await self.connection.value(
            """
            SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables
             WHERE relname IN ('messages', 'message_terms', 'reactions', 'message_flags')
            """
        )
        return read

    async def find(self, text: str, *, is_phrase: bool = False) -> search.Search:
        words = await search.words_of(self.connection, "english", [(text, is_phrase)])
        return await search.planned(self.connection, self.realm_id, words, None)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def filled(database_url: str) -> Any:
    async with (
        await PgConnection.connect(database_url, autocommit=True) as raw,
        raw.transaction(force_rollback=True),
    ):
        yield await _filled(Connection(raw))


FILL: Final = (
    """
    INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                          origin_channel_id, origin_conversation_id, sent_at, client,
                          content, rendered_content, traits)
    SELECT %(realm_id)s, 1000 + g, (%(people)s::bigint[])[1 + g %% 100], t.channel_id,
           t.topic_id, t.channel_id, t.topic_id, now(), 'test',
           'said' || CASE WHEN g %% 500 = 0 THEN ' needle' ELSE '' END,
           '<p>said' || CASE WHEN g %% 500 = 0 THEN ' needle' ELSE '' END || '</p>',
           CASE WHEN g %% 500 = 0 THEN 48 ELSE 0 END
      FROM generate_series(1, %(count)s) AS g
      JOIN topics t ON t.realm_id = %(realm_id)s
           AND t.topic_id = (%(topics)s::bigint[])[1 + g %% 60]
    """,
    """
    WITH made AS (
        INSERT INTO dm_groups (realm_id, user_ids)
        SELECT %(realm_id)s, ARRAY[p, %(reader)s] FROM unnest(%(people)s::bigint[]) AS p
        RETURNING *
    ), members AS (
        INSERT INTO dm_group_members SELECT realm_id, unnest(user_ids), dm_group_id FROM made
    )
    UPDATE messages m
       SET channel_id = NULL, origin_channel_id = NULL, conversation_id = g.dm_group_id,
           origin_conversation_id = g.dm_group_id
      FROM (SELECT dm_group_id, row_number() OVER (ORDER BY dm_group_id) AS n FROM made) AS g
     WHERE m.realm_id = %(realm_id)s AND m.id %% 500 = 11 AND 1 + m.id / 500 %% 10 = g.n
    """,
    """
    INSERT INTO reactions
    SELECT realm_id, id, %(reader)s, 'unicode_emoji', '1f44d', 'thumbs_up', id
      FROM messages WHERE realm_id = %(realm_id)s AND id %% 500 = 7
    """,
    """
    INSERT INTO message_flags
    SELECT realm_id, %(reader)s, id, 2 + 8 FROM messages
     WHERE realm_id = %(realm_id)s AND id %% 500 = 9
    """,
    "UPDATE realm_clock SET position = 2000 + %(count)s WHERE realm_id = %(realm_id)s",
    """
    INSERT INTO message_terms
    SELECT realm_id, id, search_words('english', content), search_text(rendered_content)
      FROM messages
     WHERE realm_id = %(realm_id)s
    """,
    "INSERT INTO search_progress VALUES (%(realm_id)s, 2000 + %(count)s, 'english')",
    "ANALYZE messages, topics, reactions, message_flags, message_terms",
)
"""Only every 500th holds something, has been reacted to, or says anything remarkable."""


async def _filled(connection: Connection) -> Filled:
    make = await new_realm(connection)
    people = [row.user_id for row in await make.users(100)]
    reader = await make.user()
    channels = [(await make.channel(subscribers=[reader])).channel_id for _ in range(20)]
    topics: list[int] = await connection.values(
        """
        INSERT INTO topics (realm_id, channel_id, name)
        SELECT %(realm_id)s, c, CASE t WHEN 3 THEN '✔ ' ELSE '' END || 'topic ' || t
          FROM unnest(%(channels)s::bigint[]) AS c, generate_series(1, 3) AS t RETURNING topic_id
        """,
        realm_id=make.realm_id,
        channels=channels,
    )
    for statement in FILL:
        await connection.execute(
            statement,
            realm_id=make.realm_id,
            people=people,
            topics=topics,
            reader=reader.user_id,
            count=COUNT,
        )
    groups: list[int] = await connection.values(
        """
        SELECT DISTINCT conversation_id FROM messages
         WHERE realm_id = %(realm_id)s AND channel_id IS NULL ORDER BY conversation_id
        """,
        realm_id=make.realm_id,
    )
    return Filled(connection, make.realm_id, reader.user_id, people, channels, topics, groups)


def scopes(f: Filled) -> dict[str, HistoryScope]:
    return {
        "everything": HistoryScope(),
        "a channel": HistoryScope(channel_ids=f.channels[:1]),
        "all channels": HistoryScope(channel_ids=f.channels),
        "a topic": HistoryScope(conversation_ids=f.topics[:1]),
        "a topic by its name": HistoryScope(channel_ids=f.channels[:1], topic="topic 1"),
        "several topics": HistoryScope(conversation_ids=f.topics[::3]),
        "resolved topics": HistoryScope(conversation_ids=f.topics[2::3]),
        "resolved topics of the feed": HistoryScope(conversation_ids=f.topics[2::3], in_feed=True),
        "a topic of the feed and a sender": HistoryScope(
            conversation_ids=f.topics[:1], in_feed=True, sender_id=f.people[20]
        ),
        "direct messages": HistoryScope(only_direct=True),
        "a direct conversation": HistoryScope(conversation_ids=f.groups[:1]),
        "all conversations with a person": HistoryScope(
            conversation_ids=f.groups, only_direct=True
        ),
        "direct messages of a sender": HistoryScope(only_direct=True, sender_id=f.people[11]),
        "a sender": HistoryScope(sender_id=f.people[3]),
        "a sender in a channel": HistoryScope(sender_id=f.people[3], channel_ids=f.channels[3:4]),
        "starred": HistoryScope(flags=("starred",)),
        "mentioned": HistoryScope(flags=("mentioned",)),
        "mentions": HistoryScope(mentioned=(f.reader,)),
        "ids": HistoryScope(ids=[MessageId(n) for n in range(1500, 1600)]),
        "has an image": HistoryScope(traits=message_bits.HAS_IMAGE),
        "has a reaction": HistoryScope(reacted=True),
        "not a channel": HistoryScope(without=Without(channel_ids=tuple(f.channels[:2]))),
        "not resolved, not muted": HistoryScope(
            without=Without(conversation_ids=tuple(f.topics[2::3]))
        ),
        "not direct": HistoryScope(without=Without(direct=True)),
        "not a sender": HistoryScope(without=Without(sender_ids=tuple(f.people[:2]))),
        "not starred": HistoryScope(without=Without(flags=("starred",))),
        "without a link": HistoryScope(without=Without(traits=message_bits.HAS_LINK)),
        "without a reaction": HistoryScope(without=Without(reaction=True)),
    }


MOST = 2_500
"""Of 24,000: a small place is walked, and a page of the feed takes a share of each channel."""


@pytest.mark.asyncio(loop_scope="module")
async def test_a_conversation_is_found_by_its_name_or_people_as_by_its_id(filled: Filled) -> None:
    async def ids(scope: HistoryScope, anchor: MessageId = NEWEST) -> list[MessageId]:
        window = HistoryWindow(anchor=anchor, before=20, after=5)
        found = await history.page_of_ids(
            filled.connection, filled.realm_id, filled.reader, scope, window
        )
        return found.ids

    channel = filled.channels[1:2]
    topics = await conversations.topic_ids_named(
        filled.connection, filled.realm_id, "topic 2", channel
    )
    [user_ids] = await filled.connection.values(
        "SELECT user_ids FROM dm_groups WHERE realm_id = %(realm_id)s AND dm_group_id = %(group)s",
        realm_id=filled.realm_id,
        group=filled.groups[2],
    )
    for named, known in (
        (HistoryScope(channel_ids=channel, topic="Topic 2"), HistoryScope(conversation_ids=topics)),
        (
            HistoryScope(only_direct=True, people=tuple(user_ids)),
            HistoryScope(conversation_ids=filled.groups[2:3]),
        ),
    ):
        expected = await ids(known)
        assert expected
        assert await ids(named) == expected
        middle = expected[len(expected) // 2]
        assert await ids(named, middle) == await ids(known, middle)
        traits = message_bits.HAS_LINK
        assert await ids(replace(named, traits=traits)) == await ids(replace(known, traits=traits))
    for nothing in (
        HistoryScope(channel_ids=channel, topic="no such"),
        HistoryScope(only_direct=True, people=(filled.people[0], filled.people[1])),
    ):
        assert await ids(nothing) == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_narrow_looks_at_few_messages(filled: Filled) -> None:
    for name, scope in scopes(filled).items():
        found, looked = await filled.looked_at(scope)
        assert found > 0, name
        assert looked <= MOST, (name, looked)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("word", ["needle", "eedl", "needles", "said"])
async def test_a_search_looks_at_what_the_newest_blocks_hold(filled: Filled, word: str) -> None:
    found, looked = await filled.looked_at(HistoryScope(search=await filled.find(word)))
    assert found == PAGE.before
    # What is in every message is found in one block of 8,192.
    assert looked <= (MOST if word != "said" else 8_192 + MOST), looked


@pytest.mark.asyncio(loop_scope="module")
async def test_a_search_for_nothing_looks_at_nothing(filled: Filled) -> None:
    found, looked = await filled.looked_at(HistoryScope(search=await filled.find("nowhere")))
    assert found == 0
    assert looked <= COUNT / 500, "no message but those that the reader has flagged"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("word", ["needle", "said", "nowhere"])
@pytest.mark.parametrize("channels", [1, 3, 20])
async def test_a_search_in_channels_finds_the_newest_whatever_way_it_takes(
    filled: Filled, word: str, channels: int
) -> None:
    """A channel is walked, three are walked until too little is found, and twenty never."""
    places = filled.channels[:channels]
    there: list[MessageId] = await filled.connection.values(
        """
        SELECT id FROM messages
         WHERE realm_id = %(realm_id)s AND channel_id = ANY (%(places)s) AND content ~ %(word)s
         ORDER BY id
        """,
        realm_id=filled.realm_id,
        places=places,
        word=word,
    )
    scope = HistoryScope(search=await filled.find(word), channel_ids=places)
    for window, expected in (
        (PAGE, there[-PAGE.before :]),
        (HistoryWindow(anchor=OLDEST, before=0, after=20), there[:20]),
    ):
        page = await history.page_of_ids(
            filled.connection, filled.realm_id, filled.reader, scope, window
        )
        assert page.ids == expected


@pytest.mark.asyncio(loop_scope="module")
async def test_a_common_word_in_a_place_is_found_among_its_newest(filled: Filled) -> None:
    said = await filled.find("said")
    for scope in (
        HistoryScope(search=said, channel_ids=filled.channels[:1]),
        HistoryScope(search=said, conversation_ids=filled.topics[:1]),
    ):
        found, looked = await filled.looked_at(scope)
        assert found == PAGE.before
        # The newest 200 and their texts, and the page.
        assert looked <= 2 * 200 + 10 * PAGE.before, looked


@pytest.mark.asyncio(loop_scope="module")
async def test_a_search_in_a_small_place_reads_each_text_but_once(filled: Filled) -> None:
    nowhere = await filled.find("nowhere")
    found, looked = await filled.looked_at(
        HistoryScope(search=nowhere, channel_ids=filled.channels[:1])
    )
    in_channel = COUNT / len(filled.channels)
    assert found == 0
    # And it looks twice for what there is beside the newest 200.
    assert looked <= 3 * in_channel - 200, looked
