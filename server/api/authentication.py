"""Endpoints that return an API key for a name and a password, or a token."""

from functools import partial

import msgspec
from msgspec import UNSET, UnsetType

from server.actions.signing_in import enqueue_sign_in_email
from server.api.endpoint import Access, Endpoint, NoParams, Request, Result
from server.api.failed_sign_ins import failures_logged
from server.api.params import Params
from server.api.second_factors import needs_second_factor
from server.api.sign_in import begin_account_of, check_confirmed, who_signs_in
from server.domain.access import ADMINISTRATOR
from server.domain.api_keys import Secret
from server.domain.errors import (
    BadRequestError,
    RealmDeactivatedError,
    UserDeactivatedError,
    WrongCredentialsError,
)
from server.domain.second_factors import SecondFactorRequiredError
from server.domain.sign_in import LOGIN_PATH
from server.events.users import User, shown_user
from server.i18n import _
from server.realm_cache import RealmCache
from storage import credentials, profile_data, users
from storage.credentials import CredentialsRow
from storage.profile_data import NO_DATA
from storage.users import UserRow


class FetchParams(Params):
    username: str
    """Email address, or the name in the directory (LDAP)."""
    password: str
    """The account's password."""


class DevFetchParams(Params):
    username: str
    """Email address of the account."""


class KeyFetched(Result):
    api_key: Secret
    email: str
    user_id: int


class JwtParams(Params):
    token: str
    """The signed token, with the claim `email`."""
    include_profile: bool = False
    """Whether to return the user's profile, too."""


class KeyOfToken(Result):
    api_key: Secret
    email: str
    user: User | UnsetType = UNSET


class DevUser(msgspec.Struct, kw_only=True):
    email: str
    realm_url: str
    realm_uri: str


class DevUsers(Result):
    direct_admins: list[DevUser]
    direct_users: list[DevUser]


async def fetch_api_key(request: Request, params: FetchParams) -> KeyFetched:
    """Return the API key of the user with this password.

    Raises SecondFactorRequiredError for an account with a second factor.
    """
    realm_cache = await _realm_cache(request)
    found = await who_signs_in(
        request.app,
        request.limits,
        realm_cache,
        params.username,
        params.password,
        request.response_headers,
        address=request.remote_address,
    )
    if await needs_second_factor(request.app, realm_cache, found.user_id):
        raise SecondFactorRequiredError((await realm_cache.address()).url + LOGIN_PATH)
    return await _fetch_key_for_sign_in(request, found)


async def dev_fetch_api_key(request: Request, params: DevFetchParams) -> KeyFetched:
    """Return any user's API key, on a development server."""
    if not request.app.settings.development:
        raise BadRequestError(_("This is not a development server."))
    realm_cache = await _realm_cache(request)
    found = await _credentials(request, realm_cache, params.username)
    if found is None:
        raise WrongCredentialsError
    fetched = _key(found)
    await begin_account_of(request.app, realm_cache, found.user_id)
    return fetched


async def jwt_fetch_api_key(request: Request, params: JwtParams) -> KeyOfToken:
    """Return the API key of the user in a token signed by the realm's own site."""
    realm_cache = await _realm_cache(request)
    realm = await realm_cache.realm()
    key = request.app.settings.jwt_keys.by_subdomain.get(realm.subdomain)
    if key is None:
        raise BadRequestError(_("JWT authentication is not enabled for this organization"))
    from server.identity.jwt_keys import email_in  # starts faster without joserfc

    logged = partial(
        failures_logged,
        request.app,
        realm_cache.realm_id,
        address=request.remote_address,
        method="jwt",
    )
    async with logged():
        email = email_in(params.token, key, request.app.clock)
    async with logged(account=email):
        found = await _credentials(request, realm_cache, email)
        row = None if found is None else await realm_cache.user(found.user_id)
        if found is None or row is None or row.bot_type is not None:
            raise WrongCredentialsError
        check_confirmed(found)
        settings = await realm_cache.settings()
        if settings.second_factor_after_provider and await needs_second_factor(
            request.app, realm_cache, found.user_id
        ):
            raise SecondFactorRequiredError((await realm_cache.address()).url + LOGIN_PATH)
        fetched = await _fetch_key_for_sign_in(request, found)
    profile: User | UnsetType = UNSET
    if params.include_profile:
        profile = await _profile(request, realm_cache, row)
    return KeyOfToken(api_key=fetched.api_key, email=fetched.email, user=profile)


