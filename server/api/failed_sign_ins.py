"""Log failed sign-ins, in lines that fail2ban can read (docs/deploy/fail2ban-filter.conf)."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import structlog

from server.app import App
from server.domain.errors import (
    AuthenticationFailedError,
    DomainError,
    InvalidApiKeyError,
    InvalidTokenError,
    PasswordAuthDisabledError,
    RateLimitedError,
    RealmDeactivatedError,
    UserDeactivatedError,
    WrongPasswordError,
)
from server.identity.identities import IdentityError
from storage import credentials
from storage.database import RETRYABLE_ERRORS
from storage.ids import RealmId

logger = structlog.get_logger(__name__)

FAILURES: Final = (
    AuthenticationFailedError,
    IdentityError,
    InvalidApiKeyError,
    InvalidTokenError,
    PasswordAuthDisabledError,
    RateLimitedError,
    RealmDeactivatedError,
    UserDeactivatedError,
    WrongPasswordError,
)
"""Errors of a refused credential. A request without any, or an unavailable directory, is none."""

REASONS: Final[Mapping[type[DomainError], str]] = {
    InvalidTokenError: "invalid_token",
    WrongPasswordError: AuthenticationFailedError.code.lower(),
}
"""Reasons of errors that have no code of their own in the protocol; for others it is the code."""


@asynccontextmanager
async def failures_logged(
    app: App, realm_id: RealmId | None, *, address: str, method: str, account: str = ""
) -> AsyncIterator[None]:
    """Log a failure raised inside as `log_failure` does, and raise it again."""
    try:
        yield
    except DomainError as refusal:
        await log_failure(app, realm_id, refusal, address=address, method=method, account=account)
        raise


async def log_failure(
    app: App,
    realm_id: RealmId | None,
    refusal: DomainError,
    *,
    address: str,
    method: str,
    account: str = "",
) -> None:
    """Log the refusal of a credential; other refusals are not logged.

    `address` is the client's network address; `method` is `password`, `api_key`, `jwt` or the name
    of a provider. The account is logged only if one exists under this name: passwords are sometimes
    typed into the field of the name. Log readers match the fields in this order.
    """
    if not isinstance(refusal, FAILURES):
        return
    logger.warning(
        "sign_in.failed",
        address=address,
        reason=REASONS.get(type(refusal), refusal.code.lower()),
        method=method,
        realm_id=realm_id,
        account=await _known_account(app, realm_id, account),
    )


async def _known_account(app: App, realm_id: RealmId | None, account: str) -> str | None:
    """Return the address of the account with this name, if there is one."""
    if realm_id is None or not account.strip():
        return None
    try:
        async with app.database.connection() as connection:
            found = await credentials.by_email(connection, realm_id, account.strip())
    except RETRYABLE_ERRORS:
        return None  # the refusal is what counts
    return None if found is None else found.email
