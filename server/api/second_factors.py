"""Verification of a sign-in's second factor."""

from typing import TYPE_CHECKING

from server.actions.second_factors import use_recovery_code
from server.api.endpoint import Request
from server.api.failed_sign_ins import failures_logged
from server.app import App
from server.domain import passkeys
from server.domain.passkeys import PasskeyRefusedError, Purpose, VerifiedPasskey
from server.domain.second_factors import (
    PURPOSE,
    RECOVERY_CODE_LENGTH,
    WrongCodeError,
    is_required,
    step_of_code,
)
from server.domain.user_secrets import unsealed
from server.realm_cache import RealmCache
from storage import ended_flows, second_factors, server_keys
from storage.ids import UserId
from storage.second_factors import PASSKEY, TOTP

if TYPE_CHECKING:
    from storage.credentials import CredentialsRow

METHOD = "second_factor"


async def factors_key(request: Request) -> bytes:
    """Return the key of secrets and recovery codes."""
    async with request.app.database.connection() as connection:
        return await server_keys.key_for(connection, PURPOSE)


async def needs_second_factor(app: App, realm_cache: RealmCache, user_id: UserId) -> bool:
    """Return whether the user signs in with a second factor, or has to set one up for it."""
    realm_id, settings = realm_cache.realm_id, await realm_cache.settings()
    row = await realm_cache.user(user_id)
    async with app.database.connection() as connection:
        if await second_factors.has_any(connection, realm_id, user_id):
            return True
        if row is None or not is_required(settings, row.role):
            return False
        days = settings.second_factor_grace_days
        return await second_factors.is_late(connection, realm_id, user_id, grace_days=days)


async def grace_seconds(app: App, realm_cache: RealmCache, user_id: UserId) -> float | None:
    """Return for how long the user may be signed in without a second factor.

    None: without limit, for users who have one, or need none. The time runs from the first call.
    """
    realm_id, settings = realm_cache.realm_id, await realm_cache.settings()
    row = await realm_cache.user(user_id)
    if row is None or not is_required(settings, row.role):
        return None
    async with app.database.connection() as connection:
        if await second_factors.has_any(connection, realm_id, user_id):
            return None
        days = settings.second_factor_grace_days
        return await second_factors.seconds_left(connection, realm_id, user_id, grace_days=days)


async def verify_code(request: Request, found: "CredentialsRow", code: str) -> None:
    """Use up a code of the account's authenticator apps, or a recovery code.

    Tries are counted by account, whatever address they come from. Raises WrongCodeError or
    RateLimitedError, which are logged.
    """
    realm_id, user_id = request.realm_cache.realm_id, found.user_id
    async with failures_logged(
        request.app,
        realm_id,
        address=request.remote_address,
        method=METHOD,
        account=found.email,
    ):
        await request.limits.count_second_factor(realm_id, user_id, request.response_headers)
        key = await factors_key(request)
        if len(code.strip()) >= RECOVERY_CODE_LENGTH:
            await request.transact(lambda tx: use_recovery_code(tx, user_id, code, key=key))
        elif not await _use_time_code(request, found, code, key):
            raise WrongCodeError
    await request.limits.forget_second_factor(realm_id, user_id)


async def use_passkey(
    request: Request, purpose: Purpose, *, user_id: UserId | None = None, email: str = ""
) -> UserId:
    """Use the passkey of the form's response; return its user, who may be deactivated.

    `user_id`: who is asked for a second factor, with the address `email`; without one, the passkey
    stands for the password too, and its device has to have verified its user. Raises
    PasskeyRefusedError, which is logged.
    """
    realm_id, token = request.realm_cache.realm_id, request.form_value("ceremony")
    async with failures_logged(
        request.app, realm_id, address=request.remote_address, method=PASSKEY, account=email
    ):
        ceremony = passkeys.load(await factors_key(request), token, purpose, realm_id, user_id)
        credential = request.form_value("credential")
        credential_id = passkeys.credential_id_in(credential)
        async with request.app.database.connection() as connection:
            factor = await second_factors.by_credential(connection, realm_id, credential_id)
        if factor is None or user_id not in (None, factor.user_id):
            raise PasskeyRefusedError
        count = passkeys.verified_use(
            ceremony,
            await request.realm_cache.address(),
            credential,
            VerifiedPasskey.of(factor),
            verifies_user=user_id is None,
        )
        challenge = bytes.fromhex(ceremony.challenge)
        async with request.app.database.transaction() as connection:
            is_first = await ended_flows.end(
                connection, realm_id, challenge, seconds=passkeys.LIFETIME_SECONDS
            )
            if not is_first or not await second_factors.use_passkey(
                connection, realm_id, factor.factor_id, count
            ):
                raise PasskeyRefusedError
    return factor.user_id


async def _use_time_code(request: Request, found: "CredentialsRow", code: str, key: bytes) -> bool:
    realm_id, now = request.realm_cache.realm_id, request.app.clock.now()
    async with request.app.database.transaction() as connection:
        for factor in await second_factors.of_user(connection, realm_id, found.user_id):
            if factor.kind != TOTP or factor.secret is None:
                continue
            secret = unsealed(key, realm_id, found.user_id, factor.secret)
            step = None if secret is None else step_of_code(secret, code, now)
            if step is not None and await second_factors.use_step(
                connection, realm_id, factor.factor_id, step
            ):
                return True
    return False
