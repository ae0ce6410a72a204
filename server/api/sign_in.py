"""Sign-in with a name and a password."""

from typing import TYPE_CHECKING, Final

import structlog

from server.actions.directory_claims import follow_claims
from server.actions.directory_people import (
    call_as_directory_does,
    join_from_directory,
    know_by_directory_id,
    write_as_directory_does,
)
from server.actions.directory_profiles import changed_answers, follow_profile
from server.actions.signing_in import begin_account
from server.actions.users import NewUser, keep_rehashed_password
from server.api.directory_claims import claims_of, finish_access_changes, follow_groups
from server.api.directory_pictures import follow_picture
from server.api.failed_sign_ins import failures_logged
from server.api.rate_limit import RateLimits
from server.app import App
from server.domain.errors import (
    AuthenticationFailedError,
    BadRequestError,
    PasswordAuthDisabledError,
    RealmDeactivatedError,
    UserDeactivatedError,
    WrongCredentialsError,
)
from server.domain.sign_in import LDAP, PASSWORDS
from server.i18n import _
from server.identity.identities import DirectoryAwayError, IdentityError
from server.realm_cache import RealmCache
from server.transactions import Tx
from storage import credentials, directory_ids, users
from storage.address_folding import fold_address
from storage.credentials import CredentialsRow
from storage.ids import UserId

if TYPE_CHECKING:
    from server.identity.ldap import DirectoryEntry, Ldap

logger = structlog.get_logger(__name__)

TAKEN: Final = _(
    "Your address in the directory is that of another account here. Ask an administrator."
)
UNCONFIRMED: Final = _(
    "An account here has this address, but has not confirmed it. If it is yours, sign in with its"
    " password and confirm the address on your account page; else ask an administrator."
)


async def who_signs_in(
    app: App,
    limits: RateLimits,
    realm_cache: RealmCache,
    username: str,
    password: str,
    headers: dict[str, str],
    *,
    address: str,
) -> CredentialsRow:
    """Return the active user with this name and password; raise DomainError.

    An unknown name takes as long to refuse. If the realm has an LDAP directory, it is queried for
    users without such a password here; a new user gets an account, if the realm is open to them.
    Attempts are counted by name; `headers` get the state of the limit. `address` is the client's,
    under which a failure is logged.
    """
    async with failures_logged(
        app, realm_cache.realm_id, address=address, method="password", account=username
    ):
        return await _sign_in(app, limits, realm_cache, username, password, headers)


async def _sign_in(
    app: App,
    limits: RateLimits,
    realm_cache: RealmCache,
    username: str,
    password: str,
    headers: dict[str, str],
) -> CredentialsRow:
    if (await realm_cache.realm()).deactivated:
        raise RealmDeactivatedError(_("This organization has been deactivated"))
    settings = await realm_cache.settings()
    ldap = app.identities.ldap if settings.wants_method(LDAP) else None
    if ldap is None and not settings.wants_method(PASSWORDS):
        raise PasswordAuthDisabledError(
            _("Password authentication is disabled in your organization")
        )
    await limits.count_sign_in(realm_cache.realm_id, username, headers)
    found = None
    if settings.wants_method(PASSWORDS):
        found = await _by_password(app, realm_cache, username, password)
    if found is None and ldap is not None:
        # Only now: so no password of ours is sent to the directory, and users who have one do not
        # wait.
        found = await _by_directory(app, realm_cache, ldap, username, password)
    if found is None:
        raise WrongCredentialsError
    await limits.forget_sign_ins(realm_cache.realm_id, username)
    if not found.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    return found


async def begin_account_of(app: App, realm_cache: RealmCache, user_id: UserId) -> None:
    """Record the sign-in if it is the first one of an imported or created account."""
    row = await realm_cache.user(user_id)
    if row is not None and row.stub is not None:
        writer, now = app.writers.of(realm_cache.realm_id), app.clock.now()
        await writer.write(lambda tx: begin_account(tx, user_id, now=now))


async def person_with(app: App, realm_cache: RealmCache, email: str) -> CredentialsRow | None:
    """Return the user with this address, vouched for by others; None if there is none.

    Raises UserDeactivatedError, and AuthenticationFailedError for an unconfirmed address.
    """
    found = await _account_with(app, realm_cache, email)
    if found is not None:
        check_confirmed(found)
    return found


def check_confirmed(found: CredentialsRow) -> None:
    """Raise AuthenticationFailedError if the account's address is not confirmed."""
    if not found.email_confirmed:
        raise AuthenticationFailedError(UNCONFIRMED)


async def _account_with(app: App, realm_cache: RealmCache, email: str) -> CredentialsRow | None:
    async with app.database.connection() as connection:
        found = await credentials.by_email(connection, realm_cache.realm_id, email)
    if found is None:
        return None
    row = await realm_cache.user(found.user_id)
    if not found.is_active or row is None or row.bot_type is not None:
        raise UserDeactivatedError(_("Account is deactivated"))
    return found


