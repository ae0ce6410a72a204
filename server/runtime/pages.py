"""Pages in HTML or plain text, and the headers and static files that all of them share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final

STYLE: Final = "style.css"
HTML: Final = "text/html; charset=utf-8"
PLAIN: Final = "text/plain"
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}
"""Of HTML pages: not cached, and embedded in no other site."""


@dataclass(frozen=True, slots=True)
class Page:
    """A response outside the API."""

    status: int
    body: bytes
    kind: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Sequence[str] = ()
    """Values of Set-Cookie."""


def static_content(package: str, name: str) -> bytes:
    """A static file of the package; its style sheet begins with the one that all pages share."""
    parts = [(package, name)] if name != STYLE else [("server", "base.css"), (package, STYLE)]
    return b"\n".join(files(of).joinpath("static", each).read_bytes() for of, each in parts)
