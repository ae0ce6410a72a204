"""File responses: whole, a range, or not modified."""

import hashlib
import re
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Protocol

from server.api.endpoint import Request
from server.domain.attachments import PDF
from server.domain.errors import NotFoundError
from server.i18n import _

_RANGE: Final = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
SAFE_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"
    ),
    "X-Frame-Options": "DENY",
}
"""Whatever a file contains, no browser runs it on the realm's origin."""
_DOCUMENT_HEADERS: Final = {
    **SAFE_HEADERS,
    "Content-Security-Policy": "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'",
}
"""The same without a sandbox, in which browsers start no viewer: for types that cannot be HTML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A stored file, and how it is sent."""

    blob_key: str
    size: int
    digest: bytes
    content_type: str
    disposition: str
    cache_control: str


class StoredExport(Protocol):
    """An export with a file, which is a ZIP archive."""

    @property
    def blob_key(self) -> str | None: ...
    @property
    def size(self) -> int | None: ...
    @property
    def digest(self) -> bytes | None: ...


async def send_export(request: Request, export: StoredExport, filename: str) -> None:
    """Send the archive, which no cache may keep. Raises NotFoundError if it is gone."""
    assert export.blob_key is not None, "the caller has found its file"
    file = File(
        blob_key=export.blob_key,
        size=export.size or 0,
        digest=export.digest or b"",
        content_type="application/zip",
        disposition=f'attachment; filename="{filename}"',
        cache_control="private, no-store",
    )
    await send_file(request, file)


async def send_file(request: Request, file: File) -> None:
    """Send the file, or the requested range of it. Raises NotFoundError if it is gone."""
    etag = f'"{file.digest.hex()}"'
    headers = {
        **(_DOCUMENT_HEADERS if file.content_type == PDF else SAFE_HEADERS),
        "ETag": etag,
        "Cache-Control": file.cache_control,
        "Vary": "Authorization",
    }
    if is_known(request.headers.get("If-None-Match"), etag):
        await _send(request, 304, headers)
        return
    start, end = 0, file.size
    wanted = wanted_range(request.headers, etag, file.size)
    if wanted is not None:
        start, end = wanted
    headers |= {
        "Content-Type": file.content_type,
        "Content-Disposition": file.disposition,
        "Content-Length": str(end - start),
        "Accept-Ranges": "bytes",
    }
    if wanted is None:
        await _send(request, 200, headers, file, 0, file.size)
    elif start < end:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{file.size}"
        await _send(request, 206, headers, file, start, end - start)
    else:
        headers["Content-Range"] = f"bytes */{file.size}"
        await _send(request, 416, headers)


async def send_picture(
    request: Request, content: bytes, *, content_type: str, cache_control: str
) -> None:
    """Send a picture from memory, to be displayed inline."""
    etag = f'"{hashlib.sha256(content).hexdigest()}"'
    headers = {**SAFE_HEADERS, "ETag": etag, "Cache-Control": cache_control}
    if is_known(request.headers.get("If-None-Match"), etag):
        await _send(request, 304, headers)
        return
    stream = request.open_stream()
    await stream.start(
        {
            **request.response_headers,
            **headers,
            "Content-Type": content_type,
            "Content-Disposition": "inline",
            "Content-Length": str(len(content)),
        }
    )
    if request.method != "HEAD":
        await stream.send(content)
    stream.close()


async def redirect(request: Request, url: str, *, cache_control: str) -> None:
    """Redirect the client."""
    headers = {"Location": url, "Cache-Control": cache_control, "Content-Length": "0"}
    await _send(request, 302, headers)


async def _send(
    request: Request,
    status: int,
    headers: Mapping[str, str],
    file: File | None = None,
    start: int = 0,
    length: int = 0,
) -> None:
    if file is None or request.method == "HEAD":
        stream = request.open_stream()
        await stream.start(headers, status)
        stream.close()
        return
    # Opened before the response is started: it may be gone.
    async with aclosing(request.app.blobs.read(file.blob_key, start, length)) as chunks:
        try:
            first = await anext(chunks, b"")
        except FileNotFoundError:
            raise NotFoundError(_("This file does not exist.")) from None
        stream = request.open_stream()
        await stream.start({**request.response_headers, **headers}, status)
        if first:
            await stream.send(first)
        async for chunk in chunks:
            await stream.send(chunk)
        stream.close()


def is_known(given: str | None, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in (given or "").split(",")}
    return etag in tags or "*" in tags


def wanted_range(headers: Mapping[str, str], etag: str, size: int) -> tuple[int, int] | None:
    """Return start and end of the range; None: the whole file. An empty range is an error."""
    asked = _RANGE.fullmatch(headers.get("Range", "").replace(" ", ""))
    if asked is None or headers.get("If-Range", etag) != etag or asked[0] == "bytes=-":
        return None
    first, last = asked[1], asked[2]
    if not first:
        return max(0, size - int(last)), size if int(last) else 0
    if last and int(last) < int(first):
        return None
    start, end = int(first), min(size, int(last) + 1) if last else size
    return (start, end) if start < size else (0, 0)
