"""Endpoints of the caller's bots."""

import msgspec

from server.actions import bots
from server.actions.bot_defaults import WantedDefaults
from server.actions.bots import NO_SUCH_BOT, BotChanges, ChangedBot, NewBot
from server.actions.users import NewService
from server.api.endpoint import Access, Empty, Endpoint, FileUpload, NoParams, Request, Result
from server.api.params import JsonOrBareStr, Params
from server.api.picture_uploads import keep_pictures, max_picture_bytes
from server.domain.addresses import RealmAddress
from server.domain.api_keys import Scope, Secret
from server.domain.avatars import avatar_of
from server.domain.bots import (
    GENERIC,
    OUTGOING_WEBHOOK,
    check_may_create,
    check_may_have_bots,
    looks_after,
)
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.names import composed
from server.domain.outgoing_webhooks import GENERIC as GENERIC_INTERFACE
from server.domain.outgoing_webhooks import INTERFACES
from server.domain.profiles import public_email
from server.egress import EgressRefusedError
from server.events.bot_defaults import visible_to
from server.events.bots import BotDefaults
from server.i18n import _
from storage import bots as stored_bots
from storage import users
from storage.ids import UserId
from storage.users import UserRow


class Places(Params):
    """Defaults for parameters that requests of a bot omit."""

    default_all_public_streams: bool | None = None
    """Whether event queues of the bot receive messages of all public channels unless they say
    otherwise."""
    default_events_register_stream: str | None = None
    """Channel to which event queues of the bot are narrowed unless they name a narrow."""
    default_sending_stream: str | None = None
    """Channel to which the bot sends where no other is named."""


class CreateParams(Places):
    full_name: str
    """Display name of the bot."""
    short_name: str
    """First part of the bot's email address; `-bot` and the organization's domain are added."""
    bot_type: int = GENERIC
    """1 generic, 2 incoming webhook, 3 outgoing webhook."""
    config_data: dict[str, str] = {}  # noqa: RUF012 - never changed
    """Configuration of embedded bots, which this server does not have: leave it out."""
    interface_type: int = GENERIC_INTERFACE
    """Format in which an outgoing webhook is called: 1 generic, 2 Slack's."""
    payload_url: JsonOrBareStr = ""
    """Address that an outgoing webhook is called at."""
    service_name: str | None = None
    """Name of an embedded bot's service; accepted and not used."""


class BotParams(Params):
    bot_id: int
    """User id of the bot."""


class ChangeParams(BotParams, Places):
    bot_owner_id: int | None = None
    """User id of the new owner."""
    config_data: dict[str, str] = {}  # noqa: RUF012 - never changed
    """Configuration of embedded bots, which this server does not have: leave it out."""
    full_name: str | None = None
    """New display name."""
    role: int | None = None
    """New role: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest."""
    short_name: str | None = None
    """New first part of the bot's email address; `-bot` and the organization's domain are added."""
    service_interface: int | None = None
    """Format in which an outgoing webhook is called: 1 generic, 2 Slack's."""
    service_payload_url: JsonOrBareStr | None = None
    """Address that an outgoing webhook is called at."""


class ShownPlaces(Result, kw_only=True):
    default_all_public_streams: bool = False
    default_events_register_stream: str | None = None
    default_sending_stream: str | None = None


class OwnBot(ShownPlaces, kw_only=True):
    username: str
    full_name: str
    api_key: Secret
    avatar_url: str | None


class OwnBots(Result):
    bots: list[OwnBot]


class CreatedBot(ShownPlaces, kw_only=True):
    user_id: int
    api_key: Secret
    avatar_url: str | None


class ChangedBotResult(Result, kw_only=True, omit_defaults=True):
    full_name: str
    avatar_url: str | None
    default_all_public_streams: bool
    default_events_register_stream: str | None
    default_sending_stream: str | None
    bot_owner: str | None = None
    service_interface: int | None = None
    service_payload_url: str | None = None


