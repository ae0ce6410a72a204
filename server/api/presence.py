"""Endpoints of presence: pings, and the presence of others."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from server.api.endpoint import Access, Endpoint, NoParams, RawResult, Request, Result
from server.api.params import Field, Params
from server.api.people import known_ids, known_users, user_by_email
from server.domain.errors import BadRequestError
from server.domain.presence import DEFAULT_HISTORY_DAYS, NOTHING_YET, SECONDS_A_DAY
from server.domain.user_settings import UserSettings
from server.i18n import _
from server.initial_state.presence_index import PresenceEntry, as_known, as_object
from storage.ids import UserId
from storage.users import UserRow


class PingParams(Params):
    status: Literal["active", "idle"]
    """Whether the user is active in the client, or idle."""
    last_update_id: Annotated[int | None, Field(ge=NOTHING_YET)] = None
    """`presence_last_update_id` of the last answer; -1 at first."""
    history_limit_days: Annotated[int | None, Field(ge=0)] = None
    """Leave out users who were last active more than so many days ago. Default: 14."""
    ping_only: bool = False
    """Whether to report only, without getting the presence of others."""
    new_user_input: bool = False
    """Whether the user has done something since the last call; for statistics only."""
    slim_presence: bool = False
    """Whether presence is returned by user id in the short form."""


class UserByIdParams(Params):
    user_id: int
    """Id of the user."""


class UserByEmailParams(Params):
    email: str
    """Email address of the user, as the caller may see it."""


class Pinged(Result):
    presence_last_update_id: int
    presences: dict[str, dict[str, Any]] | UnsetType = UNSET
    server_timestamp: float | UnsetType = UNSET


class Presences(Result):
    presences: dict[str, dict[str, Any]]
    server_timestamp: float


class ClientPresence(msgspec.Struct, frozen=True):
    status: Literal["active", "idle", "offline"]
    timestamp: int


class OnePresence(msgspec.Struct, frozen=True, kw_only=True):
    """A user's presence, in the present form and in that of older clients."""

    active_timestamp: int
    idle_timestamp: int
    aggregated: ClientPresence
    website: ClientPresence


class UserPresence(Result):
    presence: OnePresence
    server_timestamp: float


async def ping(request: Request, params: PingParams) -> Pinged | RawResult:
    """Record a ping; return the presence of others since the given update."""
    actor = request.actor
    request.refuse_bots()
    passed = NOTHING_YET if params.last_update_id is None else params.last_update_id
    is_on = not (await request.realm_cache.settings()).presence_disabled
    if is_on and UserSettings.of(actor.row.settings).presence_enabled:
        presences = request.app.presences.of(actor.realm_id)
        await presences.ping(actor.row, active=params.status == "active")
    if params.ping_only:
        return Pinged(presence_last_update_id=passed)

    now = request.app.clock.now().timestamp()
    days = DEFAULT_HISTORY_DAYS if params.history_limit_days is None else params.history_limit_days
    since = passed if passed > 0 else None
    entries, newest = await _entries(request, since=since, seen_since=now - days * SECONDS_A_DAY)
    slim = params.slim_presence or params.last_update_id is not None
    return _answer(entries, now, slim=slim, presence_last_update_id=max(passed, newest))


async def get_all(request: Request, params: NoParams) -> RawResult:
    """Return all presences of the last two weeks, in the legacy form."""
    del params
    now = request.app.clock.now().timestamp()
    seen_since = now - DEFAULT_HISTORY_DAYS * SECONDS_A_DAY
    entries, _ = await _entries(request, since=None, seen_since=seen_since)
    return _answer(entries, now, slim=False)


def _answer(entries: list[PresenceEntry], now: float, *, slim: bool, **fields: int) -> RawResult:
    """Return the response; large ones are not joined twice."""
    before = msgspec.json.encode({"result": "success", "msg": "", **fields})
    behind = b',"server_timestamp":%b}' % msgspec.json.encode(now)
    before = b'%b,"presences":' % before.removesuffix(b"}")
    return RawResult(as_object(entries, slim=slim, before=before, behind=behind))


async def get_by_id(request: Request, params: UserByIdParams) -> UserPresence:
    row = await request.realm_cache.user(UserId(params.user_id))
    return await _of_user(request, row, str(params.user_id))


async def get_by_email(request: Request, params: UserByEmailParams) -> UserPresence:
    row = await user_by_email(request, params.email)
    return await _of_user(request, row, params.email)


async def _entries(
    request: Request, *, since: int | None, seen_since: float
) -> tuple[list[PresenceEntry], int]:
    """Return the entries that the caller may see, and the number of the newest update."""
    realm_cache, actor = request.realm_cache, request.actor
    if (await realm_cache.settings()).presence_disabled:
        return [], NOTHING_YET
    presences = request.app.presences.of(actor.realm_id)
    entries, newest = await presences.entries(since=since, seen_since=seen_since)
    if actor.is_guest and entries:
        async with request.read() as connection:
            known = await known_ids(request, connection)
        if known is not None:
            only_known = request.app.settings.can_access_all_users_group_limits_presence
            domain = (await realm_cache.address()).domain
            entries = as_known(entries, known, domain, only_known=only_known)
    return entries, newest


async def _of_user(request: Request, row: UserRow | None, name: str) -> UserPresence:
    if row is None or not row.is_active or not await _may_see(request, row):
        raise BadRequestError(_("No such user"))
    if row.bot_type is not None:
        raise BadRequestError(_("Presence is not supported for bot users."))
    presence = None
    if not (await request.realm_cache.settings()).presence_disabled:
        presence = await request.app.presences.of(request.actor.realm_id).of(row.user_id)
    if presence is None:
        raise BadRequestError(_("No presence data for {name}", name=name))
    now = request.app.clock.now().timestamp()
    is_offline = presence.status(now) == "offline"
    by_client = {
        client: ClientPresence("offline" if is_offline else shown["status"], shown["timestamp"])
        for client, shown in presence.legacy_with_aggregate().items()
    }
    return UserPresence(
        presence=OnePresence(
            active_timestamp=presence.active_timestamp,
            idle_timestamp=presence.idle_timestamp,
            **by_client,
        ),
        server_timestamp=now,
    )


async def _may_see(request: Request, row: UserRow) -> bool:
    if not request.app.settings.can_access_all_users_group_limits_presence:
        return True
    return bool(await known_users(request, [row]))


ENDPOINTS = (
    Endpoint(
        "POST",
        "/users/me/presence",
        Access.USER,
        PingParams,
        ping,
        Pinged,
        summary="Report your presence and get that of others",
        description=(
            "Clients call it about once a minute. The next call passes `presence_last_update_id`"
            " as `last_update_id` and gets only what has changed."
        ),
    ),
    Endpoint(
        "GET",
        "/realm/presence",
        Access.USER,
        NoParams,
        get_all,
        Presences,
        summary="Get the presence of all users",
        description=(
            "Of the last two weeks, in the older form by client. New clients use `POST"
            " /users/me/presence`."
        ),
    ),
    Endpoint(
        "GET",
        "/users/{user_id}/presence",
        Access.USER,
        UserByIdParams,
        get_by_id,
        UserPresence,
        summary="Get a user's presence",
    ),
    Endpoint(
        "GET",
        "/users/{email}/presence",
        Access.USER,
        UserByEmailParams,
        get_by_email,
        UserPresence,
        summary="Get a user's presence",
    ),
)
