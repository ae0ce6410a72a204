"""Messages of integrations about builds and alerts, of which there are several.

What says that a build has started is replaced once it has ended. What asks for attention is a new
message, since an edit notifies no one; a reaction to the earlier one shows how it went on.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from server.actions import reactions
from server.actions.messages import edit, send
from server.actions.messages.content import typeset_ahead
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.edit import NewContent
from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.domain.emoji import WantedEmoji
from server.domain.errors import DomainError
from server.integrations.base import Stage
from server.transactions import Tx
from storage import integration_messages
from storage.integration_messages import IntegrationMessageRow, StageRecord

_REACTIONS: Final = {Stage.FAILED: "cross_mark", Stage.RESOLVED: "check"}


@dataclass(frozen=True, slots=True)
class StageMessage:
    """A message that says of a build or an alert in which stage it is."""

    draft: OutgoingMessage
    stage: Stage
    about: bytes
    """Digest of the service, the destination, and the identity of the build or alert."""
    delivery: bytes | None
    """Digest of the delivery's id, if the service sends ids."""


async def send_stage(services: RealmServices, actor: Actor, message: StageMessage) -> None:
    """Send the message, or put it in the place of one that says what is over.

    Repeated deliveries, and a start that comes after the end, change nothing. Raises a DomainError.
    """
    async with services.read() as connection:
        earlier = await integration_messages.latest(
            connection, actor.realm_id, actor.user_id, message.about
        )
    if earlier is not None and _is_outdated(message, earlier):
        return
    if earlier is None or not earlier.is_open:
        await _send(services, actor, message)
    elif not (
        message.stage in (Stage.STARTED, Stage.ENDED)
        and await _replaced(services, actor, earlier, message)
    ):
        await _send(services, actor, message)
        await _mark(services, actor, earlier, message.stage)


def _is_outdated(message: StageMessage, earlier: IntegrationMessageRow) -> bool:
    is_repeated = message.delivery is not None and message.delivery == earlier.delivery
    return is_repeated or (message.stage is Stage.STARTED and not earlier.is_open)


async def _replaced(
    services: RealmServices, actor: Actor, earlier: IntegrationMessageRow, message: StageMessage
) -> bool:
    """Edit the earlier message; return whether that was possible."""
    new, now = NewContent(message.draft.content), services.clock.now()
    record = _record(actor, message, now)

    async def write(tx: Tx) -> None:
        await edit.edit_content(tx, actor, earlier.message_id, new, now)
        await record.put(await tx.connection(), earlier.message_id)

    await typeset_ahead(services.realm_cache, new.content, share=actor.user_id)
    try:
        await services.write(write)
    except DomainError:
        # It was deleted, or the organization does not let it be edited any more.
        return False
    return True


async def _send(services: RealmServices, actor: Actor, message: StageMessage) -> None:
    draft, now = message.draft, services.clock.now()
    decision = await send.prepare(services.realm_cache, actor, draft, services.read)
    then = _record(actor, message, now).with_send()
    await services.write(lambda tx: send.send_message(tx, actor, draft, decision, now, then))


def _record(actor: Actor, message: StageMessage, now: datetime) -> StageRecord:
    return StageRecord(
        realm_id=actor.realm_id,
        bot_id=actor.user_id,
        about=message.about,
        is_open=message.stage.is_open,
        delivery=message.delivery,
        changed_at=now,
    )


async def _mark(
    services: RealmServices, actor: Actor, earlier: IntegrationMessageRow, stage: Stage
) -> None:
    """React to the earlier message, if it is there still and has no such reaction."""
    name, now = _REACTIONS.get(stage), services.clock.now()
    if name is None:
        return
    emoji = WantedEmoji(name)
    try:
        await services.write(
            lambda tx: reactions.add_reaction(tx, actor, earlier.message_id, emoji, now=now)
        )
    except DomainError:
        return
