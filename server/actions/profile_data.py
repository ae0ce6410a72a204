"""Change users' profile data, one's own or as an administrator."""

from collections.abc import Collection, Mapping

from server.actions import audit
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.user_audiences import audience_knowing
from server.domain.actor import Actor
from server.domain.errors import BadRequestError
from server.domain.markdown import render_description
from server.domain.profile_fields import (
    FieldType,
    Value,
    checked_value,
    is_rendered,
    people_in,
)
from server.events.users import ChangedValue, PersonChange, ShownValue, UserChanged
from server.i18n import _
from server.transactions import Tx
from storage import profile_data, profile_fields, shared_contacts, users
from storage.database import Connection
from storage.ids import ProfileFieldId, RealmId, UserId
from storage.profile_data import NO_DATA, ProfileData, ValueRow
from storage.profile_fields import FieldRow
from storage.users import UserRow

Answers = Mapping[ProfileFieldId, Value | None]
"""New values by field; None or an empty one removes the value."""


async def change_own_data(tx: Tx, actor: Actor, answers: Answers) -> None:
    """Change all of these values of the actor, or none; publish it to all who know the actor.

    Unchanged values are not published. Raises BadRequestError.
    """
    context = await lock_context(tx, actor)
    await _change(tx, actor, context, actor.user_id, answers)


async def change_data_of(tx: Tx, actor: Actor, user_id: UserId, answers: Answers) -> None:
    """Change values of another user, as an administrator."""
    context = await lock_context(tx, actor, [user_id])
    if not context.standing(actor.user_id).person.is_administrator:
        raise BadRequestError(_("Must be an organization administrator"))
    await _change(tx, actor, context, user_id, answers)


async def _change(
    tx: Tx, actor: Actor, context: LockedRealm, user_id: UserId, answers: Answers
) -> None:
    known = context.people.get(user_id)
    if known is None or known.bot_type is not None:
        raise BadRequestError(_("No such user"))
    [row] = await tx.lock(users.locking(tx.realm_id, [user_id]))
    connection = await tx.connection()
    old = (await profile_data.of_users(connection, tx.realm_id, [user_id])).get(user_id, NO_DATA)
    fields = {row.field_id: row for row in await profile_fields.of_realm(connection, tx.realm_id)}
    is_administrator = context.standing(actor.user_id).person.is_administrator
    changed = {}
    for field_id, answer in answers.items():
        field = _answerable(fields.get(field_id), field_id, is_administrator=is_administrator)
        value = kept_value(field, answer)
        if value != old.get(field_id):
            changed[field_id] = value
            if field.field_type == FieldType.USER and value is not None:
                before = people_in(old[field_id].value) if field_id in old else ()
                new = set(people_in(value.value)).difference(before)
                await _check_people(connection, context, actor, new)
    if changed:
        await _keep(await tx.changing(), tx.realm_id, user_id, changed)
        await _append_profile_events(tx, actor, context, row, old, changed)


def _answerable(
    field: FieldRow | None, field_id: ProfileFieldId, *, is_administrator: bool
) -> FieldRow:
    if field is None:
        raise BadRequestError(_("Field id {field_id} not found.", field_id=field_id))
    if not (field.editable_by_user or is_administrator):
        raise BadRequestError(
            _("You are not allowed to change this field. Contact an administrator to update it.")
        )
    return field


def kept_value(field: FieldRow, answer: Value | None) -> ValueRow | None:
    """Return the normalized value, or None for an empty one. Raises BadRequestError."""
    if not answer or (isinstance(answer, str) and not answer.strip()):
        return None
    value = checked_value(field.name, field.field_type, field.field_data, answer)
    return ValueRow(value, render_description(value) if is_rendered(field.field_type) else None)


async def _check_people(
    connection: Connection, context: LockedRealm, actor: Actor, user_ids: Collection[int]
) -> None:
    """Raise BadRequestError unless all of them are active users that the actor may know."""
    ids = [UserId(user_id) for user_id in sorted(user_ids)]
    realm_id = context.realm.realm_id
    found = {row.user_id: row for row in await users.by_ids(connection, realm_id, ids)}
    if actor.is_guest and not context.settings.guests_know_all_users(context.graph):
        known = await shared_contacts.known_to(connection, realm_id, actor.user_id)
        found = {user_id: row for user_id, row in found.items() if user_id in known}
    for user_id in ids:
        row = found.get(user_id)
        if row is None:
            raise BadRequestError(_("Invalid user ID: {user_id}", user_id=user_id))
        if not row.is_active:
            raise BadRequestError(_("User with ID {user_id} is deactivated", user_id=user_id))
        if row.bot_type is not None:
            raise BadRequestError(_("User with ID {user_id} is a bot", user_id=user_id))


Changed = Mapping[ProfileFieldId, ValueRow | None]


async def _keep(
    connection: Connection, realm_id: RealmId, user_id: UserId, changed: Changed
) -> None:
    said = {field_id: value for field_id, value in changed.items() if value is not None}
    unsaid = [field_id for field_id, value in changed.items() if value is None]
    if said:
        await profile_data.upsert(connection, realm_id, user_id, said)
    if unsaid:
        await profile_data.delete(connection, realm_id, user_id, unsaid)


async def _append_profile_events(
    tx: Tx, actor: Actor, context: LockedRealm, row: UserRow, old: ProfileData, changed: Changed
) -> None:
    audience = await audience_knowing(tx, context, row)
    entry = None
    for field_id, value in changed.items():
        now = ChangedValue(id=field_id, value=None)
        if value is not None:
            shown = ShownValue.of(value)
            now = ChangedValue(id=field_id, value=shown.value, rendered_value=shown.rendered_value)
        person = PersonChange(user_id=row.user_id, custom_profile_field=now)
        entry = tx.append(UserChanged(person=person), audience)
    assert entry is not None, "something has changed"
    tx.at_position(entry, users.changed(tx.realm_id, [row.user_id]))
    texts = {str(i): (_text(old.get(i)), _text(value)) for i, value in changed.items()}
    audit.record_each(tx, entry, actor.user_id, "profile_data_changed", {row.user_id: texts})


def _text(value: ValueRow | None) -> str | None:
    return None if value is None else value.value
