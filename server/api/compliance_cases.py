"""Endpoints with which compliance officers search all messages."""

from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from server.actions.compliance import cases as actions
from server.actions.compliance.notices import OWNER_NOTICES
from server.actions.compliance.officers import NOT_AN_OFFICER, check_owner_or_officer
from server.actions.stepped_work import finish
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.moments import Moment, moment_of, seconds_of
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.compliance import MAX_FOUND, MAX_HOURS, CaseState, state_of
from server.domain.errors import BadRequestError
from server.domain.narrow import GivenNarrow, parse_narrow
from server.history.compliance import scope_of
from storage import compliance, compliance_search
from storage.compliance import CaseRow
from storage.compliance_search import BEGINNING, ComplianceScope, FoundMessage, FoundPage
from storage.ids import ChannelId, ComplianceCaseId, MessageId, UserId

MAX_LISTED: Final = 1_000
DEFAULT_HOURS: Final = 24


class ComplianceCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case. Moments are in seconds since 1970."""

    id: ComplianceCaseId
    creator_id: UserId
    reason: str
    state: CaseState
    """`waiting` for the approval of another officer, `open` to its creator, or `closed`."""
    needs_approval: bool
    approver_id: UserId | None
    hours: int
    """For how long it is open."""
    opened_at: int
    ends_at: int | None
    """Null while it waits."""
    searches: int
    """How many searches there were, further pages included."""

    @classmethod
    def of(cls, row: CaseRow, now: datetime) -> "ComplianceCase":
        return cls(
            id=row.case_id,
            creator_id=row.creator_id,
            reason=row.reason,
            state=state_of(row, now),
            needs_approval=row.needs_approval,
            approver_id=row.approver_id,
            hours=row.hours,
            opened_at=int(row.opened_at.timestamp()),
            ends_at=seconds_of(row.ends_at),
            searches=row.searches,
        )


class CaseList(Result):
    cases: list[ComplianceCase]
    """At most 1,000, newest first."""


async def list_all(request: Request, params: NoParams) -> CaseList:
    del params
    request.refuse_bots()
    actor = request.actor
    async with request.read() as connection:
        await check_owner_or_officer(connection, actor)
        rows = await compliance.cases(connection, actor.realm_id, limit=MAX_LISTED)
    now = request.app.clock.now()
    return CaseList(cases=[ComplianceCase.of(row, now) for row in rows])


class OpenParams(Params):
    reason: str
    """Why all messages have to be searched: up to 2,000 characters."""
    hours: Annotated[int, Field(ge=1, le=MAX_HOURS)] = DEFAULT_HOURS
    """For how long, from the approval on: up to 168."""
    old_password: str | None = None
    """Your password, if the account has one. Without one, and with a second factor, the session
    must have begun within the last ten minutes."""


class Opened(Result):
    id: ComplianceCaseId


async def open_one(request: Request, params: OpenParams) -> Opened:
    request.refuse_programs()
    proof = await request.reauthentication.prove_for_factors(params.old_password)
    now = request.app.clock.now()
    opened = await request.write(actions.open_case, params.reason, params.hours, proof, now=now)
    await finish(request.realm_services, OWNER_NOTICES, opened.work_id)
    return Opened(id=opened.case_id)


class CaseParams(Params):
    case_id: int
    """Id of the case."""


class ApproveParams(CaseParams):
    old_password: str | None = None
    """As for opening a case."""


async def approve(request: Request, params: ApproveParams) -> Empty:
    request.refuse_programs()
    proof = await request.reauthentication.prove_for_factors(params.old_password)
    case_id, now = ComplianceCaseId(params.case_id), request.app.clock.now()
    work_id = await request.write(actions.approve_case, case_id, proof, now=now)
    await finish(request.realm_services, OWNER_NOTICES, work_id)
    return Empty()


async def close(request: Request, params: CaseParams) -> Empty:
    request.refuse_programs()
    case_id, now = ComplianceCaseId(params.case_id), request.app.clock.now()
    work_id = await request.write(actions.close_case, case_id, now=now)
    await finish(request.realm_services, OWNER_NOTICES, work_id)
    return Empty()


class SearchParams(CaseParams):
    narrow: GivenNarrow = []  # noqa: RUF012 - never changed
    """Terms, as in `GET /messages`: `channel`, `channels`, `topic`, `dm` with all participants,
    `dm-including`, `sender`, `id`, `mentions`, `search`, `has`, and `is` with `dm` or `resolved`.
    """
    since: Moment | None = None
    """Only messages that were sent at this moment or later, in seconds since 1970."""
    until: Moment | None = None
    """Only messages that were sent before this moment."""
    before: int | None = None
    """Only messages with a lower id: `next_before` of the page before."""
    limit: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 50
    """How many messages to return at most."""


class ComplianceMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was found. Moments are in seconds since 1970."""

    id: MessageId
    sender_id: UserId
    sender_full_name: str
    timestamp: int
    edited_at: int | None
    stream_id: ChannelId | None
    stream: str | None
    """Name of the channel; null for direct messages, as `topic`."""
    topic: str | None
    user_ids: list[UserId] | None
    """The participants of a direct message; null in channels."""
    content: str
    """As Markdown."""
    former_contents: list[str]
    """Before each edit, the newest first."""
    deleted_at: int | None
    """When it was deleted, if a legal hold keeps it."""
    deleter_id: UserId | None
    """Who deleted it; null also if retention did."""

    @classmethod
    def of(cls, row: FoundMessage) -> "ComplianceMessage":
        return cls(
            id=row.id,
            sender_id=row.sender_id,
            sender_full_name=row.sender_full_name,
            timestamp=int(row.sent_at.timestamp()),
            edited_at=seconds_of(row.edited_at),
            stream_id=row.channel_id,
            stream=row.channel,
            topic=row.topic,
            user_ids=row.user_ids,
            content=row.content,
            former_contents=row.former_contents,
            deleted_at=seconds_of(row.deleted_at),
            deleter_id=row.deleter_id,
        )


