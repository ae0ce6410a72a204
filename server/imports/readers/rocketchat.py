"""Read dumps of the database of Rocket.Chat: a ZIP archive of the files of mongodump."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import IO, Any, Final
from urllib.parse import quote

from typing_extensions import override

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.markdown.dialects import in_our_dialect, outside_code
from server.domain.markdown.writing import quoted
from server.domain.profile_fields import FieldType
from server.i18n import _, marked
from server.imports.archive import ImportArchive
from server.imports.bson_streams import MalformedBsonError, documents_in
from server.imports.errors import FileRefusedError
from server.imports.gridfs import GridFsBucket
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
from server.imports.report import ImportReport
from server.imports.slack_markup import emoji_name, with_emoji_named
from server.imports.sorting import SortedRecord, sorted_records

USERS, ROOMS = "users.bson", "rocketchat_room.bson"
MESSAGES: Final = "rocketchat_message.bson"
SUBSCRIPTIONS: Final = "rocketchat_subscription.bson"
EMOJI: Final = "rocketchat_custom_emoji.bson"
UPLOADS, AVATARS, CUSTOM_EMOJI = "uploads", "avatars", "emoji"
_BUCKETS: Final = {
    UPLOADS: "rocketchat_uploads",
    AVATARS: "rocketchat_avatars",
    CUSTOM_EMOJI: "custom_emoji",
}
"""Beginnings of the names of their collections."""

_LINK: Final = re.compile(r"https?://[^\s()<>\[\]]+\?msg=(\w{8,30})")
_QUOTE_LINK: Final = re.compile(r"^\[ ?\]\([^)\s]*\)\s*")
_REFERENCE: Final = re.compile(r"(?<![\w@#/.])([@#])([\w][\w.-]{0,99})")
_BOLD: Final = re.compile(r"(?<![*\w])\*(?![\s*])([^*\n]+?)(?<!\s)\*(?![*\w])")
_STRUCK: Final = re.compile(r"(?<![~\w])~(?![\s~])([^~\n]+?)(?<!\s)~(?![~\w])")
_ROLES: Final = {"admin": OWNER, "owner": ADMINISTRATOR, "moderator": MODERATOR, "guest": GUEST}
_KEPT: Final = frozenset(
    ["_id", "tmid", "tcount", "msg", "u", "attachments", "file", "files", "reactions", "pinned"]
)
_PROFILE_FIELDS: Final = (
    ProfileFieldRecord(key="nickname", name="Nickname", in_summary=True),
    ProfileFieldRecord(key="bio", name="Bio", field_type=FieldType.LONG_TEXT),
)
_CUSTOM: Final = "custom "
"""Beginning of the keys of a server's own fields."""
_SIZE: Final = 1_000
"""Estimated size of a message, with what is kept of it."""

Document = dict[str, Any]


