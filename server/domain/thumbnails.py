"""Thumbnails: formats, and their HTML in messages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Final, Protocol
from urllib.parse import unquote

from server.domain.attachments import PATH

PENDING_PATH: Final = "/static/images/loading/loader-black.svg"
"""Placeholder in a message for an image without a thumbnail yet."""
PENDING_CLASS: Final = "image-loading-placeholder"


@dataclass(frozen=True, slots=True)
class Format:
    """A thumbnail format."""

    name: str
    max_width: int
    max_height: int
    animated: bool
    ending: str
    """Suffix of its blob key."""
    format: str = "webp"


STILL: Final = Format("840x560.webp", 840, 560, animated=False, ending=".webp")
ANIMATED: Final = Format("840x560-anim.webp", 840, 560, animated=True, ending="-anim.webp")
FORMATS: Final = (ANIMATED, STILL)

_SHOWN: Final = re.compile(
    rf'(<div class="message_inline_image"><a href="{PATH}/([^"?#]+)"[^<>]*>)'
    r"<img [^<>]*>(</a></div>)"
)
"""Cannot occur in a user's text: the serializer escapes it."""


class UploadedImage(Protocol):
    """The fields of an uploaded picture that its display needs."""

    @property
    def path_id(self) -> str: ...

    @property
    def content_type(self) -> str: ...

    @property
    def width(self) -> int | None:
        """In pixels; None until it has been examined, 0 if it cannot be displayed."""
        ...

    @property
    def height(self) -> int | None: ...

    @property
    def is_animated(self) -> bool: ...


def has_thumbnails(content_type: str) -> bool:
    """Return whether files of this type get thumbnails."""
    return content_type.startswith("image/")


def key_of(blob_key: str, wanted: Format) -> str:
    """Return the blob key of a file's thumbnail."""
    return f"thumbnails/{blob_key.partition('/')[2]}{wanted.ending}"


def keys_of(blob_key: str) -> tuple[str, ...]:
    """Return the blob keys for all formats."""
    return tuple(key_of(blob_key, each) for each in FORMATS)


def with_thumbnails(html: str, pictures: Mapping[str, UploadedImage]) -> str:
    """Return a message's HTML with thumbnails for its images, as far as there are any.

    `pictures` are those that the message refers to, by path; others stay as they are. An image that
    cannot be displayed is removed: its link is in the text, and no client has to decode it.
    """

    def shown(match: re.Match[str]) -> str:
        picture = pictures.get(unquote(match[2]))
        if picture is None:
            return match[0]
        if not has_thumbnails(picture.content_type) or picture.width == 0:
            return ""
        return match[1] + _image(picture) + match[3]

    return _SHOWN.sub(shown, html)


def _image(picture: UploadedImage) -> str:
    facts = f'data-original-content-type="{picture.content_type}"'
    if picture.width is None:
        return f'<img class="{PENDING_CLASS}" {facts} src="{PENDING_PATH}">'
    if picture.is_animated:
        facts = f'data-animated="true" {facts}'
    size = f'data-original-dimensions="{picture.width}x{picture.height}"'
    source = thumbnail_url(picture.path_id, ANIMATED if picture.is_animated else STILL)
    return f'<img {facts} {size} src="{escape(source)}">'


def thumbnail_url(path_id: str, wanted: Format) -> str:
    return f"{PATH}/thumbnail/{path_id}/{wanted.name}"
