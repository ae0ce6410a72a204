"""Files with an organization's data: of which kinds there are, and where they are to be had."""

from typing import Final

from storage.exports import Scope

KEYS: Final = "exports"
"""What the keys of their contents begin with."""
PATH: Final = "/exports"
KINDS: Final[dict[int, Scope]] = {1: "public", 2: "consented"}
NAMES: Final = {"public": 1, "full_with_consent": 2}
"""As clients of later levels call them."""


def url_of(blob_key: str) -> str:
    """Below the organization's address; whoever knows it may have the file."""
    _, _, rest = blob_key.split("/", 2)
    return f"{PATH}/{rest}/organization.zip"
