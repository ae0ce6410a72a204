"""Change settings of other users, as an administrator: all at once, or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from server.actions import audit
from server.actions.audit import Differences
from server.actions.locked_realm import PEOPLE_IN_BATCH, lock_as_administrator, locked_realm_of
from server.actions.setting_events import (
    DRAFTS,
    NOTICES,
    append_setting,
    append_subscription_defaults,
    change_unread_notices,
)
from server.domain.access import GroupSetting
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.profiles import public_email
from server.domain.user_settings import DEFAULTS, NOT_FOR_OTHERS, UserSettings
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.i18n import _
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage import audit_log, drafts, unread_notices, user_settings, users
from storage.ids import GroupId, UserId
from storage.realms import RealmRow
from storage.users import UserRow

MAX_CHANGES: Final = 20_000
"""Maximum number of values that change in one request: their events are one transaction."""

ONES_OWN_TO_CHANGE: Final = _("Only users themselves can change this setting.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsTargets:
    """The users that the change applies to."""

    user_ids: Sequence[UserId] = ()
    """People, also deactivated ones."""
    group_ids: Sequence[GroupId] = ()
    """Groups: their active members and those of the groups in them, except bots."""
    skip_if_already_edited: bool
    """Whether a setting that a user has ever changed stays as it is for that user."""


async def change_settings_of_others(
    tx: Tx, actor: Actor, targets: SettingsTargets, changes: Mapping[str, Any]
) -> None:
    """Change these settings of the users; unchanged values are not published.

    Raises BadRequestError if the actor may not, for an unknown user or group, a bot, and a setting
    that only its user may change; InvalidParameterError for an invalid value.
    """
    if not targets.user_ids and not targets.group_ids:
        raise BadRequestError(_("Name the users or groups that the change applies to."))
    if NOT_FOR_OTHERS & changes.keys():
        raise BadRequestError(ONES_OWN_TO_CHANGE)
    DEFAULTS.changed(changes)
    changes = {name: changes[name] for name in UserSettings.__struct_fields__ if name in changes}
    realm = await lock_as_administrator(tx, actor)
    people = await _people(tx, realm, targets)
    if len(people) > PEOPLE_IN_BATCH:
        tx.must_be_exact()
    kept: set[tuple[UserId, str]] = set()
    if targets.skip_if_already_edited:
        kept = await audit_log.settings_changed_by_users(
            await tx.connection(), tx.realm_id, [row.user_id for row in people], list(changes)
        )
    changed = [_change(row, changes, kept) for row in people]
    pairs = [(old, new) for old, new in zip(people, changed, strict=True) if new is not old]
    differences = {new.user_id: _differences(old, new, changes) for old, new in pairs}
    if sum(map(len, differences.values())) > MAX_CHANGES:
        raise BadRequestError(
            _(
                "These are too many changes at once (limit: {limit}). Name fewer users, or fewer"
                " settings.",
                limit=MAX_CHANGES,
            )
        )
    if pairs:
        await _write(tx, actor, realm, pairs, differences)


async def _people(tx: Tx, realm: RealmRow, targets: SettingsTargets) -> list[UserRow]:
    """Lock and return the users. Raises BadRequestError for one that is unknown, and for a bot."""
    connection = await tx.connection()
    wanted = set(targets.user_ids)
    named = await users.by_ids(connection, tx.realm_id, sorted(wanted))
    if len(named) != len(wanted) or any(row.bot_type is not None for row in named):
        raise BadRequestError(_("No such user"))
    context = await locked_realm_of(tx, realm, named)
    graph = context.graph
    known = (graph.members.keys() | graph.system_names.keys()) - graph.deactivated
    if not known.issuperset(targets.group_ids):
        raise BadRequestError(_("Invalid user group"))
    groups = GroupSetting(direct_subgroups=tuple(targets.group_ids))
    reach = graph.reach([groups])
    candidates = await users.up_to_role(
        connection, tx.realm_id, least_role=reach.least_role, or_among=reach.user_ids
    )
    wanted.update(
        row.user_id
        for row in candidates
        if row.bot_type is None and graph.contains(groups, context.standing_of(row).person)
    )
    return await tx.lock(users.locking(tx.realm_id, sorted(wanted))) if wanted else []


def _change(row: UserRow, changes: Mapping[str, Any], kept: set[tuple[UserId, str]]) -> UserRow:
    """Return the row with its changes: the same object if there are none."""
    settings = UserSettings.of(row.settings)
    own = {
        name: value
        for name, value in changes.items()
        if getattr(settings, name) != value and (row.user_id, name) not in kept
    }
    return replace(row, settings=settings.changed(own).stored()) if own else row


def _differences(old: UserRow, new: UserRow, changes: Mapping[str, Any]) -> Differences:
    before, after = UserSettings.of(old.settings), UserSettings.of(new.settings)
    return audit.differences(
        {name: getattr(before, name) for name in changes},
        {name: getattr(after, name) for name in changes},
    )


async def _write(
    tx: Tx,
    actor: Actor,
    realm: RealmRow,
    pairs: Sequence[tuple[UserRow, UserRow]],
    differences: Mapping[UserId, Differences],
) -> None:
    """Write the users' settings and what follows from them; publish each to its user."""
    connection = await tx.changing()
    concerned = grouped((name, user) for user, each in differences.items() for name in each)
    rows = {row.user_id: row for _old, row in pairs}
    if NOTICES in concerned:
        await unread_notices.keep_past(connection, tx.realm_id, concerned[NOTICES])
    await user_settings.update(
        connection, tx.realm_id, {user_id: row.settings for user_id, row in rows.items()}
    )
    without_drafts = [u for u in concerned.get(DRAFTS, ()) if not differences[u][DRAFTS][1]]
    await drafts.delete_of_users(connection, tx.realm_id, without_drafts)
    domain = (await tx.realm_cache()).address_of(realm).domain
    for name, user_ids in concerned.items():
        value = differences[user_ids[0]][name][1]
        for user_id in user_ids:
            address = public_email(rows[user_id], domain)
            append_setting(tx, user_id, name, value, public_email=address)
        entry = tx.append(Tick(), NO_AUDIENCE)
        if name == NOTICES:
            change_unread_notices(tx, entry, user_ids, value)
        changed = {user_id: {name: differences[user_id][name]} for user_id in user_ids}
        audit.record_each(tx, entry, actor.user_id, "user_setting_changed", changed)
        tx.at_position(entry, users.changed(tx.realm_id, user_ids))
    await append_subscription_defaults(tx, connection, pairs)