async def _by_password(
    app: App, realm_cache: RealmCache, username: str, password: str
) -> CredentialsRow | None:
    """Return the user with this password here, active or not."""
    async with app.database.connection() as connection:
        found = await credentials.by_email(connection, realm_cache.realm_id, username.strip())
    known = None if found is None else found.password_hash
    verdict = await app.passwords.verify(password, known)
    if found is None or known is None or not verdict.right:
        return None
    if verdict.new_hash is not None:
        user_id, new = found.user_id, verdict.new_hash
        writer = app.writers.of(realm_cache.realm_id)
        await writer.write(lambda tx: keep_rehashed_password(tx, user_id, old=known, new=new))
    return found


async def _by_directory(
    app: App, realm_cache: RealmCache, ldap: "Ldap", username: str, password: str
) -> CredentialsRow | None:
    """Return the account of the user with this password in the directory, brought to its state."""
    try:
        entry = await ldap.sign_in(username, password)
    except (DirectoryAwayError, IdentityError) as error:
        logger.warning("ldap.sign_in_error", reason=error.reason)
        raise
    if entry is None:
        return None
    found = await account_of(app, realm_cache, entry)
    if found is None:
        found = await _join(app, realm_cache, ldap, entry)
    else:
        user_id = found.user_id
        await _keep_up(app, realm_cache, found, entry)
        await follow_groups(app, realm_cache, user_id, entry.identity, ldap.mapping, provider=LDAP)
        found = await account_of(app, realm_cache, entry)
    if found is not None:
        await follow_picture(app, realm_cache, found.user_id, entry.picture)
    return found


async def account_of(
    app: App, realm_cache: RealmCache, entry: "DirectoryEntry"
) -> CredentialsRow | None:
    """Return the account of an entry by its id, else by its address.

    Raises DomainError if it cannot be used.
    """
    realm_id, directory_id = realm_cache.realm_id, entry.directory_id
    if directory_id is None:
        return await person_with(app, realm_cache, entry.identity.email)
    async with app.database.connection() as connection:
        user_id = await directory_ids.user_of(connection, realm_id, directory_id)
        rows = await users.by_ids(connection, realm_id, [user_id]) if user_id is not None else []
    if rows:
        return await _account_with(app, realm_cache, rows[0].email)
    found = await person_with(app, realm_cache, entry.identity.email)
    if found is not None:
        async with app.database.connection() as connection:
            other = await directory_ids.of_user(connection, realm_id, found.user_id)
        if other is not None:
            logger.warning("ldap.address_reassigned", entry=entry.dn)
            raise AuthenticationFailedError(TAKEN)
    return found


async def _join(
    app: App, realm_cache: RealmCache, ldap: "Ldap", entry: "DirectoryEntry"
) -> CredentialsRow | None:
    """Create an account for a new user, with the groups and the role of the directory.

    Raises BadRequestError if the realm is not open to them.
    """
    new = NewUser(email=entry.identity.email, full_name=entry.identity.full_name)
    claims = await claims_of(app, realm_cache, entry.identity, ldap.mapping, provider=LDAP)
    writer, now = app.writers.of(realm_cache.realm_id), app.clock.now()

    async def join(tx: Tx) -> list[str]:
        user_id = await join_from_directory(tx, new, directory_id=entry.directory_id, now=now)
        await follow_profile(tx, user_id, entry.profile)
        if claims is None:
            return []
        return await follow_claims(tx, user_id, claims, cause=LDAP, now=now)

    try:
        work = await writer.write(join)
    except BadRequestError:
        # A concurrent sign-in of the same person may have created it.
        found = await account_of(app, realm_cache, entry)
        if found is None:
            raise
        return found
    await finish_access_changes(app, realm_cache.realm_id, work)
    return await account_of(app, realm_cache, entry)


async def _keep_up(
    app: App, realm_cache: RealmCache, found: CredentialsRow, entry: "DirectoryEntry"
) -> None:
    """Update the account from the entry; a failure does not prevent the sign-in."""
    row = await realm_cache.user(found.user_id)
    if row is None:
        return
    user_id, identity, directory_id = found.user_id, entry.identity, entry.directory_id
    writer = app.writers.of(realm_cache.realm_id)
    try:
        if directory_id is not None:
            async with app.database.connection() as connection:
                known = await directory_ids.of_user(connection, realm_cache.realm_id, user_id)
            if known is None:
                await writer.write(lambda tx: know_by_directory_id(tx, user_id, directory_id))
        is_same = fold_address(row.email) == fold_address(identity.email)
        if not (is_same and row.email_confirmed):
            await writer.write(lambda tx: write_as_directory_does(tx, user_id, identity.email))
        if row.full_name != identity.full_name:
            await writer.write(lambda tx: call_as_directory_does(tx, user_id, identity.full_name))
        async with app.database.connection() as connection:
            answers = await changed_answers(
                connection, realm_cache.realm_id, user_id, entry.profile
            )
        if answers:
            await writer.write(lambda tx: follow_profile(tx, user_id, entry.profile))
    except BadRequestError as error:
        logger.warning("ldap.profile_sync_failed", entry=entry.dn, reason=error.message)
