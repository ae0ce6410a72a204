"""Whichever way two names are compared, the answer is whether their foldings are equal."""

import itertools
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings

from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.send import Sent, prepare, send_message
from server.actions.user_topics import change_policy
from server.domain.groups import is_name_taken
from server.domain.names import composed, fold_name
from server.domain.narrow import EventNarrow, QueueReader
from server.domain.topic_policies import FOLLOWED
from storage import channels, conversations, history, message_places, user_topics, users
from storage.history import NEWEST, HistoryScope, HistoryWindow
from storage.ids import MessageId
from storage.users import UserRow
from testkit.confusable_names import NAME_PAIRS
from testkit.factories import Make
from testkit.stage import Stage

_numbers = itertools.count()


class Comparisons:
    """All ways in which the second name may be taken for the first."""

    def __init__(self, make: Make, stage: Stage, first: str, second: str) -> None:
        number = next(_numbers)
        self.make = make
        self.stage = stage
        self.first = composed(f"{number} {first}")
        self.second = composed(f"{number} {second}")
        self.realm_cache = stage.realm_caches.of(make.realm_id)

    async def all(self) -> AsyncIterator[tuple[str, bool]]:
        sender = await self.make.user()
        self.channel = await self.make.channel(self.first, subscribers=[sender])
        yield "stored channel", await self._stored_channel()
        assert await self.realm_cache.channel_by_name(self.first) == self.channel
        cached = await self.realm_cache.channel_by_name(self.second)
        yield "cached channel", cached == self.channel
        yield "fresh channel", await self._fresh_channel()
        async for way, same in self._topics(sender):
            yield way, same
        yield "policy of a topic", await self._policy(sender)
        for way, same in await self._people_and_groups():
            yield way, same
        for way, same in self._event_narrows():
            yield way, same
        if all(c.isalnum() or c == " " or not c.isascii() for c in self.second):
            async for way, same in self._markdown(sender):
                yield way, same

    async def _stored_channel(self) -> bool:
        [found] = await channels.named(self.make.connection, self.make.realm_id, [self.second])
        return found.channel_id == self.channel.channel_id

    async def _fresh_channel(self) -> bool:
        fresh = self.stage.realm_caches.afresh(self.make.realm_id)
        return await fresh.channel_by_name(self.second) == self.channel

    async def _send(self, sender: UserRow, topic: str, content: str = "hello") -> MessageId:
        actor = await self.make.actor(sender)
        to = self.channel.channel_id
        draft = OutgoingMessage(type="channel", to=to, topic=topic, content=content)
        decision = await prepare(self.realm_cache, actor, draft, self.stage.database.connection)
        clocked = await self.stage.write(
            send_message, actor, draft, decision, self.stage.clock.now()
        )
        sent: Sent = clocked.result
        return sent.message_id

    async def _topics(self, sender: UserRow) -> AsyncIterator[tuple[str, bool]]:
        connection, realm_id = self.make.connection, self.make.realm_id
        mine = await self._send(sender, self.first)
        channel_id = self.channel.channel_id
        [first] = await conversations.topic_ids_named(connection, realm_id, self.first, None)
        named = await conversations.topic_named(connection, realm_id, channel_id, self.second)
        yield "stored topic", named is not None and named.topic_id == first
        ids = await conversations.topic_ids_named(connection, realm_id, self.second, [channel_id])
        yield "narrow of stored topics", ids == [first]
        scope = HistoryScope(channel_ids=[channel_id], topic=self.second)
        window = HistoryWindow(anchor=NEWEST, before=5, after=0)
        page = await history.page_of_ids(connection, realm_id, sender.user_id, scope, window)
        yield "history of a topic", mine in page.ids
        other = await self._send(sender, self.second)
        places = [
            await message_places.visible(connection, realm_id, sender.user_id, message_id)
            for message_id in (mine, other)
        ]
        yield (
            "topic that is sent to",
            len({place.conversation_id for place in places if place}) == 1,
        )

    async def _policy(self, sender: UserRow) -> bool:
        actor = await self.make.actor(sender)
        await self.stage.run(
            change_policy,
            actor,
            self.channel.channel_id,
            self.second,
            FOLLOWED,
            now=self.stage.clock.now(),
        )
        rows = await user_topics.of_user(self.make.connection, self.make.realm_id, sender.user_id)
        return [row.name for row in rows] == [self.first]

    async def _people_and_groups(self) -> list[tuple[str, bool]]:
        connection, realm_id = self.make.connection, self.make.realm_id
        self.person = await self.make.user(self.first)
        self.group = await self.make.group(self.first)
        self.realm_cache.forget_everything()
        stored = await users.named(connection, realm_id, self.second)
        assert await self.realm_cache.users_named(self.first) == [self.person]
        cached = await self.realm_cache.users_named(self.second)
        graph = await self.realm_cache.groups()
        return [
            ("stored person", stored == [self.person]),
            ("cached person", cached == [self.person]),
            ("group", is_name_taken(self.second, graph)),
        ]

    def _event_narrows(self) -> list[tuple[str, bool]]:
        message = SimpleNamespace(channel_id=3, channel_name=self.first, topic=self.first)
        event = SimpleNamespace(message=message, wire_type="message")
        return [
            (
                f"queue's narrow of {operator}",
                EventNarrow.parse([[operator, self.second]]).admits(event, QueueReader(5, ())),
            )
            for operator in ("channel", "topic")
        ]

    async def _markdown(self, sender: UserRow) -> AsyncIterator[tuple[str, bool]]:
        named = self.second
        content = f"#**{named}** @**{named}** @*{named}* @**{named}|{self.person.user_id}**"
        sent = await self._send(sender, "elsewhere", content)
        [rendered] = await self.make.connection.values(
            "SELECT rendered_content FROM messages WHERE realm_id = %(realm_id)s AND id = %(id)s",
            realm_id=self.make.realm_id,
            id=sent,
        )
        yield "channel link", f'data-stream-id="{self.channel.channel_id}"' in rendered
        mentions = rendered.count(f'data-user-id="{self.person.user_id}"')
        yield "one of two mentions", mentions > 0
        yield "both mentions", mentions == 2
        yield "mention of a group", f'data-user-group-id="{self.group}"' in rendered


@pytest_asyncio.fixture
async def compare(make: Make, stage: Stage):
    async def compare(first: str, second: str) -> dict[str, bool]:
        return {way: same async for way, same in Comparisons(make, stage, first, second).all()}

    return compare


@pytest.mark.asyncio
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(names=NAME_PAIRS)
async def test_all_ways_agree(compare, names: tuple[str, str]):
    found = await compare(*names)

    expected = fold_name(composed(f"0 {names[0]}")) == fold_name(composed(f"0 {names[1]}"))
    assert {way: same for way, same in found.items() if same != expected} == {}
