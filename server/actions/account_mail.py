"""Emails to users about their own accounts."""

from server.domain.account_news import AccountNews
from server.jobs import AccountEmail, enqueue
from server.transactions import Tx
from storage.users import UserRow


def mail_news(tx: Tx, row: UserRow, news: AccountNews, *, to: str = "") -> None:
    """Enqueue an email to the account's owner about a change, if the address is confirmed.

    `to`: a fixed address, for emails that must not follow a later change of the account's address.
    Otherwise None, because the log keeps it.
    """
    if row.email_confirmed:
        job = AccountEmail(realm_id=tx.realm_id, user_id=row.user_id, address=to, news=news)
        enqueue(tx, job)
