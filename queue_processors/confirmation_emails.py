"""Process the confirmation email queue: send links with a single-use token."""

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
from server.domain.realm_settings import RealmSettings
from server.domain.sessions import digest_of, new_token
from server.domain.user_settings import UserSettings
from server.i18n import SOURCE, catalogue_language
from server.jobs import ConfirmationEmail
from server.mail import confirmation_mails as mails
from server.mail.account_emails import AccountHead, about_account
from server.mail.confirmation_mails import EmailContent, EmailOrigin
from server.mail.folder import is_delivering
from storage import confirmations, users
from storage.confirmations import THE_SERVER, ConfirmationRow
from storage.users import UserRow


@dataclass(frozen=True, slots=True)
class _Addressed:
    """An email with its recipient."""

    letter: EmailContent
    address: str
    full_name: str = ""
    language: str = ""
    """The display language of the account; empty without one."""


async def handle(app: App, job: ConfirmationEmail) -> None:
    """Build the email from the current rows and send it.

    Each email has a new token that is in the email alone; if a retry sends the email again, both
    links work. Raises MailNotTakenNowError, PermanentError.
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
        language=catalogue_language(addressed.language or job.language or place.language),
    )
    key = f"{row.purpose}.{job.realm_id}.{job.confirmation_id}"
    await post(app.mailer, lambda: about_account(head, addressed.letter, key=key), job.realm_id)


async def _place(app: App, job: ConfirmationEmail) -> EmailOrigin:
    """Return the organization or server in the name of which the email is sent."""
    if job.realm_id == THE_SERVER:
        url = RealmAddress(app.settings.public_url).url
        return EmailOrigin(name="Parley", url=url, language=SOURCE)
    realm_cache = app.realm_caches.afresh(job.realm_id)
    realm = await realm_cache.realm()
    return EmailOrigin(
        name=realm.name,
        url=realm_cache.address_of(realm).url,
        language=RealmSettings.of(realm.settings).default_language,
    )


async def _addressed(
    app: App, job: ConfirmationEmail, place: EmailOrigin, row: ConfirmationRow
) -> _Addressed | None:
    """Return the requested email, or one to the same address that says why it is impossible.

    Returns None if the request ended while the email was being built.
    """
    user = await _user(app, job, row)
    closed = user is not None and not user.is_active
    name = "" if user is None else user.full_name
    language = "" if user is None else UserSettings.of(user.settings).default_language
    if row.purpose == RESET_PASSWORD and (user is None or closed):
        return _Addressed(mails.no_account(place, is_closed=closed), row.email, language=language)
    is_uncertain = user is not None and not user.email_confirmed and is_delivering(app.mailer)
    if row.purpose == RESET_PASSWORD and user is not None and is_uncertain:
        return _Addressed(mails.unconfirmed_account(place), user.email, language=language)
    if row.purpose == SIGN_UP and user is not None:
        return _Addressed(mails.has_account(place), row.email, name, language)
    token = await _new_token(app, job, user)
    if token is None:
        return None
    url = place.url + PATHS[row.purpose].format(token=token)
    reset = mails.imported_account if job.is_invitation else mails.reset_password
    letter = {
        RESET_PASSWORD: reset(place, name, url),
        CHANGE_EMAIL: mails.confirm_new_address(place, name, url),
        SIGN_UP: mails.confirm_sign_up(place, url),
        FOUND_REALM: mails.confirm_founding(place, url),
    }[row.purpose]
    # Never to what was typed: that may only look like the address of the account.
    if row.purpose == RESET_PASSWORD and user is not None:
        return _Addressed(letter, user.email, name, language)
    return _Addressed(letter, row.email, name, language)


async def _user(app: App, job: ConfirmationEmail, row: ConfirmationRow) -> UserRow | None:
    """Return the user that the confirmation is about, if there is one."""
    async with app.database.connection() as connection:
        if row.user_id is not None:
            found = await users.by_ids(connection, job.realm_id, [row.user_id])
        else:
            found = await users.by_emails(connection, job.realm_id, [row.email])
    return found[0] if found and found[0].bot_type is None else None


async def _new_token(app: App, job: ConfirmationEmail, user: UserRow | None) -> str | None:
    """Store the digest of a new token in the row, and return the token; None without a row."""
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
