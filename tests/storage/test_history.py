"""Pages show what the reader may read, and only that, however many indexes they merge."""

import random
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
import pytest_asyncio

from storage import history, messages
from storage.database import Connection
from storage.history import NEWEST, OLDEST, HistoryPage, HistoryScope, HistoryWindow
from storage.ids import ChannelId, MessageId, RealmId, UserId
from tests.storage.read_state_driver import Driver
from tests.storage.read_state_model import Channel

pytestmark = pytest.mark.asyncio

PUBLIC = Channel(invite_only=False, is_web_public=False, shares_history=True)
PRIVATE = Channel(invite_only=True, is_web_public=False, shares_history=True)
PROTECTED = Channel(invite_only=True, is_web_public=False, shares_history=False)
WEB_PUBLIC = Channel(invite_only=False, is_web_public=True, shares_history=True)


class Realm:
    """A realm with a writer, who is in every channel, and a reader, who is in none."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.writer, self.reader, self.other = sorted(driver.people)
        self.channels = sorted(driver.channels)

    async def send(self, channel: int, topic: str = "topic", *, sender: int | None = None) -> int:
        message_id, _ = await self.driver.send_to_channel(
            sender or self.writer, channel, topic, traits=0, mentioned=[]
        )
        return message_id

    async def direct(self, *people: int) -> tuple[int, int]:
        return await self.driver.send_direct(people[0], set(people), traits=0, mentioned=[])

    async def page(self, scope: HistoryScope, window: HistoryWindow | None = None) -> HistoryPage:
        window = window or HistoryWindow(anchor=NEWEST, before=100, after=0)
        return await history.page(
            self.driver.connection,
            self.driver.realm_id,
            UserId(self.reader),
            scope,
            window,
            rendered=False,
        )

    async def ids(self, scope: HistoryScope, window: HistoryWindow | None = None) -> list[int]:
        return [row.id for row in (await self.page(scope, window)).rows]

    async def walks(self, window: HistoryWindow) -> list[bool]:
        """Whether walking suffices before the anchor, and after it; it then finds the same."""
        rows = await self.driver.connection.tuples(
            """
            SELECT walk_before(%(realm_id)s, %(reader)s, s.r_channels, s.r_partial_channels,
                               s.r_conversations, s.r_extra, %(anchor)s - 1, %(before)s),
                   history_before(%(realm_id)s, %(reader)s, s.r_channels, s.r_partial_channels,
                                  s.r_conversations, s.r_partial_conversations, s.r_extra,
                                  %(anchor)s - 1, %(before)s),
                   walk_after(%(realm_id)s, %(reader)s, s.r_channels, s.r_partial_channels,
                              s.r_conversations, s.r_extra, %(anchor)s, %(after)s),
                   history_after(%(realm_id)s, %(reader)s, s.r_channels, s.r_partial_channels,
                                 s.r_conversations, s.r_partial_conversations, s.r_extra,
                                 %(anchor)s, %(after)s)
              FROM history_sources(%(realm_id)s, %(reader)s, 'feed', NULL, NULL) s
            """,
            realm_id=self.driver.realm_id,
            reader=self.reader,
            anchor=window.anchor,
            before=window.before,
            after=window.after,
        )
        [(walked_before, before, walked_after, after)] = rows
        assert walked_before in (None, before)
        assert walked_after in (None, after)
        return [walked_before is not None, walked_after is not None]

    async def by_ids(self, ids: Sequence[int]) -> list[messages.MessageRow]:
        return await messages.for_reader(
            self.driver.connection,
            self.driver.realm_id,
            UserId(self.reader),
            [MessageId(i) for i in ids],
            rendered=False,
        )

    async def everywhere(self, channel: int, topic_id: int) -> dict[str, list[int]]:
        """What the reader sees of the writer's messages by every way there is."""
        every = await self.driver.connection.values(
            "SELECT id FROM messages WHERE realm_id = %(realm_id)s", realm_id=self.driver.realm_id
        )
        return {
            "channel": await self.ids(HistoryScope(channel_ids=[ChannelId(channel)])),
            "topic": await self.ids(HistoryScope(conversation_ids=[topic_id])),
            "sender there": await self.ids(
                HistoryScope(sender_id=UserId(self.writer), channel_ids=[ChannelId(channel)])
            ),
            "ids": await self.ids(HistoryScope(ids=every, channel_ids=[ChannelId(channel)])),
            "single": [row.id for row in await self.by_ids(every)],
        }


@pytest_asyncio.fixture
async def realm(connection: Connection) -> Realm:
    kinds = [PUBLIC, PRIVATE, PROTECTED, WEB_PUBLIC]
    realm = Realm(await Driver.in_new_realm(connection, 3, kinds))
    for channel in realm.channels:
        await realm.driver.subscribe(realm.writer, channel)
    return realm


