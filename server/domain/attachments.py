"""Files that people upload: their names, their addresses, and as what they are shown."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote

from server.domain.addresses import RealmAddress
from storage.ids import RealmId

PATH: Final = "/user_uploads"
MIB: Final = 1024 * 1024
MAX_PICTURE_MIB: Final = 5
"""Of what is made into an emoji, an icon or a logo."""
MAX_NAME_LENGTH: Final = 150
MAX_END_LENGTH: Final = 10
"""What follows the last dot says what it is, and is kept if it is no longer."""
UNNAMED: Final = "uploaded-file"
UNKNOWN_TYPE: Final = "application/octet-stream"

PDF: Final = "application/pdf"
"""Browsers show it in a viewer of their own, which a sandbox would keep from starting."""

SHOWN_TYPES: Final = {
    "aac": "audio/aac",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "flac": "audio/flac",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "m4a": "audio/mp4",
    "m4v": "video/mp4",
    "mov": "video/quicktime",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "oga": "audio/ogg",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "pdf": PDF,
    "png": "image/png",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "txt": "text/plain; charset=utf-8",
    "wav": "audio/wav",
    "weba": "audio/webm",
    "webm": "video/webm",
    "webp": "image/webp",
}
"""What browsers show in place, by the end of the name. Nothing here can hold a script; what a file
really holds does not count, since browsers are told to believe the type."""

_PATH_ID: Final = re.compile(r"[0-9]+/[0-9a-f]{2}/[A-Za-z0-9_-]{22}/[^/]+")
_ADDRESS: Final = re.compile(rf"{PATH}/(?:download/)?([^?#]+)")
_NOT_IN_ADDRESS: Final = re.compile(r"[^\w.]+")
_TOKEN_UNSAFE: Final = re.compile(r'[^\x20-\x7e]|["\\%]')


def clean_name(given: str) -> str:
    """The name to keep: without folders, and without what cannot be seen or turns text around."""
    name = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    shown = (character for character in name if unicodedata.category(character)[0] != "C")
    name = " ".join("".join(shown).split()).lstrip(".").strip()
    if len(name) > MAX_NAME_LENGTH:
        stem, dot, end = name.rpartition(".")
        end = f"{dot}{end}" if dot and len(end) <= MAX_END_LENGTH else ""
        name = (stem or name)[: MAX_NAME_LENGTH - len(end)].rstrip() + end
    return name or UNNAMED


def name_in_address(name: str) -> str:
    """Return the name as it stands in an address, which needs no escapes in Markdown."""
    return _NOT_IN_ADDRESS.sub("-", unicodedata.normalize("NFKC", name)).strip("-.") or UNNAMED


def url_of(path_id: str) -> str:
    """Return the address of a file, below the organization's."""
    return f"{PATH}/{path_id}"


def path_ids_in(links: Iterable[str], realm_id: RealmId, address: RealmAddress) -> list[str]:
    """Return the files of this organization to which links lead, whether they exist or not."""
    found: dict[str, None] = {}
    for link in links:
        match = _ADDRESS.fullmatch(link.removeprefix(address.url).partition("#")[0].split("?")[0])
        path_id = unquote(match[1]) if match else ""
        if _PATH_ID.fullmatch(path_id) and path_id.partition("/")[0] == str(realm_id):
            found[path_id] = None
    return list(found)


def type_by_name(name: str) -> str:
    """As what a file of this name is sent: what is not shown in place has no type."""
    return SHOWN_TYPES.get(name.rpartition(".")[2].lower(), UNKNOWN_TYPE)


def is_shown(content_type: str) -> bool:
    """Return whether browsers may show it in place, rather than only keep it."""
    return content_type != UNKNOWN_TYPE


def disposition(name: str, *, shown: bool) -> str:
    """Return the header that says whether to show the file, and under which name to keep it."""
    kind = "inline" if shown else "attachment"
    plain = _TOKEN_UNSAFE.sub("_", name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