async def get_own(request: Request, params: NoParams) -> OwnBots:
    del params
    actor = request.actor
    check_may_have_bots(actor.person)
    async with request.read() as connection:
        rows = await users.bots(connection, actor.realm_id, owner_id=actor.user_id)
        rows_of = await stored_bots.defaults(
            connection, actor.realm_id, [row.user_id for row in rows]
        )
        realm_cache = request.realm_cache
        standing = Standing(actor.person, await realm_cache.groups(), await realm_cache.settings())
        defaults = await visible_to(connection, actor.realm_id, standing, rows_of.values())
    address = await request.realm_cache.address()
    return OwnBots(
        bots=[_own(row, address, defaults[row.user_id]) for row in rows if row.is_active]
    )


def _own(row: UserRow, address: RealmAddress, defaults: BotDefaults) -> OwnBot:
    return OwnBot(
        username=public_email(row, address.domain),
        full_name=row.full_name,
        api_key=row.api_key,
        avatar_url=avatar_of(row, address).url,
        **msgspec.structs.asdict(defaults),
    )


async def create(request: Request, params: CreateParams) -> CreatedBot:
    _refuse_config(params.config_data)
    service = None
    if params.bot_type == OUTGOING_WEBHOOK:
        _check_interface("interface_type", params.interface_type)
        _check_url(request, "payload_url", params.payload_url)
        service = NewService(base_url=params.payload_url, interface=params.interface_type)
    elif params.payload_url:
        raise InvalidParameterError("payload_url", _("Only outgoing webhooks are called."))
    realm_cache, person = request.realm_cache, request.actor.person
    graph, settings = await realm_cache.groups(), await realm_cache.settings()
    check_may_create(params.bot_type, person, graph, settings)
    new = NewBot(
        full_name=params.full_name,
        short_name=params.short_name,
        bot_type=params.bot_type,
        service=service,
        defaults=_wanted(params),
        avatar_key=await _avatar_key(request),
    )
    bot = await request.write(bots.create_bot, new, now=request.app.clock.now())
    row = await request.realm_cache.user(bot.user_id)
    assert row is not None, "it has just been made"
    avatar = avatar_of(row, await request.realm_cache.address())
    return CreatedBot(
        user_id=bot.user_id,
        api_key=bot.api_key,
        avatar_url=avatar.url,
        **msgspec.structs.asdict(bot.defaults),
    )


async def change(request: Request, params: ChangeParams) -> ChangedBotResult:
    _refuse_config(params.config_data)
    if params.service_interface is not None:
        _check_interface("service_interface", params.service_interface)
    if params.service_payload_url is not None:
        _check_url(request, "service_payload_url", params.service_payload_url)
    row = await request.realm_cache.user(UserId(params.bot_id))
    if row is None or not looks_after(request.actor.person, row):
        raise BadRequestError(NO_SUCH_BOT)
    changes = BotChanges(
        full_name=params.full_name,
        short_name=params.short_name,
        owner_id=None if params.bot_owner_id is None else UserId(params.bot_owner_id),
        role=params.role,
        payload_url=params.service_payload_url,
        interface=params.service_interface,
        defaults=_wanted(params),
        avatar_key=await _avatar_key(request),
    )
    now = request.app.clock.now()
    changed = await request.write(bots.change_bot, UserId(params.bot_id), changes, now=now)
    return _shown(changed, await request.realm_cache.address())


async def _avatar_key(request: Request) -> str | None:
    """Return the key of the avatar uploaded with the form, if any."""
    return (await keep_pictures(request, "avatar"))["small"] if request.files else None


def _shown(changed: ChangedBot, address: RealmAddress) -> ChangedBotResult:
    row, owner, service = changed.row, changed.owner, changed.service
    return ChangedBotResult(
        full_name=row.full_name,
        avatar_url=avatar_of(row, address).url,
        **msgspec.structs.asdict(changed.defaults),
        bot_owner=None if owner is None else public_email(owner, address.domain),
        service_interface=None if service is None else service.interface,
        service_payload_url=None if service is None else service.base_url,
    )


