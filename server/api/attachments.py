"""Endpoints to upload and read files."""

from typing import Final

from server.actions import attachments as actions
from server.api.endpoint import Access, Empty, Endpoint, FileUpload, NoParams, Request, Result
from server.api.files import File, send_file
from server.api.params import Params
from server.api.uploads import Uploaded, max_upload_bytes
from server.domain import file_links
from server.domain.actor import Actor, spectator
from server.domain.api_keys import Scope
from server.domain.attachments import (
    PATH,
    disposition,
    is_shown,
    url_of,
)
from server.domain.errors import BadRequestError, NotFoundError
from server.i18n import _
from storage import attachments, server_keys, upload_space
from storage.attachments import ShownAttachment
from storage.ids import AttachmentId

_CACHE_CONTROL: Final = "private, no-cache"
"""Clients revalidate each time: they may have lost access meanwhile."""


async def upload(request: Request, params: NoParams) -> Uploaded:
    del params
    actor, (file,) = request.actor, request.files
    async with request.read() as connection:
        await upload_space.begin(connection, actor.realm_id)
        used = await upload_space.used(connection, actor.realm_id)
    quota = (await request.realm_cache.settings()).upload_quota_mib
    actions.check_quota(quota, used, file.content.size)
    now = request.app.clock.now()
    row = actions.new_attachment(actor.realm_id, actor.user_id, file.name, file.content, now)
    await file.content.keep(row.blob_key)
    # If this fails, no row refers to the content: the orphan collector deletes it.
    await request.write(actions.add_attachment, row)
    url = url_of(row.path_id)
    return Uploaded(url=url, uri=url, filename=row.name)


class Attachments(Result):
    attachments: list[ShownAttachment]
    upload_space_used: int


async def list_own(request: Request, params: NoParams) -> Attachments:
    del params
    actor = request.actor
    async with request.read() as connection:
        return Attachments(
            attachments=await attachments.shown_of_owner(connection, actor.realm_id, actor.user_id),
            upload_space_used=await upload_space.used(connection, actor.realm_id),
        )


class AttachmentParams(Params):
    attachment_id: int
    """Id of the file, from `GET /attachments`."""


async def delete(request: Request, params: AttachmentParams) -> Empty:
    await request.write(
        actions.delete_attachment,
        AttachmentId(params.attachment_id),
        now=request.app.clock.now(),
    )
    return Empty()


# -- reading


class FileParams(Params):
    realm_id_str: str
    """First part of the file's path: the id of the organization."""
    filename: str
    """Rest of the file's path, with the folders in it."""


class NamedFileParams(Params):
    realm_id: int
    """Id of the organization, the first part of the file's path."""
    filename: str
    """Rest of the file's path, with the folders in it."""


class TemporaryUrl(Result):
    url: str


async def get_url(request: Request, params: FileParams) -> TemporaryUrl:
    """Return a URL that serves the file for a minute without authentication."""
    async with request.read() as connection:
        row = await actions.readable(
            connection, request.actor, _path_id(params.realm_id_str, params.filename)
        )
        key = await server_keys.key_for(connection, file_links.PURPOSE)
    reader = file_links.LinkHolder(request.actor.realm_id, request.actor.user_id, row.path_id)
    now = request.app.clock.now()
    return TemporaryUrl(url=file_links.url_for(key, reader, now))


async def read(request: Request, params: NamedFileParams) -> None:
    await _send(request, request.actor, _path_id(params.realm_id, params.filename))


async def download(request: Request, params: NamedFileParams) -> None:
    """Return the file as a download."""
    path_id = _path_id(params.realm_id, params.filename)
    await _send(request, request.actor, path_id, is_download=True)


def _path_id(realm_id: str | int, filename: str) -> str:
    return f"{realm_id}/{filename}"


class TemporaryParams(Params):
    token: str
    """Signed token with the reader, the file and the time of expiry."""
    filename: str
    """Name of the file, for the browser."""