async def _profile(request: Request, realm_cache: RealmCache, row: UserRow) -> User:
    async with request.read() as connection:
        said = await profile_data.of_users(connection, realm_cache.realm_id, [row.user_id])
    return shown_user(
        row,
        await realm_cache.address(),
        knows_email=True,
        profile=said.get(row.user_id, NO_DATA),
    )


async def dev_list_users(request: Request, params: NoParams) -> DevUsers:
    """Return all users, on a development server: clients offer to sign in as them."""
    del params
    realm_cache = await _realm_cache(request)
    url = (await realm_cache.address()).url
    async with request.read() as connection:
        rows = await users.all_of_realm(connection, realm_cache.realm_id)
    people = [row for row in rows if row.is_active and row.bot_type is None]

    def shown(*, administrators: bool) -> list[DevUser]:
        return [
            DevUser(email=row.email, realm_url=url, realm_uri=url)
            for row in people
            if (row.role <= ADMINISTRATOR) is administrators
        ]

    return DevUsers(
        direct_admins=shown(administrators=True), direct_users=shown(administrators=False)
    )


async def _realm_cache(request: Request) -> RealmCache:
    """Return the realm at this address. Raises DomainError if its users cannot sign in."""
    if request.realm_id is None:
        raise BadRequestError(_("Subdomain required"))
    realm_cache = request.app.realm_caches.of(request.realm_id)
    if (await realm_cache.realm()).deactivated:
        raise RealmDeactivatedError(_("This organization has been deactivated"))
    return realm_cache


async def _credentials(
    request: Request, realm_cache: RealmCache, username: str
) -> CredentialsRow | None:
    async with request.read() as connection:
        return await credentials.by_email(connection, realm_cache.realm_id, username.strip())


async def _fetch_key_for_sign_in(request: Request, found: CredentialsRow) -> KeyFetched:
    """Return the account's API key for an app."""
    fetched, app = _key(found), request.app
    if app.mailer is not None:
        user_agent, now = request.headers.get("User-Agent") or "", app.clock.now()
        assert request.realm_id is not None, "its people are somewhere"
        writer = app.writers.of(request.realm_id)
        await writer.write(lambda tx: enqueue_sign_in_email(tx, found.user_id, user_agent, now=now))
    await begin_account_of(app, await _realm_cache(request), found.user_id)
    return fetched


def _key(found: CredentialsRow) -> KeyFetched:
    if not found.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    return KeyFetched(api_key=found.api_key, email=found.email, user_id=found.user_id)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/fetch_api_key",
        Access.ANONYMOUS,
        FetchParams,
        fetch_api_key,
        KeyFetched,
        summary="Get your API key with a password",
        description=(
            "For clients in which the user signs in with email address (or directory name) and"
            " password. Attempts are rate limited by account and by address. An account with a"
            " second factor is refused with code `SECOND_FACTOR_REQUIRED`: open `login_url` of the"
            " error in a browser with `mobile_flow_otp` or `desktop_flow_otp`, as for the entry"
            " `browser` of `external_authentication_methods`."
        ),
    ),
    Endpoint(
        "POST",
        "/dev_fetch_api_key",
        Access.ANONYMOUS,
        DevFetchParams,
        dev_fetch_api_key,
        KeyFetched,
        summary="Get any user's API key on a development server",
        description="Only servers in development mode answer; no password is asked for.",
    ),
    Endpoint(
        "POST",
        "/jwt/fetch_api_key",
        Access.ANONYMOUS,
        JwtParams,
        jwt_fetch_api_key,
        KeyOfToken,
        summary="Get an API key with a JSON Web Token",
        description=(
            "For sites of the organization that sign users in themselves: the token, signed with"
            " the key that the operator configured for the organization, names the user's email"
            " address."
        ),
    ),
    Endpoint(
        "GET",
        "/dev_list_users",
        Access.INTERNAL,
        NoParams,
        dev_list_users,
        DevUsers,
        summary="List the accounts of a development server",
        description=(
            "Clients offer them to sign in with. Only servers in development mode answer."
        ),
    ),
)
