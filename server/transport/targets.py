"""Which resource the head of a request names, and on which host."""

import re
from collections.abc import Sequence
from typing import Final

from server.transport.refusals import MalformedRequestError

_HOST: Final = re.compile(r"[\w.~%!$&'()*;=:\[\]-]*", re.ASCII)
"""A name or an address, perhaps with a port: whatever else is in it was meant for somebody else."""
_ABSOLUTE: Final = re.compile(r"https?://([^/?#]+)(.*)", re.IGNORECASE | re.DOTALL)


def place(target: str, hosts: Sequence[str], *, is_old: bool) -> tuple[str, str | None]:
    """The path with its query, and the host, as RFC 9112 has it: one in the target outweighs.

    `hosts` are the headers of that name. Raises MalformedRequestError if there are several, one is
    no host, or there is none, which only HTTP/1.0 (`is_old`) may leave out.
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
