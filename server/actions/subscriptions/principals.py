"""Users named by a request about subscriptions."""

from collections.abc import Sequence

from server.actions.locked_realm import LockedRealm
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.i18n import _
from server.transactions import Tx
from storage.address_folding import fold_address
from storage.ids import UserId


async def principal_ids(
    tx: Tx, actor: Actor, principals: Sequence[int] | Sequence[str] | None
) -> list[UserId]:
    """Return their ids, each once; the actor's for none.

    Raises BadRequestError for unknown addresses.
    """
    if not principals:
        return [actor.user_id]
    ids = [UserId(each) for each in principals if isinstance(each, int)]
    emails = [each for each in principals if isinstance(each, str)]
    if emails:
        found = await (await tx.realm_cache()).users_known_by(actor.row, emails)
        if len(found) < len({fold_address(email) for email in emails}):
            raise BadRequestError(_("No such user"))
        ids += [row.user_id for row in found]
    return list(dict.fromkeys(ids))


def refuse_unfit(context: LockedRealm, user_ids: Sequence[UserId]) -> None:
    """Raise BadRequestError if any of them is unknown, deactivated, or a system bot."""
    for user_id in user_ids:
        row = context.people.get(user_id)
        if row is None or row.is_system_bot:
            raise BadRequestError(_("No such user"))
        if not row.is_active:
            raise BadRequestError(_("User is deactivated"))
