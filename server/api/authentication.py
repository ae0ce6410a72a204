"""From a name and a password to an API key."""

from server.actions.users import keep_rehashed_password
from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from server.directory import Directory
from server.domain.errors import (
    AuthenticationFailedError,
    BadRequestError,
    PasswordAuthDisabledError,
    RealmDeactivatedError,
    UserDeactivatedError,
)
from storage import users
from storage.users import CredentialsRow


class FetchParams(Params):
    username: str
    password: str


class DevFetchParams(Params):
    username: str


class KeyFetched(Result):
    api_key: str
    email: str
    user_id: int


async def fetch_api_key(request: Request, params: FetchParams) -> KeyFetched:
    """The key of whoever has this password; it takes as long to find out that nobody has."""
    directory = await _directory(request)
    if not (await directory.settings()).wants_method("Email"):
        raise PasswordAuthDisabledError("Password authentication is disabled in your organization")
    await request.count_sign_in(params.username)
    found = await _credentials(request, directory, params.username)
    known = None if found is None else found.password_hash
    verdict = await request.app.passwords.verify(params.password, known)
    if found is None or known is None or not verdict.right:
        raise AuthenticationFailedError("Your username or password is incorrect")
    await request.forget_sign_ins(params.username)
    if verdict.new_hash is not None:
        user_id, new = found.user_id, verdict.new_hash
        writer = request.app.writers.of(directory.realm_id)
        await writer.write(lambda tx: keep_rehashed_password(tx, user_id, old=known, new=new))
    return _key(found)


async def dev_fetch_api_key(request: Request, params: DevFetchParams) -> KeyFetched:
    """Anybody's key, on a server that is for development."""
    if not request.app.settings.development:
        raise BadRequestError("This is not a development server.")
    found = await _credentials(request, await _directory(request), params.username)
    if found is None:
        raise AuthenticationFailedError("Your username or password is incorrect")
    return _key(found)


async def _directory(request: Request) -> Directory:
    """That of the organization at this address. Raises DomainError if nobody can sign in there."""
    if request.realm_id is None:
        raise BadRequestError("Subdomain required")
    directory = request.app.directories.of(request.realm_id)
    if (await directory.realm()).deactivated:
        raise RealmDeactivatedError("This organization has been deactivated")
    return directory


async def _credentials(
    request: Request, directory: Directory, username: str
) -> CredentialsRow | None:
    async with request.read() as connection:
        return await users.credentials(connection, directory.realm_id, username.strip())


def _key(found: CredentialsRow) -> KeyFetched:
    if not found.is_active:
        raise UserDeactivatedError("Account is deactivated")
    return KeyFetched(api_key=found.api_key, email=found.email, user_id=found.user_id)


ENDPOINTS = (
    Endpoint("POST", "/fetch_api_key", Access.ANONYMOUS, FetchParams, fetch_api_key, KeyFetched),
    Endpoint(
        "POST",
        "/dev_fetch_api_key",
        Access.ANONYMOUS,
        DevFetchParams,
        dev_fetch_api_key,
        KeyFetched,
    ),
)
