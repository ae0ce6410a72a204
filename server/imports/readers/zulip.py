"""Read exports of Zulip: a tar archive of tables as JSON, and of files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import IO, Any, Final

from typing_extensions import override

from server.domain.resolved_topics import base_name
from server.i18n import marked
from server.imports.archive import MemberReader
from server.imports.records import (
    Channel,
    DirectConversation,
    EmojiRecord,
    GroupRecord,
    LinkifierRecord,
    PersonRecord,
    PlaygroundRecord,
    PostedMessage,
    ProfileFieldRecord,
    Reaction,
    Reader,
    References,
    SharedFile,
    TopicPolicy,
)
from server.imports.report import ImportReport
from server.imports.sorting import SortedRecord, sorted_records
from server.imports.zulip_files import Row, ZulipFiles, id_of, key_of, text_of, time_of
from server.imports.zulip_groups import ZulipGroups
from server.imports.zulip_people import (
    ORIGINAL,
    PEOPLE,
    SYSTEM_BOTS,
    host_in,
    people_in,
    profile_fields_in,
)
from server.imports.zulip_places import (
    CHANNEL,
    GROUP,
    PERSONAL,
    ZulipPlaces,
    pair_key,
    plain_topic,
    topic_key,
    topic_policies_in,
)
from server.imports.zulip_rest import linkifiers_in, playgrounds_in, remark_on_rest
from server.imports.zulip_texts import ZulipTexts, address_of, referred_in

_STARRED: Final = 2
"""A bit of flags."""
_IS_MESSAGE, _IS_REACTION, _IS_STAR = "0", "1", "2"
"""Order of the records of one message."""


class ZulipReader(Reader):
    """Reads an export of Zulip."""

    source = "Zulip"

    def __init__(self, archive: MemberReader, report: ImportReport) -> None:
        self._archive = archive
        self._report = report

    @property
    @override
    def message_links(self) -> re.Pattern[str]:
        return self._texts.message_links

    # -- people and emoji

    @override
    def people(self) -> Iterator[PersonRecord]:
        remark_on_rest(self._files, self._report)
        yield from people_in(self._files, self._report)

    @override
    def profile_fields(self) -> Iterator[ProfileFieldRecord]:
        yield from profile_fields_in(self._files)

    @override
    def groups(self) -> Iterator[GroupRecord]:
        yield from self._groups.all()

    @override
    def linkifiers(self) -> Iterator[LinkifierRecord]:
        yield from linkifiers_in(self._files)

    @override
    def playgrounds(self) -> Iterator[PlaygroundRecord]:
        yield from playgrounds_in(self._files)

    @override
    def emoji(self) -> Iterator[EmojiRecord]:
        rows = list(self._files.realm("zerver_realmemoji"))
        names = {text_of(row.get("file_name")): text_of(row.get("name")) for _, row in rows}
        found: dict[str, tuple[bool, str]] = {}
        for row in self._files.records("emoji"):
            path = text_of(row.get("path"))
            name = text_of(row.get("name")) or names.get(text_of(row.get("file_name")), "")
            member = self._files.member("emoji", path)
            if row.get("deactivated"):
                self._report.remark(marked("deactivated custom emoji were left out"), name)
            elif member is not None and name:
                kept = (not path.endswith(ORIGINAL), member)
                found[name] = min(kept, found.get(name, kept))
        for _, row in rows:
            name = text_of(row.get("name"))
            if not row.get("deactivated") and name not in found:
                self._report.remark(marked("custom emoji have no picture in the export"), name)
        for name, (_, member) in found.items():
            yield EmojiRecord(name=name, picture=member)

    # -- places

    @override
    def places(self) -> Iterator[Channel | DirectConversation]:
        places = ZulipPlaces(self._files, self._directory.recipients, self._groups, self._report)
        yield from places.channels()
        yield from places.conversations()

    @override
    def topic_policies(self) -> Iterator[TopicPolicy]:
        yield from topic_policies_in(self._files)

    # -- messages

    @override
    def messages(self) -> Iterator[PostedMessage]:
        for record in sorted_records(self._dated()):
            yield self._message(record.place, record.value)

    def _dated(self) -> Iterator[SortedRecord]:
        """Yield messages by their numbers, with their reactions and stars."""
        parts = sorted_records(self._parts())
        for _, group in groupby(parts, key=attrgetter("key")):
            first, *rest = group
            if first.place != _IS_MESSAGE:
                reason = marked("reactions and stars of unknown messages were left out")
                self._report.remark(reason, count=1 + len(rest))
                continue
            message = {**first.value, "reactions": [], "stars": []}
            for part in rest:
                if part.place == _IS_REACTION:
                    message["reactions"].append(part.value)
                elif part.place == _IS_STAR:
                    message["stars"].append(part.value)
                else:
                    self._report.remark(
                        marked("messages are in the export twice"), str(message["id"])
                    )
            size = first.size + 30 * (len(message["reactions"]) + len(message["stars"]))
            yield SortedRecord(message["time"], message["place"], size, message)

    def _parts(self) -> Iterator[SortedRecord]:
        for table, row in self._files.messages(
            "zerver_message", "zerver_usermessage", "zerver_reaction"
        ):
            if table == "zerver_message":
                yield from self._whole_message(row)
            elif table == "zerver_reaction":
                yield from self._reaction(row)
            else:
                yield from self._star(row)
        for _, row in self._files.realm("zerver_reaction"):
            yield from self._reaction(row)

    def _whole_message(self, row: Row) -> Iterator[SortedRecord]:
        number, sender = id_of(row.get("id")), id_of(row.get("sender"))
        moment = time_of(row.get("date_sent")) or time_of(row.get("pub_date"))
        if number is None or sender is None or moment is None:
            reason = marked("messages without a number, a sender or a time were left out")
            self._report.remark(reason, str(row.get("id")))
            return
        content = row.get("content")
        content = content if isinstance(content, str) else ""
        topic = plain_topic(text_of(row.get("subject")))
        kind, target = self._directory.recipients.get(id_of(row.get("recipient")) or 0, (0, 0))
        value = {
            "id": number,
            "sender": sender,
            "time": moment.timestamp(),
            "place": self._place(kind, target, sender, row),
            "edited": row.get("last_edit_time") if _text_was_edited(row) else None,
            "topic": topic if kind == CHANNEL else None,
            "body": {"text": content, **referred_in(content, row.get("rendered_content"))},
        }
        size = len(content) + 300
        yield SortedRecord(float(number), _IS_MESSAGE, size, value)

    def _place(self, kind: int, target: int, sender: int, row: Row) -> str:
        if kind == CHANNEL:
            return str(target)
        if kind == PERSONAL:
            return pair_key(min(sender, target), max(sender, target))
        return f"group {row.get('recipient')}" if kind else "unknown"

    def _reaction(self, row: Row) -> Iterator[SortedRecord]:
        message, person = id_of(row.get("message")), id_of(row.get("user_profile"))
        name = text_of(row.get("emoji_name"))
        if message is None or person is None or not name:
            self._report.remark(marked("reactions without a user or a message were left out"))
        else:
            yield SortedRecord(float(message), _IS_REACTION, len(name) + 60, [name, person])

    def _star(self, row: Row) -> Iterator[SortedRecord]:
        mask = row.get("flags_mask")
        if isinstance(mask, int) and mask & _STARRED:
            message, person = id_of(row.get("message")), id_of(row.get("user_profile"))
            if message is not None and person is not None:
                yield SortedRecord(float(message), _IS_STAR, 60, person)

    def _message(self, place: str, value: Mapping[str, Any]) -> PostedMessage:
        moment = time_of(value["time"])
        assert moment is not None, "others were left out before"
        people: dict[str, list[str]] = {}
        for name, person in value["reactions"]:
            people.setdefault(name, []).append(str(person))
        topic = value["topic"]
        name = None if topic is None else base_name(topic)
        return PostedMessage(
            key=str(value["id"]),
            place=place,
            sender=str(value["sender"]),
            sent_at=moment,
            edited_at=time_of(value["edited"]),
            thread=None if topic is None else topic_key(place, topic),
            topic=name,
            is_resolved=topic != name,
            body=value["body"],
            files=self._shared_files(value["body"]["text"]),
            reactions=tuple(Reaction(emoji=name, people=who) for name, who in people.items()),
            starred_by=tuple(map(str, value["stars"])),
        )

    def _shared_files(self, content: str) -> Sequence[SharedFile]:
        paths = self._texts.files_in(content)
        # The longest first: one path may be the beginning of another.
        return [
            SharedFile(
                key=path,
                name=path.rpartition("/")[2],
                url=address_of(path),
                member=self._upload(path),
                is_in_text=True,
            )
            for path in sorted(paths, key=len, reverse=True)
        ]

    def _upload(self, path: str) -> str | None:
        """Return the archive's name of an uploaded file."""
        return self._files.member("uploads", self._directory.moved_uploads.get(path, path))

    @override
    def markdown(self, body: Any, references: References) -> str:
        return self._texts.markdown(body, references)

    @override
    def emoji_name(self, name: str) -> str:
        return name

    @override
    def linked_message(self, url: re.Match[str]) -> str:
        return self._texts.linked_message(url)

    @override
    def opened(self, member: str) -> AbstractContextManager[IO[bytes]]:
        return self._archive.opened(member)

    # -- what is known before

    @cached_property
    def _files(self) -> ZulipFiles:
        return ZulipFiles(self._archive, self._report)

    @cached_property
    def _groups(self) -> ZulipGroups:
        return ZulipGroups.of(self._files)

    @cached_property
    def _directory(self) -> "_Directory":
        directory = _Directory()
        names: dict[str, list[str]] = {}
        for table, row in self._files.realm(
            *PEOPLE, SYSTEM_BOTS, "zerver_stream", "zerver_recipient"
        ):
            key = key_of(row.get("id"))
            if table == "zerver_recipient":
                kind, number = id_of(row.get("type")), id_of(row.get("type_id"))
                if key and kind in (PERSONAL, CHANNEL, GROUP) and number is not None:
                    directory.recipients[int(key)] = (kind, number)
            elif table == "zerver_stream":
                directory.channels[key] = text_of(row.get("name"))
            else:
                names.setdefault(text_of(row.get("full_name")), []).append(key)
                directory.add_person(row)
        directory.people = {name: keys[0] for name, keys in names.items() if len(keys) == 1}
        for row in self._files.records("uploads"):
            kept, path = text_of(row.get("s3_path")), text_of(row.get("path"))
            if kept != path:
                directory.moved_uploads[kept] = path
        return directory

    @cached_property
    def _texts(self) -> ZulipTexts:
        directory = self._directory
        return ZulipTexts(
            people=directory.people,
            channels=directory.channels,
            hosts=directory.hosts,
            has_file=lambda path: self._upload(path) is not None,
        )


@dataclass(slots=True)
class _Directory:
    """What ids mean."""

    recipients: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Type of a message's recipient, and the id of what it is."""
    channels: dict[str, str] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    """Keys by names that one account has."""
    hosts: set[str] = field(default_factory=set)
    moved_uploads: dict[str, str] = field(default_factory=dict)
    """Paths in the archive, where they differ from those in texts."""

    def add_person(self, row: Row) -> None:
        """Take the host from a hidden address, and the recipient of a bot of the system."""
        if host := host_in(row):
            self.hosts.add(host)
        recipient, number = id_of(row.get("recipient_id")), id_of(row.get("id"))
        if recipient is not None and number is not None:
            self.recipients.setdefault(recipient, (PERSONAL, number))


def _text_was_edited(row: Row) -> bool:
    """Return whether the text was edited, and not only its topic or channel."""
    history = row.get("edit_history")
    return not isinstance(history, str) or not history or "prev_content" in history
