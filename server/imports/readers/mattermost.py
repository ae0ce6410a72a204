"""Read bulk exports of Mattermost: lines of JSON, alone or in a ZIP archive with their files."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from typing import IO, Any, Final

import orjson
from typing_extensions import override

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.markdown.dialects import in_our_dialect, outside_code
from server.i18n import _, marked
from server.imports.archive import ImportArchive
from server.imports.errors import FileRefusedError
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
from server.imports.slack_markup import emoji_name, with_emoji_named
from server.imports.sorting import SortedRecord, sorted_records

MAX_LINE_BYTES: Final = 32 * 1024 * 1024
"""A thread is one line."""
DEFAULT_CHANNEL: Final = "town-square"
_DATA: Final = "data/"
"""Folder of the files that the lines name."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MILLISECOND: Final = 253_402_300_799_999
KIND: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"([^"\\]*)"')
"""Beginning of a line that names its kind first, with any blanks between."""
_ID: Final = r"[a-z0-9]{26}"
_LINK: Final = re.compile(rf"https?://[^\s()<>\[\]]+/pl/({_ID})(?![a-z0-9])")
_REFERENCE: Final = re.compile(r"(?<![\w@~/.])([@~])([a-z0-9][a-z0-9._-]{0,63})", re.IGNORECASE)
_ALL: Final = frozenset({"all", "channel"})
_PROFILE_FIELDS: Final = (
    ProfileFieldRecord(key="position", name="Position", in_summary=True),
    ProfileFieldRecord(key="nickname", name="Nickname"),
)

Line = dict[str, Any]


