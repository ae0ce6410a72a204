"""Change the realm's name, settings and permissions, as an administrator."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import msgspec

from server.actions import audit
from server.actions.locked_realm import LockedRealm, lock_with_actor, locked_realm_of
from server.actions.second_factor_requirements import require_second_factors
from server.domain.access import (
    ADMINISTRATOR,
    FULL_MEMBERS_GROUP,
    GUEST,
    MEMBER,
    OWNER,
)
from server.domain.actor import Actor
from server.domain.errors import (
    BadRequestError,
    InvalidParameterError,
)
from server.domain.group_settings import PermissionChange, changed_settings, named_in
from server.domain.legacy_policies import OLD_PARAMETERS, SHOWN_POLICIES, shown_policy
from server.domain.permission_settings import REALM_PERMISSIONS
from server.domain.realm_changes import CHANNEL_SETTINGS, FOR_OWNERS, checked_changes
from server.domain.realm_settings import NO_CHANNEL, RealmSettings
from server.domain.realms import checked_realm_description, checked_realm_name
from server.domain.sign_in import PASSWORDS, shown_methods, takes_passwords
from server.events.base import EVERYONE, NO_AUDIENCE
from server.events.groups import MembersAdded, MembersRemoved
from server.events.log import QueuesEnded, Tick
from server.events.realm import RealmSettingChanged, RealmSettingsChanged
from server.events.user_settings import SettingValue
from server.i18n import _
from server.transactions import Tx
from storage import channels, event_queues, groups, realms, users
from storage.database import Connection
from storage.ids import ChannelId, UserId
from storage.realms import RealmRow

SENT_AS_DATA: Final = frozenset({"allow_message_editing", "message_content_edit_limit_seconds"})
"""Simple settings that clients expect in the event for compound ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmChange:
    """Requested changes of the realm."""

    name: str | None = None
    description: str | None = None
    rendered_description: str = ""
    subdomain: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """By their names in RealmSettings; permissions aside."""
    permissions: Mapping[str, PermissionChange] = field(default_factory=dict)


async def change_realm(
    tx: Tx, actor: Actor, change: RealmChange, *, available: Sequence[str]
) -> None:
    """Make all changes, or none; unchanged values are not published.

    Some settings are for owners only. The event queues of guests who may know other people than
    before, and of users whose full membership changes, are deleted, so that they register again.
    Raises BadRequestError, ExpectationMismatchError.
    """
    realm, row = await lock_with_actor(tx, actor)
    context = await locked_realm_of(tx, realm, [row])
    _check_may(row.role, change)
    connection = await tx.connection()
    changed = _Changed(
        tx, actor, context, await _checked(connection, context, change), available=available
    )
    if not changed.differences:
        return

    connection = await tx.changing()
    await changed.record_and_append(connection)
    await require_second_factors(tx, row, changed.context.settings, changed.settings)
    await _append_full_member_events(tx, connection, context, changed)
    await _end_queues_of_guests(tx, connection, changed)


async def withdraw_channel(
    tx: Tx, actor: Actor, context: LockedRealm, channel_id: ChannelId
) -> None:
    """Clear realm settings that name a channel which the actor archives."""
    named = [name for name in CHANNEL_SETTINGS if getattr(context.settings, name) == channel_id]
    await _follow(tx, actor, context, dict.fromkeys(named, NO_CHANNEL))


async def lift_restriction_to_domains(tx: Tx, actor: Actor, context: LockedRealm) -> None:
    """Lift the restriction to domains, after the actor has removed the last one."""
    await _follow(tx, actor, context, {"emails_restricted_to_domains": False})


async def _follow(tx: Tx, actor: Actor, context: LockedRealm, values: Mapping[str, Any]) -> None:
    """Set settings as a consequence of another action of the actor."""
    settings = msgspec.structs.replace(context.settings, **values)
    if settings != context.settings:
        realm = replace(context.realm, settings=settings.stored())
        changed = _Changed(tx, actor, context, realm, available=())
        await changed.record_and_append(await tx.changing())


