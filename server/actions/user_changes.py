"""Change another user's name, role and profile data, as an administrator."""

from dataclasses import dataclass, field
from datetime import datetime

from server.actions.locked_realm import lock_as_administrator, locked_realm_of
from server.actions.profile_data import Answers, change_data_of
from server.actions.user_roles import change_role
from server.actions.user_settings import rename
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.i18n import _
from server.transactions import Tx
from storage import users
from storage.ids import UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChange:
    """Requested changes of a user; None leaves a field as it is."""

    full_name: str | None = None
    role: int | None = None
    answers: Answers = field(default_factory=dict)


async def change_user(
    tx: Tx, actor: Actor, user_id: UserId, change: UserChange, *, now: datetime
) -> None:
    """Make all changes, or none; publish them to all who know the user. Raises a DomainError."""
    realm = await lock_as_administrator(tx, actor)
    found = await users.by_ids(await tx.connection(), tx.realm_id, [user_id])
    if not found or found[0].is_system_bot:
        raise BadRequestError(_("No such user"))
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if change.full_name is not None:
        await rename(tx, actor, await locked_realm_of(tx, realm, [row]), row, change.full_name)
    if change.answers:
        await change_data_of(tx, actor, user_id, change.answers)
    if change.role is not None and change.role != row.role:
        await change_role(tx, actor, user_id, change.role, now=now)
