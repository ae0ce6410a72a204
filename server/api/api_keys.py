"""Endpoints of API keys: the account's own key, and named keys for programs."""

from datetime import UTC, datetime
from typing import Annotated

from server.actions import api_keys as actions
from server.actions.api_keys import NewKey
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.domain.api_keys import Scope, Secret, checked_scopes
from server.domain.clock import LAST_SECOND
from storage import api_keys
from storage.api_keys import KeyRow
from storage.ids import ApiKeyId


class ProofParams(Params):
    old_password: str | None = None
    """Your password, if the account has one. Without one, a session that began within the last ten
    minutes is needed.
    """


class RegenerateParams(ProofParams):
    """`old_password` is needed with a session: the account's own key is proof enough."""


class CreateParams(ProofParams):
    name: str
    """Name by which the user recognizes the key."""
    scopes: list[str]
    """What the key may do: `read` (read what the user may), `messages` (write messages, and what
    belongs to that), or `everything` but what opens or ends the account."""
    expires_at: Annotated[int | None, Field(ge=0, le=LAST_SECOND)] = None
    """What the key may do: `read` (read what the user may), `messages` (write messages, and what
    belongs to that), or `everything` except changes to the account's credentials.
    """


class KeyParams(Params):
    key_id: int
    """Id of the named key."""


class OwnKey(Result):
    api_key: Secret


class CreatedKey(Result):
    key_id: int
    api_key: Secret


class ShownKey(Result):
    key_id: int
    name: str
    hint: str
    scopes: list[str]
    created_at: int
    expires_at: int | None
    last_used_at: int | None

    @classmethod
    def of(cls, row: KeyRow) -> "ShownKey":
        return cls(
            key_id=row.key_id,
            name=row.name,
            hint=row.hint,
            scopes=row.scopes,
            created_at=int(row.created_at.timestamp()),
            expires_at=_seconds(row.expires_at),
            last_used_at=_seconds(row.last_used_at),
        )


class OwnKeys(Result):
    api_keys: list[ShownKey]


async def regenerate(request: Request, params: RegenerateParams) -> OwnKey:
    """Replace the own key.

    With the key itself no further proof is needed, as the protocol has it.
    """
    known = request.reauthentication
    if request.session is None:
        proof = await known.by_own_key()
    else:
        proof = await known.prove(params.old_password)
    key, _ = await request.write(actions.regenerate_own, proof)
    return OwnKey(api_key=key)


async def get_all(request: Request, params: NoParams) -> OwnKeys:
    del params
    actor = request.actor
    async with request.read() as connection:
        rows = await api_keys.of_user(connection, actor.realm_id, actor.user_id)
    return OwnKeys(api_keys=[ShownKey.of(row) for row in rows])


async def create(request: Request, params: CreateParams) -> CreatedKey:
    expires_at = params.expires_at
    new = NewKey(
        name=params.name,
        scopes=checked_scopes(params.scopes),
        expires_at=None if expires_at is None else datetime.fromtimestamp(expires_at, UTC),
    )
    proof = await request.reauthentication.prove(params.old_password)
    own_id, now = request.actor.user_id, request.app.clock.now()
    key_id, key = await request.write(
        lambda tx, actor: actions.make_key(tx, own_id, new, by=actor.user_id, proof=proof, now=now)
    )
    return CreatedKey(key_id=key_id, api_key=key)


async def revoke(request: Request, params: KeyParams) -> Empty:
    key_id = ApiKeyId(params.key_id)
    await request.write(
        lambda tx, actor: actions.revoke_key(tx, actor.user_id, key_id, by=actor.user_id)
    )
    return Empty()


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


ENDPOINTS = (
    Endpoint(
        "POST",
        "/users/me/api_key/regenerate",
        Access.USER,
        RegenerateParams,
        regenerate,
        OwnKey,
        scope=Scope.ACCOUNT,
        summary="Replace your API key",
        description=(
            "The key used so far stops working at once, in every client that uses it, and event"
            " queues end. Named keys and sessions stay. What is pending for the account ends:"
            " changes of the address, links for a new password, sign-ins begun at other sites.\n\n"
            "The account's own key is proof enough. A session needs `old_password`, or, where the"
            " account has no password, to have begun within the last ten minutes."
        ),
    ),
    Endpoint(
        "GET",
        "/users/me/api_keys",
        Access.USER,
        NoParams,
        get_all,
        OwnKeys,
        scope=Scope.ACCOUNT,
        summary="List your named API keys",
        description=(
            "The keys themselves are never shown again; `hint` holds their last characters."
        ),
    ),
    Endpoint(
        "POST",
        "/users/me/api_keys",
        Access.USER,
        CreateParams,
        create,
        CreatedKey,
        scope=Scope.ACCOUNT,
        summary="Create a named API key",
        description=(
            "A named key serves one program: it reaches only what its scopes allow, may expire,"
            " and can be revoked alone. This is the only answer that contains it.\n\n"
            "It needs `old_password`, or, where the account has no password, a session that began"
            " within the last ten minutes. Bots need neither."
        ),
    ),
    Endpoint(
        "DELETE",
        "/users/me/api_keys/{key_id}",
        Access.USER,
        KeyParams,
        revoke,
        scope=Scope.ACCOUNT,
        summary="Revoke a named API key",
        description="Requests and event streams that use it are refused from then on.",
    ),
)
