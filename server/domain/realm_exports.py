"""Files with an organization's data: of which kinds there are, and where they are to be had."""

from typing import Final

from storage.exports import Scope

KEYS: Final = "exports"
"""What the keys of their contents begin with."""
PATH: Final = "/exports"
KINDS: Final[dict[int, Scope]] = {1: "public", 2: "consented"}
NAMES: Final = {"public": 1, "full_with_consent": 2}
"""As clients of later levels call them."""


def url_of(blob_key: str, link_secret: str | None) -> str:
    """Below the organization's address; a client that knows it may have the file.

    `link_secret` stands for the secret in the blob's key, once links have been renewed.
    """
    _, _, folder, secret = blob_key.split("/", 3)
    return f"{PATH}/{folder}/{link_secret or secret}/organization.zip"
