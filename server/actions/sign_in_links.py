"""Single-use tokens that begin a session: printed by a command, or carried into the desktop app."""

from datetime import datetime
from typing import NamedTuple

from server.actions import audit
from server.domain.confirmations import SIGN_IN_HERE, SIGN_IN_PURPOSES, SIGN_IN_SECONDS
from server.domain.errors import AuthenticationFailedError, BadRequestError, WrongCredentialsError
from server.domain.sessions import digest_of, new_token
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import confirmations, credentials, users
from storage.credentials import CredentialsRow
from storage.ids import UserId

SPENT = _(
    "This link was used already, or it is too old. Get a new one: on the server,"
    " `parley user sign-in-link` prints it."
)
ELSEWHERE = _(
    "This link works only on the machine that the server runs on, at localhost and"
    " without a proxy. It can still be used there."
)


class SpentToken(NamedTuple):
    user_id: UserId
    changed_at: datetime | None
    """When the user's credentials changed last."""
    purpose: str


async def make_sign_in_token(
    tx: Tx, user_id: UserId, *, purpose: str, verified: CredentialsRow | None = None
) -> str:
    """Return a token that signs the user in once, within `SIGN_IN_SECONDS[purpose]`.

    Only its digest is stored. It ends with the next change of the account's credentials;
    `verified`: the credentials with which the user has signed in, if they have. Raises
    BadRequestError, or AuthenticationFailedError if these have changed since.
    """
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    if row.bot_type is not None:
        raise BadRequestError(_("Bots do not sign in with a browser."))
    if not row.is_active:
        raise BadRequestError(
            _("The account of {email} is deactivated: reactivate it first.", email=row.email)
        )
    connection = await tx.changing()
    known = await credentials.of_user(connection, tx.realm_id, user_id)
    if verified is not None and known.changed_at != verified.changed_at:
        raise WrongCredentialsError
    confirmation_id = await confirmations.insert(
        connection,
        tx.realm_id,
        purpose=purpose,
        email=row.email,
        user_id=user_id,
        seconds=SIGN_IN_SECONDS[purpose],
    )
    token = new_token()
    await confirmations.add_token(connection, tx.realm_id, confirmation_id, digest_of(token))
    facts = audit.differences({}, {"purpose": purpose})
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, None, "user_sign_in_link_made", {user_id: facts})
    return token


async def spend_sign_in_token(tx: Tx, digest: bytes, *, is_on_this_machine: bool) -> SpentToken:
    """Return what the token was for; it is spent.

    Raises AuthenticationFailedError for a token that is spent or too old, and, without spending
    it, for one that is valid only on the server's machine.
    """
    asked = await confirmations.by_token(
        await tx.connection(), tx.realm_id, digest, SIGN_IN_PURPOSES
    )
    if asked is None or asked.user_id is None:
        raise AuthenticationFailedError(SPENT)
    if asked.purpose == SIGN_IN_HERE and not is_on_this_machine:
        raise AuthenticationFailedError(ELSEWHERE)
    [row] = await tx.lock(users.locking(tx.realm_id, [asked.user_id]))
    connection = await tx.changing()
    is_first = await confirmations.take(connection, tx.realm_id, asked.confirmation_id)
    if not is_first or not row.is_active:
        raise AuthenticationFailedError(SPENT)
    known = await credentials.of_user(connection, tx.realm_id, row.user_id)
    entry = tx.append(Tick(), NO_AUDIENCE)
    facts = audit.differences({}, {"purpose": asked.purpose})
    audit.record_each(tx, entry, row.user_id, "user_sign_in_link_used", {row.user_id: facts})
    return SpentToken(row.user_id, known.changed_at, asked.purpose)
