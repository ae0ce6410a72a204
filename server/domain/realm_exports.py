"""Exports of a realm: kinds, and download links."""

from typing import Final

from storage.exports import Scope

KEYS: Final = "exports"
"""Prefix of their blob keys."""
PATH: Final = "/exports"
KINDS: Final[dict[int, Scope]] = {1: "public", 2: "consented"}
NAMES: Final = {"public": 1, "full_with_consent": 2}
"""Names of later API levels."""


def url_of(blob_key: str, link_secret: str | None) -> str:
    """Return the path below the realm's URL; it authorises the download.

    `link_secret` replaces the secret in the blob's key, once links have been renewed.
    """
    _, _, folder, secret = blob_key.split("/", 3)
    return f"{PATH}/{folder}/{link_secret or secret}/organization.zip"
