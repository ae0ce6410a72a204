"""Unique names, if the realm requires them."""

from server.actions.locked_realm import LockedRealm
from server.domain.accounts import NAME_TAKEN
from server.domain.errors import BadRequestError
from server.i18n import _
from storage import users
from storage.database import Connection
from storage.users import UserRow


async def check_unique(
    connection: Connection, context: LockedRealm, row: UserRow, name: str
) -> None:
    """Raise BadRequestError if another user has the name. Bots have unique names anyway."""
    is_bot = row.bot_type is not None
    if not is_bot and not context.settings.require_unique_names:
        return
    same = await users.named(connection, context.realm.realm_id, name)
    if any(each.user_id != row.user_id for each in same):
        raise BadRequestError(
            NAME_TAKEN if is_bot else _("Unique names required in this organization.")
        )
