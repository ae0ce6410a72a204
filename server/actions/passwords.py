"""Reset, set and change passwords."""

from server.actions import audit
from server.actions.confirmations import LinkExpiredError, confirm, to_be_confirmed
from server.actions.credential_changes import Extent, Outcome, end_pending, end_queues
from server.domain.account_news import PasswordChanged
from server.domain.confirmations import PATHS, RESET_PASSWORD, VALID_SECONDS
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError
from server.domain.sessions import digest_of, new_token
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import confirmations, credentials, users
from storage.confirmations import ConfirmationRow
from storage.ids import UserId
from storage.users import UserRow


async def reset_password(
    tx: Tx, digest: bytes, new_hash: str, *, end_keys: bool = False
) -> tuple[UserId, Ended]:
    """Set the password of the token's account; end all its sessions.

    `end_keys`: revoke its API keys, too. Raises LinkExpiredError.
    """
    asked = await to_be_confirmed(tx, digest, RESET_PASSWORD)
    [row] = await tx.lock(users.locking(tx.realm_id, [await _account_of(tx, asked)]))
    if not row.is_active:
        raise LinkExpiredError
    await confirm(tx, asked)
    extent = Extent(sessions=True, api_key=end_keys, named_keys=end_keys)
    return row.user_id, await set_password(tx, row, new_hash, extent, by=row.user_id)


async def set_password(
    tx: Tx, row: UserRow, new_hash: str, extent: Extent, *, by: UserId | None
) -> Ended:
    """Set the account's password, revoke what is pending, and email its owner.

    The caller has locked the row. `by` is recorded as the actor; None: the operator.
    """
    connection = await tx.changing()
    await credentials.update_password(connection, tx.realm_id, row.user_id, new_hash)
    outcome = await end_pending(tx, [row], extent, news=lambda ended: PasswordChanged(ended=ended))
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, by, "user_password_changed", {row.user_id: {}})
    await end_queues_of_keys(tx, row, outcome)
    return outcome.ended


async def end_queues_of_keys(tx: Tx, row: UserRow, outcome: Outcome) -> None:
    """Delete the account's event queues if one of its keys was revoked."""
    if outcome.keys or outcome.ended.named_keys:
        entry = await end_queues(tx, [row.user_id])
        tx.at_position(entry, users.changed(tx.realm_id, [row.user_id]))


async def _account_of(tx: Tx, asked: ConfirmationRow) -> UserId:
    """Return the user that the link is for. Raises LinkExpiredError."""
    if asked.user_id is not None:
        return asked.user_id
    # Only if a release that did not store the account has sent the email.
    found = await credentials.by_email(await tx.connection(), tx.realm_id, asked.email)
    if found is None:
        raise LinkExpiredError
    return found.user_id


async def give_password(tx: Tx, email: str, new_hash: str) -> Ended:
    """Set the password of this address's account as the operator; end all its sessions.

    Pending password links are void. Raises BadRequestError.
    """
    row = await _active(tx, email)
    return await set_password(tx, row, new_hash, Extent(sessions=True), by=None)


async def make_password_link(tx: Tx, email: str) -> str:
    """Create a one-time link to set the password of this address's account; return its path.

    Only a digest of its token is stored. Raises BadRequestError.
    """
    row = await _active(tx, email)
    connection = await tx.changing()
    confirmation_id = await confirmations.insert(
        connection,
        tx.realm_id,
        purpose=RESET_PASSWORD,
        email=row.email,
        user_id=row.user_id,
        seconds=VALID_SECONDS,
    )
    token = new_token()
    await confirmations.add_token(connection, tx.realm_id, confirmation_id, digest_of(token))
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, None, "user_password_link_made", {row.user_id: {}})
    return PATHS[RESET_PASSWORD].format(token=token)


async def _active(tx: Tx, email: str) -> UserRow:
    """Lock and return the account of this address.

    Raises BadRequestError for one that has no password.
    """
    found = await credentials.by_email(await tx.connection(), tx.realm_id, email)
    rows = [] if found is None else await tx.lock(users.locking(tx.realm_id, [found.user_id]))
    if not rows or rows[0].bot_type is not None:
        raise BadRequestError(_("No person has the address {email}.", email=email))
    if not rows[0].is_active:
        raise BadRequestError(
            _("The account of {email} is deactivated: reactivate it first.", email=email)
        )
    return rows[0]
