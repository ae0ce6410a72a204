"""Which addresses a link may lead to, and how places inside the organization are addressed."""

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


def safe_href(destination: str) -> str | None:
    """Return the address as it may stand in `href`, or None where it must not be a link.

    Only a listed scheme, a path of this server, a fragment, or a bare domain passes, so that there
    is nothing to keep up with when browsers learn a new dangerous scheme.
    """
    address = destination.strip(" ")
    if not address or _CONTROL.search(address):
        return None

    address = address.translate(_ENCODED)
    if address.startswith("//"):
        # Another host, by the scheme of the page: it must not look like a place of this server.
        address = address.lstrip("/")
    elif address[0] in "/#" or _SCHEME.match(address):
        return address
    if _DOMAIN.match(address):
        return "http://" + address
    return None


def relative_href(href: str, origin: str) -> str:
    """The address of a file or a place of the organization below its own; any other as it is.

    `origin` is where the organization is reached, without a slash at its end; empty: nowhere.
    """
    if not origin or href[: len(origin)].lower() != origin.lower():
        return href
    place = href[len(origin) :]
    return place if place.startswith(_OWN_PLACES) and not _leads_up(place) else href


def is_attachment(href: str) -> bool:
    return _ATTACHMENT.match(href) is not None and not _leads_up(href)


def is_upload(href: str) -> bool:
    """Return whether it is an attachment of this very organization."""
    return _UPLOAD.match(href) is not None and not _leads_up(href)


def is_image(href: str) -> bool:
    return _IMAGE.search(_path(href)) is not None


def is_video(href: str) -> bool:
    return _VIDEO.search(_path(href)) is not None


def _leads_up(href: str) -> bool:
    """Return whether browsers leave folders of its path out, and so ask for another address."""
    return _DOT_SEGMENT.search(_path(href)) is not None


def _path(href: str) -> str:
    return href.partition("?")[0].partition("#")[0]


def narrow_href(
    channel_id: ChannelId, channel: str, topic: str | None = None, message_id: int | None = None
) -> str:
    """Return the address of a channel, a topic or a message, as clients take it apart again."""
    slug = f"{channel_id}-{channel.replace(' ', '-')}"
    href = f"/#narrow/channel/{_fragment(slug)}"
    if topic is not None:
        href += f"/topic/{_fragment(topic)}"
    if message_id is not None:
        href += f"/near/{message_id}"
    return href


def direct_href(user_ids: Iterable[UserId], message_id: int) -> str:
    """Return the address of a message in the conversation with these people."""
    people = ",".join(str(user_id) for user_id in sorted(user_ids))
    return f"/#narrow/dm/{people}-dm/near/{message_id}"


def _fragment(text: str) -> str:
    """Percent-encoding with dots, since browsers decode `%` in fragments as they like."""
    return quote(text, safe="").replace(".", "%2E").replace("%", ".")
