"""Mails to people about their own accounts."""

from server.domain.account_news import AccountNews
from server.jobs import AccountEmail, enqueue
from server.transactions import Tx
from storage.users import UserRow


def mail_news(tx: Tx, row: UserRow, news: AccountNews, *, to: str = "") -> None:
    """Mail the account's owner what happened to it.

    `to`: the address as it is now, for news that must not follow a later change of it. Only those:
    the log keeps it.
    """
    enqueue(tx, AccountEmail(realm_id=tx.realm_id, user_id=row.user_id, address=to, news=news))
