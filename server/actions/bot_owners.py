"""Transfer bots to another owner."""

from dataclasses import replace

from server.actions.credential_changes import Extent, end_pending, end_queues
from server.domain.api_keys import new_api_key
from server.transactions import Tx
from storage import bots
from storage.bots import ServiceRow
from storage.ids import UserId
from storage.users import UserRow

ALL_KEYS = Extent(api_key=True, named_keys=True)


async def give_bot(
    tx: Tx, bot: UserRow, service: ServiceRow | None, owner_id: UserId
) -> tuple[UserRow, ServiceRow | None]:
    """Transfer the bot, with a new key, and a new token for an outgoing webhook.

    The previous owner knows the old ones: they are revoked, and the bot's event queues deleted. The
    caller has locked the bot's row, and appends the events with what this returns.
    """
    connection = await tx.changing()
    await bots.give(connection, tx.realm_id, bot.user_id, owner_id=owner_id)
    outcome = await end_pending(tx, [bot], ALL_KEYS)
    await end_queues(tx, [bot.user_id])
    if service is not None:
        service = replace(service, token=new_api_key())
        await bots.update_service(connection, tx.realm_id, service)
    return replace(bot, bot_owner_id=owner_id, api_key=outcome.keys[bot.user_id]), service
