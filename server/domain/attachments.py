"""Uploaded files: names, URLs and content types."""

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
"""Of files that become an emoji, an icon or a logo."""
MAX_NAME_LENGTH: Final = 150
MAX_END_LENGTH: Final = 10
"""Maximum length of a file extension that a shortened name keeps."""
UNNAMED: Final = "uploaded-file"
UNKNOWN_TYPE: Final = "application/octet-stream"

PDF: Final = "application/pdf"
"""Browsers display it in a viewer of their own, which a sandbox would keep from starting."""

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
"""Types that browsers display inline, by file extension. None can hold a script; the actual content
does not matter, because browsers are ordered to trust the type.
"""

_PATH_ID: Final = re.compile(r"[0-9]+/[0-9a-f]{2}/[A-Za-z0-9_-]{22}/[^/]+")
_ADDRESS: Final = re.compile(rf"{PATH}/(?:download/)?([^?#]+)")
_NOT_IN_ADDRESS: Final = re.compile(r"[^\w.]+")
_TOKEN_UNSAFE: Final = re.compile(r'[^\x20-\x7e]|["\\%]')


def clean_name(given: str) -> str:
    """Return a safe file name: without folders, invisible or bidirectional control characters."""
    name = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    shown = (character for character in name if unicodedata.category(character)[0] != "C")
    name = " ".join("".join(shown).split()).lstrip(".").strip()
    if len(name) > MAX_NAME_LENGTH:
        stem, dot, end = name.rpartition(".")
        end = f"{dot}{end}" if dot and len(end) <= MAX_END_LENGTH else ""
        name = (stem or name)[: MAX_NAME_LENGTH - len(end)].rstrip() + end
    return name or UNNAMED


def name_in_address(name: str) -> str:
    """Return the name for a URL, which needs no escapes in Markdown."""
    return _NOT_IN_ADDRESS.sub("-", unicodedata.normalize("NFKC", name)).strip("-.") or UNNAMED


def url_of(path_id: str) -> str:
    """Return the file's path below the realm's URL."""
    return f"{PATH}/{path_id}"


def path_ids_in(links: Iterable[str], realm_id: RealmId, address: RealmAddress) -> list[str]:
    """Return the files of this realm that the links refer to, existing or not."""
    found = (path_id_in(link, realm_id, address) for link in links)
    return list(dict.fromkeys(each for each in found if each is not None))


def path_id_in(link: str, realm_id: RealmId, address: RealmAddress) -> str | None:
    """Return the file of this realm that the link refers to, existing or not."""
    match = _ADDRESS.fullmatch(link.removeprefix(address.url).partition("#")[0].split("?")[0])
    path_id = unquote(match[1]) if match else ""
    is_here = _PATH_ID.fullmatch(path_id) and path_id.partition("/")[0] == str(realm_id)
    return path_id if is_here else None


def type_by_name(name: str) -> str:
    """Return the content type for a file name; without a type it is not displayed inline."""
    return SHOWN_TYPES.get(name.rpartition(".")[2].lower(), UNKNOWN_TYPE)


def is_shown(content_type: str) -> bool:
    """Return whether browsers may display it inline, not only download it."""
    return content_type != UNKNOWN_TYPE


def disposition(name: str, *, shown: bool) -> str:
    """Return the Content-Disposition header: inline or attachment, and the name."""
    kind = "inline" if shown else "attachment"
    plain = _TOKEN_UNSAFE.sub("_", name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