async def seen(realm: Realm, channel: int) -> set[str]:
    """By which ways the reader sees all that is in a channel; by the others they see nothing."""
    topic = await realm.driver.topic(channel, "topic")
    assert topic is not None
    ways = await realm.everywhere(channel, topic.topic_id)
    sent = await realm.driver.connection.values(
        "SELECT id FROM messages WHERE channel_id = %(channel)s ORDER BY id", channel=channel
    )
    assert all(ids in ([], sent) for ids in ways.values()), ways
    return {way for way, ids in ways.items() if ids}


ALL_WAYS = {"channel", "topic", "sender there", "ids", "single"}


@pytest.mark.parametrize(
    ("number", "is_guest", "ways"),
    [
        pytest.param(0, False, ALL_WAYS, id="a member reads a public channel"),
        pytest.param(0, True, set(), id="a guest does not"),
        pytest.param(1, False, set(), id="a private one is closed to non-members"),
        pytest.param(2, False, set(), id="nor one with protected history"),
        pytest.param(3, True, ALL_WAYS, id="a web-public one is open to all"),
    ],
)
async def test_who_was_never_in_a_channel(realm: Realm, number, is_guest, ways):
    await realm.driver.change_role(realm.reader, is_guest=is_guest)
    await realm.send(realm.channels[number])

    assert await seen(realm, realm.channels[number]) == ways


@pytest.mark.parametrize("number", [0, 1, 3])
async def test_a_subscriber_reads_what_was_before(realm: Realm, number):
    await realm.driver.change_role(realm.reader, is_guest=True)
    await realm.send(realm.channels[number])
    await realm.driver.subscribe(realm.reader, realm.channels[number])
    await realm.send(realm.channels[number])

    assert await seen(realm, realm.channels[number]) == ALL_WAYS


@pytest.mark.parametrize("number", [1, 2])
async def test_who_left_a_private_channel_reads_nothing_there(realm: Realm, number):
    channel = realm.channels[number]
    await realm.driver.subscribe(realm.reader, channel)
    await realm.send(channel)
    assert await seen(realm, channel) == ALL_WAYS

    await realm.driver.unsubscribe(realm.reader, channel)

    assert await seen(realm, channel) == set()


async def test_protected_history_shows_what_was_received_in_each_span(realm: Realm):
    channel = realm.channels[2]
    sent = [await realm.send(channel)]
    for _ in range(2):
        await realm.driver.subscribe(realm.reader, channel)
        sent.append(await realm.send(channel))
        await realm.driver.unsubscribe(realm.reader, channel)
        sent.append(await realm.send(channel))
    await realm.driver.subscribe(realm.reader, channel)

    topic = await realm.driver.topic(channel, "topic")
    assert topic is not None
    for way, ids in (await realm.everywhere(channel, topic.topic_id)).items():
        assert ids == [sent[1], sent[3]], way


async def test_what_moves_into_protected_history_is_seen_by_those_who_received_it(realm: Realm):
    public, protected = realm.channels[0], realm.channels[2]
    early = await realm.send(public, "moving")
    await realm.driver.subscribe(realm.reader, public)
    received = await realm.send(public, "moving")
    await realm.driver.unsubscribe(realm.reader, public)
    late = await realm.send(public, "moving")
    topic_id = await realm.driver.topic_for_move(protected, "topic")

    await realm.driver.move([early, received, late], protected, topic_id)
    await realm.driver.subscribe(realm.reader, protected)

    for way, ids in (await realm.everywhere(protected, topic_id)).items():
        assert ids == [received], way


@pytest.mark.parametrize("origin", [0, 2])
async def test_what_moves_into_protected_history_is_seen_by_those_who_are_there(
    realm: Realm, origin
):
    """From elsewhere, or back to where it was sent before they came."""
    protected, elsewhere = realm.channels[2], realm.channels[0]
    sent = [await realm.send(realm.channels[origin], "topic") for _ in range(3)]
    topic_id = await realm.driver.topic_for_move(protected, "topic")
    away = await realm.driver.topic_for_move(elsewhere, "topic")
    await realm.driver.move(sent, elsewhere, away)

    await realm.driver.move(sent[:1], protected, topic_id)
    await realm.driver.subscribe(realm.reader, protected)
    await realm.driver.move(sent[1:2], protected, topic_id)
    await realm.driver.unsubscribe(realm.reader, protected)
    await realm.driver.move(sent[2:], protected, topic_id)
    await realm.driver.subscribe(realm.reader, protected)

    for way, ids in (await realm.everywhere(protected, topic_id)).items():
        assert ids == [sent[1]], way


