"""Passwords: chosen anew by a link from a mail, set, and changed."""

from server.actions import audit
from server.actions.confirmations import LinkExpiredError, confirm, to_be_confirmed
from server.actions.credential_changes import Extent, Outcome, end_pending, end_queues
from server.domain.account_news import PasswordChanged
from server.domain.confirmations import PATHS, RESET_PASSWORD, VALID_SECONDS
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError
from server.domain.sessions import digest_of, new_token
from server.events.base import NOBODY
from server.events.log import Tick
from server.transactions import Tx
from storage import confirmations, credentials, users
from storage.confirmations import ConfirmationRow
from storage.ids import UserId
from storage.users import UserRow


async def reset_password(
    tx: Tx, digest: bytes, new_hash: str, *, end_keys: bool = False
) -> tuple[UserId, Ended]:
    """Let the holder of the token choose this password; all sessions of the account end.

    `end_keys`: its API keys, too. Raises LinkExpiredError.
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
    """Give the account this password; what is pending for it ends, and its owner is mailed.

    The caller has locked the row. `by` is recorded as having done it; None: the operator.
    """
    connection = await tx.changing()
    await credentials.update_password(connection, tx.realm_id, row.user_id, new_hash)
    outcome = await end_pending(tx, [row], extent, news=lambda ended: PasswordChanged(ended=ended))
    entry = tx.append(Tick(), NOBODY)
    audit.record_each(tx, entry, by, "user_password_changed", {row.user_id: {}})
    await end_queues_of_keys(tx, row, outcome)
    return outcome.ended


async def end_queues_of_keys(tx: Tx, row: UserRow, outcome: Outcome) -> None:
    """End the account's event queues if one of its keys has ended: one may be of its holder."""
    if outcome.keys or outcome.ended.named_keys:
        entry = await end_queues(tx, [row.user_id])
        tx.at_position(entry, users.changed(tx.realm_id, [row.user_id]))


async def _account_of(tx: Tx, asked: ConfirmationRow) -> UserId:
    """Return the user that the link is for. Raises LinkExpiredError."""
    if asked.user_id is not None:
        return asked.user_id
    # Only where a release that did not keep the account has written the mail.
    found = await credentials.by_email(await tx.connection(), tx.realm_id, asked.email)
    if found is None:
        raise LinkExpiredError
    return found.user_id


async def give_password(tx: Tx, email: str, new_hash: str) -> Ended:
    """Let the operator give the account of this address a password; all of its sessions end.

    Links with which a password could be chosen are void. Raises BadRequestError.
    """
    row = await _active(tx, email)
    return await set_password(tx, row, new_hash, Extent(sessions=True), by=None)


async def make_password_link(tx: Tx, email: str) -> str:
    """Make a link with which the account of this address gets a password: its path, for once.

    Only a digest of its token is kept. Raises BadRequestError.
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
    entry = tx.append(Tick(), NOBODY)
    audit.record_each(tx, entry, None, "user_password_link_made", {row.user_id: {}})
    return PATHS[RESET_PASSWORD].format(token=token)


async def _active(tx: Tx, email: str) -> UserRow:
    """Return the account of this address, locked.

    Raises BadRequestError for one that has no password.
    """
    found = await credentials.by_email(await tx.connection(), tx.realm_id, email)
    rows = [] if found is None else await tx.lock(users.locking(tx.realm_id, [found.user_id]))
    if not rows or rows[0].bot_type is not None:
        raise BadRequestError(f"No person has the address {email}.")
    if not rows[0].is_active:
        raise BadRequestError(f"The account of {email} is deactivated: reactivate it first.")
    return rows[0]
