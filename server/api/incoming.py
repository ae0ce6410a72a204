"""Request bodies with a file, written to the store as they arrive."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from multipart import (
    MultipartError,
    MultipartSegment,
    ParserLimitReached,
    PushMultipartParser,
    parse_options_header,
)

from server.api.forms import MAX_FIELDS
from server.domain.attachments import MIB
from server.domain.errors import BadRequestError, DomainError
from server.i18n import _
from storage.blobs import BlobStore, IncomingBlob

MAX_FORM_BYTES: Final = 256 * 1024
"""Maximum size of the form besides the file."""
IDLE_TIMEOUT_SECONDS: Final = 60.0
"""Timeout of a silent sender."""
MIN_BYTES_PER_SECOND: Final = 16 * 1024
"""Minimum average rate of a file."""


class IncomingBody:
    """A body that is read while it arrives, with backpressure to the sender."""

    def __init__(self) -> None:
        self._chunk: bytes | None = None
        self._is_whole = False
        self._is_unwanted = False
        self._arrived = asyncio.Event()
        self._taken: asyncio.Future[None] | None = None
        self._ended = asyncio.Event()

    def add(self, chunk: bytes) -> asyncio.Future[None] | None:
        """Add the next chunk; return a future that is done when another may come. None: at once."""
        if self._is_unwanted:
            return None
        self._chunk = chunk
        self._arrived.set()
        self._taken = asyncio.get_running_loop().create_future()
        return self._taken

    def end(self) -> None:
        """Mark the end of the body."""
        self._is_whole = True
        self._arrived.set()
        self._ended.set()

    def give_up(self) -> None:
        """Discard what is still to come."""
        self._is_unwanted = True
        self._chunk = None
        self._release()

    async def rest(self, seconds: float) -> None:
        """Discard what is still to come, and wait for its end up to this timeout."""
        self.give_up()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the chunks. Raises BadRequestError after a timeout."""
        while True:
            try:
                async with asyncio.timeout(IDLE_TIMEOUT_SECONDS):
                    await self._arrived.wait()
            except TimeoutError:
                raise BadRequestError(_("The upload has stopped.")) from None
            self._arrived.clear()
            chunk, self._chunk = self._chunk, None
            if chunk is not None:
                yield chunk
                if self._is_whole:
                    self._arrived.set()
                self._release()
            elif self._is_whole:
                return

    def _release(self) -> None:
        if self._taken is not None and not self._taken.done():
            self._taken.set_result(None)


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """An uploaded file that no row refers to yet."""

    name: str
    """The client's name of it: any text."""
    content: IncomingBlob


@dataclass(slots=True)
class Received:
    """The received form; its receiver discards the files that were not kept."""

    fields: dict[str, str]
    files: list[ReceivedFile]

    async def discard(self) -> None:
        for file in self.files:
            await file.content.discard()


async def receive(
    body: AsyncIterator[bytes],
    content_type: str,
    store: BlobStore,
    received: Received,
    *,
    max_file_bytes: int,
) -> None:
    """Receive a multipart form with at most one file.

    Raises a DomainError as soon as it is invalid.
    """
    kind, options = parse_options_header(content_type)
    if kind != "multipart/form-data":
        raise BadRequestError(_("You must specify a file to upload, as multipart/form-data."))
    try:
        # Only the allowed size is parsed, so the parser needs no limits for files.
        parser = PushMultipartParser(options.get("boundary", ""), max_segment_count=MAX_FIELDS)
        reader = _MultipartReader(store, received, max_file_bytes)
        async for chunk in body:
            for event in parser.parse(chunk):
                await reader.take(event)
        parser.close()
    except ParserLimitReached:
        raise BadRequestError(_("The form is too large.")) from None
    except (MultipartError, UnicodeDecodeError):
        raise BadRequestError(_("Malformed form")) from None


class _MultipartReader:
    def __init__(self, store: BlobStore, received: Received, max_file_bytes: int) -> None:
        self._store = store
        self._received = received
        self._max_file_bytes = max_file_bytes
        self._field: str | None = None
        self._text = b""
        self._left = MAX_FORM_BYTES

    async def take(self, event: MultipartSegment | bytes | bytearray | None) -> None:
        if isinstance(event, MultipartSegment):
            await self._begin(event)
        elif event is None:
            if self._field is not None:
                self._received.fields[self._field] = self._text.decode()
        elif self._field is None:
            content = self._received.files[-1].content
            if content.size + len(event) > self._max_file_bytes:
                raise too_large(self._max_file_bytes)
            await content.write(bytes(event))
        else:
            self._left -= len(event)
            if self._left < 0:
                raise BadRequestError(_("The form is too large."))
            self._text += event

    async def _begin(self, segment: MultipartSegment) -> None:
        self._text = b""
        self._field = segment.name or ""
        if segment.filename is not None or segment.content_type is not None:
            if self._received.files:
                raise BadRequestError(_("You may only upload one file at a time"))
            self._field = None
            file = ReceivedFile(segment.filename or "", await self._store.receive())
            self._received.files.append(file)


def too_large(max_file_bytes: int) -> DomainError:
    """Return the error for a file that is larger than this."""
    return BadRequestError(
        _(
            "Uploaded file is larger than the allowed limit of {limit} MiB",
            limit=max_file_bytes // MIB,
        )
    )


def body_timeout(announced: int) -> float:
    """Return the timeout of a body with this size."""
    return IDLE_TIMEOUT_SECONDS + announced / MIN_BYTES_PER_SECOND
