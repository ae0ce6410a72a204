"""Notify senders of messages of the reactions to them, once for all within a window."""

from contextlib import suppress
from datetime import datetime

from server.actions.realm_services import RealmServices
from server.actions.timers import TakenError, claim
from server.domain.actor import Actor
from server.domain.notifications import PRESENCE_TIMEOUT
from server.domain.reaction_notifications import MAX_SHOWN, WINDOW, is_notified
from server.domain.user_settings import UserSettings
from server.events.base import Entry, to_users
from server.events.reaction_notifications import NotifiedReaction, ReactionsNotified
from server.jobs import ReactionPush, enqueue
from server.transactions import Tx
from storage import notification_candidates, reaction_notifications
from storage.database import Connection
from storage.ids import UserId
from storage.message_places import MessagePlace
from storage.reaction_notifications import NewReaction, ReactionWindow


async def collect_reaction(
    tx: Tx, actor: Actor, entry: Entry, place: MessagePlace, *, now: datetime
) -> None:
    """Open the window of a message with the reaction of an entry, if its sender wants that.

    The message is locked. A reaction within an open window joins it. Reactions of bots open none.
    """
    if actor.user_id == place.sender_id or actor.is_bot:
        return
    # An exact write would lock the sender after the message: there, the statement alone decides.
    if not tx.exact:
        sender = await (await tx.realm_cache()).user(place.sender_id)
        if sender is None or not UserSettings.of(sender.settings).enable_reaction_notifications:
            return
    opening = reaction_notifications.open_window(
        tx.realm_id, place.id, place.sender_id, due_at=now + WINDOW
    )
    tx.at_position(entry, opening)


async def deliver(services: RealmServices, row: ReactionWindow) -> bool:
    """End a window: notify the sender of what is new and still there, exactly once.

    The event, the job that pushes it and the end of the window are one commit. Return False if
    another process ends it.
    """
    try:
        await services.write(lambda tx: _end(tx, row))
    except TakenError:
        return False
    return True


async def give_up(services: RealmServices, row: ReactionWindow) -> None:
    """End the window without a notification after the last attempt."""

    async def drop(tx: Tx) -> None:
        await _claim(tx, row)

    with suppress(TakenError):
        await services.write(drop)


async def _end(tx: Tx, row: ReactionWindow) -> None:
    await _claim(tx, row)
    connection = await tx.connection()
    here = (tx.realm_id, row.user_id, row.message_id)
    recipient = await reaction_notifications.recipient(connection, *here)
    if recipient is None or not is_notified(recipient):
        return
    new = await reaction_notifications.unseen(connection, *here, since=row.first_position)
    if not new:
        return
    tx.append(_event(row, new), to_users(row.user_id))
    settings = UserSettings.of(recipient.settings)
    if settings.enable_online_push_notifications or not await _is_present(
        connection, tx, row.user_id
    ):
        job = ReactionPush(
            realm_id=tx.realm_id,
            user_id=row.user_id,
            message_id=row.message_id,
            since=row.first_position,
            until=new[-1].position,
        )
        enqueue(tx, job)


async def _claim(tx: Tx, row: ReactionWindow) -> None:
    """Lock the message, then take the window away. Raises TakenError.

    With the message locked, no reaction is being added: each is in this window or opens another.
    """
    tx.must_be_exact()
    await tx.lock(reaction_notifications.locking_message(tx.realm_id, row.message_id))
    await claim(tx, reaction_notifications.locking(tx.realm_id, row.message_id), row)
    await reaction_notifications.delete(await tx.changing(), tx.realm_id, row.message_id)


async def _is_present(connection: Connection, tx: Tx, user_id: UserId) -> bool:
    return user_id in await notification_candidates.present(
        connection, tx.realm_id, [user_id], within=PRESENCE_TIMEOUT
    )


def _event(row: ReactionWindow, new: list[NewReaction]) -> ReactionsNotified:
    return ReactionsNotified(
        message_id=row.message_id,
        window_id=row.first_position,
        user_count=len({each.user_id for each in new}),
        reactions=[
            NotifiedReaction(
                user_id=each.user_id,
                emoji_name=each.emoji_name,
                emoji_code=each.emoji_code,
                reaction_type=each.reaction_type,
            )
            for each in new[:MAX_SHOWN]
        ],
    )