class SearchResult(Result):
    messages: list[ComplianceMessage]
    """Newest first."""
    next_before: MessageId | None
    """`before` of the next page; null after the last one. A page may be empty, and not the last."""


async def search(request: Request, params: SearchParams) -> SearchResult:
    request.refuse_programs()
    terms = parse_narrow(params.narrow)
    case_id, now = ComplianceCaseId(params.case_id), request.app.clock.now()
    found = await _found(request, params, case_id)
    query: dict[str, Any] = {
        "narrow": [
            {"operator": each.operator, "operand": each.operand, "negated": each.negated}
            for each in terms
        ]
    }
    for name in ("since", "until", "before"):
        if (value := getattr(params, name)) is not None:
            query[name] = value
    work_id = await request.write(
        actions.record_search,
        case_id,
        query,
        count=len(found.messages),
        is_first_page=params.before is None,
        now=now,
    )
    await finish(request.realm_services, OWNER_NOTICES, work_id)
    return SearchResult(
        messages=[ComplianceMessage.of(each) for each in found.messages],
        next_before=found.next_before,
    )


async def _found(request: Request, params: SearchParams, case_id: ComplianceCaseId) -> FoundPage:
    """Return the page of an open case's creator. Raises a DomainError."""
    actor = request.actor
    async with request.read() as connection:
        if not await compliance.is_officer(connection, actor.realm_id, actor.user_id):
            raise BadRequestError(NOT_AN_OFFICER)
        row = await compliance.case_by_id(connection, actor.realm_id, case_id)
        actions.check_may_search(row, actor, request.app.clock.now())
        terms = parse_narrow(params.narrow)
        narrow = await scope_of(request.realm_cache, connection, actor, terms)
        if narrow is None:
            return FoundPage([], None)
        return await compliance_search.page(
            connection,
            actor.realm_id,
            ComplianceScope(
                narrow=narrow, since=moment_of(params.since), until=moment_of(params.until)
            ),
            below=BEGINNING if params.before is None else MessageId(min(params.before, BEGINNING)),
            limit=params.limit,
        )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/compliance/cases",
        Access.USER,
        NoParams,
        list_all,
        CaseList,
        summary="List compliance cases",
        description="For owners and compliance officers.",
        scope=Scope.EVERYTHING,
    ),
    Endpoint(
        "POST",
        "/compliance/cases",
        Access.USER,
        OpenParams,
        open_one,
        Opened,
        summary="Open a compliance case",
        description=(
            "For compliance officers, with proof. Where two persons are needed it waits until"
            " another officer approves it. All owners get a message of it."
        ),
    ),
    Endpoint(
        "POST",
        "/compliance/cases/{case_id}/approve",
        Access.USER,
        ApproveParams,
        approve,
        summary="Approve a compliance case",
        description="For another compliance officer than its creator, with proof.",
    ),
    Endpoint(
        "POST",
        "/compliance/cases/{case_id}/close",
        Access.USER,
        CaseParams,
        close,
        summary="Close a compliance case",
        description="For owners and compliance officers. No search is possible in it any more.",
    ),
    Endpoint(
        "POST",
        "/compliance/cases/{case_id}/search",
        Access.USER,
        SearchParams,
        search,
        SearchResult,
        summary="Search all messages in a compliance case",
        description=(
            "For the creator of an open case. Finds messages of all channels and direct"
            " conversations, and deleted ones that a legal hold keeps, newest first. Nothing is"
            " marked as read. Each request is recorded in the audit log with its terms and the"
            " number of messages, and all owners get a message of each search."
        ),
    ),
)
