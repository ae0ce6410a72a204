"""Allow list of host names, against DNS rebinding.

A page under a name that its owner points to this machine has the same origin as this server, and
could read all of it. So names that strangers can register are refused.
"""

import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

_PORT: Final = re.compile(r":[0-9]{1,5}$")


class KnownHosts:
    """Addresses, names without a dot, names of this machine, and configured names."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        own = (socket.gethostname(), socket.getfqdn())
        self._names = {name.lower().rstrip(".") for name in (*names, *own) if name}

    def __contains__(self, host: object) -> bool:
        """Return whether the value of a Host header is allowed."""
        if not isinstance(host, str):
            return False
        name = _PORT.sub("", host.strip()).lower().removesuffix(".")
        return bool(name) and (
            ("." not in name.strip("[]") and ":" not in name)
            or name in self._names
            or name.endswith(".localhost")
            or _is_address(name)
        )


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
