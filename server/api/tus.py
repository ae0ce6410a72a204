"""Endpoints of resumable uploads by tus (https://tus.io/protocols/resumable-upload)."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC
from email.utils import format_datetime
from http import HTTPStatus
from typing import Final, cast, get_args

from server.api.endpoint import (
    Access,
    Endpoint,
    NoParams,
    RawResult,
    Request,
    ResponseKind,
    StreamedContent,
)
from server.api.envelopes import success_body
from server.api.params import Params
from server.api.resumable import OffsetConflictError, Resumable
from server.api.uploads import Uploaded, max_resumable_bytes, max_upload_bytes
from server.domain.addresses import API_PREFIX
from server.domain.api_keys import Scope
from server.domain.attachments import UNNAMED
from server.domain.decimals import number_in
from server.domain.errors import BadRequestError, DomainError
from storage.resumable_uploads import Purpose, ResumableRow

PATH: Final = "/tus"
VERSION: Final = "1.0.0"
EXTENSIONS: Final = "creation,creation-with-upload,termination,expiration"
CONTENT_TYPE: Final = "application/offset+octet-stream"
MAX_METADATA: Final = 4096
MAX_DIGITS: Final = 18


class UnknownVersionError(DomainError):
    """The client speaks another version, or none."""

    status = 412


class WrongContentError(DomainError):
    status = 415


class UploadParams(Params):
    upload: str
    """Id of the upload, from `Location`."""


async def options(request: Request, params: NoParams) -> RawResult:
    """Return the server's capabilities."""
    del params
    request.response_headers |= {
        "Tus-Resumable": VERSION,
        "Tus-Version": VERSION,
        "Tus-Extension": EXTENSIONS,
        "Tus-Max-Size": str(max_upload_bytes(request.app.settings)),
    }
    return RawResult(b"", is_enveloped=False, status=HTTPStatus.NO_CONTENT)


async def create(request: Request, params: NoParams) -> RawResult:
    """Create an upload, with its first bytes if the request has any."""
    del params
    _check_version(request)
    size = _number(request, "Upload-Length")
    uploads = Resumable(request)
    metadata = _metadata(request.headers.get("Upload-Metadata", ""))
    name = metadata.get("filename") or metadata.get("name") or UNNAMED
    row = await uploads.begin(size, name, _purpose(metadata))
    request.response_headers["Location"] = f"{API_PREFIX}{PATH}/{row.upload_id}"
    if request.headers.get("Content-Type") == CONTENT_TYPE:
        row = replace(row, received=await uploads.take(row, request.content))
    return await _answer(uploads, row, HTTPStatus.CREATED)


async def look(request: Request, params: UploadParams) -> RawResult:
    """Return the offset of the upload."""
    _check_version(request)
    uploads = Resumable(request)
    row = await uploads.find(params.upload)
    if row.received == row.size:
        # The last response may be lost, and with it the process that was about to finish it.
        await uploads.finish(row)
    _set_upload_headers(request, row)
    request.response_headers |= {"Upload-Length": str(row.size), "Cache-Control": "no-store"}
    return RawResult(b"", is_enveloped=False)


async def go_on(request: Request, params: UploadParams) -> RawResult:
    """Append the request's bytes."""
    _check_version(request)
    if request.headers.get("Content-Type") != CONTENT_TYPE:
        raise WrongContentError(f"Content-Type must be {CONTENT_TYPE}.")
    uploads = Resumable(request)
    row = await uploads.find(params.upload)
    if _number(request, "Upload-Offset") != row.received:
        raise OffsetConflictError(f"Upload-Offset must be {row.received}.")
    row = replace(row, received=await uploads.take(row, request.content))
    return await _answer(uploads, row, HTTPStatus.NO_CONTENT)


async def end(request: Request, params: UploadParams) -> RawResult:
    """Delete the upload."""
    _check_version(request)
    uploads = Resumable(request)
    await uploads.end(await uploads.find(params.upload))
    return RawResult(b"", is_enveloped=False, status=HTTPStatus.NO_CONTENT)


