"""People that a caller may know."""

from collections.abc import Sequence

from server.api.endpoint import Request
from server.domain.errors import BadRequestError
from server.i18n import _
from storage import shared_contacts, users
from storage.database import Connection
from storage.ids import UserId
from storage.users import UserRow


async def known_ids(request: Request, connection: Connection) -> set[UserId] | None:
    """Return the users that the caller may know, besides bots; None: all."""
    actor = request.actor
    if not actor.is_guest or await request.realm_cache.guests_know_all_users():
        return None
    return await shared_contacts.known_to(connection, actor.realm_id, actor.user_id)


async def known_users(request: Request, rows: Sequence[UserRow]) -> list[UserRow]:
    """Return those of the users that the caller may know. Everyone may know bots."""
    sight = await request.realm_cache.sight(request.actor.row, [row.user_id for row in rows])
    return [row for row in rows if row.user_id not in sight.strangers]


async def known_user(request: Request, connection: Connection, user_id: UserId) -> UserRow:
    """Return the user, active or not. Raises BadRequestError unless the caller may know them."""
    rows = await users.by_ids(connection, request.actor.realm_id, [user_id])
    known = await known_users(request, rows)
    if not known:
        raise BadRequestError(_("No such user"))
    return known[0]


async def user_by_email(request: Request, email: str) -> UserRow | None:
    """Return the user with this address; None if the caller may not know it."""
    found = await request.realm_cache.users_known_by(request.actor.row, [email])
    return found[0] if found else None
