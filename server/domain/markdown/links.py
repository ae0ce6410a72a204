"""Link targets: allowed addresses, and URLs of places in the realm."""

import re
from collections.abc import Iterable
from urllib.parse import quote

from storage.ids import ChannelId, UserId

SAFE_SCHEMES = ("http", "https", "mailto", "tel", "sms", "xmpp", "sip", "sips", "geo", "ftp")

_SCHEME = re.compile(rf"(?:{'|'.join(SAFE_SCHEMES)}):", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ENCODED = str.maketrans({character: f"%{ord(character):02X}" for character in ' "<>\\^`{|}'})
_DOMAIN = re.compile(
    r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+(?::\d{1,5})?(?=[/?#]|$)", re.IGNORECASE
)
_ATTACHMENT = re.compile(r"(?:https?://[^/?#]+)?/user_uploads/", re.IGNORECASE)
_UPLOAD = re.compile(r"/user_uploads/[^/?#]")
_SLASH = r"(?:/|\\|%2f|%5c)"
"""Also encoded, and as some proxies and browsers read it."""
_DOT_SEGMENT = re.compile(rf"{_SLASH}(?:\.|%2e){{1,2}}(?:{_SLASH}|$)", re.IGNORECASE)
_OWN_PLACES = ("/user_uploads/", "/#narrow/")
_VIDEO = re.compile(r"\.(?:mp4|webm|mov|m4v)$", re.IGNORECASE)
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|avif|hei[cf]|tiff?)$", re.IGNORECASE)

_AUDIO = re.compile(r"\.(?:aac|flac|mp3|wav)$", re.IGNORECASE)


def safe_href(destination: str) -> str | None:
    """Return the address for an `href`, or None if it must not be a link.

    Only a listed scheme, a path of this server, a fragment, or a bare domain passes, so that new
    dangerous schemes of browsers are no concern.
    """
    address = destination.strip(" ")
    if not address or _CONTROL.search(address):
        return None

    address = address.translate(_ENCODED)
    if address.startswith("//"):
        # A protocol-relative URL must not look like a place of this server.
        address = address.lstrip("/")
    elif address[0] in "/#" or _SCHEME.match(address):
        return address
    if _DOMAIN.match(address):
        return "http://" + address
    return None


def relative_href(href: str, origin: str) -> str:
    """Return an address of the realm relative to its URL; any other as it is.

    `origin` is the realm's URL without a trailing slash; empty: none.
    """
    if not origin or href[: len(origin)].lower() != origin.lower():
        return href
    place = href[len(origin) :]
    return place if place.startswith(_OWN_PLACES) and not _leads_up(place) else href


def is_attachment(href: str) -> bool:
    return _ATTACHMENT.match(href) is not None and not _leads_up(href)


def is_upload(href: str) -> bool:
    """Return whether it is an attachment of this very realm."""
    return _UPLOAD.match(href) is not None and not _leads_up(href)


def is_image(href: str) -> bool:
    return _IMAGE.search(_path(href)) is not None


def is_video(href: str) -> bool:
    return _VIDEO.search(_path(href)) is not None


def is_audio(href: str) -> bool:
    """Return whether clients are given a player for it: the types that the protocol names."""
    return _AUDIO.search(_path(href)) is not None


def is_placed(href: str) -> bool:
    """Return whether the syntax of images is for it: an uploaded picture or recording.

    Since level 467 of the protocol it is for nothing else.
    """
    return is_upload(href) and (is_image(href) or is_audio(href))


def _leads_up(href: str) -> bool:
    """Return whether browsers normalise its path, and so request another address."""
    return _DOT_SEGMENT.search(_path(href)) is not None


def _path(href: str) -> str:
    return href.partition("?")[0].partition("#")[0]


def narrow_href(
    channel_id: ChannelId, channel: str, topic: str | None = None, message_id: int | None = None
) -> str:
    """Return the URL of a channel, a topic or a message, in the form that clients parse."""
    slug = f"{channel_id}-{channel.replace(' ', '-')}"
    href = f"/#narrow/channel/{_fragment(slug)}"
    if topic is not None:
        href += f"/topic/{_fragment(topic)}"
    if message_id is not None:
        href += f"/near/{message_id}"
    return href


def direct_href(user_ids: Iterable[UserId], message_id: int) -> str:
    """Return the URL of a message in the conversation with these users."""
    people = ",".join(str(user_id) for user_id in sorted(user_ids))
    return f"/#narrow/dm/{people}-dm/near/{message_id}"


def _fragment(text: str) -> str:
    """Percent-encode with dots, because browsers decode `%` in fragments inconsistently."""
    return quote(text, safe="").replace(".", "%2E").replace("%", ".")
