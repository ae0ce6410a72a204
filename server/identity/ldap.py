"""Sign-in through LDAP: find the entry by name, and verify the password by a bind.

Loaded only if configured. The library blocks on responses, so it runs in threads of ours.
"""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import ldap3
import structlog
from ldap3.utils.conv import escape_filter_chars
from ldap3.utils.dn import escape_rdn

from server.domain.accounts import as_full_name, checked_email
from server.domain.directory_groups import MAX_ASSERTED_GROUPS, GroupMapping
from server.domain.errors import BadRequestError
from server.i18n import _
from server.identity.errors import DirectoryAwayError, IdentityError
from server.identity.identity import Identity
from server.identity.ldap_names import folded_name
from server.identity.ldap_servers import LdapServers, ServerAddress
from server.settings import Settings

logger = structlog.get_logger(__name__)

Result = TypeVar("Result")

MAX_PASSWORD_LENGTH: Final = 1_000
_NAME: Final = re.compile(r"[\w.@+' -]{1,256}")
"""Valid names: without characters that have a meaning in filters and distinguished names."""

PAGE_SIZE: Final = 500
"""Entries in one response."""
PAGED_RESULTS: Final = "1.2.840.113556.1.4.319"
"""The control with which a server continues a listing (RFC 2696)."""

ANY_ENTRY: Final = "(objectClass=*)"
UID: Final = "uid"
"""The attribute by which groups of RFC 2307 name their members."""

SUCCESS, TOO_MANY, NO_SUCH_ENTRY = 0, 4, 32
REFUSED_RESULT_CODES: Final = frozenset({19, NO_SUCH_ENTRY, 34, 48, 49, 50, 53})
"""Result codes for a wrong password, an unknown entry, or a locked account."""


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """The LDAP entry of a user."""

    dn: str
    identity: Identity
    directory_id: str | None
    """The permanent id of the entry; None if it has none."""
    profile: Mapping[str, str] = field(default_factory=dict)
    """Values of profile fields by their names; empty for an attribute that the entry lacks."""
    picture: bytes = b""
    """Empty if there is none, or if it was not asked for."""


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """All entries that could sign in, as far as their ids were asked for."""

    count: int
    """Number of all entries with an id."""
    entries: Mapping[str, DirectoryEntry | None]
    """By their ids; None for an entry of which no account can be made."""
    problems: Sequence[str]
    """What is wrong with these."""


