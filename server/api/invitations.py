"""Endpoints of invitations."""

from datetime import timedelta
from typing import Annotated, Any, Final

import msgspec

from server.actions import invitations
from server.actions.invitations import Wish
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.domain.access import MEMBER
from server.domain.api_keys import Secret
from server.domain.errors import BadRequestError, InvitationFailedError
from server.domain.invitations import MAX_MINUTES, PATH, PURPOSE, addresses_in, link_key
from server.domain.realm_changes import MAX_WELCOME_LENGTH
from server.i18n import _
from storage import server_keys
from storage.ids import ChannelId, GroupId, InvitationId
from storage.invitations import InvitationRow

NO_MAIL: Final = _("This server sends no emails. Share a link instead.")
SKIPPED: Final = _(
    "Some of those addresses have accounts here already, so we didn't send them an"
    " invitation. We did send invitations to everyone else!"
)


class LinkParams(Params):
    invite_as: int = MEMBER
    """Role of users who join: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest.
    """
    invite_expires_in_minutes: Annotated[int, Field(ge=1, le=MAX_MINUTES)] | None = None
    """Minutes until it expires; null for never. Default: as the server is configured."""
    stream_ids: list[ChannelId] = Field(default_factory=list)
    """Ids of channels that users who join are subscribed to."""
    group_ids: list[GroupId] = Field(default_factory=list)
    """Ids of user groups that users who join become members of."""
    include_realm_default_subscriptions: bool = False
    """Whether users who join are subscribed to the default channels, too."""
    welcome_message_custom_text: Annotated[str, Field(max_length=MAX_WELCOME_LENGTH)] | None = None
    """Text that the welcome bot adds to its greeting; empty for none. Default: that of the
    organization."""


class InviteParams(LinkParams):
    invitee_emails: str
    """Email addresses, separated by commas or line breaks."""
    stream_ids: list[ChannelId]
    """Ids of channels that users who join are subscribed to."""
    notify_referrer_on_join: bool = True
    """Whether the caller is notified when an invited person joins."""


class InvitationParams(Params):
    invite_id: int
    """Id of the invitation."""


