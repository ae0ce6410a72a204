"""Client addresses: the peer's, or the one that a trusted proxy forwards."""

import re
from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol

FORWARDING: Final = (
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
)
"""Headers that proxies add."""
MAX_HOPS: Final = 20
_WITH_PORT: Final = re.compile(r"^\[(?P<v6>[^\]]+)\](?::\d+)?$|^(?P<v4>\d+\.\d+\.\d+\.\d+):\d+$")


class AddressSet(Protocol):
    def __contains__(self, address: str) -> bool: ...


def client_address(peer: str, forwarded: str | None, trusted: AddressSet) -> str:
    """Return the nearest address that is no trusted proxy's; `forwarded` has the nearest last.

    The header of an untrusted peer is ignored, and so is everything before an invalid entry.
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


def traceparent_of(peer: str, headers: Mapping[str, str], trusted: AddressSet) -> str | None:
    """Return the `traceparent` of a trusted proxy: those of clients would fill the collector."""
    received = headers.get("Traceparent")
    is_trusted = received is not None and (_plain(peer) or peer) in trusted
    return received if is_trusted else None


def _plain(text: str) -> str | None:
    """Return the address without port, brackets and zone, and without IPv6 mapping.

    None if it is invalid.
    """
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
