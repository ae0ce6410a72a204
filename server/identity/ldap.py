"""Sign-in through LDAP: find the entry by name, and verify the password by a bind.

Loaded only if configured. The library blocks on responses, so it runs in threads of ours.
"""

import asyncio
import re
import socket
import ssl
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import ldap3
import structlog
from ldap3.core.exceptions import LDAPException
from ldap3.utils.conv import escape_filter_chars
from ldap3.utils.dn import escape_rdn
from typing_extensions import override

from server.domain.accounts import as_full_name, checked_email
from server.domain.errors import BadRequestError
from server.i18n import _
from server.identity.errors import DirectoryAwayError, IdentityError
from server.identity.identity import Identity
from server.settings import Settings, variable_of

logger = structlog.get_logger(__name__)

Result = TypeVar("Result")

PORTS: Final = {"ldap": 389, "ldaps": 636}
MAX_PASSWORD_LENGTH: Final = 1_000
_NAME: Final = re.compile(r"[\w.@+' -]{1,256}")
"""Valid names: without characters that have a meaning in filters and distinguished names."""

SUCCESS, TOO_MANY, NO_SUCH_ENTRY = 0, 4, 32
REFUSED_RESULT_CODES: Final = frozenset({19, NO_SUCH_ENTRY, 34, 48, 49, 50, 53})
"""Result codes for a wrong password, an unknown entry, or a locked account."""

PROTOCOL_ERRORS: Final = (LookupError, ValueError, TypeError, AttributeError)
"""Errors of the library for a response that is not LDAP, but of another kind of server."""


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """The LDAP entry of a user."""

    dn: str
    identity: Identity
    directory_id: str | None
    """The permanent id of the entry; None if it has none."""