async def _answer(uploads: Resumable, row: ResumableRow, status: int) -> RawResult:
    """Return the offset; of a complete upload also the file's URL, as other uploads do."""
    _set_upload_headers(uploads.request, row)
    if row.received < row.size:
        return RawResult(b"", is_enveloped=False, status=status)
    uploaded = await uploads.finish(row)
    # Clients read the URL from this body, and so cannot have 204, which has none.
    status = HTTPStatus.OK if status == HTTPStatus.NO_CONTENT else status
    return RawResult(success_body(uploaded, []), is_enveloped=False, status=status)


def _set_upload_headers(request: Request, row: ResumableRow) -> None:
    request.response_headers |= {
        "Upload-Offset": str(row.received),
        "Upload-Expires": format_datetime(row.expires_at.astimezone(UTC), usegmt=True),
    }


def _check_version(request: Request) -> None:
    request.response_headers["Tus-Resumable"] = VERSION
    if request.headers.get("Tus-Resumable") != VERSION:
        request.response_headers["Tus-Version"] = VERSION
        raise UnknownVersionError(f"Tus-Resumable must be {VERSION}.")


def _number(request: Request, header: str) -> int:
    number = number_in(request.headers.get(header, ""), MAX_DIGITS)
    if number is None:
        raise BadRequestError(f"{header} must be a number of bytes.")
    return number


def _metadata(header: str) -> dict[str, str]:
    """Return the pairs of a key and a value in base64."""
    if len(header) > MAX_METADATA:
        raise BadRequestError("Upload-Metadata is too long.")
    known: dict[str, str] = {}
    for pair in header.split(","):
        key, _, value = pair.strip().partition(" ")
        try:
            known[key] = b64decode(value, validate=True).decode()
        except ValueError:
            raise BadRequestError("Upload-Metadata holds values in base64.") from None
    return known


def _purpose(metadata: Mapping[str, str]) -> Purpose:
    purpose = metadata.get("purpose", "attachment")
    if purpose not in get_args(Purpose):
        raise BadRequestError("The purpose of an upload is `attachment` or `import`.")
    return cast("Purpose", purpose)


_ONE: Final = PATH + "/{upload}"

ENDPOINTS = (
    Endpoint(
        "OPTIONS",
        PATH,
        Access.ANONYMOUS,
        NoParams,
        options,
        response=ResponseKind.NO_CONTENT,
        summary="Get what resumable uploads support",
        description=(
            "Version, extensions and the largest size, in the headers `Tus-Version`,"
            " `Tus-Extension` and `Tus-Max-Size`."
        ),
    ),
    Endpoint(
        "POST",
        PATH,
        Access.USER,
        NoParams,
        create,
        Uploaded,
        response=ResponseKind.CREATED,
        body=StreamedContent(max_resumable_bytes),
        scope=Scope.MESSAGES,
        summary="Begin a resumable upload",
        description=(
            "Speaks the tus protocol 1.0.0: `Upload-Length` gives the size in bytes,"
            " `Upload-Metadata` the name; `Location` of the answer is the address of the upload."
            " Content may come along. Uploads that are not finished expire after a day. With the"
            " metadata `purpose` `import` an owner sends an export of another program"
            " (`GET /imports`)."
        ),
    ),
    Endpoint(
        "HEAD",
        _ONE,
        Access.USER,
        UploadParams,
        look,
        scope=Scope.MESSAGES,
        summary="Get how much of an upload has arrived",
        description="In the header `Upload-Offset`; continue there.",
    ),
    Endpoint(
        "PATCH",
        _ONE,
        Access.USER,
        UploadParams,
        go_on,
        Uploaded,
        response=ResponseKind.JSON_OR_NO_CONTENT,
        body=StreamedContent(max_resumable_bytes),
        scope=Scope.MESSAGES,
        summary="Continue a resumable upload",
        description=(
            "`Upload-Offset` must be what has arrived. With the last piece the answer is that of"
            " `POST /user_uploads`."
        ),
    ),
    Endpoint(
        "DELETE",
        _ONE,
        Access.USER,
        UploadParams,
        end,
        response=ResponseKind.NO_CONTENT,
        scope=Scope.MESSAGES,
        summary="Cancel a resumable upload",
    ),
)
