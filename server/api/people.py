"""Which people a request may speak of."""

from collections.abc import Sequence

from server.api.endpoint import Request
from server.domain.errors import BadRequestError
from storage import users
from storage.database import Connection
from storage.ids import UserId
from storage.users import UserRow


async def known_users(
    request: Request, connection: Connection, rows: Sequence[UserRow]
) -> list[UserRow]:
    """Those of them whom the caller may know. Everyone may know bots."""
    actor, directory = request.actor, request.directory
    settings = await directory.settings()
    if not actor.is_guest or settings.guests_know_everybody(await directory.groups()):
        return list(rows)
    known = await users.known_to(connection, actor.realm_id, actor.user_id)
    return [row for row in rows if row.user_id in known or row.bot_type is not None]


async def known_user(request: Request, connection: Connection, user_id: UserId) -> UserRow:
    """The user, active or not. Raises BadRequestError unless the caller may know them."""
    rows = await users.by_ids(connection, request.actor.realm_id, [user_id])
    known = await known_users(request, connection, rows)
    if not known:
        raise BadRequestError("No such user")
    return known[0]
