"""Create channels, and publish them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from server.actions import audit
from server.actions.channel_audiences import audiences_allowed_to_see
from server.actions.channel_folders import check_folder
from server.actions.locked_realm import LockedRealm
from server.domain.access import GroupSetting
from server.domain.channel_creation import (
    ChannelTerms,
    check_creator,
    check_terms,
    checked_permission,
    default_permissions,
    retention_days,
)
from server.domain.channels import CREATES_TOPICS, check_topic_creators, clean_description
from server.domain.markdown import render_description
from server.events.base import MEMBERS
from server.events.channels import ChannelInfo, ChannelsCreated, DefaultChannelsChanged
from server.transactions import Tx
from storage import channels, users
from storage.channels import ChannelRow, NewChannel
from storage.ids import UserId


@dataclass(frozen=True, slots=True)
class ChannelSpec:
    """A channel to be created or looked up."""

    name: str
    """In the form of `clean_name`."""
    description: str = ""
    """As requested: used only if the channel is created."""


async def checked_terms(
    tx: Tx, context: LockedRealm, terms: ChannelTerms, *, web_public_enabled: bool
) -> ChannelTerms:
    """Return the terms with their permissions in stored form.

    Raises BadRequestError if no channel can have them.
    """
    check_terms(
        terms,
        web_public_enabled=web_public_enabled,
        spectators=context.settings.enable_spectator_access,
    )
    connection = await tx.connection()
    await check_folder(connection, tx.realm_id, terms.folder_id)
    named = {user_id for value in terms.permissions.values() for user_id in value.direct_members}
    active = await users.active_among(connection, tx.realm_id, named)
    permissions = {
        name: checked_permission(name, value, context.graph, active)
        for name, value in terms.permissions.items()
    }
    return replace(terms, permissions=permissions)


async def create_channels(
    tx: Tx,
    context: LockedRealm,
    creator_id: UserId,
    wanted: Sequence[ChannelSpec],
    terms: ChannelTerms,
) -> list[ChannelRow]:
    """Create channels on these terms (`checked_terms`), without subscribers; publish them.

    The caller has locked the realm's names and has looked these up. Raises
    CreationNotPermittedError, and BadRequestError for a description that is too long.
    """
    check_creator(context.standing(creator_id), terms)
    permissions = _permissions(context, creator_id, terms)
    if not terms.shares_history:
        check_topic_creators(permissions[CREATES_TOPICS], context.graph)
    new = [_new(each, creator_id, terms, permissions, context) for each in wanted]
    connection = await tx.changing()
    rows = [await channels.insert(connection, tx.realm_id, each) for each in new]
    await publish_created(tx, context, creator_id, rows)
    if terms.is_default and rows:
        ids = await channels.default_ids(connection, tx.realm_id)
        tx.append(DefaultChannelsChanged(default_streams=ids), MEMBERS)
    return rows


async def publish_created(
    tx: Tx, context: LockedRealm, by: UserId | None, rows: Sequence[ChannelRow]
) -> None:
    """Publish channels that this write has inserted, without subscribers so far."""
    connection = await tx.changing()
    now = context.graph.clock.now()
    audiences = await audiences_allowed_to_see(connection, tx.realm_id, context, rows)
    for row in rows:
        info = ChannelInfo.of(row, None, context.graph, now=now)
        entry = tx.append(ChannelsCreated(streams=[info]), audiences[row.channel_id])
        tx.at_position(entry, channels.changed(tx.realm_id, [row.channel_id]))
        made = {row.channel_id: {"name": row.name, "invite_only": row.invite_only}}
        audit.record_outcomes(tx, entry, by, "channel_created", made)


def _permissions(
    context: LockedRealm, creator_id: UserId, terms: ChannelTerms
) -> dict[str, GroupSetting]:
    return {**default_permissions(context.graph.ids_by_name, creator_id), **terms.permissions}


def _new(
    wanted: ChannelSpec,
    creator_id: UserId,
    terms: ChannelTerms,
    permissions: Mapping[str, GroupSetting],
    context: LockedRealm,
) -> NewChannel:
    description = clean_description(wanted.description)
    return NewChannel(
        name=wanted.name,
        description=description,
        rendered_description=render_description(description),
        creator_id=creator_id,
        created_at=context.graph.clock.now(),
        invite_only=terms.invite_only,
        is_web_public=terms.is_web_public,
        history_public_to_subscribers=terms.shares_history,
        is_default=terms.is_default,
        topics_policy=terms.topics_policy,
        folder_id=terms.folder_id,
        message_retention_days=retention_days(terms.message_retention_days),
        default_push_notifications=terms.default_push_notifications,
        permissions={name: value.as_json() for name, value in permissions.items()},
    )
