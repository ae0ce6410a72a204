"""Second factors that the organization requires, and resets by its administrators."""

from typing import Final

from server.actions.locked_realm import lock_as_administrator
from server.actions.second_factors import reset_factors
from server.domain.access import OWNER
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.realm_settings import RealmSettings
from server.domain.second_factors import REQUIRED_ROLES, is_required
from server.i18n import _
from server.transactions import Tx
from storage import second_factors, users
from storage.ids import UserId
from storage.users import UserRow

NAMES: Final = ("second_factor_required_of", "second_factor_grace_days")
MAX_GRACE_DAYS: Final = 90


async def require_second_factors(
    tx: Tx, actor_row: UserRow, old: RealmSettings, new: RealmSettings
) -> None:
    """Let grace periods begin anew after a change, and limit sessions to their end.

    Raises BadRequestError if the actor is among those that need a second factor, and has none.
    """
    if all(getattr(old, name) == getattr(new, name) for name in NAMES):
        return
    if not 0 <= new.second_factor_grace_days <= MAX_GRACE_DAYS:
        name = "second_factor_grace_days"
        raise InvalidParameterError(name, _("Bad value for '{name}'", name=name))
    connection = await tx.changing()
    if is_required(new, actor_row.role) and not await second_factors.has_any(
        connection, tx.realm_id, actor_row.user_id
    ):
        raise BadRequestError(_("Add a second factor to your own account first."))
    if old.second_factor_required_of != new.second_factor_required_of:
        await second_factors.forget_deadlines(connection, tx.realm_id)
    lowest_role = REQUIRED_ROLES[new.second_factor_required_of]
    if lowest_role is not None:
        await second_factors.limit_sessions(
            connection,
            tx.realm_id,
            lowest_role=lowest_role,
            grace_days=new.second_factor_grace_days,
        )


async def reset_as_administrator(tx: Tx, actor: Actor, user_id: UserId) -> None:
    """Remove the second factors of a user who has lost them.

    Raises BadRequestError if the actor may not, for unknown users and bots, for the actor, and for
    users without a second factor.
    """
    await lock_as_administrator(tx, actor)
    found = await users.by_ids(await tx.connection(), tx.realm_id, [actor.user_id, user_id])
    people = {row.user_id: row for row in found}
    row = people.get(user_id)
    if row is None or row.bot_type is not None or not row.is_active:
        raise BadRequestError(_("No such user"))
    if user_id == actor.user_id:
        raise BadRequestError(_("Change your own second factors on your account page."))
    if row.role == OWNER != people[actor.user_id].role:
        raise BadRequestError(_("Must be an organization owner"))
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    await reset_factors(tx, row, by=actor.user_id)


async def reset_as_operator(tx: Tx, user_id: UserId) -> None:
    """Do the same as the operator of the server. Raises BadRequestError."""
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    await reset_factors(tx, row, by=None)