class Ldap:
    """The configured LDAP servers, which are replicas of one directory."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._servers = LdapServers(settings)
        self.mapping = GroupMapping.of(
            settings.ldap_groups.by_name, settings.ldap_roles.by_name, folded_name
        )
        self._names_groups_by_uid = "%u" in settings.ldap_group_filter and bool(self.mapping)
        self._attributes = (
            settings.ldap_name_attribute,
            settings.ldap_email_attribute,
            settings.ldap_id_attribute,
            settings.ldap_group_attribute if self.mapping else None,
            UID if self._names_groups_by_uid else None,
            *settings.ldap_profile_fields.by_name,
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

    async def listing(self, ids: Collection[str]) -> DirectoryListing:
        """Return all entries with these ids that could sign in. It may take minutes.

        Raises DirectoryAwayError if they cannot be listed to the end.
        """
        work = partial(self._list, ids=frozenset(ids))
        return await self._run(work)

    @property
    def has_pictures(self) -> bool:
        return self._settings.ldap_picture_attribute is not None

    async def pictures(self, dns: Sequence[str]) -> list[bytes]:
        """Return the pictures of these entries, empty where there is none.

        Raises DirectoryAwayError.
        """
        return await self._run(partial(self._pictures, dns=dns))

    async def check(self) -> None:
        """Raise DirectoryAwayError unless one of the servers responds."""
        await self._ask(self._greet)

    async def _ask(self, work: Callable[[ServerAddress], Result]) -> Result:
        """Return the response of the first available server, within the timeout."""
        try:
            async with asyncio.timeout(self._settings.ldap_timeout_seconds):
                return await self._run(work)
        except TimeoutError:
            raise DirectoryAwayError("it does not answer in time") from None

    async def _run(self, work: Callable[[ServerAddress], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._servers.first, work)

    def _sign_in(self, place: ServerAddress, name: str, password: str) -> DirectoryEntry | None:
        settings = self._settings
        with self._servers.connection(place) as connection:
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
            if self._searches_groups:
                self._introduce(connection)
            return self._entry(connection, found[0])

    def _list(self, place: ServerAddress, ids: frozenset[str]) -> DirectoryListing:
        count, problems = 0, list[str]()
        known: dict[str, dict[str, Any]] = {}
        entries: dict[str, DirectoryEntry | None] = {}
        with self._servers.connection(place) as connection:
            self._introduce(connection)
            for found in self._all_entries(connection):
                try:
                    directory_id = self._id_in(found)
                except IdentityError as error:
                    problems.append(error.reason)
                    continue
                count += 1
                if directory_id in ids:
                    known[directory_id] = found
            # Only now: a search for groups between two pages may end the listing.
            for directory_id, found in known.items():
                try:
                    entries[directory_id] = self._entry(connection, found)
                except IdentityError as error:
                    entries[directory_id] = None
                    problems.append(error.reason)
        return DirectoryListing(count, entries, problems)

    def _pictures(self, place: ServerAddress, dns: Sequence[str]) -> list[bytes]:
        name = self._settings.ldap_picture_attribute
        assert name is not None, "callers ask only if has_pictures"
        with self._servers.connection(place) as connection:
            self._introduce(connection)
            every = [
                self._found(connection, dn, ANY_ENTRY, ldap3.BASE, [name], at_most=1) for dn in dns
            ]
        return [
            _first_picture(found[0]["raw_attributes"], name) if found else b"" for found in every
        ]

    def _all_entries(self, connection: Any) -> Iterator[dict[str, Any]]:
        """Yield the entries that any name signs in to, page by page. Raises DirectoryAwayError."""
        settings = self._settings
        base, wanted, scope = settings.ldap_base, settings.ldap_filter, ldap3.SUBTREE
        if settings.ldap_user_dn is not None:
            first, _comma, base = settings.ldap_user_dn.partition(",")
            wanted, scope = f"({first})", ldap3.LEVEL
        cookie: bytes | None = None
        while cookie != b"":
            connection.search(
                base,
                wanted.replace("%s", "*"),
                search_scope=scope,
                attributes=[name for name in self._attributes if name is not None],
                paged_size=PAGE_SIZE,
                paged_cookie=cookie,
            )
            # A server's limit of size, too: what it leaves out would count as gone.
            if connection.result["result"] != SUCCESS:
                raise DirectoryAwayError(f"it does not list all people: {_said(connection)}")
            page = [each for each in connection.response if each["type"] == "searchResEntry"]
            controls = connection.result.get("controls") or {}
            cookie = controls.get(PAGED_RESULTS, {}).get("value", {}).get("cookie") or b""
            yield from page

    def _greet(self, place: ServerAddress) -> None:
        with self._servers.connection(place) as connection:
            # If users are not searched for, the directory may refuse anonymous access: that it
            # responds is enough.
            if self._settings.ldap_user_dn is None or self._settings.ldap_bind_dn is not None:
                self._introduce(connection)
            else:
                connection.rebind(None, None, ldap3.ANONYMOUS, read_server_info=False)

    def _find(self, place: ServerAddress, name: str) -> DirectoryEntry | None:
        with self._servers.connection(place) as connection:
            self._introduce(connection)
            if self._settings.ldap_user_dn is None:
                found = self._search(connection, name)
                if len(found) > 1:
                    raise IdentityError(f"several entries have this name: {_names(found)}")
                return self._entry(connection, found[0]) if found else None
            return self._read(
                connection, self._settings.ldap_user_dn.replace("%s", escape_rdn(name))
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
        found = self._entries(connection, dn, ANY_ENTRY, ldap3.BASE)
        return self._entry(connection, found[0]) if found else None

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
        wanted_names = (*self._attributes, self._settings.ldap_picture_attribute)
        names = [name for name in wanted_names if name is not None]
        return self._found(connection, base, wanted, scope, names, at_most=2)

    def _found(
        self,
        connection: Any,
        base: str | None,
        wanted: str,
        scope: str,
        names: list[str],
        *,
        at_most: int,
    ) -> list[dict[str, Any]] | None:
        connection.search(
            base,
            wanted,
            search_scope=scope,
            attributes=names,
            size_limit=at_most,
            time_limit=self._settings.ldap_timeout_seconds,
        )
        result = connection.result["result"]
        if result == NO_SUCH_ENTRY:
            return None
        if result not in {SUCCESS, TOO_MANY}:
            raise DirectoryAwayError(f"it does not look for people: {_said(connection)}")
        # Referrals are part of the response, too.
        return [each for each in connection.response if each["type"] == "searchResEntry"]

    @property
    def _searches_groups(self) -> bool:
        return bool(self.mapping) and self._settings.ldap_group_base is not None

    def _groups(self, connection: Any, found: dict[str, Any]) -> tuple[str, ...] | None:
        """Return the names of the entry's groups: of the attribute, and of groups that name it.

        None if groups mean nothing here. Raises DirectoryAwayError.
        """
        settings = self._settings
        if not self.mapping:
            return None
        values: list[bytes] = found["raw_attributes"].get(settings.ldap_group_attribute) or []
        names = [value.decode(errors="replace") for value in values]
        if self._searches_groups:
            base, uid = settings.ldap_group_base, _first_of(found["raw_attributes"], UID)
            if self._names_groups_by_uid and not uid:
                return tuple(names)
            values_of = {"%s": escape_filter_chars(found["dn"]), "%u": escape_filter_chars(uid)}
            wanted = re.sub("%[su]", lambda place: values_of[place[0]], settings.ldap_group_filter)
            most = MAX_ASSERTED_GROUPS + 1
            groups = self._found(connection, base, wanted, ldap3.SUBTREE, ["1.1"], at_most=most)
            if groups is None:
                raise DirectoryAwayError(f"there is no entry {base}")
            names += [each["dn"] for each in groups]
        return tuple(names)

    def _entry(self, connection: Any, found: dict[str, Any]) -> DirectoryEntry:
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
        groups = self._groups(connection, found)
        identity = Identity(email, as_full_name(name, email=email), groups)
        profile = {
            field_name: _first_of(attributes, attribute).replace("\0", "")
            for attribute, field_name in settings.ldap_profile_fields.by_name.items()
        }
        picture = _first_picture(attributes, settings.ldap_picture_attribute)
        return DirectoryEntry(found["dn"], identity, self._id_in(found), profile, picture)

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


def _first_picture(attributes: Any, name: str | None) -> bytes:
    """Return the first picture of the attribute; empty if there is none."""
    pictures: list[bytes] = attributes.get(name) or [b""]
    return pictures[0]