async def test_what_moves_out_of_sight_is_gone_by_every_way(realm: Realm):
    public, private = realm.channels[0], realm.channels[1]
    await realm.driver.subscribe(realm.reader, public)
    moved = await realm.send(public)
    topic_id = await realm.driver.topic_for_move(private, "topic")

    await realm.driver.move([moved], private, topic_id)

    assert not any((await realm.everywhere(private, topic_id)).values())
    assert await realm.ids(HistoryScope()) == []


async def test_direct_messages_are_for_those_who_are_in_them(realm: Realm):
    mine, group = await realm.direct(realm.writer, realm.reader)
    _, others = await realm.direct(realm.writer, realm.other)

    assert await realm.ids(HistoryScope(only_direct=True)) == [mine]
    assert await realm.ids(HistoryScope(conversation_ids=[group])) == [mine]
    assert await realm.ids(HistoryScope(conversation_ids=[group, others])) == [mine]
    assert await realm.ids(HistoryScope(conversation_ids=[others])) == []
    assert await realm.ids(HistoryScope(conversation_ids=[others], flags=("unread",))) == []


async def test_another_realm_has_the_same_ids_and_other_messages(realm: Realm):
    await realm.driver.subscribe(realm.reader, realm.channels[0])
    for _ in range(3):
        await realm.send(realm.channels[0])

    realm.driver.realm_id = RealmId(realm.driver.realm_id + 1)

    assert await realm.ids(HistoryScope()) == []
    assert await realm.ids(HistoryScope(channel_ids=[ChannelId(realm.channels[0])])) == []
    assert await realm.by_ids(range(30)) == []


async def filled(realm: Realm, count: int) -> list[int]:
    """Messages in skewed places, all of which the reader sees; their ids."""
    choice = random.Random(7)
    for channel in realm.channels:
        await realm.driver.subscribe(realm.reader, channel)
    sent = []
    for _ in range(count):
        if choice.random() < 0.15:
            people = [realm.reader, choice.choice([realm.writer, realm.other, realm.reader])]
            sent.append((await realm.direct(*people))[0])
        else:
            channel = realm.channels[int(4 * choice.random() ** 4)]
            sent.append(await realm.send(channel, choice.choice("ab")))
    return sent


async def test_a_feed_misses_nothing_however_uneven_its_channels_are(realm: Realm):
    sent = await filled(realm, 120)

    for anchor in [OLDEST, *sent[::9], NEWEST]:
        for size in (1, 2, 7, 30):
            window = HistoryWindow(anchor=MessageId(anchor), before=size, after=size)
            below = [i for i in sent if i < anchor][-size:]
            above = [i for i in sent if i >= anchor][: size + (anchor in sent)]
            assert await realm.ids(HistoryScope(), window) == below + above, (anchor, size)


async def test_a_feed_that_lies_among_much_else_misses_nothing(realm: Realm):
    """Too far apart to be found by walking through all that is written."""
    for channel in realm.channels:
        await realm.driver.subscribe(realm.reader, channel)
    sent = []
    for number in range(6):
        sent.append(await realm.send(realm.channels[number % 4]))
        for _ in range(30):
            await realm.direct(realm.writer, realm.other)

    for size in (1, 2, 5):
        window = HistoryWindow(anchor=MessageId(sent[3]), before=size, after=size)
        expected = sent[max(0, 3 - size) : 3 + size + 1]
        assert await realm.ids(HistoryScope(), window) == expected
        assert await realm.walks(window) == [size == 1, size < 5]


async def test_what_a_walk_finds_is_the_page(realm: Realm):
    """With protected channels, what was moved there, and what was starred elsewhere."""
    public, private, protected, _ = realm.channels
    sent = await filled(realm, 60)
    moving = [await realm.send(public, "moving") for _ in range(9)]
    topic_id = await realm.driver.topic_for_move(protected, "topic")
    await realm.driver.move(moving[::2], protected, topic_id)
    for channel in (public, protected):
        await realm.driver.unsubscribe(realm.reader, channel)
    sent += [await realm.send(channel) for channel in (public, private, protected) * 8]
    await realm.driver.star(realm.reader, [sent[-3]])
    await realm.driver.subscribe(realm.reader, protected)
    sent += [await realm.send(protected) for _ in range(5)]

    for anchor in [OLDEST, *sent[::7], NEWEST]:
        for size in (1, 3, 20):
            window = HistoryWindow(anchor=MessageId(anchor), before=size, after=size)
            assert await realm.walks(window) == [True, True]