async def read_by_link(request: Request, params: TemporaryParams) -> None:
    async with request.read() as connection:
        key = await server_keys.key_for(connection, file_links.PURPOSE)
    reader = file_links.reader_of(key, params.token, request.app.clock.now())
    if reader is None or reader.realm_id != request.realm_id:
        # Those that were made are fetched by pages full of pictures; this one is a guess.
        await request.limits.count_address(request.remote_address, request.response_headers)
        raise BadRequestError(_("This link is invalid, or too old."))
    await _send(request, await _actor(request, reader), reader.path_id)


async def _actor(request: Request, reader: file_links.LinkHolder) -> Actor:
    """Return the link's reader, with their present permissions."""
    realm_cache = request.app.realm_caches.of(reader.realm_id)
    settings = await realm_cache.settings()
    if reader.is_spectator:
        if settings.enable_spectator_access and request.app.settings.web_public_channels:
            now = request.app.clock.now()
            return spectator(reader.realm_id, settings.user_settings_defaults, now)
    else:
        row = await realm_cache.user(reader.user_id)
        if row is not None and row.is_active and not (await realm_cache.realm()).deactivated:
            return Actor(reader.realm_id, row)
    raise NotFoundError(_("This file does not exist, or you do not have permission to view it."))


async def _send(request: Request, actor: Actor, path_id: str, *, is_download: bool = False) -> None:
    async with request.read() as connection:
        row = await actions.readable(connection, actor, path_id)
    shown = is_shown(row.content_type) and not is_download
    file = File(
        blob_key=row.blob_key,
        size=row.size,
        digest=row.digest,
        content_type=row.content_type,
        disposition=disposition(row.name, shown=shown),
        cache_control=_CACHE_CONTROL,
    )
    await send_file(request, file)


ENDPOINTS = (
    Endpoint(
        "POST",
        PATH,
        Access.USER,
        NoParams,
        upload,
        Uploaded,
        body=FileUpload(max_upload_bytes),
        scope=Scope.MESSAGES,
        summary="Upload a file",
        description=(
            "The file is sent as the field `file` of a `multipart/form-data` form. The answer's"
            " `url` goes into a message as a Markdown link; from then on, all readers of the"
            " message can read the file. Larger files are better sent in pieces, by `POST /tus`."
        ),
    ),
    Endpoint(
        "GET",
        PATH + "/{realm_id_str}/{filename}",
        Access.SPECTATOR,
        FileParams,
        get_url,
        TemporaryUrl,
        summary="Get a temporary link to a file",
        description=(
            "For clients that cannot send credentials with the download: the link alone gives"
            " access to the file for a minute."
        ),
    ),
    Endpoint(
        "GET",
        PATH + "/{realm_id}/{filename}",
        Access.SPECTATOR,
        NamedFileParams,
        read,
        at_root=True,
        summary="Download a file",
        description=("Allowed to the file's owner and to all readers of a message that holds it."),
    ),
    Endpoint(
        "GET",
        PATH + "/download/{realm_id}/{filename}",
        Access.SPECTATOR,
        NamedFileParams,
        download,
        at_root=True,
        summary="Download a file as an attachment",
        description=(
            "Answers as reading the file does, but browsers save it instead of showing it."
        ),
    ),
    Endpoint(
        "GET",
        file_links.PATH,
        Access.ANONYMOUS,
        TemporaryParams,
        read_by_link,
        at_root=True,
        is_rate_limited=False,
        summary="Download a file by a temporary link",
        description=(
            "The link comes from `GET /user_uploads/{realm_id_str}/{filename}` and is good for a"
            " minute."
        ),
    ),
    Endpoint(
        "GET",
        "/attachments",
        Access.USER,
        NoParams,
        list_own,
        Attachments,
        summary="List your uploaded files",
        description=(
            "Each with the messages that hold it, and the space that the organization's files use."
        ),
    ),
    Endpoint(
        "DELETE",
        "/attachments/{attachment_id}",
        Access.USER,
        AttachmentParams,
        delete,
        scope=Scope.MESSAGES,
        summary="Delete an uploaded file",
        description="Messages that link to it stay as they are; the link no longer works.",
    ),
)
