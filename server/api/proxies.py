"""Whose request it is: the peer's, or that of a user for whom a trusted proxy forwards."""

import re
from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol

MAX_HOPS: Final = 20
_WITH_PORT: Final = re.compile(r"^\[(?P<v6>[^\]]+)\](?::\d+)?$|^(?P<v4>\d+\.\d+\.\d+\.\d+):\d+$")


class Networks(Protocol):
    def __contains__(self, address: str) -> bool: ...


def client_address(peer: str, forwarded: str | None, trusted: Networks) -> str:
    """The nearest address that is no trusted proxy's; `forwarded` lists them, the nearest last.

    What an untrusted peer says about itself is not believed, nor what comes before an entry
    that is no address.
    """
    if forwarded is None:
        return peer
    nearest = _plain(peer) or peer
    for hop in reversed(forwarded.rsplit(",", MAX_HOPS)[-MAX_HOPS:]):
        address = _plain(hop.strip())
        if nearest not in trusted or address is None:
            break
        nearest = address
    return nearest


def _plain(text: str) -> str | None:
    """The address without port, brackets and zone, an IPv4 one as such; None if it is none."""
    match = _WITH_PORT.match(text)
    if match is not None:
        text = match["v6"] or match["v4"]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)