class MattermostReader(Reader):
    """Reads a bulk export of Mattermost, of one or several teams."""

    source = "Mattermost"
    message_links = _LINK

    def __init__(
        self,
        open_lines: Callable[[], AbstractContextManager[IO[bytes]]],
        archive: ImportArchive | None,
        report: ImportReport,
    ) -> None:
        self._open_lines = open_lines
        self._archive = archive
        self._report = report

    @override
    def people(self) -> Iterator[PersonRecord]:
        for kind, each in self._lines("user", "bot"):
            key = _text(each.get("username"))
            if not key:
                self._report.remark(marked("accounts without a name were left out"))
                continue
            first, last = _text(each.get("first_name")), _text(each.get("last_name"))
            others = (_text(each.get("nickname")), _text(each.get("display_name")), key)
            timezone = each.get("timezone")
            timezone = timezone if isinstance(timezone, dict) else {}
            picture = _text(each.get("profile_image"))
            full_name = next(filter(None, (f"{first} {last}".strip(), *others)))
            values = {field.key: _text(each.get(field.key)) for field in _PROFILE_FIELDS}
            yield PersonRecord(
                key=key,
                full_name=full_name,
                email=_text(each.get("email")) or None,
                role=_role(each),
                is_active=not each.get("delete_at"),
                is_bot=kind == "bot",
                timezone=_text(timezone.get("automaticTimezone"))
                or _text(timezone.get("manualTimezone")),
                picture=self._member(picture) if picture else None,
                fields={k: value for k, value in values.items() if value not in ("", full_name)},
                status=self._status(each.get("custom_status"), key),
            )

    @override
    def profile_fields(self) -> Iterator[ProfileFieldRecord]:
        filled = {field for person in self._silent.people() for field in person.fields}
        yield from (field for field in _PROFILE_FIELDS if field.key in filled)

    @property
    def _silent(self) -> "MattermostReader":
        """A reader of the same file with a report of its own."""
        return MattermostReader(self._open_lines, self._archive, ImportReport())

    def _status(self, status: Any, key: str) -> StatusRecord | None:
        if isinstance(status, str):
            with suppress(orjson.JSONDecodeError):
                status = orjson.loads(status)
        if not isinstance(status, dict):
            return None
        if status.get("duration"):
            self._report.remark(STATUSES_THAT_END, key)
            return None
        text, emoji = _text(status.get("text")), _text(status.get("emoji"))
        return StatusRecord(text=text, emoji=emoji_name(emoji)) if text or emoji else None

    @override
    def emoji(self) -> Iterator[EmojiRecord]:
        for _kind, each in self._lines("emoji"):
            name, picture = _text(each.get("name")), self._member(_text(each.get("image")))
            if picture is None:
                self._report.remark(marked("custom emoji have no picture in the export"), name)
            else:
                yield EmojiRecord(name=name, picture=picture)

    @override
    def places(self) -> Iterator[Channel | DirectConversation]:
        members: dict[str, list[str]] = {}
        for _kind, user in self._lines("user"):
            for team in _dicts(user.get("teams")):
                for channel in _dicts(team.get("channels")):
                    key = f"{_text(team.get('name'))}/{_text(channel.get('name'))}"
                    members.setdefault(key, []).append(_text(user.get("username")))
        teams = {
            _text(each.get("name")): _text(each.get("display_name"))
            for _kind, each in self._lines("team")
        }
        for _kind, each in self._lines("channel"):
            team_name, name = _text(each.get("team")), _text(each.get("name"))
            key = f"{team_name}/{name}"
            shown = _text(each.get("display_name")) or name
            if len(teams) > 1:
                shown += f" ({teams.get(team_name) or team_name})"
            header, purpose = _text(each.get("header")), _text(each.get("purpose"))
            yield Channel(
                key=key,
                name=shown,
                members=members.get(key, ()),
                description="\n".join(dict.fromkeys(filter(None, (header, purpose)))),
                is_private=each.get("type") == "P",
                is_archived=bool(each.get("deleted_at") or each.get("delete_at")),
                is_default=name == DEFAULT_CHANNEL and len(teams) == 1,
            )
        conversations: dict[str, DirectConversation] = {}
        for _kind, each in self._lines("direct_channel", "direct_post"):
            people = _members(each)
            key = _direct_key(people)
            conversations[key] = DirectConversation(key=key, members=people)
        yield from conversations.values()

    @override
    def messages(self) -> Iterator[PostedMessage]:
        for record in sorted_records(self._records()):
            yield self._message(record.place, record.value)

    def _records(self) -> Iterator[SortedRecord]:
        for number, (kind, each) in enumerate(self._lines("post", "direct_post")):
            place = f"{_text(each.get('team'))}/{_text(each.get('channel'))}"
            if kind == "direct_post":
                place = _direct_key(_members(each))
            replies = _dicts(each.pop("replies", None))
            posts = [each, *replies]
            for part, post in enumerate(posts):
                moment = time_of(post.get("create_at"))
                if moment is None:
                    self._report.remark(marked("messages without a time were left out"), place)
                    continue
                if _text(post.get("type")).startswith("system_"):
                    self._report.remark(marked("notices of Mattermost were left out"))
                    continue
                root = _key(each, f"{number}") if replies else None
                key = _key(post, f"{number}.{part}" if part else f"{number}")
                value = {**post, "key": key, "root": root}
                size = len(_text(post.get("message"))) + 500
                yield SortedRecord(moment.timestamp(), place, size, value)

    def _message(self, place: str, post: Mapping[str, Any]) -> PostedMessage:
        moment = time_of(post.get("create_at"))
        assert moment is not None, "others were left out before"
        people: dict[str, list[str]] = {}
        for each in _dicts(post.get("reactions")):
            people.setdefault(_text(each.get("emoji_name")), []).append(_text(each.get("user")))
        sender = _text(post.get("user"))
        return PostedMessage(
            key=post["key"],
            place=place,
            sender=sender or "unknown",
            sender_name=sender,
            sent_at=moment,
            edited_at=time_of(post.get("edit_at")) if post.get("edit_at") else None,
            thread=post["root"],
            body={
                "text": str(post.get("message") or ""),
                "team": place.partition("/")[0],
                "attachments": _dicts(_properties(post).get("attachments")),
            },
            files=tuple(map(self._file, _dicts(post.get("attachments")))),
            is_pinned=bool(post.get("is_pinned")),
            reactions=tuple(Reaction(emoji=name, people=who) for name, who in people.items()),
        )

    def _file(self, attachment: Mapping[str, Any]) -> SharedFile:
        path = _text(attachment.get("path"))
        return SharedFile(
            key=path, name=path.rpartition("/")[2] or "file", member=self._member(path)
        )

    def _member(self, path: str) -> str | None:
        """Return the archive's member for a path in the lines, if it is there."""
        if self._archive is None:
            return None
        return next((each for each in (_DATA + path, path) if each in self._archive), None)

    @override
    def markdown(self, body: Any, references: References) -> str:
        def referred(found: re.Match[str]) -> str:
            return _referred(found, body["team"], references)

        def changed(piece: str) -> str:
            return _REFERENCE.sub(referred, with_emoji_named(piece))

        text = outside_code(in_our_dialect(body["text"]), changed)
        parts = [text, *(_attachment(each) for each in body["attachments"])]
        return "\n\n".join(filter(None, parts))

    @override
    def emoji_name(self, name: str) -> str:
        return emoji_name(name)

    @override
    def linked_message(self, url: re.Match[str]) -> str:
        return url[1]

    @override
    def opened(self, member: str) -> AbstractContextManager[IO[bytes]]:
        assert self._archive is not None
        return self._archive.opened(member)

    def _lines(self, *kinds: str) -> Iterator[tuple[str, Line]]:
        """Yield the objects of these kinds, in the order of the file. Raises FileRefusedError."""
        number = 0
        with self._open_lines() as file:
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                if not line.endswith(b"\n") and len(line) == MAX_LINE_BYTES:
                    raise FileRefusedError(
                        _("Line {number} of the export is too long.", number=number)
                    )
                kind_first = KIND.match(line)
                if kind_first is not None and kind_first[1].decode(errors="replace") not in kinds:
                    continue  # Not parsed: most lines are posts.
                record = self._parsed(line, number)
                kind = record.get("type")
                if kind in kinds and isinstance(record.get(kind), dict):
                    yield kind, record[kind]

    def _parsed(self, line: bytes, number: int) -> Line:
        if not line.strip():
            return {}
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            try:
                value = orjson.loads(line.decode(errors="replace"))
            except orjson.JSONDecodeError as error:
                raise FileRefusedError(
                    _("Line {number} of the export is no JSON.", number=number)
                ) from error
            self._report.remark(
                marked("lines contain invalid UTF-8, which was replaced"), str(number)
            )
        return value if isinstance(value, dict) else {}


