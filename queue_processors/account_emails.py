"""Process the account email queue: send users notices about changes to their accounts."""

from queue_processors.processor import Processor
from queue_processors.single_mail import post
from server.app import App
from server.domain.account_news import Deactivated
from server.domain.addresses import mail_domain
from server.domain.realm_settings import RealmSettings
from server.domain.unsubscribing import PURPOSE, Subscriber, link_for
from server.domain.user_settings import UserSettings
from server.i18n import catalogue_language
from server.jobs import AccountEmail
from server.mail.account_emails import AccountHead, about_account
from storage import realms, server_keys, users
from storage.database import Connection


async def handle(app: App, job: AccountEmail) -> None:
    """Send the email of a job. Raises MailNotTakenNowError, PermanentError.

    Does nothing on a server without a mail server.
    """
    if app.mailer is None:
        return
    async with app.database.connection() as connection:
        head = await _head(app, connection, job)
    if head is not None:
        await post(app.mailer, lambda: about_account(head, job.news, key=job.key), job.realm_id)


async def _head(app: App, connection: Connection, job: AccountEmail) -> AccountHead | None:
    """Return the recipient's account, or None if it no longer exists."""
    realm = await realms.by_id(connection, job.realm_id)
    assert realm is not None, "a realm is never removed"
    address = app.realm_caches.of(job.realm_id).address_of(realm)
    to, name, unsubscribe_url = job.address, job.full_name, ""
    language = RealmSettings.of(realm.settings).default_language
    if job.user_id is not None:
        [row] = await users.by_ids(connection, job.realm_id, [job.user_id])
        # What changes credentials is mailed to the address of that moment, whatever came after.
        if not (row.is_active or job.address or isinstance(job.news, Deactivated)):
            return None
        if not (job.address or row.email_confirmed):
            return None
        to, name = to or row.email, name or row.full_name
        language = UserSettings.of(row.settings).default_language
        if job.news.stopped_as:
            key = await server_keys.key_for(connection, PURPOSE)
            subscriber = Subscriber(job.realm_id, job.user_id, job.news.stopped_as)
            unsubscribe_url = link_for(key, subscriber, address)
    return AccountHead(
        realm_name=realm.name,
        realm_url=address.url,
        domain=mail_domain(address.url),
        sender=app.settings.mail_address,
        address=to,
        full_name=name,
        now=app.clock.now(),
        language=catalogue_language(language),
        unsubscribe_url=unsubscribe_url,
    )


PROCESSOR = Processor(AccountEmail, handle, database_of=lambda app: app.database)
