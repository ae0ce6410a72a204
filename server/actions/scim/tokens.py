"""Create and revoke the tokens of directories."""

from server.actions import audit
from server.actions.locked_realm import lock_as_owner, lock_realm
from server.domain.actor import Actor
from server.domain.api_keys import HINT_LENGTH, checked_name, digest_of
from server.domain.errors import BadRequestError
from server.domain.scim import MAX_TOKENS, RECOGNIZED_PREFIX, new_token
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.transactions import Tx
from storage import scim
from storage.ids import ScimTokenId, UserId


async def create_token_as_owner(tx: Tx, actor: Actor, name: str) -> tuple[ScimTokenId, str]:
    """Create a token as an owner; return it as `create_token` does. Raises a DomainError."""
    await lock_as_owner(tx, actor)
    return await create_token(tx, name, by=actor.user_id)


async def create_token(tx: Tx, name: str, *, by: UserId | None) -> tuple[ScimTokenId, str]:
    """Create a token; return its id and the token itself, which is never shown again.

    `by` is recorded as its creator; None: the operator. Raises BadRequestError.
    """
    name = checked_name(name)
    await lock_realm(tx, alone=True)
    connection = await tx.changing()
    if len(await scim.tokens(connection, tx.realm_id)) >= MAX_TOKENS:
        raise BadRequestError(
            _("Too many tokens (limit: {limit}): revoke some first.", limit=MAX_TOKENS)
        )
    token = new_token()
    token_id = await scim.insert_token(
        connection,
        tx.realm_id,
        digest=digest_of(token),
        hint=token[: len(RECOGNIZED_PREFIX) + HINT_LENGTH // 2],
        name=name,
        creator_id=by,
    )
    after = {"token_id": token_id, "name": name}
    audit.append_recorded(tx, by, "scim_token_created", Tick(), NO_AUDIENCE, before={}, after=after)
    return token_id, token


async def revoke_token_as_owner(tx: Tx, actor: Actor, token_id: ScimTokenId) -> None:
    """Revoke a token as an owner. Raises a DomainError."""
    await lock_as_owner(tx, actor)
    await revoke_token(tx, token_id, by=actor.user_id)


async def revoke_token(tx: Tx, token_id: ScimTokenId, *, by: UserId | None) -> None:
    """Revoke a token, with effect on the next request. Raises BadRequestError."""
    await lock_realm(tx, alone=True)
    name = await scim.delete_token(await tx.changing(), tx.realm_id, token_id)
    if name is None:
        raise BadRequestError(_("There is no such token."))
    before = {"token_id": token_id, "name": name}
    audit.append_recorded(
        tx, by, "scim_token_revoked", Tick(), NO_AUDIENCE, before=before, after={}
    )
