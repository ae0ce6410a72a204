"""People choose a new password without knowing the old one."""

from server.actions import audit
from server.actions.confirmations import LinkExpiredError, confirm, to_be_confirmed
from server.domain.account_news import AccountNews, PasswordChanged
from server.domain.confirmations import RESET_PASSWORD
from server.events.base import NOBODY, Tx
from server.events.log import Tick
from server.jobs import AccountEmail, enqueue
from storage import confirmations, credentials, sessions, users
from storage.address_folding import fold_address
from storage.ids import UserId
from storage.users import UserRow


async def reset_password(tx: Tx, digest: bytes, new_hash: str) -> UserId:
    """Let whoever holds the token have this password; all of their sessions end.

    All other links of the kind are void. Raises LinkExpiredError.
    """
    asked = await to_be_confirmed(tx, digest, RESET_PASSWORD)
    found = await credentials.by_email(await tx.connection(), tx.realm_id, asked.email)
    if found is None:
        raise LinkExpiredError
    [row] = await tx.lock(users.locking(tx.realm_id, [found.user_id]))
    if not row.is_active or fold_address(row.email) != fold_address(asked.email):
        raise LinkExpiredError
    await confirm(tx, asked)
    connection = await tx.changing()
    await confirmations.drop_of_email(
        connection, tx.realm_id, purpose=RESET_PASSWORD, email=asked.email
    )
    await credentials.update_password(connection, tx.realm_id, row.user_id, new_hash)
    await sessions.end_of_users(connection, tx.realm_id, [row.user_id])
    tell_of_new_password(tx, row)
    return row.user_id


def tell_of_new_password(tx: Tx, row: UserRow) -> None:
    """Keep that somebody has another password, and mail it to them."""
    audit.record(
        tx,
        tx.append(Tick(), NOBODY),
        row.user_id,
        "user_password_changed",
        subject_id=row.user_id,
        before={},
        after={},
    )
    mail_news(tx, row, PasswordChanged())


def mail_news(tx: Tx, row: UserRow, news: AccountNews, *, to: str = "") -> None:
    """Mail somebody what happened to their account, at the address that it has then.

    `to` another one: only where it is not theirs any more, for the log keeps it.
    """
    enqueue(tx, AccountEmail(realm_id=tx.realm_id, user_id=row.user_id, address=to, news=news))
