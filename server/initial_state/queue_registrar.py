"""Register event queues: calls that ask for little state share transactions."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from server.domain.actor import Actor
from server.domain.errors import DomainError
from server.initial_state.register import (
    RegisterCall,
    Registered,
    Registration,
    ServerFacts,
    register,
)
from server.realm_cache import RealmCaches
from server.runtime.batch_loader import BatchLoader
from storage.database import RETRYABLE_ERRORS, Database
from storage.ids import RealmId


class QueueRegistrar:
    """Registers the event queues of a process.

    Calls of bots and the like, which ask for no state or only for sections that can be read for
    several users at once, are batched by realm: those that arrive while others are registered share
    the next transactions.
    """

    def __init__(
        self, database: Database, realm_caches: RealmCaches, server: Callable[[], ServerFacts]
    ) -> None:
        """`server` is called when the facts are needed: a start without them takes less memory."""
        self._database = database
        self._realm_caches = realm_caches
        self._server = server
        self._batches: dict[RealmId, BatchLoader[RegisterCall, Registered | Exception]] = {}

    async def register(self, actor: Actor, registration: Registration) -> Registered:
        """Create a queue; return it with all requested state. Raises UserDeactivatedError."""
        call = RegisterCall(actor, registration)
        if any(section.fetch_many is None for section in call.sections()):
            return await self._register_alone(actor.realm_id, call)
        try:
            outcome = await self._batches_of(actor.realm_id).find(call)
        except asyncio.CancelledError:
            call.is_cancelled = True
            raise
        assert outcome is not None, "each call of a batch has an outcome"
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _batches_of(self, realm_id: RealmId) -> BatchLoader[RegisterCall, Registered | Exception]:
        batches = self._batches.get(realm_id)
        if batches is None:
            batches = BatchLoader(partial(self._register_batch, realm_id))
            self._batches[realm_id] = batches
        return batches

    async def _register_batch(
        self, realm_id: RealmId, calls: Sequence[RegisterCall]
    ) -> dict[RegisterCall, Registered | Exception]:
        try:
            outcomes = await self._register(realm_id, calls)
        except RETRYABLE_ERRORS:
            raise  # alone, each would wait as long
        except Exception:  # noqa: BLE001 - one of them has failed, and raises it again
            return {call: await self._outcome_alone(realm_id, call) for call in calls}
        return dict(zip(calls, outcomes, strict=True))

    async def _outcome_alone(self, realm_id: RealmId, call: RegisterCall) -> Registered | Exception:
        try:
            return await self._register_alone(realm_id, call)
        except Exception as error:  # noqa: BLE001 - raised to its caller
            return error

    async def _register_alone(self, realm_id: RealmId, call: RegisterCall) -> Registered:
        [outcome] = await self._register(realm_id, [call])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _register(
        self, realm_id: RealmId, calls: Sequence[RegisterCall]
    ) -> list[Registered | DomainError]:
        realm_cache = self._realm_caches.of(realm_id)
        return await register(self._database, realm_cache, self._server(), calls)
