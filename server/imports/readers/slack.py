"""Read exports of Slack: a ZIP archive with a folder for each conversation, a file for each day."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import IO, Any, Final

import orjson
from typing_extensions import override

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.profile_fields import FieldType
from server.domain.slack_text import converted
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
    SharedFile,
    StatusRecord,
)
from server.imports.report import STATUSES_THAT_END, ImportReport
from server.imports.slack_markup import emoji_name, markdown_of_slack
from server.imports.sorting import SortedRecord, sorted_records

USERS: Final = "users.json"
MAX_WHOLE_BYTES: Final = 1024 * 1024
"""Larger files are read object by object."""
_UPLOADS: Final = "__uploads"
"""Folder of files, in archives that other tools have completed."""
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
_PROFILE_FIELDS: Final = (
    ProfileFieldRecord(key="title", name="Title", in_summary=True),
    ProfileFieldRecord(
        key="pronouns", name="Pronouns", field_type=FieldType.PRONOUNS, in_summary=True
    ),
    ProfileFieldRecord(key="phone", name="Phone number"),
    ProfileFieldRecord(key="skype", name="Skype"),
    ProfileFieldRecord(key="start_date", name="Start date", field_type=FieldType.DATE),
)
"""Fields that every profile of Slack has, by their keys in it."""
NOTICES: Final = "notices of Slack about joining, leaving and changes of channels were left out"


class SlackReader(Reader):
    """Reads an export of Slack, public or with private conversations, with or without files."""

    source = "Slack"
    message_links = _LINK

    def __init__(self, archive: ImportArchive, report: ImportReport) -> None:
        self._archive = archive
        self._report = report
        users = min((n for n in archive.names if n.endswith(USERS)), key=len, default=USERS)
        self._root = users.removesuffix(USERS)
        """The folder of the export in the archive, if it was packed with one."""

    @override
    def people(self) -> Iterator[PersonRecord]:
        for user in self._objects(USERS):
            key = _text(user.get("id"))
            if not key:
                self._report.remark("accounts without an id were left out")
                continue
            profile = user.get("profile")
            profile = profile if isinstance(profile, dict) else {}
            values = dict(self._values(profile, key))
            names = (profile.get("real_name"), user.get("real_name"), profile.get("display_name"))
            yield PersonRecord(
                key=key,
                full_name=next(filter(None, map(_text, (*names, user.get("name")))), key),
                email=_text(profile.get("email")) or None,
                role=_role(user),
                is_active=not user.get("deleted"),
                is_bot=bool(user.get("is_bot")) or key == "USLACKBOT",
                timezone=_text(user.get("tz")),
                is_first_owner=bool(user.get("is_primary_owner")),
                fields=values,
                status=self._status(profile, key),
            )
            self._remark_picture(profile, key)

    @override
    def profile_fields(self) -> Iterator[ProfileFieldRecord]:
        yield from self._fields.values()

    @cached_property
    def _fields(self) -> dict[str, ProfileFieldRecord]:
        """The fields that anyone's profile fills in, by their keys."""
        filled: set[str] = set()
        names: dict[str, str] = {}
        for user in self._objects(USERS):
            profile = user.get("profile")
            profile = profile if isinstance(profile, dict) else {}
            filled.update(each.key for each in _PROFILE_FIELDS if _text(profile.get(each.key)))
            for key, value in _custom_values(profile):
                if name := _text(value.get("label")):
                    names.setdefault(key, html.unescape(name))
        fields = [each for each in _PROFILE_FIELDS if each.key in filled]
        fields += [ProfileFieldRecord(key=key, name=name) for key, name in names.items()]
        return {each.key: each for each in fields}

    def _values(self, profile: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
        """Yield the values of a profile's fields by their keys."""
        for each in _PROFILE_FIELDS:
            if value := _text(profile.get(each.key)):
                yield each.key, html.unescape(value)
        for field, custom in _custom_values(profile):
            if field in self._fields:
                yield field, html.unescape(_text(custom["value"]))
            else:
                reason = "values of profile fields were left out: the export does not name them"
                self._report.remark(reason, key)

    def _status(self, profile: Mapping[str, Any], key: str) -> StatusRecord | None:
        text, emoji = _text(profile.get("status_text")), _text(profile.get("status_emoji"))
        if not text and not emoji:
            return None
        if profile.get("status_expiration"):
            self._report.remark(STATUSES_THAT_END, key)
            return None
        return StatusRecord(text=html.unescape(text), emoji=emoji_name(emoji.strip(":")))

    def _remark_picture(self, profile: Mapping[str, Any], key: str) -> None:
        if profile.get("is_custom_image") or _text(profile.get("image_original")):
            reason = "profile pictures were left out: the export has only their addresses"
            self._report.remark(reason, key)

    @override
    def emoji(self) -> Iterator[EmojiRecord]:
        return iter(())

    @override
    def places(self) -> Iterator[Channel | DirectConversation]:
        for file, is_private in (("channels.json", False), ("groups.json", True)):
            for each in self._objects(file):
                yield from self._channel(each, is_private=is_private)
        for file in ("dms.json", "mpims.json"):
            for each in self._objects(file):
                if key := _text(each.get("id")):
                    yield DirectConversation(key=key, members=_texts(each.get("members")))

    def _channel(self, each: Mapping[str, Any], *, is_private: bool) -> Iterator[Channel]:
        key = _text(each.get("id"))
        if not key:
            self._report.remark("channels without an id were left out")
            return
        pins = each.get("pins")
        if isinstance(pins, list) and pins:
            self._report.remark("pinned messages are not pinned here", count=len(pins))
        topic, purpose = _purpose(each.get("topic")), _purpose(each.get("purpose"))
        yield Channel(
            key=key,
            name=_text(each.get("name")) or key,
            members=_texts(each.get("members")),
            description=". ".join(
                dict.fromkeys(each.rstrip(".") for each in (topic, purpose) if each)
            ),
            is_private=is_private,
            is_archived=bool(each.get("is_archived")),
            is_default=bool(each.get("is_general")) and not is_private,
            creator=_text(each.get("creator")) or None,
            created_at=time_of(each.get("created")),
        )

    @override
    def messages(self) -> Iterator[PostedMessage]:
        for _, members in sorted(self._days.items()):
            done: set[tuple[str, str]] = set()
            for record in sorted_records(self._records(members)):
                message = self._message(record.place, record.value)
                if message is None:
                    continue
                if (message.place, message.key) in done:
                    self._report.remark("messages are in the export twice", message.key)
                    continue
                done.add((message.place, message.key))
                yield message

    @cached_property
    def _days(self) -> dict[str, list[tuple[str, str]]]:
        """The archive's files of messages by day, each with the key of its conversation."""
        keys: dict[str, str] = {}
        for file in ("channels.json", "groups.json", "mpims.json", "dms.json"):
            for each in self._objects(file):
                key = _text(each.get("id"))
                keys[_text(each.get("name")) or key] = key
                keys.setdefault(key, key)
        days: dict[str, list[tuple[str, str]]] = {}
        for name in self._archive.names:
            found = _DAY.fullmatch(name.removeprefix(self._root))
            if found is None:
                continue
            if found[1] not in keys:
                self._report.remark("files of unlisted conversations were left out", name)
                continue
            days.setdefault(found[2], []).append((keys[found[1]], name))
        return days

    def _records(self, members: Sequence[tuple[str, str]]) -> Iterator[SortedRecord]:
        for place, name in members:
            for record, size in self._sized_objects(name):
                if time_of(record.get("ts")) is None:
                    self._report.remark("messages without a time were left out", name)
                else:
                    yield SortedRecord(float(record["ts"]), place, size, record)

    def _message(self, place: str, record: dict[str, Any]) -> PostedMessage | None:
        subtype = _text(record.get("subtype"))
        if _NOTICES.fullmatch(subtype):
            self._report.remark(NOTICES)
            return None
        if record.get("type") not in ("message", None) or subtype == "tombstone":
            self._report.remark("deleted messages and other records were left out", subtype)
            return None
        stamp, sent_at = _text(record.get("ts")), time_of(record.get("ts"))
        assert sent_at is not None, "others were left out before"
        sender, name = _sender(record)
        sender = self._bots.get(sender, sender)
        edited, thread = record.get("edited"), _text(record.get("thread_ts"))
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
            files=tuple(self._files(record)),
            reactions=tuple(
                Reaction(emoji=_text(each.get("name")), people=_texts(each.get("users")))
                for each in _dicts(record.get("reactions"))
            ),
        )

    @cached_property
    def _bots(self) -> dict[str, str]:
        """Keys of the accounts of bots, by the ids with which bots send."""
        bots: dict[str, str] = {}
        for user in self._objects(USERS):
            profile = user.get("profile")
            if isinstance(profile, dict) and (bot_id := _text(profile.get("bot_id"))):
                bots[bot_id] = _text(user.get("id"))
        return bots

    def _files(self, record: Mapping[str, Any]) -> Iterator[SharedFile]:
        for each in _dicts(record.get("files")) or _dicts([record.get("file")]):
            key, name = _text(each.get("id")), _text(each.get("name")) or _text(each.get("title"))
            if not key or each.get("mode") == "tombstone":
                self._report.remark("deleted files were left out", key)
                continue
            yield SharedFile(
                key=key,
                name=name or key,
                url=_text(each.get("permalink")) or _text(each.get("url_private")),
                member=self._uploads.get(key),
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
        return f"/me {text}" if body.get("is_me") and "\n" not in text else text

    @override
    def emoji_name(self, name: str) -> str:
        return emoji_name(name)

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
                raise FileRefusedError(f"{path} is not what Slack exports: {error}.") from error

    def _object(self, path: str, record: Any) -> dict[str, Any]:
        if isinstance(record, dict):
            return record
        self._report.remark("records that are no objects were left out", path)
        return {}

    def _parsed(self, path: str, text: bytes) -> Any:
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(text)
        try:
            # Lone surrogates and other characters that UTF-8 has not.
            value = json.loads(text.decode(errors="replace"), object_pairs_hook=_replaced)
        except (ValueError, RecursionError) as error:
            raise MalformedJsonError(str(error)) from error
        self._report.remark("files contain invalid characters, which were replaced", path)
        return value


def _custom_values(profile: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields that the workspace has added to profiles, as far as they are filled in."""
    custom = profile.get("fields")
    for key, value in custom.items() if isinstance(custom, dict) else ():
        if isinstance(value, dict) and _text(value.get("value")):
            yield key, value


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise MalformedJsonError("not an array")
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
    found = _TIME.fullmatch(_text(stamp))
    if found is None:
        return None
    microseconds = int((found[2] or "").ljust(6, "0")[:6])
    return _EPOCH + timedelta(seconds=int(found[1]), microseconds=microseconds)


def _role(user: Mapping[str, Any]) -> int:
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return GUEST
    if user.get("is_owner") or user.get("is_primary_owner"):
        return OWNER
    return ADMINISTRATOR if user.get("is_admin") else MEMBER


def _sender(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key of the sender, and its name in the message."""
    profile = record.get("user_profile")
    bot = record.get("bot_profile")
    comment = record.get("comment")
    names = [record.get("username")]
    names += [bot.get("name")] if isinstance(bot, dict) else []
    names += [profile.get("real_name"), profile.get("name")] if isinstance(profile, dict) else []
    name = next(filter(None, map(_text, names)), "")
    user = _text(record.get("user"))
    if not user and isinstance(comment, dict):
        user = _text(comment.get("user"))
    file = record.get("file")
    if not user and isinstance(file, dict) and record.get("subtype") == "file_share":
        user = _text(file.get("user"))
    return user or _text(record.get("bot_id")) or (f"bot {name}" if name else "unknown"), name


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value).replace("\0", "").strip()


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(filter(None, map(_text, value))) if isinstance(value, list) else ()


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _purpose(value: Any) -> str:
    """Return a topic or a purpose as Markdown, in one line."""
    text = value.get("value") if isinstance(value, dict) else ""
    return converted(" ".join(_text(text).split()))
