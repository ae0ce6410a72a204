"""How declarations of settings say what a value must be."""

from msgspec import Meta

BASE_URL = r"^https?://[^?#\s]+$"
"""Pattern of the address of an API."""


def described(description: str, *, ge: int | None = None, le: int | None = None) -> Meta:
    """Return what a setting must be, as the end of the sentence "NAME must be ..."."""
    return Meta(description=description, ge=ge, le=le)
