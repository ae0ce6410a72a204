"""Rules of exports of a user's own data."""

from datetime import timedelta
from typing import Final

KEYS: Final = "exports"
"""Prefix of their blob keys, as of the organization's exports."""
PATH: Final = "/account_exports"
RETENTION: Final = timedelta(days=7)
"""Retention of a file."""
WINDOW: Final = timedelta(days=1)
MAX_IN_WINDOW: Final = 3
"""Exports that a user may ask for within a window."""


def path_of(export_id: int) -> str:
    """Return the path of the file at the organization's address, for the user alone."""
    return f"{PATH}/{export_id}/account.zip"
