"""Find and name the topics of imported threads."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from server.domain.names import fold_name
from server.imports.records import PostedMessage
from server.imports.texts import ImportedText
from server.imports.topics import (
    clean_topic_name,
    dated_name,
    numbered_name,
    resolved_name,
    topic_name,
)
from storage import import_keys, imported_messages
from storage.database import Connection, Database
from storage.ids import ChannelId, RealmId, TopicId
from storage.imported_messages import ImportedTopic
from storage.imports import ImportRow

RECENT_THREADS: Final = 20_000
MAIN_TOPIC: Final = "channel "
"""Beginning of the key of a channel's topic for messages outside of threads."""

Value = TypeVar("Value")


class RecentKeys(OrderedDict[str, Value]):
    """The values of the most recent keys."""

    def keep(self, key: str, value: Value) -> None:
        self[key] = value
        if len(self) > RECENT_THREADS:
            self.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Places:
    """Rows of the channels and direct conversations, by their keys in the file."""

    channels: Mapping[str, ChannelId]
    conversations: Mapping[str, int]


@dataclass(slots=True)
class TopicRows:
    """The topics of a batch, and what is to be written of them."""

    by_thread: dict[str, TopicId] = field(default_factory=dict)
    """All, by the keys of their threads."""
    new: list[ImportedTopic] = field(default_factory=list)
    threads: dict[str, int] = field(default_factory=dict)
    """The new ones by the keys of their threads."""
    unnamed: dict[str, int] = field(default_factory=dict)
    """The new ones of threads of which the root has not come."""
    renamed: dict[str, ImportedTopic] = field(default_factory=dict)
    """Topics of threads of which the root has come after replies."""


class ThreadTopics:
    """Finds the topics of threads, and names new ones."""

    def __init__(self, database: Database, realm_id: RealmId, places: Places, topic: str) -> None:
        self._database = database
        self._realm_id = realm_id
        self._places = places
        self._topic = topic
        """Name of the topic for messages outside of threads."""
        self._threads: RecentKeys[TopicId] = RecentKeys()

    def forget(self) -> None:
        """Forget topics that were not written after all."""
        self._threads.clear()

    async def of(self, row: ImportRow, texts: Sequence[ImportedText]) -> TopicRows:
        """Return the topics of the messages' threads."""
        rows = TopicRows()
        first: dict[str, ImportedText] = {}
        for text in texts:
            if text.message.place in self._places.channels:
                thread = thread_of(text.message)
                if thread not in first or thread == text.message.key:
                    # Clocks differ: a reply may be dated before the root, which names the topic.
                    first[thread] = text
        found = {key: self._threads[key] for key in first if key in self._threads}
        unknown = [key for key in first if key not in found]
        if unknown:
            async with self._database.connection() as connection:
                known = await import_keys.ids_of(
                    connection, self._realm_id, row.import_id, "thread", unknown
                )
            found |= {key: TopicId(topic_id) for key, topic_id in known.items()}
        await self._name_by_late_roots(row, first, found, rows)
        new = {key: text for key, text in first.items() if key not in found}
        if new:
            async with self._database.connection() as connection:
                fresh = await imported_messages.new_topic_ids(connection, len(new))
            ids = dict(zip(new, fresh, strict=True))
            rows.new = await self._named(new, ids)
            rows.unnamed = {key: ids[key] for key, text in new.items() if _is_reply(text.message)}
            rows.threads, found = dict(ids), found | ids
        for key, topic_id in found.items():
            self._threads.keep(key, topic_id)
        rows.by_thread = found
        return rows

    async def _name_by_late_roots(
        self,
        row: ImportRow,
        first: Mapping[str, ImportedText],
        found: Mapping[str, TopicId],
        rows: TopicRows,
    ) -> None:
        """Rename topics that are named by replies, of which a batch before this one had a few."""
        roots = {key: first[key] for key in found if first[key].message.key == key}
        if not roots:
            return
        async with self._database.connection() as connection:
            unnamed = await import_keys.ids_of(
                connection, self._realm_id, row.import_id, "unnamed", list(roots)
            )
        late = {key: text for key, text in roots.items() if key in unnamed}
        topics = await self._named(late, {key: found[key] for key in late})
        rows.renamed = dict(zip(late, topics, strict=True))

    async def _named(
        self, texts: Mapping[str, ImportedText], ids: Mapping[str, TopicId]
    ) -> list[ImportedTopic]:
        """Return a topic for each key, with a name that no other topic of its channel has."""
        choices: dict[str, list[str]] = {}
        for key, text in texts.items():
            name = self._topic if key.startswith(MAIN_TOPIC) else _topic_name(text)
            choices[key] = [name, dated_name(name, text.message.sent_at)]
            if text.message.is_resolved:
                choices[key] = list(map(resolved_name, choices[key]))
        channels = {key: self._places.channels[text.message.place] for key, text in texts.items()}
        async with self._database.connection() as connection:
            names = [(channels[key], fold_name(name)) for key in choices for name in choices[key]]
            taken: set[tuple[ChannelId, str]] = {
                *await imported_messages.taken_names(
                    connection, self._realm_id, names, ignoring=[*ids.values()]
                )
            }
            topics: list[ImportedTopic] = []
            for key in texts:
                name = await self._free_name(connection, channels[key], choices[key], taken)
                taken.add((channels[key], fold_name(name)))
                topics.append(ImportedTopic(topic_id=ids[key], channel_id=channels[key], name=name))
        return topics

    async def _free_name(
        self,
        connection: Connection,
        channel_id: ChannelId,
        choices: Sequence[str],
        taken: set[tuple[ChannelId, str]],
    ) -> str:
        for name in choices:
            if (channel_id, fold_name(name)) not in taken:
                return name
        number = 2
        while True:
            name = numbered_name(choices[-1], number)
            key = (channel_id, fold_name(name))
            if key not in taken and not await imported_messages.taken_names(
                connection, self._realm_id, [key]
            ):
                return name
            number += 1


def thread_of(message: PostedMessage) -> str:
    """Return the key of the topic of a message in a channel."""
    return message.thread or MAIN_TOPIC + message.place


def _is_reply(message: PostedMessage) -> bool:
    """Return whether a topic that begins with the message should be named by its root."""
    return message.topic is None and message.thread not in (None, message.key)


def _topic_name(text: ImportedText) -> str:
    """Return the name of the topic that begins with a message."""
    topic = text.message.topic
    return "" if topic == "" else clean_topic_name(topic or "") or topic_name(text.content)