async def deactivate(request: Request, params: BotParams) -> Empty:
    bot_id, now = UserId(params.bot_id), request.app.clock.now()
    await request.write(bots.deactivate_bot, bot_id, now=now)
    return Empty()


class BotKey(Result):
    api_key: Secret


async def get_key(request: Request, params: BotParams) -> BotKey:
    actor = request.actor
    async with request.read() as connection:
        rows = await users.by_ids(connection, actor.realm_id, [UserId(params.bot_id)])
    for row in rows:
        if row.bot_type is not None and not row.is_system_bot and looks_after(actor.person, row):
            return BotKey(api_key=row.api_key)
    raise BadRequestError(bots.NO_SUCH_BOT)


async def regenerate_key(request: Request, params: BotParams) -> BotKey:
    return BotKey(api_key=await request.write(bots.regenerate_key, UserId(params.bot_id)))


def _check_interface(name: str, interface: int) -> None:
    if interface not in INTERFACES:
        raise InvalidParameterError(
            name, _("{name} must be one of {interfaces}", name=name, interfaces=list(INTERFACES))
        )


def _check_url(request: Request, name: str, url: str) -> None:
    try:
        request.app.egress.check(url)
    except EgressRefusedError as refusal:
        raise InvalidParameterError(name, refusal.message) from refusal


def _wanted(params: Places) -> WantedDefaults:
    return WantedDefaults(
        sending=_name(params.default_sending_stream),
        events=_name(params.default_events_register_stream),
        all_public_channels=params.default_all_public_streams,
    )


def _name(name: str | None) -> str | None:
    return None if name is None else composed(name)


def _refuse_config(config: dict[str, str]) -> None:
    if config:
        raise InvalidParameterError("config_data", _("Only embedded bots have one."))


ENDPOINTS = (
    Endpoint(
        "GET",
        "/bots",
        Access.USER,
        NoParams,
        get_own,
        OwnBots,
        scope=Scope.EVERYTHING,
        summary="List your bots",
        description="Active bots that belong to the caller, with their API keys.",
    ),
    Endpoint(
        "POST",
        "/bots",
        Access.USER,
        CreateParams,
        create,
        CreatedBot,
        body=FileUpload(max_picture_bytes, is_optional=True),
        summary="Create a bot",
        description=(
            "The caller becomes its owner. A picture may come along as the field `file` of a"
            " `multipart/form-data` form."
        ),
    ),
    Endpoint(
        "PATCH",
        "/bots/{bot_id}",
        Access.USER,
        ChangeParams,
        change,
        ChangedBotResult,
        body=FileUpload(max_picture_bytes, is_optional=True),
        summary="Change a bot",
        description=(
            "For the bot's owner and administrators. What is left out stays. A picture may come"
            " along as the field `file` of a `multipart/form-data` form."
        ),
    ),
    Endpoint(
        "DELETE",
        "/bots/{bot_id}",
        Access.USER,
        BotParams,
        deactivate,
        summary="Deactivate a bot",
        description="For the bot's owner and administrators. Its API key stops working.",
    ),
    Endpoint(
        "GET",
        "/bots/{bot_id}/api_key",
        Access.USER,
        BotParams,
        get_key,
        BotKey,
        scope=Scope.EVERYTHING,
        summary="Get a bot's API key",
        description="For the bot's owner and administrators.",
    ),
    Endpoint(
        "POST",
        "/bots/{bot_id}/api_key/regenerate",
        Access.USER,
        BotParams,
        regenerate_key,
        BotKey,
        summary="Replace a bot's API key",
        description=(
            "For the bot's owner and administrators. The key used so far stops working at once."
        ),
    ),
)