def time_of(milliseconds: Any) -> datetime | None:
    """Return the moment of a timestamp of Mattermost; None if it is none."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int):
        return None
    if not 0 < milliseconds <= _LAST_MILLISECOND:
        return None
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _key(post: Mapping[str, Any], number: str) -> str:
    """Return the post's id, which few exports have, or else its number."""
    key = _text(post.get("id"))
    return key if re.fullmatch(_ID, key) else number


def _referred(found: re.Match[str], team: str, references: References) -> str:
    """Return a mention, or a link to a channel, for a name that may end with punctuation."""
    sign, name = found[1], found[2].casefold()
    while name:
        rest = found[2][len(name) :]
        if sign == "@" and name in _ALL:
            return f"@**all**{rest}"
        key = name if sign == "@" else f"{team}/{name}"
        known = references.person(key) if sign == "@" else references.channel(key)
        if known is not None:
            return known + rest
        shorter = name.rstrip("._-")
        if shorter == name:
            break
        name = shorter
    return found[0]


def _attachment(each: Mapping[str, Any]) -> str:
    """Return an attachment of an integration as text."""
    title, url = _text(each.get("title")), _text(each.get("title_link"))
    parts = (
        _text(each.get("pretext")),
        f"**[{title}]({url})**" if title and url else f"**{title}**" if title else "",
        _text(each.get("text")),
    )
    shown = "\n".join(filter(None, parts))
    return in_our_dialect(shown or _text(each.get("fallback")))


def _role(user: Mapping[str, Any]) -> int:
    roles = set(_text(user.get("roles")).split())
    if "system_guest" in roles:
        return GUEST
    if "system_admin" in roles:
        return OWNER
    teams = (_text(each.get("roles")).split() for each in _dicts(user.get("teams")))
    return ADMINISTRATOR if any("team_admin" in each for each in teams) else MEMBER


def _members(record: Mapping[str, Any]) -> list[str]:
    members = record.get("members") or record.get("channel_members")
    if isinstance(members, list):
        return [key for each in members if (key := _text(each))]
    participants = _dicts(record.get("participants"))
    return [key for each in participants if (key := _text(each.get("username")))]


def _direct_key(members: list[str]) -> str:
    return "direct " + " ".join(sorted(set(members)))


def _properties(post: Mapping[str, Any]) -> dict[str, Any]:
    properties = post.get("props")
    return properties if isinstance(properties, dict) else {}


def _text(value: Any) -> str:
    return value.replace("\0", "").strip() if isinstance(value, str) else ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
