"""Errors of imports."""

from typing import Final

from server.i18n import _

ELSEWHERE: Final = _("Another process continues this import.")


class ImportProblemError(Exception):
    """Why there is no import, or no more of it: one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        """It can be translated, unlike `str` of the error."""


class MalformedContentError(ValueError):
    """What a file contains is not in its format: how, in a few words."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        """It can be translated, unlike `str` of the error."""


class FileRefusedError(ImportProblemError):
    """The file cannot be imported, and nothing was changed."""


class ImportStoppedError(ImportProblemError):
    """An import stopped in between, and another run continues it."""
