"""Re-authentication: a caller proves ownership of the account before its credentials change.

With the account's password if it has one, else with a sign-in of the last ten minutes. A key alone
is no proof: its holder would keep the account after the owner has replaced the key.
"""

from dataclasses import dataclass

from server.actions.credential_changes import Proof
from server.api.failed_sign_ins import failures_logged
from server.api.rate_limit import RateLimits
from server.app import App
from server.domain.actor import Actor
from server.domain.credential_changes import FRESH_SECONDS
from server.domain.errors import (
    BadRequestError,
    InvalidApiKeyError,
    MissingParameterError,
    WrongPasswordError,
)
from server.domain.sessions import Session
from server.domain.sign_in import PASSWORDS
from server.i18n import _
from storage import credentials, second_factors, sessions
from storage.credentials import SecretsRow

WRONG_PASSWORD = _("Wrong password!")
SIGN_IN_AGAIN = _(
    "You signed in more than ten minutes ago. Sign in again, then do this within ten minutes."
)
WITHOUT_BROWSER = _("Do this with a browser, within ten minutes of signing in there.")


class FreshSignInNeededError(BadRequestError):
    """The caller has to sign in again first."""


@dataclass(frozen=True, slots=True)
class Reauthentication:
    """A caller with a session, or else a key."""

    app: App
    limits: RateLimits
    actor: Actor
    session: Session | None
    response_headers: dict[str, str]
    """Headers of the response, which get the state of the rate limit."""
    address: str
    """The client's network address, logged with a wrong password."""

    async def has_password(self) -> bool:
        """Return whether the account has a password on this server."""
        return await self._hash(await self._secrets()) is not None

    async def is_fresh(self) -> bool:
        """Return whether the caller has signed in within the last ten minutes."""
        if self.session is None:
            return False
        async with self.app.database.connection() as connection:
            return await sessions.is_fresh(
                connection, self.actor.realm_id, self.session.digest, seconds=FRESH_SECONDS
            )

    async def by_own_key(self) -> Proof:
        """Return the proof for what the account's own key allows.

        Raises a DomainError.
        """
        return self._proof(await self._secrets())

    async def prove_for_factors(self, password: str | None) -> Proof:
        """Return the proof for a change of second factors.

        With one, the sign-in has to be recent, too, since it has asked for it. Raises a
        DomainError.
        """
        async with self.app.database.connection() as connection:
            has_factor = await second_factors.has_any(
                connection, self.actor.realm_id, self.actor.user_id
            )
        if has_factor:
            await self._check_fresh()
        return await self.prove(password)

    async def prove(self, password: str | None) -> Proof:
        """Return the proof if the password is right, or the sign-in recent; bots need neither.

        Wrong passwords count as failed sign-ins. Raises a DomainError.
        """
        known = await self._secrets()
        if self.actor.is_bot:
            return self._proof(known)
        password_hash = await self._hash(known)
        if password_hash is None:
            await self._check_fresh()
        else:
            await self._check_password(password, password_hash)
        return self._proof(known)

    async def _secrets(self) -> SecretsRow:
        """Return the account's present secrets.

        Raises InvalidApiKeyError for a key that has been replaced.
        """
        actor = self.actor
        async with self.app.database.connection() as connection:
            known = await credentials.of_user(connection, actor.realm_id, actor.user_id)
        if self.session is None and known.api_key != actor.row.api_key:
            raise InvalidApiKeyError(_("Invalid API key"))
        return known

    async def _hash(self, known: SecretsRow) -> str | None:
        """Return the hash of their password; None if they do not sign in with one of ours."""
        settings = await self.app.realm_caches.of(self.actor.realm_id).settings()
        return known.password_hash if settings.wants_method(PASSWORDS) else None

    async def _check_fresh(self) -> None:
        if self.session is None:
            raise FreshSignInNeededError(WITHOUT_BROWSER)
        if not await self.is_fresh():
            raise FreshSignInNeededError(SIGN_IN_AGAIN)

    async def _check_password(self, password: str | None, password_hash: str) -> None:
        if password is None:
            raise MissingParameterError("old_password")
        actor = self.actor
        async with failures_logged(
            self.app,
            actor.realm_id,
            address=self.address,
            method="password",
            account=actor.row.email,
        ):
            await self.limits.count_sign_in(actor.realm_id, actor.row.email, self.response_headers)
            verdict = await self.app.passwords.verify(password, password_hash)
            if not verdict.right:
                raise WrongPasswordError(WRONG_PASSWORD)
        await self.limits.forget_sign_ins(actor.realm_id, actor.row.email)

    def _proof(self, known: SecretsRow) -> Proof:
        return Proof(known.changed_at, None if self.session is None else self.session.digest)
