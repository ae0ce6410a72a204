"""The files of the browser client: compressed beforehand, cached by browsers for ever."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from server.api.endpoint import Access, Request
from server.api.files import is_known, wanted_range
from server.api.pages import PageRoute
from server.domain.errors import NotFoundError
from server.i18n import _
from server.runtime.pages import HEADERS, Page
from server.web.build import URL_PREFIX, folder_of

HASHED: Final = "assets/"
"""Files below it have their hash in their name: another content has another name."""
IMMUTABLE: Final = "public, max-age=31536000, immutable"
REVALIDATED: Final = "no-cache"
WORKER: Final = "sw.js"
ENCODINGS: Final = {"br": ".br", "gzip": ".gz"}
"""Content encodings by the suffix of the compressed sibling, the better one first."""
JAVASCRIPT: Final = "text/javascript; charset=utf-8"
MEDIA_TYPES: Final = {
    ".avif": "image/avif",
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": JAVASCRIPT,
    ".json": "application/json",
    ".m4a": "audio/mp4",
    ".map": "application/json",
    ".mjs": JAVASCRIPT,
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".ogg": "audio/ogg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".wav": "audio/wav",
    ".webm": "video/webm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
BINARY: Final = "application/octet-stream"
WORKER_POLICY: Final = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
"""A worker's policy is that of its own script."""


@dataclass(frozen=True, slots=True)
class _Asset:
    content: bytes
    encoding: str
    has_encodings: bool
    """Whether the response depends on Accept-Encoding."""

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


async def asset(request: Request) -> Page:
    """Return a file of the build. Raises NotFoundError."""
    name = request.path_params["filename"]
    return await _send(request, name, IMMUTABLE if name.startswith(HASHED) else REVALIDATED)


async def worker(request: Request) -> Page:
    """Return the service worker, at the root: it serves all pages."""
    headers = {"Service-Worker-Allowed": "/"}
    return await _send(request, WORKER, REVALIDATED, headers)


async def _send(
    request: Request, name: str, cache_control: str, more: Mapping[str, str] | None = None
) -> Page:
    path = _path_in(folder_of(request.app), name)
    accepted = _accepted(request.headers.get("Accept-Encoding", ""))
    if path is None or (found := await asyncio.to_thread(_read, path, accepted)) is None:
        raise NotFoundError(_("There is no such page."))
    kind = MEDIA_TYPES.get(path.suffix, BINARY)
    headers = {**HEADERS, "Cache-Control": cache_control, "ETag": found.etag, **(more or {})}
    if kind == JAVASCRIPT:
        headers["Content-Security-Policy"] = WORKER_POLICY
    if found.has_encodings:
        headers["Vary"] = "Accept-Encoding"
    if is_known(request.headers.get("If-None-Match"), found.etag):
        return Page(HTTPStatus.NOT_MODIFIED, b"", kind, headers)
    if found.encoding:
        headers["Content-Encoding"] = found.encoding
        return Page(HTTPStatus.OK, found.content, kind, headers)
    return _part(request, found, kind, headers)


def _part(request: Request, found: _Asset, kind: str, headers: dict[str, str]) -> Page:
    """Return the file, or the range that a player of sounds asks for."""
    size = len(found.content)
    headers["Accept-Ranges"] = "bytes"
    wanted = wanted_range(request.headers, found.etag, size)
    if wanted is None:
        return Page(HTTPStatus.OK, found.content, kind, headers)
    start, end = wanted
    if start >= end:
        headers["Content-Range"] = f"bytes */{size}"
        return Page(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, b"", kind, headers)
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return Page(HTTPStatus.PARTIAL_CONTENT, found.content[start:end], kind, headers)


def _path_in(folder: Path, name: str) -> Path | None:
    """Return the path of a file in the folder; None for a name that is hidden or leads out."""
    parts = name.split("/")
    if any(not part or part.startswith(".") or "\\" in part or "\0" in part for part in parts):
        return None
    return folder.joinpath(*parts)


def _read(path: Path, accepted: frozenset[str]) -> _Asset | None:
    """Return the file, compressed if there is a sibling that the browser accepts."""
    siblings = {name: path.with_name(path.name + end) for name, end in ENCODINGS.items()}
    try:
        there = [name for name, sibling in siblings.items() if sibling.is_file()]
        encoding = next((name for name in there if name in accepted), "")
        content = (siblings[encoding] if encoding else path).read_bytes()
    except (OSError, ValueError):
        return None
    return _Asset(content, encoding, bool(there))


def _accepted(header: str) -> frozenset[str]:
    """Return the encodings of Accept-Encoding without those of quality 0."""
    accepted = set()
    for entry in header.lower().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        if not any(part.replace(" ", "").rstrip("0.") == "q=" for part in parameters):
            accepted.add(name)
    return frozenset(accepted)


PAGES = (
    PageRoute("GET", URL_PREFIX + "{filename}", Access.ANONYMOUS, asset, is_rate_limited=False),
    PageRoute("GET", f"/{WORKER}", Access.ANONYMOUS, worker, is_rate_limited=False),
)
