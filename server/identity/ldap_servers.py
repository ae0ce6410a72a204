"""Connections to the configured LDAP servers, which may carry passwords."""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import ldap3
import structlog
from ldap3.core.exceptions import LDAPException
from typing_extensions import override

from server.identity.errors import DirectoryAwayError
from server.settings import Settings, variable_of

logger = structlog.get_logger(__name__)

Result = TypeVar("Result")

PORTS: Final = {"ldap": 389, "ldaps": 636}
PROTOCOL_ERRORS: Final = (LookupError, ValueError, TypeError, AttributeError)
"""Errors of the library for a response that is not LDAP, but of another kind of server."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of an LDAP server."""

    host: str
    port: int
    by_tls: bool

    @classmethod
    def of(cls, url: str) -> "ServerAddress":
        parts = urlsplit(url.strip())
        port = parts.port or PORTS[parts.scheme]
        return cls(parts.hostname or "", port, by_tls=parts.scheme == "ldaps")

    @override
    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class LdapServers:
    """The configured servers, which are replicas of one directory."""

    def __init__(self, settings: Settings) -> None:
        assert settings.ldap_url is not None, "only where there is a directory"
        self._settings = settings
        self._places = [ServerAddress.of(url) for url in settings.ldap_url.split(",")]

    def first(self, work: Callable[[ServerAddress], Result]) -> Result:
        """Return the response of the first available server, which later requests try first."""
        *others, last = places = self._places
        for place in others:
            try:
                return work(place)
            except DirectoryAwayError as error:
                logger.warning("ldap.server_unavailable", place=str(place), reason=error.reason)
                self._places = [each for each in places if each != place] + [place]
        return work(last)

    @contextmanager
    def connection(self, place: ServerAddress) -> Iterator[Any]:
        """Open a connection that may carry passwords. Raises DirectoryAwayError."""
        try:
            connection = self._new_connection(place)
            with closing(_Line(connection)):
                connection.open(read_server_info=False)
                if self._settings.ldap_starttls and not place.by_tls:
                    connection.start_tls(read_server_info=False)
                yield connection
        except (LDAPException, OSError) as error:
            raise DirectoryAwayError(str(error) or repr(error)) from error
        except PROTOCOL_ERRORS as error:
            raise DirectoryAwayError(f"{place} does not speak LDAP") from error

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """Validate the certificate. Raises DirectoryAwayError."""
        path = self._settings.ldap_ca
        place = f"{variable_of('ldap_ca')} names {path}"
        try:
            if path is not None:
                path.read_bytes()
            trust = ssl.create_default_context(cafile=path)
        except ssl.SSLError as error:
            raise DirectoryAwayError(f"{place}, which holds no certificate in PEM") from error
        except OSError as error:
            raise DirectoryAwayError(f"{place}, but: {error.strerror}") from error
        trust.minimum_version = ssl.TLSVersion.TLSv1_2  # some builds of Python leave it to OpenSSL
        return trust

    def _new_connection(self, place: ServerAddress) -> Any:
        # So that there is time for the others if one does not respond.
        seconds = max(1, self._settings.ldap_timeout_seconds // len(self._places))
        server = ldap3.Server(
            place.host,
            place.port,
            use_ssl=place.by_tls,
            tls=_Tls(self._trust),
            get_info=ldap3.NONE,
            connect_timeout=seconds,
        )
        # Referrals are not followed: the password would go wherever a response says.
        return ldap3.Connection(
            server, check_names=False, auto_referrals=False, receive_timeout=seconds
        )


@dataclass(frozen=True, slots=True)
class _Line:
    """Closes connections that failed to open, too, which the library leaves open."""

    connection: Any

    def close(self) -> None:
        self.connection.strategy.close()
        if self.connection.socket is not None:
            self.connection.socket.close()


class _Tls(ldap3.Tls):  # type: ignore[misc]
    """Validates certificates as Python does, instead of by the library's outdated rules."""

    def __init__(self, trust: ssl.SSLContext) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._trust = trust

    @override
    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        # Otherwise what is sent in two parts waits for an acknowledgement between them: 40 ms.
        connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.socket = self._trust.wrap_socket(
            connection.socket, server_hostname=connection.server.host
        )
