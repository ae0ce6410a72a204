"""Endpoints of imports from other programs into the organization, for owners."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from server.actions import imports as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.languages import language_of
from server.api.params import Params
from server.api.uploads import max_import_bytes
from server.domain.errors import BadRequestError, NotFoundError
from server.i18n import _, translated
from server.imports import abandoning, inviting
from server.imports.importing import MESSAGES
from server.imports.report import ImportReport
from storage import import_requests, imports
from storage.database import Connection
from storage.ids import ChannelId, ImportRequestId, UserId
from storage.import_requests import ImportRequestRow, ImportState
from storage.imports import ImportRow, UnfinishedImportRow


class ImportRemark(msgspec.Struct, frozen=True):
    """Records of the file that were changed or left out, for one reason."""

    reason: str
    """In English, so that programs can recognize it."""
    count: int
    examples: list[str]
    """Names from the file, some with a reason in the language of the reader."""
    text: str
    """The reason in the language of the reader."""


class ImportContents(msgspec.Struct, frozen=True):
    """What a file contains, or what was imported of it."""

    imported: dict[str, int]
    """Numbers of records by what they are, in words."""
    remarks: list[ImportRemark]
    labels: dict[str, str]
    """The words of `imported` in the language of the reader."""


class ShownImport(msgspec.Struct, frozen=True, kw_only=True):
    """An import that an owner has asked for."""

    id: ImportRequestId
    acting_user_id: UserId
    file_name: str
    size: int
    """In bytes."""
    state: ImportState
    """`reading` (what is in the file), `ready` (to be started), `running`, `done` or `failed`."""
    source: str
    """The program that wrote the file; empty while it is not known."""
    requested_at: int
    """In seconds since 1970, as `ended_at`."""
    ended_at: int | None
    phase: Literal["", "preparing", "messages", "finishing"]
    """Where an import that is running stands."""
    messages_done: int
    messages_total: int
    """Messages of the file; 0 while they are not counted."""
    problem: str
    """Why the import failed: a sentence in the language of the reader."""
    contents: ImportContents | None
    """Null until the file has been read."""


class OneImport(Result):
    import_: ShownImport = msgspec.field(name="import")


class ImportParams(Params):
    request_id: int
    """Id of the import."""


class StartParams(ImportParams):
    topic: str | None = None
    """Name of the topic for messages outside of threads; by default one that names the program."""


class UnfinishedImport(msgspec.Struct, frozen=True, kw_only=True):
    """An import that has begun and not ended, by a command or by the API."""

    import_id: int
    source: str
    """The program that wrote the file."""
    started_at: int
    """In seconds since 1970."""
    messages_done: int
    messages_total: int
    contents: ImportContents
    """What has come so far."""


class ImportList(Result):
    imports: list[ShownImport]
    max_bytes: int
    """Size of the largest file that is accepted."""
    unfinished: UnfinishedImport | None
    """The import that keeps others from beginning, until it is continued or abandoned."""


class AbandonParams(Params):
    import_id: int
    """Id of the import that has not ended."""


class AbandonedImport(Result):
    abandoned: UnfinishedImport
    """What has come, and stays."""
    channel_ids: list[ChannelId]
    """The channels that have come with it."""


class InvitationsSent(Result):
    count: int
    """How many people get an email."""


async def list_all(request: Request, params: NoParams) -> ImportList:
    """Return the imports, the newest first."""
    del params
    actions.check_owner(request.actor)
    async with request.read() as connection:
        rows = await import_requests.of_realm(connection, request.actor.realm_id)
        language = language_of(request.actor)
        shown = [_shown(row, await _progress(request, connection, row), language) for row in rows]
        unfinished = await imports.unfinished(connection, request.actor.realm_id)
    return ImportList(
        imports=shown,
        max_bytes=max_import_bytes(request.app.settings),
        unfinished=None if unfinished is None else _unfinished(unfinished, language),
    )


async def read(request: Request, params: ImportParams) -> OneImport:
    actions.check_owner(request.actor)
    async with request.read() as connection:
        row = await import_requests.by_id(
            connection, request.actor.realm_id, ImportRequestId(params.request_id)
        )
        if row is None:
            raise NotFoundError(_("There is no such import."))
        progress = await _progress(request, connection, row)
        return OneImport(import_=_shown(row, progress, language_of(request.actor)))


async def start(request: Request, params: StartParams) -> Empty:
    await request.write(actions.start, ImportRequestId(params.request_id), params.topic)
    return Empty()


async def delete(request: Request, params: ImportParams) -> Empty:
    await request.write(actions.delete, ImportRequestId(params.request_id))
    return Empty()


async def abandon(request: Request, params: AbandonParams) -> AbandonedImport:
    """End an import that is not to be continued; a worker does what is left to do."""
    ended = await request.write(
        abandoning.abandon_as_owner, params.import_id, request.app.clock.now()
    )
    return AbandonedImport(
        abandoned=_unfinished(ended.row, language_of(request.actor)),
        channel_ids=list(ended.channel_ids),
    )


async def invite(request: Request, params: NoParams) -> InvitationsSent:
    """Email all imported people who have no password yet a link to choose one."""
    del params
    actions.check_owner(request.actor)
    if request.app.mailer is None:
        raise BadRequestError(_("This server sends no email."))
    return InvitationsSent(count=await inviting.invite_all(request.realm_services))


async def _progress(
    request: Request, connection: Connection, row: ImportRequestRow
) -> ImportRow | None:
    if row.fingerprint is None or row.state != "running":
        return None
    return await imports.of_file(connection, request.actor.realm_id, row.fingerprint)


def _shown(row: ImportRequestRow, progress: ImportRow | None, language: str) -> ShownImport:
    contents = None
    if row.report is not None and row.fingerprint is not None:
        contents = _contents(row.report, language)
    total = 0 if contents is None else contents.imported.get("messages", 0)
    phase, done = _stand(row, progress)
    return ShownImport(
        id=row.request_id,
        acting_user_id=row.acting_user_id,
        file_name=row.file_name,
        size=row.size,
        state=row.state,
        source=row.source,
        requested_at=_seconds(row.requested_at),
        ended_at=None if row.ended_at is None else _seconds(row.ended_at),
        phase=phase,
        messages_done=total if phase == "finishing" or row.state == "done" else done,
        messages_total=total,
        problem=translated(actions.problem_of(row), language),
        contents=contents,
    )


def _stand(
    row: ImportRequestRow, progress: ImportRow | None
) -> tuple[Literal["", "preparing", "messages", "finishing"], int]:
    if row.state != "running":
        return "", 0
    if progress is None:
        return "preparing", 0
    if progress.phase == MESSAGES:
        return "messages", progress.done
    return ("finishing", 0) if progress.phase in abandoning.AFTER_MESSAGES else ("preparing", 0)


def _unfinished(row: UnfinishedImportRow, language: str) -> UnfinishedImport:
    return UnfinishedImport(
        import_id=row.import_id,
        source=row.source,
        started_at=_seconds(row.started_at),
        messages_done=abandoning.messages_of(row),
        messages_total=row.total,
        contents=_contents(row.report, language),
    )


def _contents(stored: Mapping[str, Any], language: str) -> ImportContents:
    report = ImportReport.of(stored)
    return ImportContents(
        imported=report.imported,
        remarks=[
            ImportRemark(
                reason=reason,
                count=remark.count,
                examples=[translated(each, language) for each in remark.examples],
                text=translated(remark.text(reason), language),
            )
            for reason, remark in report.remarks.items()
        ],
        labels={what: translated(_(what), language) for what in report.imported},
    )


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


PATH = "/imports"

ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.ADMIN,
        NoParams,
        list_all,
        ImportList,
        summary="List imports into the organization",
        description=(
            "For owners. Begin one by a resumable upload (`POST /tus`) of an export of Slack,"
            " Mattermost, Rocket.Chat or Zulip with the metadata `purpose` `import`: a worker reads"
            " the file, and says in `contents` what is in it."
        ),
    ),
    Endpoint(
        "GET",
        PATH + "/{request_id}",
        Access.ADMIN,
        ImportParams,
        read,
        OneImport,
        summary="Get an import",
        description="For owners. The address comes from the answer to the upload.",
    ),
    Endpoint(
        "POST",
        PATH + "/{request_id}/start",
        Access.ADMIN,
        StartParams,
        start,
        summary="Start an import that is ready",
        description=(
            "For owners. People and conversations of the file are added to the organization, which"
            " can be used meanwhile. One import runs at a time."
        ),
    ),
    Endpoint(
        "DELETE",
        PATH + "/{request_id}",
        Access.ADMIN,
        ImportParams,
        delete,
        summary="Delete an import from the list",
        description="For owners. Its file goes; what was imported stays. Not while it is running.",
    ),
    Endpoint(
        "POST",
        PATH + "/abandon",
        Access.ADMIN,
        AbandonParams,
        abandon,
        AbandonedImport,
        summary="Abandon an import that has not ended",
        description=(
            "For owners, for the `import_id` of `unfinished` in the list. What has come stays; the"
            " rest does not come, and another import can begin. It cannot be continued: the same"
            " file would be imported anew, beside what is there."
        ),
    ),
    Endpoint(
        "POST",
        PATH + "/invitations",
        Access.ADMIN,
        NoParams,
        invite,
        InvitationsSent,
        summary="Invite all imported people",
        description=(
            "For owners. Each active person who has no password yet gets an email with a link to"
            " choose one."
        ),
    ),
)
