"""Endpoint of register: an event queue, and the state that it continues."""

from typing import Annotated, Any, Literal

import msgspec

from server.actions.message_flags import fold_reads
from server.api.endpoint import Access, Endpoint, RawResult, Request, Result
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.errors import InvalidParameterError
from server.domain.narrow import EventNarrow, GivenNarrow
from server.events.base import ClientView
from server.events.queue_params import QueueParams
from server.initial_state import register as registrations
from server.initial_state.register import Registration

MOBILE_LIFESPAN_SECONDS = 12 * 3600
_EPHEMERAL = frozenset({"presence", "typing"})
"""Events that are not in the log: they are buffered in the process that serves the queue."""
_CAPABILITIES = frozenset(ClientView.__struct_fields__) - {
    "apply_markdown",
    "client_gravatar",
    "slim_presence",
}


class RegisterParams(Params):
    apply_markdown: bool = False
    """Whether events hold messages as HTML; otherwise as Markdown."""
    client_gravatar: bool = True
    """Whether the client computes Gravatar addresses itself: then `avatar_url` is null for users
    without a picture of their own."""
    slim_presence: bool = False
    """Whether presence is returned by user id in the short form."""
    event_types: list[str] | None = None
    """Types of events that the queue receives. Default: all."""
    fetch_event_types: list[str] | None = None
    """Types of data that the answer holds. Default: as `event_types`."""
    include_subscribers: Literal["true", "false", "partial"] = "false"
    """Whether channels list their subscribers: all, none, or with `partial` only some of large
    channels."""
    client_capabilities: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    """Features that the client has, each true or false, such as `notification_settings_null`."""
    narrow: GivenNarrow = []  # noqa: RUF012
    """Terms that messages must match to reach the queue, as pairs such as `["channel", "general"]`.
    """
    all_public_streams: bool | None = None
    """Whether the queue receives messages of all public channels, subscribed or not. Default: no,
    or what the bot's defaults say."""
    idle_queue_timeout: int | Literal["mobile"] | None = None
    """Seconds without a poll after which the queue expires, or `mobile` for twelve hours."""
    queue_lifespan_secs: int = 0
    """Older name of `idle_queue_timeout`."""
    presence_history_limit_days: Annotated[int | None, Field(ge=0)] = None
    """Leave out the presence of users who were last active more than so many days ago."""


class RegisterResult(Result):
    queue_id: str | None
    """None for spectators: they get the state and no events."""
    last_event_id: int
    position: int
    """The position of the state in the organization's history: see `include_position` of
    `GET /messages`."""
    idle_queue_timeout_secs: int
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
            view=_view(params),
            knows_secrets=request.may_know_secrets,
        ),
        all_public_channels=params.all_public_streams,
        fetch_types=None if wanted is None else frozenset(wanted),
        include_subscribers="false" if request.actor.is_spectator else params.include_subscribers,
        lifespan_seconds=registrations.lifespan(_lifespan(params)),
        presence_history_limit_days=params.presence_history_limit_days,
    )
    if not request.actor.is_spectator and (wanted is None or "presence" in wanted):
        await request.app.presences.of(request.actor.realm_id).load()
    registered = await request.app.queue_registrar.register(request.actor, registration)
    queue_id = registered.queue_id
    request.app.realtime.end(request.actor.realm_id, registered.ended)
    if queue_id is not None and (
        params.event_types is None or _EPHEMERAL.intersection(params.event_types)
    ):
        actor = request.actor
        request.app.realtime.expect(actor.realm_id, actor.user_id, queue_id)
    if registered.folds:
        await request.write(fold_reads, registered.folds)
    # Joined once: it may be megabytes.
    return RawResult(msgspec.json.encode({"result": "success", "msg": "", **registered.fields}))


def _lifespan(params: RegisterParams) -> int:
    if params.idle_queue_timeout == "mobile":
        return MOBILE_LIFESPAN_SECONDS
    return int(params.idle_queue_timeout or params.queue_lifespan_secs)


def _view(params: RegisterParams) -> ClientView:
    """Return the client's view; unknown capabilities are ignored."""
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
        summary="Register an event queue and get the initial state",
        description=(
            "Returns a consistent state of what the client asks for, and a queue that receives"
            " everything that happens after it. Poll the queue with `GET /events`. What the"
            " answer holds depends on `fetch_event_types`."
        ),
    ),
)