class Invitation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An invitation in its wire form."""

    id: InvitationId
    invited_by_user_id: int
    invited: int
    expiry_date: int | None
    invited_as: int
    is_multiuse: bool
    stream_ids: list[ChannelId]
    group_ids: list[GroupId]
    include_realm_default_subscriptions: bool
    email: str | msgspec.UnsetType = msgspec.UNSET
    notify_referrer_on_join: bool | msgspec.UnsetType = msgspec.UNSET
    link_url: Secret | msgspec.UnsetType = msgspec.UNSET
    """Left out for an invitation by email, and for keys without access to secrets."""


class Invitations(Result):
    invites: list[Invitation]


class LinkResult(Result):
    invite_link: Secret


async def list_all(request: Request, params: NoParams) -> Invitations:
    """Return the open invitations; links authorise, so keys with read scope get none."""
    del params
    key: bytes | None = None
    async with request.read() as connection:
        rows = await invitations.visible(connection, request.actor, request.app.clock.now())
        if request.may_know_secrets:
            key = await server_keys.key_for(connection, PURPOSE)
    url = (await request.realm_cache.address()).url
    return Invitations(invites=[_shown(request, row, key, url) for row in rows])


async def invite(request: Request, params: InviteParams) -> Empty:
    if request.app.mailer is None:
        raise BadRequestError(NO_MAIL)
    invited = await request.write(
        invitations.invite,
        addresses_in(params.invitee_emails),
        _wish(request, params, tells_inviter=params.notify_referrer_on_join),
        per_day=request.app.settings.invitations_per_day,
        now=request.app.clock.now(),
    )
    if invited.passed_over:
        raise InvitationFailedError(SKIPPED, invited.passed_over, sent_invitations=True)
    return Empty()


async def make_link(request: Request, params: LinkParams) -> LinkResult:
    now = request.app.clock.now()
    made = await request.write(invitations.make_link, _wish(request, params), now=now)
    async with request.read() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    url = (await request.realm_cache.address()).url
    return LinkResult(invite_link=_link(request, made, key, url))


async def revoke(request: Request, params: InvitationParams) -> Empty:
    return await _revoke(request, params, is_link=False)


async def revoke_link(request: Request, params: InvitationParams) -> Empty:
    return await _revoke(request, params, is_link=True)


async def resend(request: Request, params: InvitationParams) -> Empty:
    if request.app.mailer is None:
        raise BadRequestError(NO_MAIL)
    await request.write(
        invitations.resend,
        InvitationId(params.invite_id),
        per_day=request.app.settings.invitations_per_day,
        now=request.app.clock.now(),
    )
    return Empty()


async def _revoke(request: Request, params: InvitationParams, *, is_link: bool) -> Empty:
    await request.write(
        invitations.revoke,
        InvitationId(params.invite_id),
        is_link=is_link,
        now=request.app.clock.now(),
    )
    return Empty()


def _wish(request: Request, params: LinkParams, *, tells_inviter: bool = False) -> Wish:
    minutes = params.invite_expires_in_minutes
    if "invite_expires_in_minutes" not in params.model_fields_set:
        minutes = request.app.settings.invitation_minutes
    now = request.app.clock.now()
    return Wish(
        role=params.invite_as,
        channel_ids=params.stream_ids,
        group_ids=params.group_ids,
        includes_defaults=params.include_realm_default_subscriptions,
        welcome_text=params.welcome_message_custom_text,
        tells_inviter=tells_inviter,
        ends_at=None if minutes is None else now + timedelta(minutes=minutes),
    )


def _shown(request: Request, row: InvitationRow, key: bytes | None, url: str) -> Invitation:
    own: dict[str, Any] = {}
    if row.email is not None:
        own = {"email": row.email, "notify_referrer_on_join": row.tells_inviter}
    elif key is not None:
        own = {"link_url": _link(request, row.invitation_id, key, url)}
    return Invitation(
        id=row.invitation_id,
        invited_by_user_id=row.inviter_id,
        invited=int(row.invited_at.timestamp()),
        expiry_date=None if row.ends_at is None else int(row.ends_at.timestamp()),
        invited_as=row.role,
        is_multiuse=row.email is None,
        stream_ids=list(row.channel_ids),
        group_ids=list(row.group_ids),
        include_realm_default_subscriptions=row.includes_defaults,
        **own,
    )


def _link(request: Request, invitation_id: InvitationId, key: bytes, url: str) -> str:
    token = link_key(key, request.actor.realm_id, invitation_id).token
    return url + PATH.format(token=token)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/invites",
        Access.USER,
        NoParams,
        list_all,
        Invitations,
        summary="List invitations",
        description=(
            "Administrators see all that are open, other users those that they sent. Invitation"
            " links are included only for API keys with the scope `everything`."
        ),
    ),
    Endpoint(
        "POST",
        "/invites",
        Access.USER,
        InviteParams,
        invite,
        summary="Invite people by email",
        description=(
            "Each address gets a link by which one person can join. Addresses that have an"
            " account are passed over and listed in an error after the others were invited."
        ),
    ),
    Endpoint(
        "POST",
        "/invites/multiuse",
        Access.USER,
        LinkParams,
        make_link,
        LinkResult,
        summary="Create an invitation link for many people",
        description="The link lets any number of people join until it expires or is revoked.",
    ),
    Endpoint(
        "DELETE",
        "/invites/multiuse/{invite_id}",
        Access.USER,
        InvitationParams,
        revoke_link,
        summary="Revoke an invitation link",
    ),
    Endpoint(
        "DELETE",
        "/invites/{invite_id}",
        Access.USER,
        InvitationParams,
        revoke,
        summary="Revoke an invitation by email",
    ),
    Endpoint(
        "POST",
        "/invites/{invite_id}/resend",
        Access.USER,
        InvitationParams,
        resend,
        summary="Send an invitation again",
        description=(
            "The email goes out anew, and the invitation lasts as long as a new one does."
        ),
    ),
)