def _check_may(role: int, change: RealmChange) -> None:
    """Raise BadRequestError if a user of this role may not change that."""
    if role > ADMINISTRATOR:
        raise BadRequestError(_("Must be an organization administrator"))
    wanted = {*change.settings, *change.permissions}
    if role != OWNER and (wanted & FOR_OWNERS or change.subdomain is not None):
        raise BadRequestError(_("Must be an organization owner"))


async def _checked(connection: Connection, context: LockedRealm, change: RealmChange) -> RealmRow:
    """Return the changed realm. Raises BadRequestError for invalid values."""
    realm = context.realm
    if change.subdomain not in (None, realm.subdomain):
        raise BadRequestError(_("Must be a demo organization."))
    new: dict[str, Any] = checked_changes(change.settings)
    await _check_channels(connection, context, new)
    new |= await _permissions(connection, context, change.permissions)
    settings = RealmSettings.of(msgspec.structs.asdict(context.settings) | new)
    realm = replace(realm, settings=settings.stored())
    if change.name is not None:
        realm = replace(realm, name=checked_realm_name(change.name))
    if change.description is not None:
        realm = replace(
            realm,
            description=checked_realm_description(change.description),
            rendered_description=change.rendered_description,
        )
    return realm


async def _check_channels(
    connection: Connection, context: LockedRealm, new: Mapping[str, Any]
) -> None:
    """Raise InvalidParameterError for a channel that cannot be used for its setting."""
    named = {name: new[name] for name in CHANNEL_SETTINGS if new.get(name, NO_CHANNEL) > 0}
    ids = [ChannelId(channel_id) for channel_id in named.values()]
    rows = await channels.by_ids(connection, context.realm.realm_id, ids) if ids else []
    found = {row.channel_id: row for row in rows if not row.is_archived}
    for name, channel_id in named.items():
        channel = found.get(channel_id)
        if channel is None:
            raise InvalidParameterError(name, _("Invalid channel ID"))
        if name == "moderation_request_channel_id" and not channel.invite_only:
            raise InvalidParameterError(name, _("Moderation request channel must be private."))


async def _permissions(
    connection: Connection, context: LockedRealm, changes: Mapping[str, PermissionChange]
) -> dict[str, Any]:
    """Return the permissions that change, in their stored form."""
    active = await users.active_among(connection, context.realm.realm_id, named_in(changes))
    graph = context.graph
    return changed_settings(
        changes,
        REALM_PERMISSIONS,
        lambda name: context.settings.permission(name, graph),
        graph,
        active,
    )


