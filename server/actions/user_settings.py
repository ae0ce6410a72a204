"""Change one's own settings, and, as an administrator, the defaults for new users."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec.structs import asdict

from server.actions import audit, presence
from server.actions.credential_changes import Extent, Proof, check_proof
from server.actions.locked_realm import LockedRealm, lock_realm, lock_with_actor, locked_realm_of
from server.actions.passwords import set_password
from server.actions.realm_exports import append_consent_event
from server.actions.setting_events import (
    DRAFTS,
    NOTICES,
    append_setting,
    append_subscription_defaults,
    change_unread_notices,
)
from server.actions.unique_names import check_unique
from server.actions.user_audiences import UserAudiences
from server.domain.access import GUEST, ROLES
from server.domain.accounts import checked_full_name, checked_timezone
from server.domain.actor import Actor
from server.domain.avatars import avatar_of
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.domain.profiles import least_role_to_see_email, public_email
from server.domain.realm_settings import RealmSettings
from server.domain.user_settings import UserSettings
from server.events.base import EVERYONE, NO_AUDIENCE, Audience, Entry, to_users
from server.events.log import Tick
from server.events.user_settings import (
    SettingsDefaultChanged,
    SettingValue,
)
from server.events.users import EmailChanged, PersonChange, UserChanged
from server.i18n import _
from server.transactions import Tx
from storage import (
    drafts,
    realms,
    unread_notices,
    users,
)
from storage.database import Connection
from storage.users import UserRow


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A password's hash, and the proof that the account's owner sets it."""

    new_hash: str
    proof: Proof
    """All sessions end but the one in which it was given."""
    end_keys: bool = False
    """Whether to revoke the account's API keys, too."""

    @property
    def extent(self) -> Extent:
        return Extent(
            sessions=True,
            but_session=self.proof.session,
            api_key=self.end_keys,
            named_keys=self.end_keys,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChange:
    """Requested changes of one's own account."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    full_name: str | None = None
    timezone: str | None = None
    password: NewPassword | None = None


async def change_own_settings(tx: Tx, actor: Actor, change: OwnChange) -> Ended:
    """Make all changes, or none; unchanged values are not published.

    Switching the synchronization of drafts off deletes those that the server stores. Returns what a
    new password has revoked. Raises BadRequestError.
    """
    realm, row = await lock_with_actor(tx, actor)
    context = await locked_realm_of(tx, realm, [row])
    connection = await tx.connection()
    new = await _checked(connection, context, row, change)
    if change.password is not None:
        await check_proof(tx, row.user_id, change.password.proof)
    events = _SettingsEvents(tx, actor, row, new, context)
    ended = Ended()
    if not events.changed and change.password is None:
        return ended

    connection = await tx.changing()
    if change.password is not None:
        new_hash, extent = change.password.new_hash, change.password.extent
        ended = await set_password(tx, row, new_hash, extent, by=actor.user_id)
    if events.changed:
        if NOTICES in events.changed:
            await unread_notices.keep_past(connection, tx.realm_id, [row.user_id])
        await _keep(tx, connection, new)
        if events.switches_off(DRAFTS):
            await drafts.delete_of_users(connection, tx.realm_id, [row.user_id])
        await events.append_all(connection)
    return ended


async def rename(tx: Tx, actor: Actor, context: LockedRealm, row: UserRow, name: str) -> None:
    """Rename a user; publish it to all who know them.

    The caller has locked their row, and the realm exclusively, and has checked that the actor may
    do it. Raises BadRequestError.
    """
    name = checked_full_name(name)
    if name == row.full_name:
        return
    await check_unique(await tx.connection(), context, row, name)
    events = _SettingsEvents(tx, actor, row, replace(row, full_name=name), context)
    connection = await tx.changing()
    await _keep(tx, connection, events.new)
    await events.append_all(connection)


async def _keep(tx: Tx, connection: Connection, new: UserRow) -> None:
    await users.update_own(
        connection,
        tx.realm_id,
        new.user_id,
        full_name=new.full_name,
        timezone=new.timezone,
        settings=new.settings,
    )


async def change_settings_defaults(tx: Tx, actor: Actor, changes: Mapping[str, Any]) -> None:
    """Change the default settings of new users. Existing users keep theirs.

    Raises BadRequestError.
    """
    realm = await lock_realm(tx, alone=True)
    context = await locked_realm_of(tx, realm, await _locked(tx, actor))
    if not context.standing(actor.user_id).person.is_administrator:
        raise BadRequestError(_("Must be an organization administrator"))
    old = UserSettings.of(context.settings.user_settings_defaults)
    new = old.changed(changes)
    changed = audit.differences(asdict(old), asdict(new))
    if not changed:
        return
    connection = await tx.changing()
    settings = replace_defaults(context.settings, new)
    await realms.update_settings(connection, tx.realm_id, settings.stored())
    entry = None
    for name, (before, after) in changed.items():
        assert after is not None, "such settings have a value"
        entry = tx.append(SettingsDefaultChanged(property=name, value=after), EVERYONE)
        audit.record(
            tx,
            entry,
            actor.user_id,
            "settings_default_changed",
            before={name: before},
            after={name: after},
        )
    assert entry is not None
    tx.at_position(entry, realms.changed(tx.realm_id))


def replace_defaults(settings: RealmSettings, defaults: UserSettings) -> RealmSettings:
    """Return the realm's settings with other defaults for new users."""
    return RealmSettings.of(settings.stored() | {"user_settings_defaults": defaults.stored()})


async def _locked(tx: Tx, actor: Actor) -> list[UserRow]:
    """Lock and return the actor's row. Raises UserDeactivatedError."""
    [row] = await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    return [row]


async def _checked(
    connection: Connection, context: LockedRealm, row: UserRow, change: OwnChange
) -> UserRow:
    """Return the changed row. Raises BadRequestError for invalid or forbidden changes."""
    name, timezone = row.full_name, row.timezone
    if change.full_name is not None:
        name = checked_full_name(change.full_name)
        if name != row.full_name:
            await _check_renaming(connection, context, row, name)
    if change.timezone is not None:
        timezone = checked_timezone(change.timezone)
    settings = UserSettings.of(row.settings).changed(change.settings)
    return replace(row, full_name=name, timezone=timezone, settings=settings.stored())


async def _check_renaming(
    connection: Connection, context: LockedRealm, row: UserRow, name: str
) -> None:
    person = context.standing_of(row).person
    if context.settings.name_changes_disabled and not person.is_administrator:
        raise BadRequestError(_("Name changes are disabled in this organization."))
    await check_unique(connection, context, row, name)


def _facts(row: UserRow) -> dict[str, SettingValue]:
    """Return all fields that users set themselves."""
    settings: dict[str, SettingValue] = asdict(UserSettings.of(row.settings))
    return settings | {"full_name": row.full_name, "timezone": row.timezone}


@dataclass(frozen=True, slots=True)
class _SettingsEvents:
    """A user's change, and its audiences."""

    tx: Tx
    actor: Actor
    old: UserRow
    new: UserRow
    context: LockedRealm
    changed: audit.Differences = field(init=False)

    def __post_init__(self) -> None:
        changed = audit.differences(_facts(self.old), _facts(self.new))
        object.__setattr__(self, "changed", changed)

    def switches_off(self, setting: str) -> bool:
        return setting in self.changed and not self.changed[setting][1]

    async def append_all(self, connection: Connection) -> None:
        """Append all events; the last one invalidates the user's row."""
        tx = self.tx
        address = (await tx.realm_cache()).address_of(self.context.realm)
        user_audiences = await UserAudiences.of(tx, self.context, [self.old, self.new])
        knowing = await user_audiences.audience_knowing(self.new)
        user = public_email(self.new, address.domain)
        entry: Entry | None = None
        for name, (before, after) in self.changed.items():
            if name == "full_name":
                entry = self._append_name(knowing)
            else:
                entry = append_setting(tx, self.new.user_id, name, after, public_email=user)
            if name == "timezone":
                person = PersonChange(user_id=self.new.user_id, timezone=self.new.timezone)
                tx.append(UserChanged(person=person), knowing)
            if name == "email_address_visibility":
                self._append_address(user_audiences, knowing)
            if name == "allow_private_data_export":
                await append_consent_event(tx, self.new.user_id, consented=bool(after))
            if name == NOTICES:
                change_unread_notices(tx, entry, [self.new.user_id], after)
            if name == "presence_enabled":
                await presence.choose(tx, self.context, self.new, knowing, domain=address.domain)
            changed = {self.new.user_id: {name: (before, after)}}
            audit.record_each(self.tx, entry, self.actor.user_id, "user_setting_changed", changed)
        await append_subscription_defaults(tx, connection, [(self.old, self.new)])
        assert entry is not None, "something has changed"
        tx.at_position(
            tx.append(Tick(), NO_AUDIENCE), users.changed(tx.realm_id, [self.new.user_id])
        )

    def _append_name(self, knowing: Audience) -> Entry:
        person = PersonChange(user_id=self.new.user_id, full_name=self.new.full_name)
        return self.tx.append(UserChanged(person=person), knowing)

    def _append_address(self, user_audiences: UserAudiences, knowing: Audience) -> None:
        """Append changes of the real address's visibility, and of the public address."""
        row, tx = self.new, self.tx
        before, now = least_role_to_see_email(self.old), least_role_to_see_email(row)
        least, most = sorted((before, now))
        between = {role for role in ROLES if least < role <= most}
        concerned = tuple(
            user_id
            for role, ids in user_audiences.by_role.items()
            for user_id in ids
            if role in between
            and user_id != row.user_id
            and (knowing.guests or role != GUEST or user_id in knowing.users)
        )
        if concerned:
            email = row.email if now > before else None
            person = PersonChange(user_id=row.user_id, delivery_email=email)
            tx.append(UserChanged(person=person), to_users(*concerned))
        domain = user_audiences.address.domain
        address = public_email(row, domain)
        if address == public_email(self.old, domain):
            return
        avatar = avatar_of(row, user_audiences.address)
        event = EmailChanged(
            user_id=row.user_id,
            new_email=address,
            avatar_source=avatar.source,
            avatar_version=row.avatar_version,
        )
        tx.append(event, knowing)
