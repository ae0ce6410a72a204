"""Endpoints of legal holds, for owners and compliance officers."""

import msgspec

from server.actions import legal_holds as actions
from server.actions.compliance.officers import check_owner_or_officer
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.moments import Moment, moment_of, seconds_of
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.legal_holds import HoldScope
from storage import legal_holds
from storage.ids import ChannelId, LegalHoldId, UserId
from storage.legal_holds import LegalHoldRow


class ShownHold(msgspec.Struct, frozen=True, kw_only=True):
    """A legal hold. Moments are in seconds since 1970."""

    id: LegalHoldId
    name: str
    reason: str
    whole_organization: bool
    user_ids: list[UserId]
    channel_ids: list[ChannelId]
    sent_from: int | None
    """The first second of the messages that it covers; null: from the beginning."""
    sent_until: int | None
    """The first second after them; null: it has no end."""
    creator_id: UserId
    created_at: int
    releaser_id: UserId | None
    """Who released it; null while it is active, like the other fields of the release."""
    released_at: int | None
    release_reason: str | None

    @classmethod
    def of(cls, row: LegalHoldRow) -> "ShownHold":
        return cls(
            id=row.hold_id,
            name=row.name,
            reason=row.reason,
            whole_organization=row.is_realm_wide,
            user_ids=row.user_ids,
            channel_ids=row.channel_ids,
            sent_from=seconds_of(row.sent_from),
            sent_until=seconds_of(row.sent_until),
            creator_id=row.creator_id,
            created_at=int(row.created_at.timestamp()),
            releaser_id=row.releaser_id,
            released_at=seconds_of(row.released_at),
            release_reason=row.release_reason,
        )


class HoldList(Result):
    legal_holds: list[ShownHold]
    """Newest first, released ones included."""


async def list_all(request: Request, params: NoParams) -> HoldList:
    del params
    request.refuse_bots()
    actor = request.actor
    async with request.read() as connection:
        await check_owner_or_officer(connection, actor)
        rows = await legal_holds.all_of_them(connection, request.actor.realm_id)
    return HoldList(legal_holds=[ShownHold.of(row) for row in rows])


class PlaceParams(Params):
    name: str
    """Up to 100 characters."""
    reason: str
    """Why, such as the number of the case: up to 2,000 characters."""
    user_ids: list[UserId] = Field(default_factory=list)
    """Users with messages, files and direct conversations that are held: at most 1,000."""
    channel_ids: list[ChannelId] = Field(default_factory=list)
    """Channels of which all is held that is or was there: at most 1,000."""
    whole_organization: bool = False
    """Hold everything, instead of users and channels."""
    sent_from: Moment | None = None
    """Only what was sent at this moment or later, in seconds since 1970."""
    sent_until: Moment | None = None
    """Only what was sent before this moment."""


class Placed(Result):
    id: LegalHoldId


async def place(request: Request, params: PlaceParams) -> Placed:
    request.refuse_programs()
    scope = HoldScope(
        is_realm_wide=params.whole_organization,
        user_ids=params.user_ids,
        channel_ids=params.channel_ids,
        sent_from=moment_of(params.sent_from),
        sent_until=moment_of(params.sent_until),
    )
    now = request.app.clock.now()
    hold_id = await request.write(actions.place_hold, params.name, params.reason, scope, now=now)
    return Placed(id=hold_id)


class ReleaseParams(Params):
    hold_id: int
    """Id of the hold."""
    reason: str
    """Why it is released: up to 2,000 characters."""


async def release(request: Request, params: ReleaseParams) -> Empty:
    request.refuse_programs()
    hold_id, now = LegalHoldId(params.hold_id), request.app.clock.now()
    await request.write(actions.release_hold, hold_id, params.reason, now=now)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/compliance/legal_holds",
        Access.USER,
        NoParams,
        list_all,
        HoldList,
        summary="List legal holds",
        description="For owners and compliance officers.",
        scope=Scope.EVERYTHING,
    ),
    Endpoint(
        "POST",
        "/compliance/legal_holds",
        Access.USER,
        PlaceParams,
        place,
        Placed,
        summary="Place a legal hold",
        description=(
            "For owners and compliance officers. What the hold covers is kept until its release:"
            " retention does not delete it, users who delete it see it disappear while a copy is"
            " kept, and accounts with such data cannot be erased."
        ),
    ),
    Endpoint(
        "POST",
        "/compliance/legal_holds/{hold_id}/release",
        Access.USER,
        ReleaseParams,
        release,
        summary="Release a legal hold",
        description=(
            "For owners and compliance officers. What was deleted meanwhile goes within an hour,"
            " and what retention would have deleted goes at its next run, unless another hold"
            " covers it."
        ),
    ),
)
