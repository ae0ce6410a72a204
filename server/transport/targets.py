"""Determine path and host of a request from its head."""

import re
from collections.abc import Sequence
from typing import Final

from server.transport.refusals import MalformedRequestError

_HOST: Final = re.compile(r"[\w.~%!$&'()*;=:\[\]-]*", re.ASCII)
"""A name or an address, optionally with a port. Other characters make requests ambiguous."""
_ABSOLUTE: Final = re.compile(r"https?://([^/?#]+)(.*)", re.IGNORECASE | re.DOTALL)


def place(target: str, hosts: Sequence[str], *, is_old: bool) -> tuple[str, str | None]:
    """Return the path with its query, and the host (RFC 9112: one in the target takes precedence).

    `hosts` are the `Host` headers. Raises MalformedRequestError if there are several, one is
    invalid, or there is none, which only HTTP/1.0 (`is_old`) may omit.
    """
    if len(hosts) > 1 or not (hosts or is_old):
        raise MalformedRequestError
    host = hosts[0] if hosts else None
    whole = _ABSOLUTE.fullmatch(target)
    if whole is not None:
        host, path = whole.groups()
        target = path if path.startswith("/") else f"/{path}"
    if host is not None and not _HOST.fullmatch(host):
        raise MalformedRequestError
    return target, host
