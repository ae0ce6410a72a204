"""Manage custom profile fields, as an administrator."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from server.actions import audit
from server.actions.locked_realm import lock_as_administrator, locked_realm_of
from server.actions.profile_choices import ChoiceRemovalPlan, choices_of, lock_first, withdraw_first
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.profile_fields import (
    MAX_FIELDS,
    MAX_IN_SUMMARY,
    FieldDefinition,
    checked_terms,
    field_data_of,
)
from server.events.base import EVERYONE, Entry
from server.events.profile_fields import ProfileFieldsChanged, shown_fields
from server.i18n import _
from server.transactions import Tx
from storage import profile_fields
from storage.ids import ProfileFieldId
from storage.profile_fields import FieldRow
from storage.realms import RealmRow


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldWish:
    """Requested changes of a field; None leaves a field as it is."""

    name: str | None = None
    hint: str | None = None
    field_data: Mapping[str, Any] | None = None
    required: bool | None = None
    editable_by_user: bool | None = None
    display_in_profile_summary: bool | None = None
    use_for_user_matching: bool | None = None


async def add_field(tx: Tx, actor: Actor, terms: FieldDefinition) -> ProfileFieldId:
    """Create a field at the end; publish it to all. Raises a DomainError."""
    terms = checked_terms(terms)
    there, _realm = await _held(tx, actor)
    if len(there) >= MAX_FIELDS:
        raise BadRequestError(
            _("Too many custom profile fields (limit: {limit})", limit=MAX_FIELDS)
        )
    connection = await tx.connection()
    row = _row(await profile_fields.new_id(connection), terms)
    _check_fits(row, there)

    await profile_fields.insert(await tx.changing(), tx.realm_id, row)
    entry, added = await _append_fields(tx), {row.field_id: asdict(row)}
    audit.record_outcomes(tx, entry, actor.user_id, "profile_field_added", added)
    return row.field_id


async def change_field(
    tx: Tx, actor: Actor, field_id: ProfileFieldId, wish: FieldWish
) -> str | None:
    """Change a field; publish it to all, with the values of removed choices.

    If there are many, WITHDRAWING continues under the returned id. Raises a DomainError.
    """
    there, realm = await _held(tx, actor)
    old = _found(field_id, there)
    new = _changed(old, wish)
    if new == old:
        return None
    _check_fits(new, [row for row in there if row != old])
    gone = sorted(choices_of(old) - choices_of(new))
    plan = ChoiceRemovalPlan(actor_id=actor.user_id, field_id=field_id, gone=gone)
    concerned = await lock_first(tx, plan) if gone else []

    await profile_fields.update(await tx.changing(), tx.realm_id, new)
    changed = {field_id: audit.differences(asdict(old), asdict(new))}
    entry = await _append_fields(tx)
    audit.record_each(tx, entry, actor.user_id, "profile_field_changed", changed)
    if not concerned:
        return None
    return await withdraw_first(tx, await locked_realm_of(tx, realm, ()), plan, concerned)


async def remove_field(tx: Tx, actor: Actor, field_id: ProfileFieldId) -> None:
    """Delete a field and all its values. Raises BadRequestError."""
    there, _realm = await _held(tx, actor)
    old = _found(field_id, there)
    await profile_fields.delete(await tx.changing(), tx.realm_id, field_id)
    entry = await _append_fields(tx)
    audit.record_removal(tx, entry, actor.user_id, "profile_field_removed", field_id, asdict(old))


async def order_fields(tx: Tx, actor: Actor, field_ids: Sequence[ProfileFieldId]) -> None:
    """Set the display order, which names each once. Raises InvalidParameterError."""
    there = [row.field_id for row in (await _held(tx, actor))[0]]
    if sorted(field_ids) != sorted(there):
        raise InvalidParameterError("order", _("Invalid order mapping: it names each field once."))
    if list(field_ids) == there:
        return
    await profile_fields.update_order(await tx.changing(), tx.realm_id, field_ids)
    entry, before, after = await _append_fields(tx), {"order": there}, {"order": list(field_ids)}
    audit.record(tx, entry, actor.user_id, "profile_fields_ordered", before=before, after=after)


async def _held(tx: Tx, actor: Actor) -> tuple[list[FieldRow], RealmRow]:
    """Lock and return all fields, for an administrator."""
    realm = await lock_as_administrator(tx, actor)
    return await profile_fields.of_realm(await tx.connection(), tx.realm_id), realm


def _found(field_id: ProfileFieldId, there: Sequence[FieldRow]) -> FieldRow:
    for row in there:
        if row.field_id == field_id:
            return row
    raise BadRequestError(_("Field id {field_id} not found.", field_id=field_id))


def _row(field_id: ProfileFieldId, terms: FieldDefinition) -> FieldRow:
    return FieldRow(
        field_id=field_id,
        field_type=terms.field_type,
        name=terms.name,
        hint=terms.hint,
        field_data=terms.data_text,
        required=terms.required,
        editable_by_user=terms.editable_by_user,
        display_in_profile_summary=terms.display_in_profile_summary,
        use_for_user_matching=terms.use_for_user_matching,
    )


def _changed(old: FieldRow, wish: FieldWish) -> FieldRow:
    """Return the changed field. Raises a DomainError."""
    terms = _terms(old)
    wanted = replace(terms, **{n: v for n, v in asdict(wish).items() if v is not None})
    if terms.external_account is not None:
        was = (terms.name, terms.hint, terms.field_data)
        if (wanted.name, wanted.hint, wanted.field_data) != was:
            raise BadRequestError(_("Default custom field cannot be updated."))
    return _row(old.field_id, checked_terms(wanted))


def _terms(row: FieldRow) -> FieldDefinition:
    return FieldDefinition(
        field_type=row.field_type,
        name=row.name,
        hint=row.hint,
        field_data=field_data_of(row.field_data),
        required=row.required,
        editable_by_user=row.editable_by_user,
        display_in_profile_summary=row.display_in_profile_summary,
        use_for_user_matching=row.use_for_user_matching,
    )


def _check_fits(row: FieldRow, others: Sequence[FieldRow]) -> None:
    if any(other.name == row.name for other in others):
        raise InvalidParameterError("name", _("A field with that label already exists."))
    shown = sum(other.display_in_profile_summary for other in others)
    if row.display_in_profile_summary and shown >= MAX_IN_SUMMARY:
        raise InvalidParameterError(
            "display_in_profile_summary",
            _(
                "Only {limit} custom profile fields can be displayed in the profile summary.",
                limit=MAX_IN_SUMMARY,
            ),
        )


async def _append_fields(tx: Tx) -> Entry:
    rows = await profile_fields.of_realm(await tx.connection(), tx.realm_id)
    return tx.append(ProfileFieldsChanged(fields=shown_fields(rows)), EVERYONE)
