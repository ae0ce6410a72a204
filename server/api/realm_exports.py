"""Endpoints of realm exports, for administrators."""

from typing import Literal

import msgspec

from server.actions import realm_exports as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.files import send_export
from server.api.params import JsonOrBareStr, Params
from server.domain.access import ADMINISTRATOR
from server.domain.errors import BadRequestError, InvalidParameterError, NotFoundError
from server.domain.realm_exports import KEYS, PATH, TYPES, WITHOUT_CONSENT
from server.domain.user_settings import UserSettings
from server.events.realm_exports import ShownExport
from server.i18n import _
from storage import realm_exports, users
from storage.ids import UserId


class ExportList(Result):
    exports: list[ShownExport]


async def list_all(request: Request, params: NoParams) -> ExportList:
    del params
    realm_cache = request.realm_cache
    address = realm_cache.address_of(await realm_cache.realm()).url
    async with request.read() as connection:
        rows = await realm_exports.all_of_them(connection, realm_cache.realm_id)
    exports = [ShownExport.of(row, address) for row in rows]
    if not request.may_know_secrets:
        exports = [each.without_secrets() for each in exports]
    return ExportList(exports=exports)


class AskParams(Params):
    export_type: int | JsonOrBareStr = "public"
    """Public data only (`public` or 1), or also the private data of users who consent
    (`full_with_consent` or 2). `full_without_consent` is refused, as only the operator exports the
    private data of all users."""


class Asked(Result):
    id: int


async def ask(request: Request, params: AskParams) -> Asked:
    if params.export_type == WITHOUT_CONSENT:
        raise BadRequestError(_("Only users who consent have their private data exported."))
    kind = next((kind for kind, name in TYPES.items() if params.export_type in {kind, name}), None)
    if kind is None:
        raise InvalidParameterError("export_type", _("Invalid export_type"))
    now = request.app.clock.now()
    return Asked(id=await request.write(actions.ask_for_export, kind, now=now))


class ExportParams(Params):
    export_id: int
    """Id of the export."""


async def delete(request: Request, params: ExportParams) -> Empty:
    now = request.app.clock.now()
    await request.write(actions.delete_export, params.export_id, now=now)
    return Empty()


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a user consents to the export of their private data."""

    user_id: UserId
    consented: bool
    email_address_visibility: int


class Consents(Result):
    export_consents: list[Consent]


async def list_consents(request: Request, params: NoParams) -> Consents:
    del params
    async with request.read() as connection:
        roles = await users.ids_by_role(connection, request.actor.realm_id, without_bots=True)
        people = sorted(user_id for ids in roles.values() for user_id in ids)
        rows = await users.by_ids(connection, request.actor.realm_id, people)
    found = []
    for row in rows:
        settings = UserSettings.of(row.settings)
        found.append(
            Consent(
                user_id=row.user_id,
                consented=settings.allow_private_data_export,
                email_address_visibility=settings.email_address_visibility,
            )
        )
    return Consents(export_consents=found)


class FileParams(Params):
    folder: str
    """Part of the address from `export_url`."""
    secret: str
    """Secret part of the address."""
    filename: Literal["organization.zip"]
    """Name of the file."""


async def read(request: Request, params: FileParams) -> None:
    """Return the file by its secret URL, as long as its requester is an administrator."""
    row = None
    if request.realm_id is not None:
        key = f"{KEYS}/{request.realm_id}/{params.folder}/{params.secret}"
        async with request.read() as connection:
            row = await realm_exports.by_link(
                connection, request.realm_id, blob_key=key, secret=params.secret
            )
    if row is None or request.realm_id is None:
        await request.limits.count_address(request.remote_address, request.response_headers)
        raise NotFoundError(_("This file does not exist."))
    realm_cache = request.app.realm_caches.of(request.realm_id)
    asker = await realm_cache.user(row.acting_user_id)
    closed = (await realm_cache.realm()).deactivated
    if closed or asker is None or not asker.is_active or asker.role > ADMINISTRATOR:
        raise NotFoundError(_("This file does not exist."))
    await send_export(request, row, params.filename)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/export/realm",
        Access.ADMIN,
        NoParams,
        list_all,
        ExportList,
        summary="List exports of the organization",
        description=(
            "Those under way, done, failed and deleted; `export_url` leads to the file of those"
            " that are done."
        ),
    ),
    Endpoint(
        "POST",
        "/export/realm",
        Access.ADMIN,
        AskParams,
        ask,
        Asked,
        summary="Start an export of the organization",
        description=(
            "The export is made in the background; events of the type `realm_export` report its"
            " progress."
        ),
    ),
    Endpoint(
        "DELETE",
        "/export/realm/{export_id}",
        Access.ADMIN,
        ExportParams,
        delete,
        summary="Delete an export",
        description=(
            "The file is removed, the entry stays. Those of `export_from_prior_server` have no file"
            " here, and cannot be deleted."
        ),
    ),
    Endpoint(
        "GET",
        "/export/realm/consents",
        Access.ADMIN,
        NoParams,
        list_consents,
        Consents,
        summary="List consents to the export of private data",
    ),
    Endpoint(
        "GET",
        PATH + "/{folder}/{secret}/{filename}",
        Access.ANONYMOUS,
        FileParams,
        read,
        at_root=True,
        is_rate_limited=False,
        summary="Download an export",
        description=(
            "The address is secret. It works for as long as the user who requested the export is"
            " an administrator."
        ),
    ),
)
