"""URLs of a server and of its realms."""

from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from storage.address_folding import ascii_domain

API_PREFIX: Final = "/api/v1"
"""Prefix of all endpoints' paths."""


def mail_domain(url: str) -> str:
    """Return the host as an email domain: in ASCII, without the port."""
    host = urlsplit(url).hostname or "localhost"
    if ":" in host:
        return f"[IPv6:{host}]"
    return ascii_domain(host)


def mailable(address: str) -> str:
    """Return the address in ASCII, as every mail server accepts it; its domain is encoded.

    Raises ValueError for anything else.
    """
    local, _, domain = address.rpartition("@")
    try:
        return Address(addr_spec=f"{local}@{ascii_domain(domain)}").addr_spec
    except (LookupError, AttributeError, MessageError) as error:  # the library's, for some
        raise ValueError(str(error)) from error


def is_loopback(host: str) -> bool:
    """Return whether a host, with or without a port, is the machine itself by any of its names."""
    name = host
    try:
        is_bare = host.count(":") > 1 and not host.startswith("[")
        name = host if is_bare else urlsplit(f"//{host}").hostname or ""
        address = ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


_split: Final = lru_cache(maxsize=1_000)(urlsplit)


@dataclass(frozen=True, slots=True)
class RealmAddress:
    """The URL of one realm: `url` without a trailing slash."""

    url: str
    gravatars: bool = True
    """Whether users without an avatar are shown with that of gravatar.com for their address."""

    @property
    def host(self) -> str:
        """Value of the Host header: with the port, if any."""
        return _split(self.url).netloc

    @property
    def is_loopback(self) -> bool:
        """Whether each machine finds itself at this URL."""
        return is_loopback(self.host)

    @property
    def domain(self) -> str:
        """The host without the port: the domain of addresses that the server generates."""
        return _split(self.url).hostname or "localhost"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The server's own URL, and the domain with a subdomain for each realm, if any."""

    public_url: str = "http://localhost"
    root_domain: str | None = None
    gravatars: bool = True

    def of_realm(self, subdomain: str) -> RealmAddress:
        """Return the URL of the realm with this subdomain ("" for the root)."""
        if not subdomain or self.root_domain is None:
            return RealmAddress(self.public_url, self.gravatars)
        public = urlsplit(self.public_url)
        port = f":{public.port}" if public.port and ":" not in self.root_domain else ""
        url = f"{public.scheme}://{subdomain}.{self.root_domain}{port}"
        return RealmAddress(url, self.gravatars)
