"""Whether events lead where register does: state and events together are the state later on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from server.domain.actor import Actor
from server.events.base import ClientView
from server.events.queue_params import QueueParams
from server.initial_state.queue_registrar import QueueRegistrar
from server.initial_state.register import Registration, ServerFacts
from server.realtime.audience import LiveUser, flags_of, reaches
from server.settings import Settings
from storage import muted_users, subscription_spans
from storage.users import UserRow
from testkit.factories import Make
from testkit.oracles import contract
from testkit.oracles.model_client import ModelClient, held
from testkit.stage import NEWEST_CLIENT, Happened, Stage

OLDEST_CLIENT = ClientView(client_gravatar=False)
SERVER = Settings(data_directory=Path("/nonexistent"))


@dataclass(slots=True)
class Witness:
    """A user's client, during a change."""

    user: UserRow
    view: ClientView
    model: ModelClient
    events: list[dict[str, Any]]
    """The events that the client was sent."""


class Witnesses:
    """Clients that watch what happens on a stage."""

    def __init__(self, stage: Stage, make: Make) -> None:
        self._stage = stage
        self._make = make

    async def watch(
        self,
        change: Callable[[], Awaitable[Any]],
        users: Sequence[UserRow],
        *,
        views: Sequence[ClientView] = (NEWEST_CLIENT, OLDEST_CLIENT),
    ) -> list[Witness]:
        """Let it happen; each user's clients get valid events, and end with what register says.

        One witness for each user and view, users first.
        """
        witnesses = [
            Witness(user, view, ModelClient(await self._registered(user, view)), [])
            for user in users
            for view in views
        ]
        self._stage.happened.clear()
        await change()
        happened = list(self._stage.happened)
        for witness in witnesses:
            await self._publish(witness, happened)
            now = held(await self._registered(witness.user, witness.view))
            assert _alike(witness.model.state) == now
        return witnesses

    async def _publish(self, witness: Witness, happened: Sequence[Happened]) -> None:
        user_id = witness.user.user_id
        spans = await subscription_spans.of_users(
            self._make.connection, self._make.realm_id, [user_id]
        )
        muted = await muted_users.senders_read(
            self._make.connection, self._make.realm_id, [user_id]
        )
        live = LiveUser(user_id, witness.user.role, spans, muted.get(user_id))
        for each in happened:
            if not reaches(each.audience, live, each.position):
                continue
            for k, wire in enumerate(each.wire(witness.view)):
                event = orjson.loads(msgspec.json.encode(wire)) | {"id": each.position * 1024 + k}
                if each.event.has_flags:
                    event["flags"] = flags_of(each.event, each.audience, live, each.position)
                contract.validate_event(event)
                witness.model.apply(event)
                witness.events.append(event)

    async def _registered(self, user: UserRow, view: ClientView) -> dict[str, Any]:
        registrar = QueueRegistrar(
            self._stage.database, self._stage.realm_caches, lambda: ServerFacts(SERVER, "")
        )
        registered = await registrar.register(
            Actor(self._make.realm_id, user, "website"),
            Registration(
                queue=QueueParams(view=view),
                all_public_channels=None,
                fetch_types=None,
                include_subscribers="true",
                lifespan_seconds=600,
            ),
        )
        return dict(orjson.loads(msgspec.json.encode(registered.fields)))


def _alike(state: dict[str, Any]) -> dict[str, Any]:
    """The state without the order in which its lists were filled."""
    return held(state)


@pytest.fixture
def witnesses(stage: Stage, make: Make) -> Witnesses:
    """Checks that events and register agree."""
    return Witnesses(stage, make)
