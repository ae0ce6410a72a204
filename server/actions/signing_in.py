"""Email users about sign-ins with an app, or with an unknown browser."""

from datetime import datetime, timedelta
from typing import Final

from server.actions.account_mail import mail_news
from server.domain.account_news import SignedIn
from server.domain.browsers import known_device
from server.domain.sign_in import PASSWORDS
from server.domain.user_settings import UserSettings
from server.transactions import Tx
from storage import sessions, users
from storage.ids import UserId

JUST_JOINED: Final = timedelta(minutes=1)


async def enqueue_sign_in_email(tx: Tx, user_id: UserId, user_agent: str, *, now: datetime) -> None:
    """Enqueue an email about a sign-in, unless the user does not want it.

    The first sign-in is skipped: it follows the creation of the account.
    """
    connection = await tx.connection()
    [row] = await users.by_ids(connection, tx.realm_id, [user_id])
    if not row.is_active or not UserSettings.of(row.settings).enable_login_emails:
        return
    if now - row.date_joined < JUST_JOINED:
        return
    if not await sessions.ever_came(connection, tx.realm_id, user_id):
        return
    settings = await (await tx.realm_cache()).settings()
    news = SignedIn(
        at=now,
        timezone=row.timezone,
        device=known_device(user_agent),
        has_password_here=settings.wants_method(PASSWORDS),
    )
    mail_news(tx, row, news)
