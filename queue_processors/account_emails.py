"""Mails people what happens to their accounts."""

from queue_processors.letters import post
from queue_processors.processor import Processor
from server.app import App
from server.domain.addresses import mail_domain
from server.domain.unsubscribing import PURPOSE, Subscriber, link_for
from server.jobs import AccountEmail
from server.mail.account_emails import AccountHead, about_account
from storage import realms, server_keys


async def handle(app: App, job: AccountEmail) -> None:
    """Send it, where mail is sent at all. Raises MailNotTakenNowError, and PermanentError."""
    if app.mailer is None:
        return
    async with app.database.connection() as connection:
        realm = await realms.by_id(connection, job.realm_id)
        key = await server_keys.key_for(connection, PURPOSE)
    assert realm is not None, "a realm is never removed"
    address = app.directories.of(job.realm_id).address_of(realm)
    unsubscribe_url = ""
    if job.user_id is not None and job.news.stopped_as:
        subscriber = Subscriber(job.realm_id, job.user_id, job.news.stopped_as)
        unsubscribe_url = link_for(key, subscriber, address)
    head = AccountHead(
        realm_name=realm.name,
        realm_url=address.url,
        domain=mail_domain(address.url),
        sender=app.settings.mail_address,
        address=job.address,
        full_name=job.full_name,
        now=app.clock.now(),
        unsubscribe_url=unsubscribe_url,
    )
    await post(app.mailer, lambda: about_account(head, job.news, key=job.key), job.realm_id)


PROCESSOR = Processor(AccountEmail, handle)
