"""Thumbnails: formats, and their HTML in messages."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
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
TRANSCODED: Final = Format("1920x1080.webp", 1920, 1080, animated=False, ending="-large.webp")
"""Only of pictures that browsers cannot display, in place of the original."""
FORMATS: Final = (ANIMATED, STILL, TRANSCODED)
UNCOMMON_TYPES: Final = frozenset({"image/heic", "image/heif", "image/tiff"})
"""Content types of pictures that browsers cannot display."""

_SHOWN: Final = re.compile(
    rf'(<div class="message_inline_image"><a href="{PATH}/([^"?#]+)"[^<>]*>)'
    r"<img [^<>]*>(</a></div>)"
)
"""Cannot occur in a user's text: the serializer escapes it."""
_INLINE: Final = re.compile(
    r'<img alt="(?P<alt>[^"]*)" class="inline-image[^"]*"[^<>]*'
    rf' data-original-src="(?P<original>{PATH}/(?P<path>[^"?#]+)[^"]*)"[^<>]*>'
)
"""Of a picture in the text, before and after it has a thumbnail."""


_BELOW: Final = re.compile(
    rf'\n?<div class="message_inline_image[^"]*"><a href="({PATH}/[^"]*)"[^<>]*>'
    r"<(?:img [^<>]*|video [^<>]*></video)></a></div>"
)
_PLAYER: Final = re.compile(
    rf'<audio [^<>]* src="(?P<original>{PATH}/[^"]*)" title="(?P<alt>[^"]*)"></audio>'
)


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
    cannot be displayed is removed, since no client has to decode it: its link is in the text, or
    takes its place there.
    """

    def below_its_link(match: re.Match[str]) -> str:
        picture = pictures.get(unquote(match[2]))
        if picture is None:
            return match[0]
        if not _is_displayed(picture):
            return ""
        classes = [PENDING_CLASS] if picture.width is None else []
        return match[1] + _image(picture, classes) + match[3]

    def in_the_text(match: re.Match[str]) -> str:
        picture = pictures.get(unquote(match["path"]))
        if picture is None:
            return match[0]
        if not _is_displayed(picture):
            return _link(match)
        classes = ["inline-image", *([PENDING_CLASS] if picture.width is None else [])]
        return _image(picture, classes, alt=match["alt"], original=match["original"])

    return _INLINE.sub(in_the_text, _SHOWN.sub(below_its_link, html))


def with_links_to_unknown(html: str, is_known: Callable[[str], bool]) -> str:
    """Return the HTML of a new text; of files that are not known, it has links alone."""

    def below_its_link(match: re.Match[str]) -> str:
        return match[0] if is_known(unescape(match[1])) else ""

    def in_the_text(match: re.Match[str]) -> str:
        return match[0] if is_known(unescape(match["original"])) else _link(match)

    html = _BELOW.sub(below_its_link, html)
    return _PLAYER.sub(in_the_text, _INLINE.sub(in_the_text, html))


def _link(match: re.Match[str]) -> str:
    return f'<a href="{match["original"]}">{match["alt"]}</a>'


def _is_displayed(picture: UploadedImage) -> bool:
    return has_thumbnails(picture.content_type) and picture.width != 0


def _image(
    picture: UploadedImage, classes: Sequence[str], *, alt: str | None = None, original: str = ""
) -> str:
    """Return the element; `alt` and `original` are escaped already."""
    source = PENDING_PATH
    attributes: dict[str, str] = {}
    if alt is not None:
        attributes["alt"] = alt
    if classes:
        attributes["class"] = " ".join(classes)
    if picture.width is not None and picture.is_animated:
        attributes["data-animated"] = "true"
    attributes["data-original-content-type"] = picture.content_type
    if picture.width is not None:
        attributes["data-original-dimensions"] = f"{picture.width}x{picture.height}"
        source = thumbnail_url(picture.path_id, ANIMATED if picture.is_animated else STILL)
    if original:
        attributes["data-original-src"] = original
    if picture.width is not None and picture.content_type in UNCOMMON_TYPES:
        attributes["data-transcoded-image"] = TRANSCODED.name
    attributes["src"] = escape(source)
    written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f"<img {written}>"


def thumbnail_url(path_id: str, wanted: Format) -> str:
    return f"{PATH}/thumbnail/{path_id}/{wanted.name}"
