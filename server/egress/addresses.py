"""Distinguish public addresses from those of private networks."""

import re
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address

_NOT_PUBLIC: Final = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # shared by the customers of a provider; metadata of some clouds
            "127.0.0.0/8",
            "168.63.129.16/32",  # the host of virtual machines in a large cloud
            "169.254.0.0/16",  # link-local: metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "2001::/23",  # Teredo among others
            "2001:db8::/32",
            "2002::/16",  # 6to4
            "3fff::/20",
        ),
    )
)
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""The allocated part of IPv6; the rest is private or unassigned."""
_AROUND_IPV4: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""Mapped, and translated by NAT64: the address inside decides."""
_NUMBERS: Final = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)


def is_public(address: Address) -> bool:
    """Return whether the address is known to be public."""
    address = unwrapped(address)
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return not any(address in network for network in _NOT_PUBLIC)


def unwrapped(address: Address) -> Address:
    """Return the IPv4 address within an IPv6 one; any other address without its interface."""
    if isinstance(address, IPv4Address):
        return address
    plain = IPv6Address(int(address))
    if any(plain in network for network in _AROUND_IPV4):
        return IPv4Address(int(plain) & 0xFFFF_FFFF)
    return plain


def literal(host: str) -> Address | None:
    """Return the address that the host is, in any notation; None for a name."""
    host = host.rstrip(".")
    try:
        return ip_address(host)
    except ValueError:
        pass
    # Resolvers also take 127.1, 0x7f000001 and 2130706433 for what they are.
    if _NUMBERS.fullmatch(host) is None:
        return None
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None
