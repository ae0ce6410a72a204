"""Read documents of BSON files one by one (bsonspec.org), as mongodump writes them."""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import IO, Any, Final

from server.i18n import _
from server.imports.errors import MalformedContentError

MAX_DOCUMENT_BYTES: Final = 17 * 1024 * 1024
"""MongoDB's own limit, and a little more."""
MAX_DEPTH: Final = 100

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTH: Final = struct.Struct("<i")
_LONG: Final = struct.Struct("<q")
_DOUBLE: Final = struct.Struct("<d")

_SIZES: Final = {
    0x06: 0,  # undefined
    0x0A: 0,  # null
    0xFF: 0,  # smallest key
    0x7F: 0,  # largest key
    0x11: 8,  # timestamp of the oplog
    0x13: 16,  # decimal
}
"""Sizes of values of which the content is not needed, by type."""


class MalformedBsonError(MalformedContentError):
    """It is no BSON, or a document is too large."""


def documents_in(file: IO[bytes], *, with_bytes: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the documents of a file. Raises MalformedBsonError.

    Ids of objects are hexadecimal. Values of rare types are None, and bytes too unless
    `with_bytes` is set.
    """
    while head := file.read(_LENGTH.size):
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
        if not _LENGTH.size < length <= MAX_DOCUMENT_BYTES:
            raise MalformedBsonError(_("no document of a possible size"))
        body = file.read(length - _LENGTH.size)
        if len(body) < length - _LENGTH.size:
            raise MalformedBsonError(_("the end is missing"))
        try:
            yield _document(head + body, 0, 0, with_bytes)
        except MalformedBsonError:
            raise
        except (struct.error, IndexError, ValueError, OverflowError) as error:
            raise MalformedBsonError(str(error)) from error


def _document(data: bytes, start: int, depth: int, with_bytes: bool) -> dict[str, Any]:  # noqa: FBT001 - on every value's way
    if depth > MAX_DEPTH:
        raise MalformedBsonError(_("documents are nested too deeply"))
    end = start + _LENGTH.unpack_from(data, start)[0] - 1
    if not start < end < len(data):
        raise MalformedBsonError(_("a document has an impossible size"))
    place = start + _LENGTH.size
    found: dict[str, Any] = {}
    while place < end:
        kind = data[place]
        name_end = data.index(0, place + 1)
        name = data[place + 1 : name_end].decode(errors="replace")
        found[name], place = _value(data, kind, name_end + 1, depth, with_bytes)
    return found


def _value(  # noqa: PLR0911, C901 - a type each
    data: bytes,
    kind: int,
    place: int,
    depth: int,
    with_bytes: bool,  # noqa: FBT001 - as above
) -> tuple[Any, int]:
    """Return the value at a place, and where it ends."""
    match kind:
        case 0x01:
            return _DOUBLE.unpack_from(data, place)[0], place + _DOUBLE.size
        case 0x02 | 0x0D | 0x0E:
            text = place + _LENGTH.size
            end = text + _size(data, place)
            return data[text : end - 1].decode(errors="replace"), end
        case 0x03:
            return _document(data, place, depth + 1, with_bytes), place + _size(data, place)
        case 0x04:
            items = _document(data, place, depth + 1, with_bytes)
            return list(items.values()), place + _size(data, place)
        case 0x05:
            start = place + _LENGTH.size + 1
            end = start + _size(data, place)
            return data[start:end] if with_bytes else None, end
        case 0x07:
            return data[place : place + 12].hex(), place + 12
        case 0x08:
            return data[place] == 1, place + 1
        case 0x09:
            return _moment(_LONG.unpack_from(data, place)[0]), place + _LONG.size
        case 0x10:
            return _LENGTH.unpack_from(data, place)[0], place + _LENGTH.size
        case 0x12:
            return _LONG.unpack_from(data, place)[0], place + _LONG.size
        case 0x0B:
            return None, data.index(0, data.index(0, place) + 1) + 1
        case _ if kind in _SIZES:
            return None, place + _SIZES[kind]
    raise MalformedBsonError(_("unknown type {kind}", kind=kind))


def _size(data: bytes, place: int) -> int:
    size: int = _LENGTH.unpack_from(data, place)[0]
    if not 0 <= size <= len(data) - place:
        raise MalformedBsonError(_("a value has an impossible size"))
    return size


def _moment(milliseconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