class RocketChatReader(Reader):
    """Reads a dump of Rocket.Chat, with the files that it keeps in its database."""

    source = "Rocket.Chat"
    message_links = _LINK

    def __init__(self, archive: ImportArchive, report: ImportReport) -> None:
        self._archive = archive
        self._report = report
        self._members = {name.rpartition("/")[2]: name for name in archive.names}
        self._buckets = {name: self._bucket(prefix) for name, prefix in _BUCKETS.items()}

    def close(self) -> None:
        """Remove temporary files."""
        for bucket in self._buckets.values():
            bucket.close()

    def _bucket(self, prefix: str) -> GridFsBucket:
        files, chunks = f"{prefix}.files.bson", f"{prefix}.chunks.bson"
        # Without chunks, nothing that is listed is there.
        listed = files if chunks in self._members else ""
        return GridFsBucket(
            partial(self._documents, listed), partial(self._documents, chunks, with_bytes=True)
        )

    def _member(self, bucket: str, key: str) -> str | None:
        """Return a name for a file of a bucket, if the dump has it."""
        return f"{bucket}/{key}" if key in self._buckets[bucket] else None

    @override
    def people(self) -> Iterator[PersonRecord]:
        for user in self._documents(USERS):
            key = _text(user.get("_id"))
            if not key:
                self._report.remark(marked("accounts without an id were left out"))
                continue
            addresses = [_text(each.get("address")) for each in _dicts(user.get("emails"))]
            names = (_text(user.get("name")), _text(user.get("username")))
            yield PersonRecord(
                key=key,
                full_name=next(filter(None, names), key),
                email=next(filter(None, addresses), None),
                role=_role(user),
                is_active=user.get("active") is not False,
                is_bot=user.get("type") == "bot",
                picture=self._picture(user, key),
                fields=dict(_values(user)),
                status=StatusRecord(text=text) if (text := _text(user.get("statusText"))) else None,
            )

    @override
    def profile_fields(self) -> Iterator[ProfileFieldRecord]:
        keys = {key: None for user in self._documents(USERS) for key, _ in _values(user)}
        yield from (field for field in _PROFILE_FIELDS if field.key in keys)
        for key in keys:
            if key.startswith(_CUSTOM):
                yield ProfileFieldRecord(key=key, name=key.removeprefix(_CUSTOM))

    def _picture(self, user: Mapping[str, Any], key: str) -> str | None:
        member = self._member(AVATARS, self._avatars.get(key, ""))
        if member is None and _text(user.get("avatarOrigin")) not in ("", "none"):
            self._report.remark(marked("profile pictures are not in the dump"), key)
        return member

    @cached_property
    def _avatars(self) -> dict[str, str]:
        """Keys of pictures by those of users."""
        pictures = self._documents(f"{_BUCKETS[AVATARS]}.bson")
        return {_text(each.get("userId")): _text(each.get("_id")) for each in pictures}

    @override
    def emoji(self) -> Iterator[EmojiRecord]:
        for each in self._documents(EMOJI):
            name, extension = _text(each.get("name")), _text(each.get("extension"))
            file = f"{name}.{extension}"
            picture = self._member(CUSTOM_EMOJI, file) or self._member(CUSTOM_EMOJI, quote(file))
            if picture is None:
                self._report.remark(marked("custom emoji have no picture in the export"), name)
                continue
            for known in dict.fromkeys((name, *_texts(each.get("aliases")))):
                yield EmojiRecord(name=known, picture=picture)

    @override
    def places(self) -> Iterator[Channel | DirectConversation]:
        subscribed = self._subscribed
        for room in self._documents(ROOMS):
            key, kind = _text(room.get("_id")), room.get("t")
            if kind == "d":
                yield DirectConversation(key=key, members=_texts(room.get("uids")))
            elif kind not in ("c", "p"):
                self._report.remark(
                    marked("conversations with visitors of sites were left out"), key
                )
            elif not room.get("prid"):
                creator = room.get("u")
                topic, description = _text(room.get("topic")), _text(room.get("description"))
                yield Channel(
                    key=key,
                    name=_text(room.get("fname")) or _text(room.get("name")) or key,
                    members=subscribed.get(key, ()),
                    description="\n".join(dict.fromkeys(filter(None, (topic, description)))),
                    is_private=kind == "p",
                    is_archived=room.get("archived") is True,
                    is_default=room.get("default") is True and kind == "c",
                    creator=_text(creator.get("_id")) if isinstance(creator, dict) else None,
                    created_at=_moment(room.get("ts")),
                )

    @cached_property
    def _subscribed(self) -> dict[str, list[str]]:
        """Keys of members by those of rooms."""
        found: dict[str, list[str]] = {}
        if SUBSCRIPTIONS in self._members:
            for each in self._documents(SUBSCRIPTIONS):
                user = each.get("u")
                if isinstance(user, dict):
                    found.setdefault(_text(each.get("rid")), []).append(_text(user.get("_id")))
            return found
        for user in self._documents(USERS):
            for room in _texts(user.get("__rooms")):
                found.setdefault(room, []).append(_text(user.get("_id")))
        return found

    @cached_property
    def _discussions(self) -> dict[str, tuple[str, str]]:
        """The room of each discussion, and its name. Discussions become topics."""
        parents: dict[str, tuple[str, str]] = {}
        for room in self._documents(ROOMS):
            if parent := _text(room.get("prid")):
                name = _text(room.get("fname")) or _text(room.get("name"))
                parents[_text(room.get("_id"))] = parent, name
        return {key: (_root_of(key, parents), name) for key, (_, name) in parents.items()}

    @cached_property
    def _names(self) -> dict[str, str]:
        """Keys of people (@) and channels (#) by the names by which texts refer to them."""
        users = {"@" + _text(each.get("username")): each for each in self._documents(USERS)}
        rooms = {"#" + _text(each.get("name")): each for each in self._documents(ROOMS)}
        return {name: _text(each.get("_id")) for name, each in (users | rooms).items()}

    @override
    def messages(self) -> Iterator[PostedMessage]:
        for record in sorted_records(self._records()):
            yield self._message(record.place, record.key, record.value)

    def _records(self) -> Iterator[SortedRecord]:
        for each in self._documents(MESSAGES):
            moment = _moment(each.get("ts"))
            if moment is None:
                self._report.remark(
                    marked("messages without a time were left out"), _text(each.get("_id"))
                )
            elif each.get("t"):
                self._report.remark(
                    marked("notices and encrypted messages were left out"), str(each["t"])
                )
            else:
                kept = {key: each[key] for key in _KEPT if each.get(key)}
                for attachment in _dicts(kept.get("attachments")):
                    attachment.pop("image_preview", None)
                edited = _moment(each.get("editedAt"))
                kept["edited"] = None if edited is None else edited.timestamp()
                size = _SIZE + len(_text(each.get("msg")))
                yield SortedRecord(moment.timestamp(), _text(each.get("rid")), size, kept)

    def _message(self, room: str, stamp: float, record: Mapping[str, Any]) -> PostedMessage:
        place, topic = self._discussions.get(room, (room, ""))
        thread = _text(record.get("tmid")) or None
        if topic:
            thread = f"discussion {room}"
        elif record.get("tcount"):
            thread = _text(record.get("_id"))
        user = record.get("u")
        user = user if isinstance(user, dict) else {}
        edited = record.get("edited")
        reactions = record.get("reactions")
        return PostedMessage(
            key=_text(record.get("_id")),
            place=place,
            sender=_text(user.get("_id")) or "unknown",
            sender_name=_text(user.get("name")) or _text(user.get("username")),
            sent_at=datetime.fromtimestamp(stamp, tz=UTC),
            edited_at=None if edited is None else datetime.fromtimestamp(edited, tz=UTC),
            thread=thread,
            topic=topic or None,
            body={
                "text": str(record.get("msg") or ""),
                "attachments": _dicts(record.get("attachments")),
            },
            files=tuple(self._files(record)),
            is_pinned=bool(record.get("pinned")),
            reactions=tuple(self._reactions(reactions if isinstance(reactions, dict) else {})),
        )

    def _reactions(self, reactions: Mapping[str, Any]) -> Iterator[Reaction]:
        for name, each in reactions.items():
            users = _texts(each.get("usernames")) if isinstance(each, dict) else ()
            people = [self._names.get(f"@{user}", user) for user in users]
            yield Reaction(emoji=name.strip(":"), people=people)

    @override
    def markdown(self, body: Any, references: References) -> str:
        def referred(found: re.Match[str]) -> str:
            return self._referred(found, references)

        def changed(piece: str) -> str:
            styled = _STRUCK.sub(r"~~\1~~", _BOLD.sub(r"**\1**", piece))
            return _REFERENCE.sub(referred, with_emoji_named(styled))

        def converted(text: str) -> str:
            return outside_code(in_our_dialect(text), changed)

        quotes = [each for each in body["attachments"] if each.get("message_link")]
        text = body["text"]
        parts: list[str] = []
        for each in quotes:
            text = _QUOTE_LINK.sub("", text)
            said = quoted(converted(_text(each.get("text"))))
            parts.append(f"{_text(each.get('author_name'))} {each['message_link']}:\n{said}")
        others = [each for each in body["attachments"] if each not in quotes]
        parts.append(converted(text))
        parts += [converted(_described(each)) for each in others]
        return "\n\n".join(filter(None, parts))

    def _referred(self, found: re.Match[str], references: References) -> str:
        sign, name = found[1], found[2]
        if sign == "@" and name == "all":
            return "@**all**"
        while name:
            key = self._names.get(sign + name)
            if key is not None:
                known = references.person(key) if sign == "@" else references.channel(key)
                return found[0] if known is None else known + found[2][len(name) :]
            shorter = name.rstrip("._-")
            name = shorter if shorter != name else ""
        return found[0]

    @override
    def emoji_name(self, name: str) -> str:
        return emoji_name(name)

    @override
    def linked_message(self, url: re.Match[str]) -> str:
        return url[1]

    @override
    def opened(self, member: str) -> AbstractContextManager[IO[bytes]]:
        bucket, _, key = member.partition("/")
        return self._buckets[bucket].opened(key)

    def _files(self, record: Mapping[str, Any]) -> Iterator[SharedFile]:
        for each in _dicts(record.get("files")) or _dicts([record.get("file")]):
            key = _text(each.get("_id"))
            is_thumbnail = _text(each.get("name")).startswith("thumb-")
            if key and not is_thumbnail:
                name = _text(each.get("name")) or key
                yield SharedFile(key=key, name=name, member=self._member(UPLOADS, key))

    def _documents(self, name: str, *, with_bytes: bool = False) -> Iterator[Document]:
        """Yield the documents of a collection, if the dump has it. Raises FileRefusedError."""
        member = self._members.get(name)
        if member is None:
            return
        with self._archive.opened(member) as file:
            try:
                yield from documents_in(file, with_bytes=with_bytes)
            except MalformedBsonError as error:
                raise FileRefusedError(
                    _(
                        "{path} is not what mongodump writes: {error}.",
                        path=member,
                        error=error.message,
                    )
                ) from error


