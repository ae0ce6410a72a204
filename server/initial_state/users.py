"""Register's `realm_user`: the user's own profile and permissions, and all other users."""

from collections.abc import Collection, Mapping
from typing import Any, TypedDict

import msgspec

from server.domain.access import ADMINISTRATOR, GUEST, MODERATOR, OWNER
from server.domain.avatars import avatar_of
from server.domain.profiles import knows_email, public_email
from server.events.users import User, inaccessible_user, shown_user
from server.initial_state import people
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.people import Kind, as_array, encoded, kind_of
from storage import users
from storage.ids import UserId
from storage.profile_data import NO_DATA, ProfileData
from storage.users import UserRow


class UserFields(TypedDict):
    user_id: UserId
    email: str
    delivery_email: str
    full_name: str
    avatar_source: str
    avatar_url: str
    avatar_url_medium: str
    is_owner: bool
    is_admin: bool
    is_moderator: bool
    is_guest: bool
    can_create_public_streams: bool
    can_create_private_streams: bool
    can_create_streams: bool
    can_create_web_public_streams: bool
    can_invite_others_to_realm: bool
    can_subscribe_other_users: bool
    realm_users: list[User] | msgspec.Raw
    realm_non_active_users: list[User] | msgspec.Raw
    cross_realm_bots: list[User] | msgspec.Raw


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    lists: Mapping[Kind, msgspec.Raw]
    if snapshot.actor.is_spectator:
        every, none = await people.lists(snapshot), as_array([])
        lists = {"active": none, "inactive": none, "system_bot": every["system_bot"]}
    elif (known := await people.known(snapshot)) is not None:
        lists = await _lists_of_known(snapshot, known)
    else:
        lists = await people.lists(snapshot)
    return {
        **_own_profile(snapshot),
        **_own_permissions(snapshot),
        "realm_users": lists["active"],
        "realm_non_active_users": lists["inactive"],
        "cross_realm_bots": lists["system_bot"],
    }


def _own_profile(snapshot: Snapshot) -> dict[str, Any]:
    row = snapshot.actor.row
    avatar = avatar_of(row, snapshot.address)
    return {
        "user_id": row.user_id,
        "email": public_email(row, snapshot.address.domain),
        "delivery_email": row.email,
        "full_name": row.full_name,
        "avatar_source": avatar.source,
        "avatar_url": avatar.url,
        "avatar_url_medium": avatar.medium_url,
        "is_owner": row.role == OWNER,
        "is_admin": row.role <= ADMINISTRATOR,
        "is_moderator": row.role == MODERATOR,
        "is_guest": row.role == GUEST,
    }


def _own_permissions(snapshot: Snapshot) -> dict[str, bool]:
    def may(name: str) -> bool:
        setting = snapshot.settings.permission(name, snapshot.graph)
        return snapshot.graph.contains(setting, snapshot.actor.person)

    public = may("can_create_public_channel_group")
    private = may("can_create_private_channel_group")
    web_public = snapshot.server.web_public_channels and snapshot.settings.enable_spectator_access
    return {
        "can_create_public_streams": public,
        "can_create_private_streams": private,
        "can_create_streams": public or private,
        "can_create_web_public_streams": web_public and may("can_create_web_public_channel_group"),
        "can_invite_others_to_realm": may("can_invite_users_group"),
        "can_subscribe_other_users": may("can_add_subscribers_group"),
    }


async def _lists_of_known(
    snapshot: Snapshot, known: Collection[UserId]
) -> Mapping[Kind, msgspec.Raw]:
    """Return the lists for a guest who may know only their contacts, and bots."""
    connection, realm_id = snapshot.connection, snapshot.realm_id
    profiles = (await people.people_of(snapshot)).profiles
    lists: dict[Kind, list[bytes]] = {kind: [] for kind in people.KINDS}
    for row in await users.all_of_realm(connection, realm_id):
        if row.user_id in known or row.bot_type is not None:
            lists[kind_of(row)].append(_known(snapshot, row, profiles.get(row.user_id, NO_DATA)))
        elif not snapshot.view.user_list_incomplete:
            lists[kind_of(row)].append(_inaccessible(snapshot, row))
    return {kind: as_array(pieces) for kind, pieces in lists.items()}


def _known(snapshot: Snapshot, row: UserRow, profile: ProfileData) -> bytes:
    user = shown_user(
        row,
        snapshot.address,
        knows_email=knows_email(snapshot.actor.row, row),
        profile=profile,
    )
    return encoded(user, client_gravatar=snapshot.view.client_gravatar)


def _inaccessible(snapshot: Snapshot, row: UserRow) -> bytes:
    user = inaccessible_user(row, snapshot.address)
    return encoded(user, client_gravatar=snapshot.view.client_gravatar)


SECTION = StateSection("realm_user", fetch, (UserFields,))
