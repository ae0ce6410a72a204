"""Exports of Zulip, made up: small ones for tests, large ones for benchmarks."""

import io
import itertools
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from testkit.slack_exports import FIRST_DAY, WORDS

FOLDER = "zulip-export-k3v_0x"
REALM_ID = 2
PERSONAL, CHANNEL, GROUP = 1, 2, 3
READ, STARRED = 1, 2
MESSAGES_A_FILE = 1_000
START = 1_700_000_000

Row = dict[str, Any]


@dataclass
class ZulipExport:
    """The tables of an export, which tests add to and change."""

    realm: dict[str, Any] = field(
        default_factory=lambda: {
            "zerver_realm": [{"id": REALM_ID, "name": "Old place", "string_id": "old"}],
            "zerver_userprofile": [],
            "zerver_userprofile_mirrordummy": [],
            "zerver_userprofile_crossrealm": [
                {"id": 4, "email": "notification-bot@zulip.com", "recipient_id": 904}
            ],
            "zerver_stream": [],
            "zerver_recipient": [],
            "zerver_subscription": [],
            "zerver_huddle": [],
            "zerver_defaultstream": [],
            "zerver_realmemoji": [],
            "zerver_reaction": [],
            "import_source": "zulip",
        }
    )
    messages: list[Row] = field(default_factory=list)
    usermessages: list[Row] = field(default_factory=list)
    attachments: list[Row] = field(default_factory=list)
    records: dict[str, list[Row]] = field(
        default_factory=lambda: {each: [] for each in ("avatars", "emoji", "uploads")}
    )
    files: dict[str, bytes] = field(default_factory=dict)
    """Contents by their names in the archive, below the folder of the export."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(100_000))

    def add(self, table: str, **row: Any) -> Row:
        """Add a row of the organization."""
        row = {"id": next(self._numbers), **row}
        self.realm.setdefault(table, []).append(row)
        return row

    def person(self, number: int, name: str, **facts: Any) -> int:
        """Add an account; return the recipient of messages to it."""
        recipient = 1_000 + number
        local = name.lower().replace(" ", ".")
        row = {
            "id": number,
            "full_name": name,
            "delivery_email": f"{local}@example.com",
            "email": f"user{number}@old.example.org",
            "role": 400,
            "is_active": True,
            "is_bot": False,
            "is_mirror_dummy": False,
            "timezone": "Europe/Berlin",
            "avatar_source": "G",
            "date_joined": START,
            **facts,
        }
        dummy = "_mirrordummy" if row["is_mirror_dummy"] else ""
        self.realm[f"zerver_userprofile{dummy}"].append(row)
        self.add("zerver_recipient", id=recipient, type=PERSONAL, type_id=number)
        return recipient

    def channel(self, number: int, name: str, members: Iterable[int], **facts: Any) -> int:
        """Add a channel; return the recipient of messages in it."""
        recipient = 2_000 + number
        row = {
            "id": number,
            "name": name,
            "description": "",
            "date_created": START,
            "creator": None,
            "deactivated": False,
            "invite_only": False,
            "is_web_public": False,
            "history_public_to_subscribers": True,
            "message_retention_days": None,
            **facts,
        }
        self.realm["zerver_stream"].append(row)
        self.add("zerver_recipient", id=recipient, type=CHANNEL, type_id=number)
        self.subscribe(recipient, members)
        return recipient

    def group(self, number: int, members: Iterable[int]) -> int:
        """Add a group of people; return the recipient of messages to it."""
        recipient = 3_000 + number
        self.realm["zerver_huddle"].append({"id": number, "huddle_hash": f"{number:040x}"})
        self.add("zerver_recipient", id=recipient, type=GROUP, type_id=number)
        self.subscribe(recipient, members)
        return recipient

    def group_of_people(
        self,
        number: int,
        name: str,
        members: Iterable[int],
        subgroups: Iterable[int] = (),
        **facts: Any,
    ) -> None:
        """Add a user group; without a name, as the value of a setting."""
        self.add("zerver_usergroup", id=number, realm=REALM_ID)
        if name:
            row = {"name": name, "description": "", "is_system_group": False, "deactivated": False}
            self.add("zerver_namedusergroup", **{**row, "id": number, **facts})
        for member in members:
            self.add("zerver_usergroupmembership", user_group=number, user_profile=member)
        for subgroup in subgroups:
            self.add("zerver_groupgroupmembership", supergroup=number, subgroup=subgroup)

    def subscribe(self, recipient: int, members: Iterable[int], **facts: Any) -> None:
        for member in members:
            row = {"user_profile": member, "recipient": recipient, "active": True, **facts}
            self.add("zerver_subscription", **row, color="#76ce90", is_muted=False)

    def message(
        self,
        number: int,
        sender: int,
        recipient: int,
        content: str,
        topic: str = "\x07",
        **facts: Any,
    ) -> Row:
        row = {
            "id": number,
            "sender": sender,
            "recipient": recipient,
            "realm": REALM_ID,
            "subject": topic,
            "content": content,
            "rendered_content": f"<p>{content}</p>",
            "date_sent": START + number + 0.25,
            "last_edit_time": None,
            "edit_history": None,
            "sending_client": 1,
            **facts,
        }
        self.messages.append(row)
        return row

    def flags(self, message: int, person: int, mask: int) -> None:
        row = {"user_profile": person, "message": message, "flags_mask": mask}
        self.usermessages.append({"id": next(self._numbers), **row})

    def react(self, message: int, person: int, name: str, **facts: Any) -> None:
        row = {"message": message, "user_profile": person, "emoji_name": name, **facts}
        self.add("zerver_reaction", **{"reaction_type": "unicode_emoji", **row})

    def file(self, folder: str, path: str, content: bytes, **record: Any) -> None:
        """Add a file, and its record."""
        self.records.setdefault(folder, []).append({"path": path, "s3_path": path, **record})
        self.files[f"{folder}/{path}"] = content

    def write(self, path: Path, *, compressed: bool = True) -> Path:
        with tarfile.open(path, "w:gz" if compressed else "w") as archive:
            add(archive, "realm.json", as_json(self.realm))
            for number in range(0, max(len(self.messages), 1), MESSAGES_A_FILE):
                rows = self.messages[number : number + MESSAGES_A_FILE]
                ids = {row.get("id") for row in rows}
                flags = [row for row in self.usermessages if row.get("message") in ids]
                tables = {"zerver_message": rows, "zerver_usermessage": flags}
                name = f"messages-{number // MESSAGES_A_FILE + 1:06}.json"
                add(archive, name, as_json(tables))
            add(archive, "attachment.json", as_json({"zerver_attachment": self.attachments}))
            for folder, records in self.records.items():
                add(archive, f"{folder}/records.json", as_json(records))
            for name, content in self.files.items():
                add(archive, name, content)
        return path


def as_json(value: Any) -> bytes:
    """Return a table in the form in which Zulip writes it."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(f"{FOLDER}/{name}")
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def write_large_export(
    path: Path, *, messages: int, channels: int = 50, people: int = 500, readers: int = 20
) -> Path:
    """Write an export of so many messages, each with so many rows of those who received it."""
    export = ZulipExport()
    for n in range(people):
        export.person(10 + n, f"Person {n}", role=100 if n == 0 else 400)
    places = [
        export.channel(n + 1, f"channel {n}", range(10 + n % 7, 10 + people, 7))
        for n in range(channels)
    ]
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for first in range(0, messages, MESSAGES_A_FILE):
            numbers = range(first + 1, min(first + MESSAGES_A_FILE, messages) + 1)
            rows = [_message(export, number, places, people) for number in numbers]
            flags: list[Mapping[str, int]] = [
                {
                    "id": number * readers + n,
                    "user_profile": 10 + (number + n) % people,
                    "message": number,
                    "flags_mask": STARRED | READ if (number + n) % 5_000 == 0 else READ,
                }
                for number in numbers
                for n in range(readers)
            ]
            tables = {"zerver_message": rows, "zerver_usermessage": flags}
            add(archive, f"messages-{first // MESSAGES_A_FILE + 1:06}.json", as_json(tables))
            export.messages.clear()
        add(archive, "realm.json", as_json(export.realm))
        add(archive, "attachment.json", as_json({"zerver_attachment": []}))
        for folder in export.records:
            add(archive, f"{folder}/records.json", b"[]")
    return path


def _message(export: ZulipExport, number: int, places: list[int], people: int) -> Row:
    begin = number % len(WORDS)
    text = " ".join((WORDS[begin:] + WORDS)[: 4 + number % 23])
    if number % 10 == 0:
        text = f"@**Person {number % people}** {text}"
    elif number % 17 == 0:
        text = f"**{text}** [as written there](https://example.com/{number}) :tada:"
    elif number % 23 == 0:
        text = f"{text} `code {number}`"
    if number % 20 == 0:
        for n in range(3):
            export.react(number, 10 + n, "+1")
    place = places[number % len(places)]
    moment = FIRST_DAY.timestamp() + number * 30
    sender = 10 + number * 7 % people
    return export.message(number, sender, place, text, f"topic {number // 97}", date_sent=moment)
