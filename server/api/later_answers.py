"""What endpoints share that take answers of a bot's service after its response."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from server.api.endpoint import Request
from server.domain.errors import NotFoundError
from server.domain.outgoing_webhooks import ANSWER_SECONDS
from server.i18n import _
from storage import bots
from storage.bots import ServiceRow
from storage.ids import UserId
from storage.users import UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Parties:
    """The bot of the service, its owner if it has one, and the recipient of the answer."""

    bot: UserRow
    owner: UserRow | None
    service: ServiceRow
    user: UserRow


def no_more() -> NotFoundError:
    """Return the error of an address that never took answers, or takes no more."""
    return NotFoundError(_("This address takes no more answers."))


def earliest(request: Request) -> datetime:
    """Return the time since which an address must have been given to take answers now."""
    return request.app.clock.now() - timedelta(seconds=ANSWER_SECONDS)


async def parties_of(request: Request, bot_id: UserId, user_id: UserId) -> Parties:
    """Return the parties of an answer. Raises NotFoundError if one of them is gone."""
    realm_cache = request.realm_cache
    async with request.read() as connection:
        found = await bots.services(connection, realm_cache.realm_id, [bot_id])
    if (await realm_cache.realm()).deactivated or bot_id not in found:
        raise no_more()
    bot, user = await realm_cache.user(bot_id), await realm_cache.user(user_id)
    if bot is None or not bot.is_active or user is None or not user.is_active:
        raise no_more()
    owner = None if bot.bot_owner_id is None else await realm_cache.user(bot.bot_owner_id)
    if owner is not None and not owner.is_active:
        raise no_more()
    return Parties(bot=bot, owner=owner, service=found[bot_id], user=user)
