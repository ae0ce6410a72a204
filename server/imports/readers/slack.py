"""Read exports of Slack: a ZIP archive with a folder for each conversation, a file for each day."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import IO, Any, Final

import orjson
from typing_extensions import override

from server.domain.slack_text import converted
from server.i18n import _, marked
from server.imports.archive import ImportArchive
from server.imports.errors import FileRefusedError
from server.imports.json_streams import MalformedJsonError, objects_in
from server.imports.records import (
    Channel,
    DirectConversation,
    EmojiRecord,
    PersonRecord,
    PostedMessage,
    ProfileFieldRecord,
    Reaction,
    Reader,
    References,
    RemoteFile,
    SharedFile,
)
from server.imports.report import ImportReport
from server.imports.slack_markup import emoji_name, markdown_of_slack, with_aliases
from server.imports.slack_people import SlackPeople, text_of
from server.imports.slack_web import (
    NO_SUPPLEMENT,
    SlackSupplement,
    is_on_slack,
    is_picture_of_slack,
)
from server.imports.sorting import SortedRecord, sorted_records

USERS: Final = "users.json"
_LISTS: Final = ("channels.json", "groups.json", "mpims.json", "dms.json")
"""Files that list conversations."""
MAX_WHOLE_BYTES: Final = 1024 * 1024
"""Larger files are read object by object."""
_UPLOADS: Final = "__uploads"
"""Folder of files, in archives that other tools have completed."""
_KNOWN: Final = re.compile(
    rf"{USERS}|{'|'.join(_LISTS)}|{_UPLOADS}/.*|(?:.*/)?(?:\.DS_Store|__MACOSX/.*)"
)
"""Names of files that hold something else than messages, or that computers leave in archives."""
_DAY: Final = re.compile(r"(.+)/(\d{4}-\d{2}-\d{2})\.json")
_LINK: Final = re.compile(
    r"https://[\w-]+(?:\.enterprise)?\.slack\.com/archives/([A-Z0-9]+)/p(\d{10})(\d{6})"
    r"(?:\?[^\s)>\]|]*)?"
)
_TIME: Final = re.compile(r"(\d{1,11})(?:\.(\d{1,9}))?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NOTICES: Final = re.compile(
    r"(?:channel|group)_(?:join|leave|topic|purpose|name|archive|unarchive|convert_to_private"
    r"|convert_to_public|posting_permissions)"
    r"|pinned_item|unpinned_item|bot_add|bot_remove|bot_enable|bot_disable|reminder_add"
    r"|sh_room_created|sh_room_shared|huddle_thread|app_conversation_join|channel_canvas_updated"
)
"""Subtypes of messages by which Slack reports changes of a channel."""
NOTICES: Final = marked(
    "notices of Slack about joining, leaving and changes of channels were left out"
)


class SlackReader(Reader):
    """Reads an export of Slack, public or with private conversations, with or without files."""

    source = "Slack"
    message_links = _LINK

    def __init__(
        self,
        archive: ImportArchive,
        report: ImportReport,
        supplement: SlackSupplement = NO_SUPPLEMENT,
    ) -> None:
        self._archive = archive
        self._report = report
        self._supplement = supplement
        users = min((n for n in archive.names if n.endswith(USERS)), key=len, default=USERS)
        self._root = users.removesuffix(USERS)
        """The folder of the export in the archive, if it was packed with one."""

    @override
    def people(self) -> Iterator[PersonRecord]:
        return self._people.records()

    @override
    def profile_fields(self) -> Iterator[ProfileFieldRecord]:
        yield from self._people.fields.values()

    @cached_property
    def _people(self) -> SlackPeople:
        return SlackPeople(partial(self._objects, USERS), self._supplement, self._report)

    @override
    def emoji(self) -> Iterator[EmojiRecord]:
        for name, url in self._supplement.emoji.items():
            if is_picture_of_slack(url):
                yield EmojiRecord(name=name, picture=RemoteFile(url))
            else:
                self._report.remark(marked("custom emoji are not on servers of Slack"), name)

    @override
    def places(self) -> Iterator[Channel | DirectConversation]:
        for file, is_private in (("channels.json", False), ("groups.json", True)):
            for each in self._objects(file):
                yield from self._channel(each, is_private=is_private)
        for file in ("dms.json", "mpims.json"):
            for each in self._objects(file):
                if key := text_of(each.get("id")):
                    yield DirectConversation(key=key, members=_texts(each.get("members")))

    def _channel(self, each: Mapping[str, Any], *, is_private: bool) -> Iterator[Channel]:
        key = text_of(each.get("id"))
        if not key:
            self._report.remark(marked("channels without an id were left out"))
            return
        topic, purpose = _purpose(each.get("topic")), _purpose(each.get("purpose"))
        yield Channel(
            key=key,
            name=text_of(each.get("name")) or key,
            members=_texts(each.get("members")),
            description=". ".join(
                dict.fromkeys(each.rstrip(".") for each in (topic, purpose) if each)
            ),
            is_private=is_private,
            is_archived=bool(each.get("is_archived")),
            is_default=bool(each.get("is_general")) and not is_private,
            creator=text_of(each.get("creator")) or None,
            created_at=time_of(each.get("created")),
        )

    @override
    def messages(self) -> Iterator[PostedMessage]:
        for _day, members in sorted(self._days.items()):
            done: set[tuple[str, str]] = set()
            for record in sorted_records(self._records(members)):
                message = self._message(record.place, record.value)
                if message is None:
                    continue
                if (message.place, message.key) in done:
                    self._report.remark(marked("messages are in the export twice"), message.key)
                    continue
                done.add((message.place, message.key))
                yield message

    @cached_property
    def _days(self) -> dict[str, list[tuple[str, str]]]:
        """The archive's files of messages by day, each with the key of its conversation."""
        keys: dict[str, str] = {}
        for file in _LISTS:
            for each in self._objects(file):
                key = text_of(each.get("id"))
                keys[text_of(each.get("name")) or key] = key
                keys.setdefault(key, key)
        days: dict[str, list[tuple[str, str]]] = {}
        for name in self._archive.names:
            found = _DAY.fullmatch(name.removeprefix(self._root))
            if found is None:
                if not _KNOWN.fullmatch(name.removeprefix(self._root)):
                    self._report.remark(marked("files of other kinds were left out"), name)
                continue
            if found[1] not in keys:
                self._report.remark(marked("files of unlisted conversations were left out"), name)
                continue
            days.setdefault(found[2], []).append((keys[found[1]], name))
        return days

    def _records(self, members: Sequence[tuple[str, str]]) -> Iterator[SortedRecord]:
        for place, name in members:
            for record, size in self._sized_objects(name):
                if not _TIME.fullmatch(text_of(record.get("ts"))):
                    self._report.remark(marked("messages without a time were left out"), name)
                else:
                    yield SortedRecord(float(record["ts"]), place, size, record)

    def _message(self, place: str, record: dict[str, Any]) -> PostedMessage | None:
        subtype = text_of(record.get("subtype"))
        if subtype and _NOTICES.fullmatch(subtype):
            self._report.remark(NOTICES)
            return None
        if record.get("type") not in ("message", None) or subtype == "tombstone":
            self._report.remark(marked("deleted messages and other records were left out"), subtype)
            return None
        stamp, sent_at = text_of(record.get("ts")), time_of(record.get("ts"))
        assert sent_at is not None, "others were left out before"
        sender, name = _sender(record)
        sender = self._bots.get(sender, sender)
        edited, thread = record.get("edited"), text_of(record.get("thread_ts"))
        files = tuple(self._files(record))
        return PostedMessage(
            key=f"{place}/{stamp}",
            place=place,
            sender=sender,
            sender_name=name,
            sent_at=sent_at,
            edited_at=time_of(edited.get("ts")) if isinstance(edited, dict) else None,
            thread=f"{place}/{thread}" if thread else None,
            body={k: record[k] for k in ("text", "blocks", "attachments") if record.get(k)}
            | ({"is_me": True} if subtype == "me_message" else {}),
            files=files,
            is_pinned=not self._pins.isdisjoint(
                (place, key) for key in (stamp, *(file.key for file in files))
            ),
            reactions=tuple(
                Reaction(emoji=text_of(each.get("name")), people=_texts(each.get("users")))
                for each in _dicts(record.get("reactions"))
            ),
        )

    @cached_property
    def _pins(self) -> frozenset[tuple[str, str]]:
        """The pinned messages and files, each as the key of its conversation and its time or id."""
        return frozenset(
            (text_of(place.get("id")), text_of(pin.get("id")))
            for file in _LISTS
            for place in self._objects(file)
            for pin in _dicts(place.get("pins"))
        )

    @cached_property
    def _bots(self) -> dict[str, str]:
        """Keys of the accounts of bots, by the ids with which bots send."""
        bots: dict[str, str] = {}
        for user in self._objects(USERS):
            profile = user.get("profile")
            if isinstance(profile, dict) and (bot_id := text_of(profile.get("bot_id"))):
                bots[bot_id] = text_of(user.get("id"))
        return bots

    def _files(self, record: Mapping[str, Any]) -> Iterator[SharedFile]:
        for each in _dicts(record.get("files")) or _dicts([record.get("file")]):
            key, name = (
                text_of(each.get("id")),
                text_of(each.get("name")) or text_of(each.get("title")),
            )
            if not key or each.get("mode") == "tombstone":
                self._report.remark(marked("deleted files were left out"), key)
                continue
            yield SharedFile(
                key=key,
                name=name or key,
                url=text_of(each.get("permalink")) or text_of(each.get("url_private")),
                member=self._uploads.get(key) or self._remote(each),
            )

    def _remote(self, file: Mapping[str, Any]) -> RemoteFile | None:
        """Return a file that Slack keeps, if files are fetched."""
        url = text_of(file.get("url_private_download")) or text_of(file.get("url_private"))
        if not self._supplement.has_files or file.get("is_external") or not is_on_slack(url):
            return None
        size = file.get("size")
        return RemoteFile(
            url, size if isinstance(size, int) else None, text_of(file.get("mimetype"))
        )

    @cached_property
    def _uploads(self) -> dict[str, str]:
        """The archive's members by the ids of files."""
        folder = f"{self._root}{_UPLOADS}/"
        return {
            name.removeprefix(folder).partition("/")[0]: name
            for name in self._archive.names
            if name.startswith(folder)
        }

    @override
    def markdown(self, body: Any, references: References) -> str:
        text = markdown_of_slack(body, references)
        text = with_aliases(text, self._supplement.emoji_aliases)
        return f"/me {text}" if body.get("is_me") and "\n" not in text else text

    @override
    def emoji_name(self, name: str) -> str:
        return emoji_name(self._supplement.emoji_aliases.get(name.partition("::")[0], name))

    @override
    def linked_message(self, url: re.Match[str]) -> str:
        return f"{url[1]}/{url[2]}.{url[3]}"

    @override
    def opened(self, member: str) -> AbstractContextManager[IO[bytes]]:
        return self._archive.opened(member)

    def _objects(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a file at the top of the archive, if it is there."""
        path = self._root + name
        if path in self._archive:
            for record, _ in self._sized_objects(path):
                yield record

    def _sized_objects(self, path: str) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the objects of a file, each with its size. Raises FileRefusedError."""
        size = self._archive.size(path)
        with self._archive.opened(path) as file:
            try:
                if size > MAX_WHOLE_BYTES:
                    for text in objects_in(file):
                        yield self._object(path, self._parsed(path, text)), len(text)
                    return
                records = _array(self._parsed(path, file.read()))
                for record in records:
                    yield self._object(path, record), size // len(records)
            except MalformedJsonError as error:
                raise FileRefusedError(
                    _("{path} is not what Slack exports: {error}.", path=path, error=error.message)
                ) from error

    def _object(self, path: str, record: Any) -> dict[str, Any]:
        if isinstance(record, dict):
            return record
        self._report.remark(marked("records that are no objects were left out"), path)
        return {}

    def _parsed(self, path: str, text: bytes) -> Any:
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(text)
        try:
            # Lone surrogates and other characters that UTF-8 has not.
            value = json.loads(text.decode(errors="replace"), object_pairs_hook=_replaced)
        except json.JSONDecodeError as error:
            raise MalformedJsonError(str(error)) from error
        except (ValueError, RecursionError) as error:
            raise MalformedJsonError(_("nested too deeply, or with a number too long")) from error
        self._report.remark(marked("files contain invalid characters, which were replaced"), path)
        return value


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise MalformedJsonError(_("not an array"))
    return value


def _replaced(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose strings contain no lone surrogates."""
    return {_clean(key): _clean(value) for key, value in pairs}


def _clean(value: Any) -> Any:
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def time_of(stamp: Any) -> datetime | None:
    """Return the moment of a timestamp of Slack, exact to the microsecond; None if it is none."""
    found = _TIME.fullmatch(text_of(stamp))
    if found is None:
        return None
    microseconds = int((found[2] or "").ljust(6, "0")[:6])
    return _EPOCH + timedelta(seconds=int(found[1]), microseconds=microseconds)


def _sender(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key of the sender, and its name in the message."""
    profile = record.get("user_profile")
    bot = record.get("bot_profile")
    comment = record.get("comment")
    names = [record.get("username")]
    names += [bot.get("name")] if isinstance(bot, dict) else []
    names += [profile.get("real_name"), profile.get("name")] if isinstance(profile, dict) else []
    name = next(filter(None, map(text_of, names)), "")
    user = text_of(record.get("user"))
    if not user and isinstance(comment, dict):
        user = text_of(comment.get("user"))
    file = record.get("file")
    if not user and isinstance(file, dict) and record.get("subtype") == "file_share":
        user = text_of(file.get("user"))
    return user or text_of(record.get("bot_id")) or (f"bot {name}" if name else "unknown"), name


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(filter(None, map(text_of, value))) if isinstance(value, list) else ()


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _purpose(value: Any) -> str:
    """Return a topic or a purpose as Markdown, in one line."""
    text = value.get("value") if isinstance(value, dict) else ""
    return converted(" ".join(text_of(text).split()))
