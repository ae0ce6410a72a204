"""Mute users: messages they send are read at once."""

from datetime import datetime

from server.actions.clocked import Attempt
from server.actions.locked_realm import lock_context
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.events.base import to_users
from server.i18n import _
from server.transactions import Tx
from storage import muted_users, shared_contacts
from storage.ids import UserId


async def mute_user(tx: Tx, actor: Actor, user_id: UserId, *, now: datetime) -> None:
    """Mute a user that the actor may know, active or not; their messages become read.

    Raises BadRequestError, also if the user is muted already.
    """
    if user_id == actor.user_id:
        raise BadRequestError(_("Cannot mute self"))
    await _check_known(tx, actor, user_id)
    statement = muted_users.mute(
        tx.realm_id,
        actor.user_id,
        user_id,
        muted_at=now,
        audience=to_users(actor.user_id).encode(),
        write_id=tx.write_id,
    )
    tx.clocked(Attempt(statement, "User already muted"))


async def unmute_user(tx: Tx, actor: Actor, user_id: UserId) -> None:
    """Unmute a user: what they have sent so far stays read. Raises BadRequestError."""
    statement = muted_users.unmute(
        tx.realm_id,
        actor.user_id,
        user_id,
        audience=to_users(actor.user_id).encode(),
        write_id=tx.write_id,
    )
    tx.clocked(Attempt(statement, "User is not muted"))


async def _check_known(tx: Tx, actor: Actor, user_id: UserId) -> None:
    context = await lock_context(tx, actor, [user_id])
    row = context.people.get(user_id)
    if row is None:
        raise BadRequestError(_("No such user"))
    own = context.people[actor.user_id]
    if (
        Actor(actor.realm_id, own, actor.client).is_guest
        and row.bot_type is None
        and not context.settings.guests_know_all_users(context.graph)
        and user_id
        not in await shared_contacts.known_to(await tx.connection(), tx.realm_id, actor.user_id)
    ):
        raise BadRequestError(_("No such user"))
