"""Turn a batch of messages into rows, with the progress of the import in one transaction."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Final

from server.actions.messages.content import traits_of
from server.domain.emoji import Emoji, codes_by_name
from server.domain.markdown import Rendered
from server.domain.thumbnails import with_thumbnails
from server.i18n import marked
from server.imports.errors import ELSEWHERE, ImportStoppedError
from server.imports.files import FileStore, HeldFile, StoredFile, markdown_of_file, with_own_url
from server.imports.records import PostedMessage, RemoteFile, SharedFile
from server.imports.report import ImportReport
from server.imports.texts import ImportedText, TextConverter
from server.imports.thread_topics import Places, ThreadTopics, TopicRows, thread_of
from storage import attachments, import_keys, imported_messages, imports, message_bits, upload_space
from storage.database import Connection, Database
from storage.ids import AttachmentId, MessageId, Position, RealmId, UserId
from storage.imported_messages import ImportedMessage, ImportedReaction
from storage.imports import ImportRow

_WILDCARDS: Final = message_bits.CHANNEL_WILDCARD | message_bits.TOPIC_WILDCARD

MAX_REMOTE_FILES: Final = 50
"""Files that are fetched for a transaction, or a message's more: a killed import repeats them."""


@dataclass(slots=True)
class _Rows:
    """The rows of one batch."""

    topics: TopicRows
    messages: list[ImportedMessage] = field(default_factory=list)
    reactions: list[ImportedReaction] = field(default_factory=list)
    flags: dict[tuple[MessageId, UserId], int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    held: list[tuple[MessageId, str]] = field(default_factory=list)


def bounded_batch(
    numbered: Iterator[tuple[int, PostedMessage]], size: int
) -> Iterator[tuple[int, PostedMessage]]:
    """Yield the messages of the next batch. What has to be fetched for one is bounded, too."""
    remote = 0
    for number, message in islice(numbered, size):
        yield number, message
        remote += sum(isinstance(file.member, RemoteFile) for file in message.files)
        if remote >= MAX_REMOTE_FILES:
            return


class TopicTakenError(Exception):
    """A topic of the name was started meanwhile."""


class BatchWriter:
    """Writes batches of messages, each in a transaction that records the progress."""

    def __init__(
        self,
        database: Database,
        realm_id: RealmId,
        converter: TextConverter,
        files: FileStore,
        places: Places,
        topic: str,
        now: datetime,
        *,
        kept_since: datetime | None = None,
        space: int | None = None,
        marks_mentions: bool = True,
    ) -> None:
        self._database = database
        self._realm_id = realm_id
        self._converter = converter
        self._files = files
        self._places = places
        self._topics = ThreadTopics(database, realm_id, places, topic)
        self._now = now
        self._kept_since = kept_since
        """The beginning of the realm's retention, which would delete what is older at once."""
        self._space = space
        """Bytes that the realm's uploads may take; None: no limit."""
        self._marks_mentions = marks_mentions
        """Whether mentions count among those that people have received."""
        self._traits = ~0 if marks_mentions else ~_WILDCARDS

    async def write(
        self, row: ImportRow, texts: Sequence[ImportedText], report: ImportReport
    ) -> ImportRow:
        """Write the next messages; return the progress.

        Raises ImportStoppedError if another process continues the import.
        """
        stored = await self._store_files(row, texts, report)
        await self._converter.render_rest(texts, share=(self._realm_id, imported_messages.CLIENT))
        done = texts[-1].number + 1
        while True:
            attempt = _copied(report)
            rows = await self._rows(row, texts, stored, attempt)
            try:
                return await self._insert(row, rows, stored, done, attempt)
            except TopicTakenError:
                self._topics.forget()

    # -- files

    async def _store_files(
        self, row: ImportRow, texts: Sequence[ImportedText], report: ImportReport
    ) -> dict[str, StoredFile]:
        """Store the files of the batch, and add links to the texts; return them by key."""
        holding = [text for text in texts if text.message.files]
        if not holding:
            return {}
        if self._space is not None:
            async with self._database.connection() as connection:
                used = await upload_space.used(connection, self._realm_id)
            self._files.space_left = self._space - used
        stored = await self._known_files(row, holding)
        files = [[self._held(text, file) for file in text.message.files] for text in holding]
        await self._files.fetch(
            held for each in files for held in each if held.file.key not in stored
        )
        for text, each in zip(holding, files, strict=True):
            lines = [text.content] if text.content else []
            for held in each:
                kept = await self._files.store(held, stored, report)
                if kept is not None:
                    stored[held.file.key] = kept
                if not held.file.is_in_text:
                    lines.append(markdown_of_file(held.file, kept))
                elif kept is not None:
                    lines[0] = with_own_url(lines[0], held.file, kept)
            text.content = self._converter.fitting("\n".join(lines), text.message, report)
        return stored

    def _held(self, text: ImportedText, file: SharedFile) -> HeldFile:
        owner = self._converter.names.people[text.message.sender]
        return HeldFile(file, owner.user_id, text.message.sent_at)

    async def _known_files(
        self, row: ImportRow, texts: Sequence[ImportedText]
    ) -> dict[str, StoredFile]:
        keys = [file.key for text in texts for file in text.message.files]
        async with self._database.connection() as connection:
            ids = await import_keys.ids_of(connection, self._realm_id, row.import_id, "file", keys)
            found: dict[str, StoredFile] = {}
            for key, attachment_id in ids.items():
                known = await attachments.by_id(
                    connection, self._realm_id, AttachmentId(attachment_id)
                )
                if known is not None:
                    found[key] = StoredFile(known, is_new=False)
        return found

    # -- rows

    async def _rows(
        self,
        row: ImportRow,
        texts: Sequence[ImportedText],
        stored: Mapping[str, StoredFile],
        report: ImportReport,
    ) -> _Rows:
        wanted = [text for text in texts if self._is_importable(text, report)]
        rows = _Rows(await self._topics.of(row, wanted))
        for text in wanted:
            self._add(row, text, stored, rows, report)
        report.count(marked("messages"), len(rows.messages))
        report.count(marked("topics"), len(rows.topics.new))
        report.count(marked("reactions"), len(rows.reactions))
        return rows

    def _is_importable(self, text: ImportedText, report: ImportReport) -> bool:
        place = text.message.place
        if place not in self._places.channels and place not in self._places.conversations:
            report.remark(
                marked("messages of unknown conversations were left out"), text.message.key
            )
            return False
        if self._kept_since is not None and text.message.sent_at < self._kept_since:
            reason = marked(
                "messages are older than the organization keeps them, and were left out"
            )
            report.remark(reason, text.message.key)
            return False
        if not text.content:
            report.remark(marked("messages without a text were left out"), text.message.key)
            return False
        return True

    def _add(
        self,
        row: ImportRow,
        text: ImportedText,
        stored: Mapping[str, StoredFile],
        rows: _Rows,
        report: ImportReport,
    ) -> None:
        message, rendered = text.message, text.rendered
        assert rendered is not None
        message_id = MessageId(row.first_position + text.number + 1)
        channel_id = self._places.channels.get(message.place)
        if message.sent_at > self._now:
            report.remark(marked("messages have a time in the future: they got that of the import"))
        files = [stored[file.key] for file in message.files if file.key in stored]
        traits = traits_of(rendered) & self._traits | message_bits.READ_BY_SENDER
        if message.is_pinned and channel_id is not None:
            traits |= message_bits.PINNED
            report.count(marked("pinned messages"))
        elif message.is_pinned:
            report.remark(marked("pinned direct messages are not pinned here"))
        rows.messages.append(
            ImportedMessage(
                message_id=message_id,
                sender_id=self._converter.names.people[message.sender].user_id,
                channel_id=channel_id,
                conversation_id=self._places.conversations[message.place]
                if channel_id is None
                else rows.topics.by_thread[thread_of(message)],
                sent_at=min(message.sent_at, self._now),
                edited_at=message.edited_at and min(message.edited_at, self._now),
                traits=traits,
                content=text.content,
                rendered_content=with_thumbnails(
                    rendered.html, {file.row.path_id: file.row for file in files}
                ),
            )
        )
        rows.keys[message.key] = message_id
        rows.held += [(message_id, file.key) for file in message.files if file.key in stored]
        if message.starred_by:
            self._add_stars(message_id, message, rows, report)
        for user_id in self._mentioned(rendered):
            flags = rows.flags.get((message_id, user_id), 0)
            rows.flags[message_id, user_id] = flags | message_bits.MENTIONED
        if self._converter.reader.message_links.search(text.content):
            rows.links[str(message_id)] = message_id
        self._add_reactions(message_id, message, rows, report)

    def _mentioned(self, rendered: Rendered) -> Collection[UserId]:
        """Return the people that a message mentions, also by groups."""
        if not self._marks_mentions:
            return ()
        in_groups = self._converter.names.members_of(rendered.mentioned_group_ids)
        return in_groups | rendered.mentioned_user_ids

    def _add_stars(
        self, message_id: MessageId, message: PostedMessage, rows: _Rows, report: ImportReport
    ) -> None:
        people = self._converter.names.people
        stars = {people[key].user_id for key in message.starred_by if key in people}
        rows.flags |= {(message_id, user_id): message_bits.STARRED for user_id in stars}
        report.count(marked("stars"), len(stars))

    def _add_reactions(
        self, message_id: MessageId, message: PostedMessage, rows: _Rows, report: ImportReport
    ) -> None:
        for reaction in message.reactions:
            emoji = self._emoji(self._converter.reader.emoji_name(reaction.emoji))
            if emoji is None:
                reason = marked("reactions were left out, since the export lacks their emoji")
                report.remark(reason, reaction.emoji, len(reaction.people))
                continue
            for key in dict.fromkeys(reaction.people):
                person = self._converter.names.people.get(key)
                if person is None:
                    report.remark(marked("reactions of unknown people were left out"), key)
                    continue
                rows.reactions.append(
                    ImportedReaction(
                        message_id=message_id,
                        user_id=person.user_id,
                        reaction_type=emoji.type,
                        emoji_code=emoji.code,
                        emoji_name=emoji.name,
                    )
                )

    def _emoji(self, name: str) -> Emoji | None:
        custom = self._converter.names.emoji.ids.get(name)
        if custom is not None:
            return Emoji(name, custom, "realm_emoji")
        code = codes_by_name().get(name)
        return None if code is None else Emoji(name, code, "unicode_emoji")

    # -- the transaction

    async def _insert(
        self,
        row: ImportRow,
        rows: _Rows,
        stored: Mapping[str, StoredFile],
        done: int,
        report: ImportReport,
    ) -> ImportRow:
        whole = ImportReport.of(row.report)
        whole.add(report)
        after = replace(row, done=done, report=whole.as_json())
        realm_id, import_id = self._realm_id, row.import_id
        first = row.first_position + row.done
        async with self._database.transaction() as connection:
            file_ids = await self._insert_files(connection, stored)
            held = [(message_id, file_ids[key]) for message_id, key in rows.held]
            new_files = {key: file_ids[key] for key, file in stored.items() if file.is_new}
            statements = [
                imports.advance(realm_id, row, phase=after.phase, done=done, report=after.report),
                imported_messages.insert_topics(realm_id, rows.topics.new),
                import_keys.keep(realm_id, import_id, "thread", rows.topics.threads),
                imported_messages.insert_messages(realm_id, rows.messages),
                import_keys.keep(realm_id, import_id, "message", rows.keys),
            ]
            if rows.topics.unnamed:
                statements.append(
                    import_keys.keep(realm_id, import_id, "unnamed", rows.topics.unnamed)
                )
            if rows.topics.renamed:
                statements += [
                    imported_messages.rename_topics(realm_id, list(rows.topics.renamed.values())),
                    import_keys.forget(realm_id, import_id, "unnamed", list(rows.topics.renamed)),
                ]
            if rows.reactions:
                statements.append(imported_messages.insert_reactions(realm_id, rows.reactions))
            if rows.flags:
                statements.append(imported_messages.insert_flags(realm_id, rows.flags))
            if rows.links:
                statements.append(import_keys.keep(realm_id, import_id, "link", rows.links))
            if held:
                statements.append(imported_messages.insert_attachment_messages(realm_id, held))
            if new_files:
                statements.append(import_keys.keep(realm_id, import_id, "file", new_files))
            # Last, so that the index waits as briefly as possible.
            statements.append(imported_messages.index_again(realm_id, Position(first)))
            advanced, topics, *_ = await connection.run_together(statements)
            if not advanced:
                raise ImportStoppedError(ELSEWHERE)
            if len(topics) < len(rows.topics.new):
                raise TopicTakenError
        return after

    async def _insert_files(
        self, connection: Connection, stored: Mapping[str, StoredFile]
    ) -> dict[str, int]:
        """Insert the rows of new files; return the ids of all."""
        ids: dict[str, int] = {}
        for key, file in stored.items():
            ids[key] = file.row.attachment_id
            if file.is_new:
                ids[key] = await attachments.insert(connection, self._realm_id, file.row)
        if size := sum(file.row.size for file in stored.values() if file.is_new):
            await upload_space.add(connection, self._realm_id, size)
        return ids


def _copied(report: ImportReport) -> ImportReport:
    """Return a copy, for one attempt to write a batch."""
    copy = ImportReport()
    copy.add(report)
    return copy
