"""New passwords in forms."""

from typing import Final

from server.api.endpoint import Request
from server.domain.accounts import checked_password
from server.domain.errors import BadRequestError
from server.i18n import _

FIELD: Final = "new_password"
WEAK: Final = _(
    "This password is too easy to guess. Take a longer one, like four words that have nothing to"
    " do with each other."
)


async def new_password_hash(request: Request, *known: str) -> str:
    """Return the hash of the form's password, if it cannot be guessed from the user's data.

    Raises BadRequestError.
    """
    password = request.form_value(FIELD)
    checked_password(password)
    realm = await request.realm_cache.realm() if request.realm_id is not None else None
    names = (realm.name,) if realm is not None else ()
    if await request.app.passwords.is_weak(password, *known, *names):
        raise BadRequestError(WEAK)
    return await request.app.passwords.hash(password)
