"""Credentials of long requests, which are checked again while they last."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from server.api.auth import NO_CREDENTIALS
from server.app import App
from server.domain.api_keys import digest_of as digest_of_key
from server.domain.clock import Clock
from server.domain.errors import DomainError, InvalidApiKeyError, SessionEndedError
from server.domain.sessions import Session
from server.i18n import _
from server.runtime.batch_loader import BatchLoader
from storage import api_keys, sessions
from storage.database import Connection
from storage.ids import RealmId

MAX_TRUST_SECONDS: Final = 5.0
"""How long a check is trusted, so that a burst of events costs no further ones."""

_Key = tuple[RealmId, bytes]
_Live = Callable[[Connection, RealmId, Sequence[bytes]], Awaitable[Sequence[bytes]]]


class Credential:
    """A session or a named key: it may end without the event queues of its user.

    The account's own key is none, because all queues of its user end with it.
    """

    __slots__ = ("_clock", "_key", "_live", "_refusal", "_verified_at")

    def __init__(
        self,
        live: BatchLoader[_Key, bool],
        clock: Clock,
        key: _Key,
        refusal: Callable[[], DomainError],
    ) -> None:
        """Create a credential that has just been checked."""
        self._live = live
        self._clock = clock
        self._key = key
        self._refusal = refusal
        self._verified_at = clock.monotonic()

    @property
    def is_trusted(self) -> bool:
        """Return whether it was checked recently."""
        return self._clock.monotonic() - self._verified_at < MAX_TRUST_SECONDS

    async def check(self) -> None:
        """Check whether it is still valid, unless that is known.

        Raises a DomainError of status 401, or one if the database is unavailable.
        """
        if self.is_trusted:
            return
        started_at = self._clock.monotonic()
        if not await self._live.find(self._key):
            raise self._refusal()
        self._verified_at = started_at


class Credentials:
    """Batches checks of the credentials of all waiting requests that get events at once."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._sessions = BatchLoader[_Key, bool](self._reading(sessions.live))
        self._keys = BatchLoader[_Key, bool](self._reading(api_keys.live))

    def of_session(self, realm_id: RealmId, session: Session) -> Credential:
        key = (realm_id, session.digest)
        return Credential(self._sessions, self._app.clock, key, _session_ended)

    def of_key(self, realm_id: RealmId, api_key: str) -> Credential:
        """Return the credential of a named key."""
        key = (realm_id, digest_of_key(api_key))
        return Credential(self._keys, self._app.clock, key, _key_ended)

    def _reading(self, live: _Live) -> Callable[[Sequence[_Key]], Awaitable[Mapping[_Key, bool]]]:
        async def read(keys: Sequence[_Key]) -> dict[_Key, bool]:
            digests: dict[RealmId, list[bytes]] = {}
            for realm_id, digest in keys:
                digests.setdefault(realm_id, []).append(digest)
            async with self._app.database.connection() as connection:
                return {
                    (realm_id, digest): True
                    for realm_id, wanted in digests.items()
                    for digest in await live(connection, realm_id, wanted)
                }

        return read


def _session_ended() -> DomainError:
    return SessionEndedError(NO_CREDENTIALS)


def _key_ended() -> DomainError:
    return InvalidApiKeyError(_("Invalid API key"))
