"""Events of bots, delivered to their owners and administrators."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import override

from server.domain.api_keys import Secret
from server.events.base import ClientView, Event
from server.realm_cache import user_key
from storage.bots import ServiceRow
from storage.ids import Position, UserId
from storage.users import UserRow


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """URL and interface of an outgoing webhook, and the token that authenticates its requests."""

    base_url: str
    interface: int
    token: Secret


class BotDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Default channels of a bot, by name, for requests that name none."""

    default_sending_stream: str | None = None
    default_events_register_stream: str | None = None
    default_all_public_streams: bool = False


NO_DEFAULTS: Final = BotDefaults()


class Bot(msgspec.Struct, frozen=True, kw_only=True):
    """What only users who may manage a bot know of it: the rest is in its user.

    Its API key is in `GET /bots/{bot_id}/api_key` alone.
    """

    user_id: UserId
    default_sending_stream: str | None
    default_events_register_stream: str | None
    default_all_public_streams: bool
    services: tuple[Service, ...] = ()


class LoggedBot(Bot, frozen=True, kw_only=True):
    """The same in the log, with what the previous release needs to decode it; never its key."""

    email: str = ""
    full_name: str = ""
    bot_type: int | None = None
    is_active: bool = True
    api_key: Secret = ""
    avatar_url: str | None = None
    owner_id: UserId | None = None


def shown_services(service: ServiceRow | None) -> tuple[Service, ...]:
    if service is None:
        return ()
    shown = Service(base_url=service.base_url, interface=service.interface, token=service.token)
    return (shown,)


def shown_bot(
    row: UserRow, service: ServiceRow | None = None, defaults: BotDefaults = NO_DEFAULTS
) -> Bot:
    """Return the bot for its owner and administrators."""
    return Bot(
        user_id=row.user_id,
        services=shown_services(service),
        default_sending_stream=defaults.default_sending_stream,
        default_events_register_stream=defaults.default_events_register_stream,
        default_all_public_streams=defaults.default_all_public_streams,
    )


class BotChange(msgspec.Struct, frozen=True, kw_only=True):
    """Changed fields of a bot; the others are unset."""

    user_id: UserId
    services: tuple[Service, ...] | UnsetType = UNSET
    default_sending_stream: str | UnsetType | None = UNSET
    default_events_register_stream: str | UnsetType | None = UNSET
    default_all_public_streams: bool | UnsetType = UNSET


class _OfBots(Event, frozen=True, kw_only=True):
    """Base of events with the wire type `realm_bot`."""

    wire_type: ClassVar[str] = "realm_bot"

    type: Literal["realm_bot"] = "realm_bot"

    @override
    def without_secrets(self) -> None:
        return None


class WireBotAdded(msgspec.Struct, frozen=True, kw_only=True):
    """A bot that the reader may manage from now on."""

    type: Literal["realm_bot"] = "realm_bot"
    op: Literal["add"] = "add"
    bot: Bot


class BotAdded(_OfBots, frozen=True, kw_only=True):
    kind: ClassVar[str] = "realm_bot/add"
    wires: ClassVar[tuple[type, ...]] = (WireBotAdded,)

    op: Literal["add"] = "add"
    bot: LoggedBot

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        shown = {name: getattr(self.bot, name) for name in Bot.__struct_fields__}
        return (WireBotAdded(bot=Bot(**shown)),)

    @classmethod
    def of(cls, bot: Bot) -> "BotAdded":
        return cls(bot=LoggedBot(**msgspec.structs.asdict(bot)))


class BotChanged(_OfBots, frozen=True, kw_only=True):
    kind: ClassVar[str] = "realm_bot/update"

    op: Literal["update"] = "update"
    bot: BotChange

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return (user_key(self.bot.user_id),)


class DeletedBot(msgspec.Struct, frozen=True, kw_only=True):
    user_id: UserId


class BotDeleted(_OfBots, frozen=True, kw_only=True):
    """The audience may not see the bot any more."""

    kind: ClassVar[str] = "realm_bot/delete"

    op: Literal["delete"] = "delete"
    bot: DeletedBot
