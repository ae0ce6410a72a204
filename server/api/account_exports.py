"""Endpoints with which users export their own data."""

from typing import Literal

import msgspec

from server.actions import account_exports as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.files import send_export
from server.api.params import Params
from server.domain.account_exports import PATH, RETENTION, path_of
from server.domain.api_keys import Scope
from server.domain.errors import NotFoundError
from server.i18n import _
from storage import account_exports
from storage.account_exports import AccountExportRow
from storage.ids import AccountExportId


class AccountExport(msgspec.Struct, frozen=True, kw_only=True):
    """An export of the caller's data. Moments are in seconds since 1970."""

    id: AccountExportId
    requested_at: int
    state: Literal["pending", "ready", "failed"]
    percent: int
    """How much is done, from 0 to 100."""
    size: int | None
    """Size of the file in bytes, once it is ready."""
    expires_at: int
    """When it is deleted."""
    url: str | None
    """Path of the file at the organization's address, once it is ready."""

    @classmethod
    def of(cls, row: AccountExportRow) -> "AccountExport":
        return cls(
            id=row.export_id,
            requested_at=int(row.requested_at.timestamp()),
            state="ready" if row.is_there else "failed" if row.failed_at else "pending",
            percent=row.percent,
            size=row.size,
            expires_at=int((row.requested_at + RETENTION).timestamp()),
            url=path_of(row.export_id) if row.is_there else None,
        )


class AccountExportList(Result):
    exports: list[AccountExport]
    """Newest first."""


async def list_own(request: Request, params: NoParams) -> AccountExportList:
    del params
    request.refuse_bots()
    actor = request.actor
    async with request.read() as connection:
        rows = await account_exports.of_user(connection, actor.realm_id, actor.user_id)
    return AccountExportList(exports=[AccountExport.of(row) for row in rows])


class AskedForOwn(Result):
    id: AccountExportId


async def ask(request: Request, params: NoParams) -> AskedForOwn:
    del params
    request.refuse_bots()
    now = request.app.clock.now()
    return AskedForOwn(id=await request.write(actions.ask_for_own_data, now=now))


class AccountExportParams(Params):
    export_id: int
    """Id of the export."""


async def delete(request: Request, params: AccountExportParams) -> Empty:
    request.refuse_bots()
    export_id, now = AccountExportId(params.export_id), request.app.clock.now()
    await request.write(actions.delete_own_data, export_id, now=now)
    return Empty()


class AccountExportFileParams(AccountExportParams):
    filename: Literal["account.zip"]
    """Name of the file."""


async def download(request: Request, params: AccountExportFileParams) -> None:
    request.refuse_bots()
    actor, export_id = request.actor, AccountExportId(params.export_id)
    async with request.read() as connection:
        row = await account_exports.by_id(connection, actor.realm_id, export_id)
    if row is None or row.user_id != actor.user_id or not row.is_there:
        raise NotFoundError(_("This file does not exist."))
    await send_export(request, row, params.filename)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/users/me/exports",
        Access.USER,
        NoParams,
        list_own,
        AccountExportList,
        summary="List your exports of your data",
        description="Those under way, ready and failed. For people, not for bots.",
        scope=Scope.EVERYTHING,
    ),
    Endpoint(
        "POST",
        "/users/me/exports",
        Access.USER,
        NoParams,
        ask,
        AskedForOwn,
        summary="Start an export of your data",
        description=(
            "The export is made in the background: the profile, settings, messages, direct"
            " conversations, files and what else the server has stored about you. The notification"
            " bot sends a message when it is ready. One at a time, three a day; the file is there"
            " for seven days. For people, not for bots."
        ),
    ),
    Endpoint(
        "DELETE",
        "/users/me/exports/{export_id}",
        Access.USER,
        AccountExportParams,
        delete,
        summary="Delete an export of your data",
        description="One that is under way is cancelled.",
    ),
    Endpoint(
        "GET",
        PATH + "/{export_id}/{filename}",
        Access.USER,
        AccountExportFileParams,
        download,
        at_root=True,
        is_rate_limited=False,
        summary="Download an export of your data",
        description="A ZIP archive. It is for the caller alone.",
        scope=Scope.EVERYTHING,
    ),
)
