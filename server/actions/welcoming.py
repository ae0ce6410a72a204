"""Welcome a new user: greetings, and an email with the way back."""

from server.actions.account_mail import mail_news
from server.domain.account_news import Welcome
from server.domain.realm_settings import RealmSettings
from server.domain.user_settings import UserSettings
from server.jobs import Greeting, enqueue
from server.transactions import Tx
from storage import users
from storage.ids import UserId
from storage.realms import RealmRow


async def welcome(
    tx: Tx,
    realm: RealmRow,
    user_id: UserId,
    *,
    text: str | None = None,
    inviter_id: UserId | None = None,
) -> None:
    """Enqueue everything that follows, in the transaction that creates the account.

    See Greeting.
    """
    enqueue(tx, Greeting(realm_id=tx.realm_id, user_id=user_id, text=text, inviter_id=inviter_id))
    if not RealmSettings.of(realm.settings).send_welcome_emails:
        return
    [row] = await users.by_ids(await tx.connection(), tx.realm_id, [user_id])
    if UserSettings.of(row.settings).enable_marketing_emails:
        mail_news(tx, row, Welcome())