@dataclass(frozen=True, slots=True)
class _ServerAddress:
    """The address of an LDAP server."""

    host: str
    port: int
    by_tls: bool

    @classmethod
    def of(cls, url: str) -> "_ServerAddress":
        parts = urlsplit(url.strip())
        port = parts.port or PORTS[parts.scheme]
        return cls(parts.hostname or "", port, by_tls=parts.scheme == "ldaps")

    @override
    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Ldap:
    """The configured LDAP servers, which are replicas of one directory."""

    def __init__(self, settings: Settings) -> None:
        assert settings.ldap_url is not None, "only where there is a directory"
        self._settings = settings
        self._places = [_ServerAddress.of(url) for url in settings.ldap_url.split(",")]
        self._attributes = (
            settings.ldap_name_attribute,
            settings.ldap_email_attribute,
            settings.ldap_id_attribute,
        )
        self._threads = ThreadPoolExecutor(settings.ldap_connections, thread_name_prefix="ldap")

    def close(self) -> None:
        """Stop without waiting for open requests."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def sign_in(self, name: str, password: str) -> DirectoryEntry | None:
        """Return the entry with this name and password; None if there is none.

        Raises DirectoryAwayError, and IdentityError for an entry that cannot become an account.
        """
        known = _checked(name)
        # A bind with an empty password is anonymous, and succeeds.
        if known is None or not password or "\0" in password or len(password) > MAX_PASSWORD_LENGTH:
            return None
        return await self._ask(lambda place: self._sign_in(place, known, password))

    async def find(self, name: str) -> DirectoryEntry | None:
        """Return the entry with this name, as far as the server may read it.

        Raises as `sign_in` does.
        """
        known = _checked(name)
        return None if known is None else await self._ask(lambda place: self._find(place, known))

    async def check(self) -> None:
        """Raise DirectoryAwayError unless one of the servers responds."""
        await self._ask(self._greet)

    async def _ask(self, work: Callable[[_ServerAddress], Result]) -> Result:
        """Return the response of the first available server, within the timeout."""
        asking = asyncio.get_running_loop().run_in_executor(self._threads, self._first, work)
        try:
            async with asyncio.timeout(self._settings.ldap_timeout_seconds):
                return await asking
        except TimeoutError:
            raise DirectoryAwayError("it does not answer in time") from None

    def _first(self, work: Callable[[_ServerAddress], Result]) -> Result:
        """Return the response of the first available server, which later requests try first."""
        *others, last = places = self._places
        for place in others:
            try:
                return work(place)
            except DirectoryAwayError as error:
                logger.warning("ldap.server_unavailable", place=str(place), reason=error.reason)
                self._places = [each for each in places if each != place] + [place]
        return work(last)

    def _sign_in(self, place: _ServerAddress, name: str, password: str) -> DirectoryEntry | None:
        settings = self._settings
        with self._connection(place) as connection:
            if settings.ldap_user_dn is not None:
                dn = settings.ldap_user_dn.replace("%s", escape_rdn(name))
                return (
                    self._read_own(connection, dn) if _lets_in(connection, dn, password) else None
                )
            self._introduce(connection)
            found = self._search(connection, name)
            if len(found) > 1:
                logger.warning("ldap.ambiguous_name", entries=_names(found))
            # Without the password nothing of the entry is revealed.
            if len(found) != 1 or not _lets_in(connection, found[0]["dn"], password):
                return None
            return self._entry(found[0])

    def _greet(self, place: _ServerAddress) -> None:
        with self._connection(place) as connection:
            # If users are not searched for, the directory may refuse anonymous access: that it
            # responds is enough.
            if self._settings.ldap_user_dn is None or self._settings.ldap_bind_dn is not None:
                self._introduce(connection)
            else:
                connection.rebind(None, None, ldap3.ANONYMOUS, read_server_info=False)

    def _find(self, place: _ServerAddress, name: str) -> DirectoryEntry | None:
        with self._connection(place) as connection:
            self._introduce(connection)
            if self._settings.ldap_user_dn is None:
                found = self._search(connection, name)
                if len(found) > 1:
                    raise IdentityError(f"several entries have this name: {_names(found)}")
                return self._entry(found[0]) if found else None
            return self._read(
                connection, self._settings.ldap_user_dn.replace("%s", escape_rdn(name))
            )

    @contextmanager
    def _connection(self, place: _ServerAddress) -> Iterator[Any]:
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
            return ssl.create_default_context(cafile=path)
        except ssl.SSLError as error:
            raise DirectoryAwayError(f"{place}, which holds no certificate in PEM") from error
        except OSError as error:
            raise DirectoryAwayError(f"{place}, but: {error.strerror}") from error

    def _new_connection(self, place: _ServerAddress) -> Any:
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

    def _introduce(self, connection: Any) -> None:
        """Bind as the account for searches. Raises DirectoryAwayError."""
        dn, password = self._settings.ldap_bind_dn, self._settings.ldap_bind_password
        if not connection.rebind(
            dn, password, None if dn else ldap3.ANONYMOUS, read_server_info=False
        ):
            raise DirectoryAwayError(f"it does not let this server in: {_said(connection)}")

    def _search(self, connection: Any, name: str) -> list[dict[str, Any]]:
        """Return the entries of this name: one, as a rule. Raises DirectoryAwayError."""
        wanted = self._settings.ldap_filter.replace("%s", escape_filter_chars(name))
        base = self._settings.ldap_base
        found = self._entries(connection, base, wanted, ldap3.SUBTREE)
        if found is None:
            raise DirectoryAwayError(f"there is no entry {base}")
        return found

    def _read(self, connection: Any, dn: str) -> DirectoryEntry | None:
        """Return the entry with this distinguished name."""
        found = self._entries(connection, dn, "(objectClass=*)", ldap3.BASE)
        return self._entry(found[0]) if found else None

    def _read_own(self, connection: Any, dn: str) -> DirectoryEntry:
        """Return the entry as which the connection is bound. Raises DirectoryAwayError."""
        entry = self._read(connection, dn)
        if entry is None:
            raise DirectoryAwayError(f"it does not show {dn} to its own user")
        return entry

    def _entries(
        self, connection: Any, base: str | None, wanted: str, scope: str
    ) -> list[dict[str, Any]] | None:
        """Return the entries found, two at most; None if the base does not exist.

        Raises DirectoryAwayError.
        """
        settings = self._settings
        connection.search(
            base,
            wanted,
            search_scope=scope,
            attributes=[name for name in self._attributes if name is not None],
            size_limit=2,
            time_limit=settings.ldap_timeout_seconds,
        )
        result = connection.result["result"]
        if result == NO_SUCH_ENTRY:
            return None
        if result not in {SUCCESS, TOO_MANY}:
            raise DirectoryAwayError(f"it does not look for people: {_said(connection)}")
        # Referrals are part of the response, too.
        return [each for each in connection.response if each["type"] == "searchResEntry"]

    def _entry(self, found: dict[str, Any]) -> DirectoryEntry:
        """Convert an entry. Raises IdentityError if it has no address."""
        settings, attributes = self._settings, found["raw_attributes"]
        email = _first_of(attributes, settings.ldap_email_attribute)
        if email and "@" not in email and settings.ldap_email_domain is not None:
            email = f"{email}@{settings.ldap_email_domain}"
        try:
            email = checked_email(email)
        except BadRequestError:
            raise IdentityError(
                f"{found['dn']} has no address in {settings.ldap_email_attribute}",
                _("The directory has no email address for you. Ask its administrator."),
            ) from None
        name = _first_of(attributes, settings.ldap_name_attribute)
        identity = Identity(email, as_full_name(name, email=email))
        return DirectoryEntry(found["dn"], identity, self._id_in(found))

    def _id_in(self, found: dict[str, Any]) -> str | None:
        """Return the entry's id. Raises IdentityError if it lacks the one that others have."""
        wanted = self._settings.ldap_id_attribute
        if wanted is None:
            return None
        values: list[bytes] = found["raw_attributes"].get(wanted) or []
        if not values or not values[0]:
            raise IdentityError(f"{found['dn']} has no {wanted}")
        [value, *_] = values
        # Active Directory's are binary.
        return value.decode() if value.isascii() and value.decode().isprintable() else value.hex()


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


def _names(found: list[dict[str, Any]]) -> str:
    return " and ".join(str(each["dn"]) for each in found)


def _checked(name: str) -> str | None:
    """Return the name in the form in which directories compare it; None if it is invalid."""
    known = " ".join(unicodedata.normalize("NFKC", name).split())
    return known if _NAME.fullmatch(known) else None


def _lets_in(connection: Any, dn: str, password: str) -> bool:
    """Return whether the entry has this password. Raises DirectoryAwayError."""
    if connection.rebind(dn, password, read_server_info=False):
        return True
    if connection.result["result"] in REFUSED_RESULT_CODES:
        return False
    raise DirectoryAwayError(f"it does not take passwords: {_said(connection)}")


def _said(connection: Any) -> str:
    """Return the message of the server's response."""
    result = connection.result
    return " ".join(filter(None, (result["description"], result["message"])))


def _first_of(attributes: Any, name: str) -> str:
    """Return the first value of the attribute; empty if there is none."""
    values: list[bytes] = attributes.get(name) or [b""]
    return values[0].decode(errors="replace").strip()
