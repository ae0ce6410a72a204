"""Where the organizations of a server are reached."""

from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from storage.address_folding import ascii_domain

API_PREFIX: Final = "/api/v1"
"""What the paths of all endpoints begin with."""


def mail_domain(url: str) -> str:
    """Return the name of the address's host as mail has it: in ASCII, without the port."""
    host = urlsplit(url).hostname or "localhost"
    if ":" in host:
        return f"[IPv6:{host}]"
    return ascii_domain(host)


def mailable(address: str) -> str:
    """Return the address in ASCII, as every mail server can take it; its domain is encoded.

    Raises ValueError for anything else.
    """
    local, _, domain = address.rpartition("@")
    try:
        return Address(addr_spec=f"{local}@{ascii_domain(domain)}").addr_spec
    except (LookupError, AttributeError, MessageError) as error:  # the library's, for some
        raise ValueError(str(error)) from error


_split: Final = lru_cache(maxsize=1_000)(urlsplit)


@dataclass(frozen=True, slots=True)
class RealmAddress:
    """One organization's address: `url` without a slash at its end."""

    url: str
    gravatars: bool = True
    """Whether who has no picture is shown with that of gravatar.com for their address."""

    @property
    def host(self) -> str:
        """As in the Host header: with the port, where there is one."""
        return _split(self.url).netloc

    @property
    def domain(self) -> str:
        """The host's name alone: what stands after the @ of addresses that the server makes up."""
        return _split(self.url).hostname or "localhost"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The server's own address, and the domain at whose subdomains organizations live, if any."""

    public_url: str = "http://localhost"
    root_domain: str | None = None
    gravatars: bool = True

    def of_realm(self, subdomain: str) -> RealmAddress:
        """Return the address of the organization of this subdomain ("": the one at the root)."""
        if not subdomain or self.root_domain is None:
            return RealmAddress(self.public_url, self.gravatars)
        public = urlsplit(self.public_url)
        port = f":{public.port}" if public.port and ":" not in self.root_domain else ""
        url = f"{public.scheme}://{subdomain}.{self.root_domain}{port}"
        return RealmAddress(url, self.gravatars)