@dataclass(frozen=True)
class _Changed:
    """The realm before and after, with its events."""

    tx: Tx
    actor: Actor
    context: LockedRealm
    realm: RealmRow
    available: Sequence[str] = field(kw_only=True)

    @property
    def settings(self) -> RealmSettings:
        return RealmSettings.of(self.realm.settings)

    @cached_property
    def differences(self) -> audit.Differences:
        return audit.differences(_facts(self.context.realm), _facts(self.realm))

    async def record_and_append(self, connection: Connection) -> None:
        """Write the audit log, and publish each difference, also in the form for older clients."""
        await realms.update(
            connection,
            self.tx.realm_id,
            name=self.realm.name,
            description=self.realm.description,
            rendered_description=self.realm.rendered_description,
            settings=self.realm.settings,
        )
        self._append_events()
        entry = self.tx.append(Tick(), NO_AUDIENCE)
        self.tx.at_position(entry, realms.changed(self.tx.realm_id))
        audit.record(
            self.tx,
            entry,
            self.actor.user_id,
            "realm_changed",
            before=msgspec.to_builtins(audit.before(self.differences)),
            after=msgspec.to_builtins(audit.after(self.differences)),
        )

    def _append_events(self) -> None:
        differences = self.differences
        data: dict[str, Any] = {}
        for name in differences:
            shown = self._shown(name)
            if isinstance(shown, dict) or name in REALM_PERMISSIONS or name in SENT_AS_DATA:
                data[name] = shown
            elif name == "description":
                rendered = self.realm.rendered_description
                data |= {name: shown, "rendered_description": rendered}
            elif name == "giphy_rating":
                data |= {name: shown, "gif_rating_policy": shown}
            elif name == "topics_policy":
                data |= {name: shown, "mandatory_topics": shown == "disable_empty_topic"}
            else:
                self._append_event(name, shown)
        if data:
            self.tx.append(RealmSettingsChanged(data=data), EVERYONE)
        for name, value in self._in_old_words(differences):
            self._append_event(name, value)

    def _append_event(self, name: str, value: SettingValue) -> None:
        self.tx.append(RealmSettingChanged(property=name, value=value), EVERYONE)

    def _shown(self, name: str) -> Any:
        """Return the new value in the form of register."""
        if name in REALM_PERMISSIONS:
            return self.settings.permission(name, self.context.graph).as_json()
        if name == "authentication_methods":
            return shown_methods(self.settings, self.available)
        if name in ("name", "description"):
            return getattr(self.realm, name)
        return getattr(self.settings, name)

    def _in_old_words(self, changed: Iterable[str]) -> Iterator[tuple[str, bool | int]]:
        old, new, graph = self.context.settings, self.settings, self.context.graph
        changed = set(changed)
        if "message_edit_history_visibility_policy" in changed:
            yield "allow_edit_history", new.message_edit_history_visibility_policy != "none"
        if old.wants_method(PASSWORDS) != new.wants_method(PASSWORDS):
            yield "email_auth_enabled", new.wants_method(PASSWORDS)
        by_password = takes_passwords(new, self.available)
        if takes_passwords(old, self.available) != by_password:
            yield "password_auth_enabled", by_password
        for policy in SHOWN_POLICIES:
            permission = OLD_PARAMETERS[policy][0]
            if permission in changed:
                yield policy, shown_policy(policy, new.permission(permission, graph), graph)


def _facts(realm: RealmRow) -> dict[str, Any]:
    """Return all fields of a realm that can be changed."""
    settings = RealmSettings.of(realm.settings)
    kept = {name: getattr(settings, name) for name in RealmSettings.__struct_fields__}
    return kept | {"name": realm.name, "description": realm.description}


async def _append_full_member_events(
    tx: Tx, connection: Connection, context: LockedRealm, changed: _Changed
) -> None:
    """Publish changes of full membership by the new waiting period."""
    if "waiting_period_threshold" not in changed.differences:
        return
    before = context.graph
    after = await (await tx.realm_cache()).read_groups(connection, changed.realm)
    now = before.clock.now()
    rows = await users.up_to_role(connection, tx.realm_id, least_role=MEMBER, or_among=())
    gained: list[UserId] = []
    lost: list[UserId] = []
    for row in rows:
        person = context.standing_of(row).person
        was = person.is_full(before.waiting_period, now)
        if person.is_full(after.waiting_period, now) != was:
            (lost if was else gained).append(row.user_id)
    group_id = (await groups.system_ids(connection, tx.realm_id))[FULL_MEMBERS_GROUP]
    if gained:
        tx.append(MembersAdded(group_id=group_id, user_ids=tuple(gained)), EVERYONE)
    if lost:
        tx.append(MembersRemoved(group_id=group_id, user_ids=tuple(lost)), EVERYONE)
    await _end_queues(tx, connection, [*gained, *lost])


async def _end_queues_of_guests(tx: Tx, connection: Connection, changed: _Changed) -> None:
    graph = changed.context.graph
    before = changed.context.settings.guests_know_all_users(graph)
    if changed.settings.guests_know_all_users(graph) != before:
        by_role = await users.ids_by_role(connection, tx.realm_id)
        await _end_queues(tx, connection, by_role.get(GUEST, ()))


async def _end_queues(tx: Tx, connection: Connection, user_ids: Iterable[UserId]) -> None:
    ids = list(user_ids)
    if ids:
        await event_queues.delete_of_users(connection, tx.realm_id, ids)
        tx.append(QueuesEnded(user_ids=tuple(ids)), NO_AUDIENCE)
