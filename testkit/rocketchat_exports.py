"""Dumps of the database of Rocket.Chat, made up."""

import struct
import zipfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHUNK_BYTES = 261_120


def bson(value: Mapping[str, Any]) -> bytes:
    """A document of the types that dumps have."""
    body = b"".join(_element(name, each) for name, each in value.items()) + b"\0"
    return struct.pack("<i", len(body) + 4) + body


def _element(name: str, value: Any) -> bytes:
    kind, content = _encoded(value)
    return bytes([kind]) + name.encode() + b"\0" + content


def _encoded(value: Any) -> tuple[int, bytes]:  # noqa: PLR0911 - a type each
    if value is None:
        return 0x0A, b""
    if isinstance(value, bool):
        return 0x08, bytes([value])
    if isinstance(value, float):
        return 0x01, struct.pack("<d", value)
    if isinstance(value, int):
        return 0x10, struct.pack("<i", value)
    if isinstance(value, bytes):
        return 0x05, struct.pack("<i", len(value)) + b"\0" + value
    if isinstance(value, datetime):
        return 0x09, struct.pack("<q", round((value - EPOCH).total_seconds() * 1000))
    if isinstance(value, Mapping):
        return 0x03, bson(value)
    if isinstance(value, list):
        return 0x04, bson({str(n): each for n, each in enumerate(value)})
    text = str(value).encode(errors="surrogateescape") + b"\0"
    return 0x02, struct.pack("<i", len(text)) + text


def write_dump(path: Path, **collections: Iterable[Mapping[str, Any]]) -> Path:
    """Write a dump of these collections; `__` in a name stands for a dot."""
    wanted = {"users": (), "rocketchat_room": (), "rocketchat_message": (), **collections}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, documents in wanted.items():
            content = b"".join(map(bson, documents))
            archive.writestr(f"dump/rocketchat/{name.replace('__', '.')}.bson", content)
    return path


def user(key: str, name: str, **facts: Any) -> dict[str, Any]:
    username = name.lower()
    emails = [{"address": f"{username}@x.example", "verified": True}]
    basic = {"_id": key, "name": name, "username": username, "emails": emails, "active": True}
    return {**basic, "type": "user", "roles": ["user"], "__rooms": ["GENERAL"], **facts}


def room(key: str, name: str, **facts: Any) -> dict[str, Any]:
    return {"_id": key, "t": "c", "name": name, **facts}


def message(key: str, sender: str, text: str, moment: datetime, **facts: Any) -> dict[str, Any]:
    return {"_id": key, "rid": "GENERAL", "msg": text, "ts": moment, "u": {"_id": sender}, **facts}


def chunks_of(key: str, content: bytes, size: int = CHUNK_BYTES) -> list[dict[str, Any]]:
    """The chunks of a file, in their order."""
    starts = range(0, len(content), size)
    return [
        {"files_id": key, "n": n, "data": content[start : start + size]}
        for n, start in enumerate(starts)
    ]
