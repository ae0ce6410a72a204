"""What a caller was let in with, looked at again where one request goes on for long."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from server.api.auth import NO_CREDENTIALS
from server.app import App
from server.domain.api_keys import digest_of as digest_of_key
from server.domain.clock import Clock
from server.domain.errors import DomainError, InvalidApiKeyError, SessionEndedError
from server.domain.sessions import Session
from server.runtime.batch_loader import BatchLoader
from storage import api_keys, sessions
from storage.database import Connection
from storage.ids import RealmId

TRUSTED_SECONDS: Final = 5.0
"""How long what was looked at counts: who is told one thing after another costs no look each."""

_Key = tuple[RealmId, bytes]
_Live = Callable[[Connection, RealmId, Sequence[bytes]], Awaitable[Sequence[bytes]]]


class Credential:
    """A session, or a key with a name: it may end, and the event queues of its user do not.

    The account's own key is none, for with it all queues of its user end.
    """

    __slots__ = ("_clock", "_key", "_live", "_looked_at", "_refusal")

    def __init__(
        self,
        live: BatchLoader[_Key, bool],
        clock: Clock,
        key: _Key,
        refusal: Callable[[], DomainError],
    ) -> None:
        """It has been looked at just now."""
        self._live = live
        self._clock = clock
        self._key = key
        self._refusal = refusal
        self._looked_at = clock.monotonic()

    @property
    def is_trusted(self) -> bool:
        """Whether it was looked at a moment ago."""
        return self._clock.monotonic() - self._looked_at < TRUSTED_SECONDS

    async def check(self) -> None:
        """Look whether it opens anything still, if that is not known.

        Raises a DomainError of status 401, or that the database is away.
        """
        if self.is_trusted:
            return
        asked_at = self._clock.monotonic()
        if not await self._live.find(self._key):
            raise self._refusal()
        self._looked_at = asked_at


class Credentials:
    """Asks for the credentials of all who wait: those who are told something at once, together."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._sessions = BatchLoader[_Key, bool](self._reading(sessions.live))
        self._keys = BatchLoader[_Key, bool](self._reading(api_keys.live))

    def of_session(self, realm_id: RealmId, session: Session) -> Credential:
        key = (realm_id, session.digest)
        return Credential(self._sessions, self._app.clock, key, _session_ended)

    def of_key(self, realm_id: RealmId, api_key: str) -> Credential:
        """Of a key with a name."""
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
    return InvalidApiKeyError("Invalid API key")
