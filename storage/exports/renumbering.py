"""Renumbering of ids from the server's sequences, when a realm moves to another server.

Ids that belong to the realm alone, such as those of messages, stay the same.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from storage.audit_log import SubjectType, subject_type
from storage.exports.tables import DEFAULT_CHANNEL_GROUPS, IDS

Row = dict[str, Any]

USERS, GROUPS, CHANNELS = IDS["user_id"], IDS["group_id"], IDS["channel_id"]
EMOJI, REALM = IDS["emoji_id"], IDS["realm_id"]
PEOPLE_FIELD: Final = 6
"""Type of profile fields that hold users."""

TEXTS: Final = frozenset(
    {
        *("content", "rendered_content", "prev_content", "prev_rendered_content"),
        *("description", "rendered_description", "rendered_value", "note"),
    }
)
_NUMBERED: Final = re.compile(
    r"""
    (?P<mention> @_?\*\*[^*\n]*\|[0-9]+ (?=\*\*))
  | (?P<user> (?<=\bdata-user-id=") [0-9]+)
  | (?P<group> (?<=\bdata-user-group-id=") [0-9]+)
  | (?P<channel> (?<=\bdata-stream-id=") [0-9]+)
  | (?P<narrow> (?<![\w/.:]) /? \#narrow/ [^\s"'<>)\]]+)
  | (?P<file> (?<![\w.:]) /user_(?:uploads|avatars)/(?:(?:download|thumbnail)/)? [0-9]+ (?=/))
    """,
    re.VERBOSE,
)
_PLACE: Final = re.compile(
    r"(?P<name>channel|stream|dm|pm-with|dm-including|sender)/(?P<ids>[0-9,]+)"
)
_GROUP_SETTING: Final = re.compile(r"can_\w+|\w+_group")
_CHANNEL_SETTING: Final = re.compile(r"\w+_(?:channel|stream)_id")
_KEY: Final = re.compile(r"(?P<kind>[a-z]+)/(?P<realm>[0-9]+)/(?P<rest>.+)")

_SUBJECTS: Final[Mapping[SubjectType, str | None]] = {
    "user": USERS,
    "channel": CHANNELS,
    "group": GROUPS,
    "channel_folder": IDS["folder_id"],
    "default_channel_group": DEFAULT_CHANNEL_GROUPS,
    "topic": IDS["topic_id"],
    "emoji": EMOJI,
    "linkifier": IDS["linkifier_id"],
    "playground": IDS["playground_id"],
    "profile_field": IDS["field_id"],
    "realm_export": IDS["export_id"],
    "realm_import": None,
}
"""The sequence of ids of an audit entry's subject, by its type; None: imports stay behind."""


class Renumbering:
    """Maps each id to its number on the new server, by an offset per sequence."""

    def __init__(self, offsets: Mapping[str, int], realm_id: int) -> None:
        """Create the mapping; `realm_id` is the one in the export."""
        self._offsets = offsets
        self._old_realm = realm_id
        self.realm_id = realm_id + offsets[REALM]
        self._changes_nothing = not any(offsets.values())
        self.people_fields: set[int] = set()
        """Old ids of profile fields that hold users."""

    def row(self, table: str, row: Row) -> Row:
        """Return the row with new ids. Rows of a table come after those it refers to."""
        if self._changes_nothing:
            return row
        if table == "profile_fields" and row["field_type"] == PEOPLE_FIELD:
            self.people_fields.add(row["field_id"])
        return {name: self._column(table, row, name) for name in row}

    def _column(self, table: str, row: Row, name: str) -> Any:
        value = row[name]
        change = _SPECIAL.get((table, name))
        return (
            self.named(name, value) if change is None or value is None else change(self, row, value)
        )

    def key(self, key: str) -> str:
        """Return the new key of a blob."""
        found = _KEY.fullmatch(key)
        if found is None or found["realm"] != str(self._old_realm):
            return key
        return f"{found['kind']}/{self.realm_id}/{found['rest']}"

    def named(self, name: str, value: Any) -> Any:
        """Return the new value of a column, or of a key within JSON, with this name."""
        if isinstance(value, str):
            return self._named_text(name, value)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            sequence = _sequence_of(name)
            return value if sequence is None else self.id(sequence, value)
        if isinstance(value, list):
            return [self.named(name, each) for each in value]
        return {each: self.named(each, inner) for each, inner in value.items()}

    def id(self, sequence: str, value: int) -> int:
        """Return the new id; values that are not positive stay as they are."""
        return value + self._offsets.get(sequence, 0) if value > 0 else value

    def ids(self, sequence: str, values: list[int]) -> list[int]:
        return [self.id(sequence, value) for value in values]

    def text(self, text: str) -> str:
        """Return Markdown or HTML with new ids. Absolute links stay as they are."""
        return _NUMBERED.sub(self._in_text, text)

    def narrow(self, fragment: str) -> str:
        """Return the URL fragment of a narrow with new ids."""
        return _PLACE.sub(self._in_narrow, fragment)

    def _named_text(self, name: str, value: str) -> str:
        if name in TEXTS:
            return self.text(value)
        return self.key(value) if name.endswith("_key") else value

    def _in_text(self, found: re.Match[str]) -> str:
        kind, text = found.lastgroup, found[0]
        if kind == "narrow":
            return self.narrow(text)
        if kind == "file":
            start, _, realm = text.rpartition("/")
            return f"{start}/{self.realm_id}" if int(realm) == self._old_realm else text
        start, bar, number = text.rpartition("|")
        sequence = {"group": GROUPS, "channel": CHANNELS}.get(kind or "", USERS)
        return f"{start}{bar}{self.id(sequence, int(number))}"

    def _in_narrow(self, found: re.Match[str]) -> str:
        sequence = CHANNELS if found["name"] in {"channel", "stream"} else USERS
        numbers = [
            str(self.id(sequence, int(each))) if each else "" for each in found["ids"].split(",")
        ]
        return f"{found['name']}/{','.join(numbers)}"


def _sequence_of(name: str) -> str | None:
    if name in IDS:
        return IDS[name]
    if _GROUP_SETTING.fullmatch(name):
        return GROUPS
    return CHANNELS if _CHANNEL_SETTING.fullmatch(name) else None


# -- exceptions to the rule of names


def _emoji_code(numbers: Renumbering, row: Row, value: str) -> str:
    return str(numbers.id(EMOJI, int(value))) if row["reaction_type"] == "realm_emoji" else value


def _default_channel_group(numbers: Renumbering, _: Row, value: int) -> int:
    return numbers.id(DEFAULT_CHANNEL_GROUPS, value)


def _draft_to(numbers: Renumbering, row: Row, value: list[int]) -> list[int]:
    return numbers.ids(CHANNELS if row["type"] == "stream" else USERS, value)


def _profile_value(numbers: Renumbering, row: Row, value: str) -> str:
    if row["field_id"] not in numbers.people_fields:
        return value
    return orjson.dumps(numbers.ids(USERS, orjson.loads(value))).decode()


def _subject(numbers: Renumbering, row: Row, value: int) -> int:
    kind = subject_type(row["action"])
    sequence = None if kind is None else _SUBJECTS[kind]
    return value if sequence is None else numbers.id(sequence, value)


def _path_id(numbers: Renumbering, _: Row, value: str) -> str:
    return numbers.key(f"uploads/{value}").removeprefix("uploads/")


def _submessage(numbers: Renumbering, _: Row, value: str) -> str:
    """Return votes and tasks with new ids: their keys name the creator of the option or task."""
    data = orjson.loads(value)
    if isinstance(data, dict) and isinstance(data.get("key"), str):
        maker, comma, number = data["key"].partition(",")
        if data.get("type") == "vote" and maker.isdecimal():
            data["key"] = f"{numbers.id(USERS, int(maker))}{comma}{number}"
        elif data.get("type") == "strike" and number.isdecimal():
            data["key"] = f"{maker}{comma}{numbers.id(USERS, int(number))}"
        return orjson.dumps(data).decode()
    return value


def _fragment(numbers: Renumbering, _: Row, value: str) -> str:
    return numbers.narrow(value) if value.startswith("narrow/") else value


_SPECIAL: Final[Mapping[tuple[str, str], Callable[[Renumbering, Row, Any], Any]]] = {
    ("attachments", "path_id"): _path_id,
    ("audit_log", "subject_id"): _subject,
    ("default_channel_groups", "group_id"): _default_channel_group,
    ("drafts", "to_ids"): _draft_to,
    ("navigation_views", "fragment"): _fragment,
    ("profile_values", "value"): _profile_value,
    ("reactions", "emoji_code"): _emoji_code,
    ("submessages", "content"): _submessage,
    ("user_statuses", "emoji_code"): _emoji_code,
}
