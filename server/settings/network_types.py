"""Types of settings: networks, hosts and ports."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, Self

from typing_extensions import override


class Networks:
    """A set of networks with membership of addresses."""

    def __init__(self, networks: str | list[str] | tuple[str, ...] = ()) -> None:
        self._networks: tuple[IPv4Network | IPv6Network, ...] = tuple(
            ip_network(part) for part in _parts(networks)
        )

    def __contains__(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)

    def __bool__(self) -> bool:
        return bool(self._networks)

    @override
    def __repr__(self) -> str:
        return f"Networks({self})"

    @override
    def __str__(self) -> str:
        return ", ".join(map(str, self._networks))


class Hosts(frozenset[str]):
    """Host names, separated by commas or spaces."""

    def __new__(cls, names: str | list[str] = "") -> Self:
        hosts = [part.lower() for part in _parts(names)]
        if not all(re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*", host) for host in hosts):
            raise ValueError(names)
        return super().__new__(cls, hosts)


class Destinations:
    """Networks, and host names: each part is whichever it can be."""

    def __init__(self, places: str | list[str] = "") -> None:
        parts = _parts(places)
        self._given = list(parts)
        networks = [part for part in parts if _is_network(part)]
        self.networks = Networks(networks)
        self.hosts = Hosts([part for part in parts if part not in networks])

    def with_also(self, places: str) -> "Destinations":
        """Return these and some more."""
        return Destinations([*self._given, *_parts(places)])

    @override
    def __repr__(self) -> str:
        return f"Destinations({self.networks!r}, {self.hosts!r})"

    @override
    def __str__(self) -> str:
        return ", ".join(self._given)


MAX_PORT: Final = 65_535


class Ports(frozenset[int]):
    """Port numbers, separated by commas or spaces."""

    def __new__(cls, ports: str | int | list[str | int]) -> Self:
        parts = ports if isinstance(ports, list) else _parts(str(ports))
        numbers = [int(part) for part in parts]
        if not all(0 < number <= MAX_PORT for number in numbers):
            raise ValueError(ports)
        return super().__new__(cls, numbers)


def _parts(text: str | list[str] | tuple[str, ...]) -> list[str]:
    return text.replace(",", " ").split() if isinstance(text, str) else list(text)


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True
