"""Process the invitation email queue."""

from queue_processors.processor import Processor
from queue_processors.single_mail import post
from server.app import App
from server.domain.addresses import mail_domain
from server.domain.invitations import PATH, new_key
from server.jobs import InvitationEmail
from server.mail.invitations import Asking, asking
from storage import invitations, users
from storage.invitations import InvitationRow


async def handle(app: App, job: InvitationEmail) -> None:
    """Send the email of an open invitation. Raises MailNotTakenNowError, PermanentError.

    Each email has a new token that is in the email alone; if a retry sends the email again, both
    links work.
    """
    if app.mailer is None:
        return
    async with app.database.connection() as connection:
        row = await invitations.by_id(connection, job.realm_id, job.invitation_id)
    if row is None or row.email is None or row.state != "open" or row.is_over(app.clock.now()):
        return
    some = await _asking(app, job, row, row.email)
    await post(app.mailer, lambda: asking(some), job.realm_id)


async def _asking(app: App, job: InvitationEmail, row: InvitationRow, email: str) -> Asking:
    realm_cache = app.realm_caches.afresh(job.realm_id)
    realm, settings = await realm_cache.realm(), await realm_cache.settings()
    key = new_key(row.invitation_id)
    async with app.database.connection() as connection:
        [inviter] = await users.by_ids(connection, job.realm_id, [row.inviter_id])
        await invitations.add_token(connection, job.realm_id, row.invitation_id, key.digest)
    url = realm_cache.address_of(realm).url
    return Asking(
        realm_name=realm.name,
        realm_url=url,
        domain=mail_domain(url),
        sender=app.settings.mail_address,
        inviter_name=inviter.full_name,
        address=email,
        url=url + PATH.format(token=key.token),
        ends_at=row.ends_at,
        language=settings.default_language,
        is_by_link=row.by_link is not None,
        key=f"{job.realm_id}.{row.invitation_id}.{row.mails}",
        now=app.clock.now(),
    )


PROCESSOR = Processor(InvitationEmail, handle, database_of=lambda app: app.database)
