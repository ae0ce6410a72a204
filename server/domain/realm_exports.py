"""Exports of a realm: kinds, and download links."""

from typing import Final, Literal

from storage.exports import Scope

KEYS: Final = "exports"
"""Prefix of their blob keys."""
PATH: Final = "/exports"
KINDS: Final[dict[int, Scope]] = {1: "public", 2: "consented"}
ExportType = Literal["public", "full_with_consent"]
TYPES: Final[dict[int, ExportType]] = {1: "public", 2: "full_with_consent"}
"""Names of the kinds. Clients of levels before 449 send the numbers."""
WITHOUT_CONSENT: Final = "full_without_consent"
"""An export of the private data of all users, which only the operator makes (`parley export`)."""


def url_of(blob_key: str, link_secret: str | None) -> str:
    """Return the path below the realm's URL; it authorises the download.

    `link_secret` replaces the secret in the blob's key, once links have been renewed.
    """
    _, _, folder, secret = blob_key.split("/", 3)
    return f"{PATH}/{folder}/{link_secret or secret}/organization.zip"
