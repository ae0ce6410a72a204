"""Content that an export names, but does not contain."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, TypeVar

from server.imports.records import RemoteFile

Value = TypeVar("Value")


class Downloads(Protocol):
    """Fetches content from the server of the other program."""

    async def fetched(
        self, file: RemoteFile, take: Callable[[AsyncIterator[bytes]], Awaitable[Value]]
    ) -> Value:
        """Return what `take` makes of the content, which it reads in pieces, once for each attempt.

        Raises FileRefusedError if this content cannot be had, and ImportStoppedError if it seems
        that no content can for now. Errors of `take` itself are raised as they are.
        """
        ...
