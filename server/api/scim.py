"""Endpoint of the SCIM service, for directories that manage accounts and groups."""

import asyncio
import importlib
import json
from typing import Final

from server.api import forms
from server.api.endpoint import Access, Endpoint, RawPayload, RawResult, Request
from server.api.failed_sign_ins import log_failure
from server.api.params import Params
from server.domain.access import OWNER
from server.domain.actor import Actor
from server.domain.api_keys import digest_of
from server.domain.errors import DomainError, RealmDeactivatedError
from server.domain.scim import PREFIX, ScimTokenError
from server.i18n import _
from storage import scim, users
from storage.ids import UserId

UNAUTHENTICATED: Final = "Give a valid token of the organization's directory as a bearer token."


class ScimParams(Params):
    filename: str
    """Path of the resource."""


async def answer(request: Request, params: ScimParams) -> RawResult:
    """Answer the request with a SCIM response."""
    try:
        actor = await _owner_behind(request)
    except DomainError as refusal:
        await log_failure(
            request.app,
            request.realm_id,
            refusal,
            address=request.remote_address,
            method="scim_token",
            account="",
        )
        await request.limits.count_address(request.remote_address, request.response_headers)
        raise
    await request.limits.count_directory(actor.realm_id, request.response_headers)
    # The libraries take a second to import, and few organizations have a directory.
    await asyncio.to_thread(importlib.import_module, "server.scim.service")
    from scim2_server.requests import ScimRequest

    from server.scim import service

    address = await request.realm_cache.address()
    response = await service.answer(
        request.app.realm_services(actor.realm_id),
        actor,
        ScimRequest(
            method=request.method,
            base_url=f"{address.url}{PREFIX}",
            path=f"/{params.filename}",
            query=forms.read_query(request.target.partition("?")[2]),
            headers=dict(request.headers),
            body=request.payload,
        ),
        max_closures=request.app.settings.scim_max_closures,
    )
    if response.body is None:
        response.headers.pop("Content-Type")
    request.response_headers |= response.headers
    # Not orjson: a directory's own value in an error may be a number of any size.
    text = "" if response.body is None else json.dumps(response.body, separators=(",", ":"))
    return RawResult(text.encode(), is_enveloped=False, status=response.status)


async def _owner_behind(request: Request) -> Actor:
    """Return the actor of the directory's requests: the token's creator, else another owner.

    Raises ScimTokenError without a valid token, and RealmDeactivatedError.
    """
    realm_id = request.realm_cache.realm_id
    scheme, _blank, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise ScimTokenError(UNAUTHENTICATED)
    async with request.read() as connection:
        used = await scim.used_token(connection, realm_id, digest_of(token.strip()))
        if used is None:
            raise ScimTokenError(UNAUTHENTICATED)
        if not used.is_noted:
            await scim.note_use(connection, realm_id, used.token_id)
        by_role = await users.ids_by_role(connection, realm_id, without_bots=True)
    if (await request.realm_cache.realm()).deactivated:
        raise RealmDeactivatedError(_("This organization has been deactivated"))
    owners = by_role.get(OWNER, ())
    chosen = used.creator_id if used.creator_id in owners else min(owners, default=UserId(0))
    assert chosen is not None, "it is among the owners"
    row = await request.realm_cache.user(chosen)
    if row is None:
        raise ScimTokenError("The organization has no owner.")
    return Actor(realm_id, row, client="SCIM")


ENDPOINTS = tuple(
    Endpoint(
        method,
        f"{PREFIX}/{{filename}}",
        Access.DIRECTORY,
        ScimParams,
        answer,
        body=RawPayload(),
        at_root=True,
        is_rate_limited=False,
        summary=summary,
        description="SCIM 2.0 (RFC 7644). Its own endpoints describe it.",
    )
    for method, summary in {
        "GET": "Read accounts and groups, as a directory",
        "POST": "Create an account or a group, as a directory",
        "PUT": "Replace an account or a group, as a directory",
        "PATCH": "Change an account or a group, as a directory",
        "DELETE": "Deactivate an account or a group, as a directory",
    }.items()
)