async def test_several_conversations_are_merged_too(realm: Realm):
    await filled(realm, 120)
    rows = await realm.driver.connection.tuples(
        """
        SELECT conversation_id, array_agg(id ORDER BY id) FROM messages
         WHERE realm_id = %(realm_id)s GROUP BY conversation_id ORDER BY count(*)
        """,
        realm_id=realm.driver.realm_id,
    )
    some = rows[::2]
    every = sorted(i for _, ids in some for i in ids)

    for size in (1, 5, 40):
        window = HistoryWindow(anchor=NEWEST, before=size, after=0)
        found = await realm.ids(HistoryScope(conversation_ids=[c for c, _ in some]), window)
        assert found == every[-size:]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"before": 1, "after": 1}, ([2, 3, 4], True, False, False)),
        ({"before": 1, "after": 1, "include_anchor": False}, ([2, 4], False, False, False)),
        ({"before": 9, "after": 0}, ([1, 2, 3], True, True, False)),
        ({"before": 0, "after": 9}, ([3, 4, 5], True, False, True)),
        ({"before": 2, "after": 2}, ([1, 2, 3, 4, 5], True, False, False)),
        ({"before": 0, "after": 0}, ([3], True, False, False)),
        ({"before": 0, "after": 0, "include_anchor": False}, ([], False, False, False)),
        ({"anchor": OLDEST, "before": 3, "after": 2}, ([1, 2], False, True, False)),
        ({"anchor": NEWEST, "before": 2, "after": 3}, ([4, 5], False, False, True)),
    ],
)
async def test_a_window_counts_what_lies_on_either_side(realm: Realm, facts, expected):
    channel = realm.channels[0]
    sent = [await realm.send(channel) for _ in range(5)]
    window = HistoryWindow(**({"anchor": sent[2]} | facts))

    page = await realm.page(HistoryScope(channel_ids=[ChannelId(channel)]), window)

    numbers = [sent.index(row.id) + 1 for row in page.rows]
    assert (numbers, page.found_anchor, page.found_oldest, page.found_newest) == expected


async def test_a_row_holds_what_the_api_tells(realm: Realm):
    await realm.driver.subscribe(realm.reader, realm.channels[0])
    message_id = await realm.send(realm.channels[0])
    for position, (user, code) in enumerate([(realm.other, "1f44d"), (realm.reader, "1f389")]):
        await realm.driver.connection.execute(
            """
            INSERT INTO reactions VALUES (%(realm_id)s, %(message_id)s, %(user)s,
                                          'unicode_emoji', %(code)s, 'name', %(position)s)
            """,
            realm_id=realm.driver.realm_id,
            message_id=message_id,
            user=user,
            code=code,
            position=position,
        )

    [row] = await realm.by_ids([message_id])

    assert (row.id, row.sender_id, row.channel_id) == (message_id, realm.writer, realm.channels[0])
    assert (row.topic, row.user_ids, row.content, row.client) == ("topic", None, "text", "test")
    assert [(r["user_id"], r["emoji_code"]) for r in orjson.loads(row.reactions or "")] == [
        (realm.other, "1f44d"),
        (realm.reader, "1f389"),
    ]
    assert row.flags == ()
    assert (row.edited_at, row.submessages, row.edit_history) == (None, None, None)


async def test_content_comes_as_it_is_asked_for(realm: Realm):
    message_id, _ = await realm.direct(realm.writer, realm.reader)

    [row] = await messages.for_reader(
        realm.driver.connection,
        realm.driver.realm_id,
        UserId(realm.reader),
        [MessageId(message_id)],
        rendered=True,
    )

    assert row.content == "<p>text</p>"
    assert (row.topic, row.user_ids) == (None, sorted([realm.writer, realm.reader]))


async def test_what_one_starred_elsewhere_is_in_the_feed(realm: Realm):
    message_id = await realm.send(realm.channels[0])
    assert await realm.ids(HistoryScope()) == []

    await realm.driver.star(realm.reader, [message_id])

    assert await realm.ids(HistoryScope()) == [message_id]
    assert await realm.ids(HistoryScope(sender_id=UserId(realm.writer))) == [message_id]
    assert await realm.ids(HistoryScope(flags=("starred",))) == [message_id]


async def test_narrows_hold_together(realm: Realm):
    channel = realm.channels[0]
    await realm.driver.subscribe(realm.reader, channel)
    await realm.driver.subscribe(realm.other, channel)
    first = await realm.send(channel)
    second = await realm.send(channel, sender=realm.other)
    direct, _ = await realm.direct(realm.other, realm.reader)
    await realm.driver.star(realm.reader, [second, direct])
    facts: list[tuple[dict[str, Any], list[int]]] = [
        ({"flags": ["starred", "unread"], "sender_id": realm.other}, [second, direct]),
        ({"flags": ["unread"], "channel_ids": [channel]}, [first, second]),
        ({"flags": ["starred"], "only_direct": True}, [direct]),
        ({"sender_id": realm.other, "channel_ids": [channel]}, [second]),
        ({"ids": [first, direct], "channel_ids": [channel]}, [first]),
    ]

    for said, expected in facts:
        assert await realm.ids(HistoryScope(**said)) == expected, said
