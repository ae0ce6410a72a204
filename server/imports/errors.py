"""Errors of imports."""

from typing import Final

ELSEWHERE: Final = "Another process continues this import."


class FileRefusedError(Exception):
    """The file cannot be imported, and nothing was changed; the message is one sentence."""


class ImportStoppedError(Exception):
    """An import stopped in between, and another run continues it; the message is one sentence."""
