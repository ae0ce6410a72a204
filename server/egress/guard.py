"""The egress guard: check a URL's text, and again the address that its name resolves to."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import SplitResult, quote, urlsplit

from server.egress.addresses import Address, is_public, literal, unwrapped
from server.egress.errors import EgressRefusedError
from server.i18n import _
from server.settings.network_types import Destinations, Ports
from storage.address_folding import ascii_domain

MAX_URL_LENGTH: Final = 2_048
_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+")
_NOT_IN_URLS: Final = re.compile(r"[\x00-\x20\x7f\\]")
_NOT_PUBLIC: Final = _(
    "It leads into a private network, to which this server does not connect. The operator of the"
    " server permits it with PARLEY_EGRESS_ALLOW."
)


@dataclass(frozen=True, slots=True)
class CheckedUrl:
    """A valid URL, parsed once, so that no two parsers can disagree about it."""

    scheme: str
    host: str
    """In ASCII, without brackets."""
    port: int
    path: str
    """With the query, in ASCII; without a fragment."""

    @classmethod
    def of(cls, url: str) -> Self:
        """Parse a URL. Raises EgressRefusedError unless it is that of a web server."""
        if len(url) > MAX_URL_LENGTH:
            raise EgressRefusedError(
                _("The URL has more than {limit} characters.", limit=MAX_URL_LENGTH)
            )
        if _NOT_IN_URLS.search(url):
            raise EgressRefusedError(_("The URL has blanks or other characters that no URL has."))
        try:
            parts = urlsplit(url)
            scheme, port = parts.scheme, parts.port
            host = _ascii(parts.hostname or "")
        except ValueError:
            raise EgressRefusedError(_("This is not a URL.")) from None
        if scheme not in _PORTS:
            raise EgressRefusedError(_("The URL must begin with https:// or http://."))
        if "@" in parts.netloc:
            raise EgressRefusedError(_("The URL must not hold a name or a password."))
        if ":" not in host and not _HOST.fullmatch(host):
            raise EgressRefusedError(_("The URL names no host."))
        return cls(scheme, host, _PORTS[scheme] if port is None else port, _path(parts))

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.is_at_usual_port else f"{host}:{self.port}"

    @property
    def is_at_usual_port(self) -> bool:
        return self.port == _PORTS[self.scheme]

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def _ascii(host: str) -> str:
    return host if host.isascii() else ascii_domain(host)


def _path(parts: SplitResult) -> str:
    # What is encoded already stays as it is; what is not ASCII is encoded.
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return f"{path}?{query}" if query else path


@dataclass(frozen=True, slots=True)
class Guard:
    """Allows public addresses on `ports`, and the operator's destinations on any port."""

    allowed: Destinations
    ports: Ports

    def check(self, target: CheckedUrl) -> None:
        """Raise EgressRefusedError if the URL is forbidden before its name is resolved."""
        address = literal(target.host)
        if address is not None:
            self.check_address(target.host, target.port, address)
        elif not self._is_allowed(target.host) and not self.allowed.networks:
            self._check_port(target.port)

    def check_address(self, host: str, port: int, address: Address) -> None:
        """Raise EgressRefusedError unless connections to this address are allowed for the host."""
        if self._is_allowed(host) or str(unwrapped(address)) in self.allowed.networks:
            return
        if not is_public(address):
            raise EgressRefusedError(_NOT_PUBLIC)
        self._check_port(port)

    def names(self, target: CheckedUrl) -> bool:
        """Return whether the operator's destinations include the host by name or address."""
        address = literal(target.host)
        return self._is_allowed(target.host) or (
            address is not None and str(unwrapped(address)) in self.allowed.networks
        )

    def permitted(self, host: str, port: int, addresses: Iterable[str]) -> list[str]:
        """Return the addresses of a host name that may be connected to.

        Raises EgressRefusedError if any of its addresses is forbidden: an honest name does not
        resolve to both kinds.
        """
        found = list(dict.fromkeys(addresses))
        for each in found:
            self.check_address(host, port, ip_address(each))
        return found

    def _is_allowed(self, host: str) -> bool:
        return host.lower().rstrip(".") in self.allowed.hosts

    def _check_port(self, port: int) -> None:
        if port not in self.ports:
            raise EgressRefusedError(
                _(
                    "This server does not connect to port {port}. The operator of the server"
                    " permits it with PARLEY_EGRESS_PORTS.",
                    port=port,
                )
            )
