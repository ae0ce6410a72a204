"""Pages in HTML or plain text, with their common headers and static files."""

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
"""Headers of HTML pages: not cached, and not embedded in other sites."""


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
    """Return a static file of the package; its style sheet begins with the common one."""
    parts = [(package, name)] if name != STYLE else [("server", "base.css"), (package, STYLE)]
    return b"\n".join(files(of).joinpath("static", each).read_bytes() for of, each in parts)
