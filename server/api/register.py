"""POST /register: an event queue, and the state that it continues."""

from typing import Annotated, Any, Literal

import msgspec

from server.actions.message_flags import fold_reads
from server.api.endpoint import Access, Endpoint, OpenResult, RawResult, Request
from server.api.narrows import GivenNarrow
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.errors import InvalidParameterError
from server.domain.narrow import EventNarrow
from server.events.base import ClientView
from server.events.queue_params import QueueParams
from server.initial_state import register as registrations
from server.initial_state.register import Registration

MOBILE_LIFESPAN_SECONDS = 12 * 3600
_TOLD_ONCE = frozenset({"presence", "typing"})
"""Events that no log keeps: they wait in the process that serves the queue."""
_CAPABILITIES = frozenset(ClientView.__struct_fields__) - {
    "apply_markdown",
    "client_gravatar",
    "slim_presence",
}


class RegisterParams(Params):
    apply_markdown: bool = False
    client_gravatar: bool = True
    slim_presence: bool = False
    event_types: list[str] | None = None
    fetch_event_types: list[str] | None = None
    include_subscribers: Literal["true", "false", "partial"] = "false"
    client_capabilities: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    narrow: GivenNarrow = []  # noqa: RUF012
    all_public_streams: bool = False
    idle_queue_timeout: int | Literal["mobile"] | None = None
    queue_lifespan_secs: int = 0
    presence_history_limit_days: Annotated[int | None, Field(ge=0)] = None


class RegisterResult(OpenResult):
    queue_id: str | None
    last_event_id: int
    service_feature_level: int
    service_version: str
    service_merge_base: str
    zulip_feature_level: int
    zulip_version: str
    zulip_merge_base: str


async def register(request: Request, params: RegisterParams) -> RawResult:
    wanted = (
        params.fetch_event_types if params.fetch_event_types is not None else params.event_types
    )
    registration = Registration(
        queue=QueueParams(
            event_types=None if params.event_types is None else tuple(params.event_types),
            narrow=EventNarrow.parse(params.narrow).terms,
            all_public_channels=params.all_public_streams and not request.actor.is_guest,
            view=_view(params),
            knows_secrets=request.may_know_secrets,
        ),
        fetch_types=None if wanted is None else frozenset(wanted),
        include_subscribers="false" if request.actor.is_spectator else params.include_subscribers,
        lifespan_seconds=registrations.lifespan(_lifespan(params)),
        presence_history_limit_days=params.presence_history_limit_days,
    )
    if not request.actor.is_spectator and (wanted is None or "presence" in wanted):
        await request.app.presences.of(request.actor.realm_id).load()
    registered = await registrations.register(
        request.app.database,
        request.directory,
        request.app.settings,
        request.actor,
        registration,
    )
    queue_id = registered.queue_id
    if queue_id is not None and (
        params.event_types is None or _TOLD_ONCE.intersection(params.event_types)
    ):
        actor = request.actor
        request.app.realtime.expect(actor.realm_id, actor.user_id, queue_id)
    if registered.folds:
        await request.write(fold_reads, registered.folds)
    # Together: it may be megabytes, of which each copy takes a while.
    return RawResult(msgspec.json.encode({"result": "success", "msg": "", **registered.fields}))


def _lifespan(params: RegisterParams) -> int:
    if params.idle_queue_timeout == "mobile":
        return MOBILE_LIFESPAN_SECONDS
    return int(params.idle_queue_timeout or params.queue_lifespan_secs)


def _view(params: RegisterParams) -> ClientView:
    """The client's view; capabilities that this server does not know mean nothing to it."""
    given = params.client_capabilities
    capabilities = {name: value for name, value in given.items() if name in _CAPABILITIES}
    for name, value in capabilities.items():
        if not isinstance(value, bool):
            what = f'client_capabilities["{name}"] is not a boolean'
            raise InvalidParameterError("client_capabilities", what)
    return msgspec.convert(
        {
            **capabilities,
            "apply_markdown": params.apply_markdown,
            "client_gravatar": params.client_gravatar,
            "slim_presence": params.slim_presence,
        },
        ClientView,
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        "/register",
        Access.SPECTATOR,
        RegisterParams,
        register,
        RegisterResult,
        scope=Scope.READ,
    ),
)