def _root_of(key: str, parents: Mapping[str, tuple[str, str]]) -> str:
    """Return the room that a discussion belongs to, also if it began in another discussion."""
    seen: set[str] = set()
    while key in parents and key not in seen:
        seen.add(key)
        key = parents[key][0]
    return key


def _values(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the values that a user has given of fields of profiles, by the keys of the fields."""
    for field in _PROFILE_FIELDS:
        if value := _text(user.get(field.key)):
            yield field.key, value
    custom = user.get("customFields")
    for name, given in custom.items() if isinstance(custom, dict) else ():
        if value := _text(given):
            yield _CUSTOM + name, value


def _described(attachment: Mapping[str, Any]) -> str:
    """Return the text of an attachment; that of a file is what its sender said of it."""
    is_file = _text(attachment.get("title_link")).startswith("/file-upload/")
    keys = ("description",) if is_file else ("pretext", "title", "text", "description")
    return "\n".join(filter(None, (_text(attachment.get(key)) for key in keys)))


def _role(user: Mapping[str, Any]) -> int:
    roles = [_ROLES[role] for role in _texts(user.get("roles")) if role in _ROLES]
    highest = min(roles, default=MEMBER)
    is_more = "user" in _texts(user.get("roles"))
    return MEMBER if highest == GUEST and is_more else highest


def _moment(value: Any) -> datetime | None:
    return value if isinstance(value, datetime) else None


def _text(value: Any) -> str:
    return value.replace("\0", "").strip() if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(filter(None, map(_text, value))) if isinstance(value, list) else ()


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
