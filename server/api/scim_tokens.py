"""Endpoints with which owners admit a directory (SCIM)."""

from datetime import datetime

import msgspec

from server.actions.scim.closures import allow_closures_as_owner
from server.actions.scim.tokens import create_token_as_owner, revoke_token_as_owner
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.domain.access import OWNER
from server.domain.api_keys import Secret
from server.domain.errors import BadRequestError
from server.i18n import _
from storage import scim
from storage.ids import ScimTokenId


class NewTokenParams(Params):
    name: str
    """Which directory gets it: up to 100 characters."""


class TokenParams(Params):
    token_id: int
    """Id of the token."""


class ScimToken(msgspec.Struct, kw_only=True):
    id: int
    name: str
    hint: str
    """The first characters of the token."""
    creator_id: int | None
    """None: the operator of the server."""
    created_at: int
    last_used_at: int | None
    """To within five minutes."""


class TokensResult(Result):
    tokens: list[ScimToken]


class NewTokenResult(Result):
    id: int
    token: Secret
    """Shown once."""


class AllowanceResult(Result):
    ends_at: int
    """When the allowance ends."""


async def list_all(request: Request, params: NoParams) -> TokensResult:
    del params
    if request.actor.role != OWNER:
        raise BadRequestError(_("Must be an organization owner"))
    async with request.read() as connection:
        rows = await scim.tokens(connection, request.actor.realm_id)
    return TokensResult(
        tokens=[
            ScimToken(
                id=row.token_id,
                name=row.name,
                hint=row.hint,
                creator_id=row.creator_id,
                created_at=_seconds(row.created_at),
                last_used_at=None if row.last_used_at is None else _seconds(row.last_used_at),
            )
            for row in rows
        ]
    )


async def create(request: Request, params: NewTokenParams) -> NewTokenResult:
    token_id, token = await request.write(create_token_as_owner, params.name)
    return NewTokenResult(id=token_id, token=token)


async def revoke(request: Request, params: TokenParams) -> Empty:
    await request.write(revoke_token_as_owner, ScimTokenId(params.token_id))
    return Empty()


async def allow_closures(request: Request, params: NoParams) -> AllowanceResult:
    del params
    ends_at = await request.write(allow_closures_as_owner, now=request.app.clock.now())
    return AllowanceResult(ends_at=_seconds(ends_at))


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/scim/tokens",
        Access.ADMIN,
        NoParams,
        list_all,
        TokensResult,
        summary="List the tokens of directories",
        description="For owners. The tokens themselves are never shown again.",
    ),
    Endpoint(
        "POST",
        "/realm/scim/tokens",
        Access.ADMIN,
        NewTokenParams,
        create,
        NewTokenResult,
        summary="Create a token for a directory",
        description=(
            "For owners. With the token a directory manages accounts and user groups by SCIM 2.0"
            " at `/scim/v2`, on behalf of the owner. It is shown once."
        ),
    ),
    Endpoint(
        "DELETE",
        "/realm/scim/tokens/{token_id}",
        Access.ADMIN,
        TokenParams,
        revoke,
        summary="Revoke a token of a directory",
        description="For owners. The next request with the token is refused.",
    ),
    Endpoint(
        "POST",
        "/realm/scim/closures",
        Access.ADMIN,
        NoParams,
        allow_closures,
        AllowanceResult,
        summary="Let directories deactivate more accounts",
        description=(
            "For owners. For a day directories may deactivate any number of accounts; otherwise"
            " they are limited to a few within an hour."
        ),
    ),
)
