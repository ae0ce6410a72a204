"""Mails people the links with which they confirm something."""

from dataclasses import dataclass

from queue_processors.processor import Processor
from queue_processors.single_mail import post
from server.app import App
from server.domain.addresses import RealmAddress, mail_domain
from server.domain.confirmations import (
    CHANGE_EMAIL,
    FOUND_REALM,
    PATHS,
    RESET_PASSWORD,
    SIGN_UP,
)
from server.domain.sessions import digest_of, new_token
from server.jobs import ConfirmationEmail
from server.mail import confirmation_letters as letters
from server.mail.account_emails import AccountHead, about_account
from server.mail.confirmation_letters import EmailContent, EmailOrigin
from storage import confirmations, users
from storage.confirmations import THE_SERVER, ConfirmationRow
from storage.users import UserRow


@dataclass(frozen=True, slots=True)
class _Addressed:
    """A letter, and whom it goes to."""

    letter: EmailContent
    address: str
    full_name: str = ""


async def handle(app: App, job: ConfirmationEmail) -> None:
    """Write the mail as everything stands now, and send it.

    The link in it gets a token of its own, which nobody but its reader ever sees: if the mail is
    sent again, both links work. Raises MailNotTakenNowError, and PermanentError.
    """
    async with app.database.connection() as connection:
        row = await confirmations.by_id(connection, job.realm_id, job.confirmation_id)
    if row is None or app.mailer is None:
        return
    place = await _place(app, job)
    addressed = await _addressed(app, job, place, row)
    if addressed is None:
        return
    head = AccountHead(
        realm_name=place.name,
        realm_url=place.url,
        domain=mail_domain(place.url),
        sender=app.settings.mail_address,
        address=addressed.address,
        full_name=addressed.full_name,
        now=app.clock.now(),
    )
    key = f"{row.purpose}.{job.realm_id}.{job.confirmation_id}"
    await post(app.mailer, lambda: about_account(head, addressed.letter, key=key), job.realm_id)


async def _place(app: App, job: ConfirmationEmail) -> EmailOrigin:
    """In whose name it is written."""
    if job.realm_id == THE_SERVER:
        return EmailOrigin(name="Parley", url=RealmAddress(app.settings.public_url).url)
    realm_cache = app.realm_caches.afresh(job.realm_id)
    realm = await realm_cache.realm()
    return EmailOrigin(name=realm.name, url=realm_cache.address_of(realm).url)


async def _addressed(
    app: App, job: ConfirmationEmail, place: EmailOrigin, row: ConfirmationRow
) -> _Addressed | None:
    """What the row asks for; or why that cannot be, told to the one who can read it alone.

    None: it has ended while the mail was being written.
    """
    user = await _user(app, job, row)
    closed = user is not None and not user.is_active
    name = "" if user is None else user.full_name
    if row.purpose == RESET_PASSWORD and (user is None or closed):
        return _Addressed(letters.no_account(place, is_closed=closed), row.email)
    if row.purpose == SIGN_UP and user is not None:
        return _Addressed(letters.has_account(place), row.email, name)
    token = await _new_token(app, job, user)
    if token is None:
        return None
    url = place.url + PATHS[row.purpose].format(token=token)
    letter = {
        RESET_PASSWORD: letters.reset_password(place, name, url),
        CHANGE_EMAIL: letters.confirm_new_address(place, name, url),
        SIGN_UP: letters.confirm_sign_up(place, url),
        FOUND_REALM: letters.confirm_founding(place, url),
    }[row.purpose]
    # Never to what was typed: that may only look like the address of the account.
    if row.purpose == RESET_PASSWORD and user is not None:
        return _Addressed(letter, user.email, name)
    return _Addressed(letter, row.email, name)


async def _user(app: App, job: ConfirmationEmail, row: ConfirmationRow) -> UserRow | None:
    """The person whose account it is about, if there is one."""
    async with app.database.connection() as connection:
        if row.user_id is not None:
            found = await users.by_ids(connection, job.realm_id, [row.user_id])
        else:
            found = await users.by_emails(connection, job.realm_id, [row.email])
    return found[0] if found and found[0].bot_type is None else None


async def _new_token(app: App, job: ConfirmationEmail, user: UserRow | None) -> str | None:
    """A token for the mail, of which the row has the digest; None if there is no row any more."""
    token = new_token()
    async with app.database.connection() as connection:
        is_added = await confirmations.add_token(
            connection,
            job.realm_id,
            job.confirmation_id,
            digest_of(token),
            user_id=None if user is None else user.user_id,
        )
    return token if is_added else None


PROCESSOR = Processor(ConfirmationEmail, handle, database_of=lambda app: app.database)
