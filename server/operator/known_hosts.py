"""Host names under which a port may be asked for.

A page on a name that its owner lets point to this machine (DNS rebinding) is of the same origin as
whatever answers here, and may read all of it. So names that strangers can register are refused.
"""

import re
import socket
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

_PORT: Final = re.compile(r":[0-9]{1,5}$")


class KnownHosts:
    """Addresses, names without a dot, names of this machine, and those that are listed."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        own = (socket.gethostname(), socket.getfqdn())
        self._names = {name.lower().rstrip(".") for name in (*names, *own) if name}

    def __contains__(self, host: object) -> bool:
        """Whether it is one, as a Host header has it."""
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
