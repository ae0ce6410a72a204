"""Event of custom profile fields."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.ids import ProfileFieldId
from storage.profile_fields import FieldRow


class ShownField(msgspec.Struct, frozen=True, kw_only=True):
    """A field in its wire form."""

    id: ProfileFieldId
    type: int
    name: str
    hint: str
    field_data: str
    order: int
    required: bool
    editable_by_user: bool
    display_in_profile_summary: bool
    use_for_user_matching: bool = False


def shown_fields(rows: Sequence[FieldRow]) -> list[ShownField]:
    """Return all fields of a realm, given in display order."""
    return [
        ShownField(
            id=row.field_id,
            type=row.field_type,
            name=row.name,
            hint=row.hint,
            field_data=row.field_data,
            order=order,
            required=row.required,
            editable_by_user=row.editable_by_user,
            display_in_profile_summary=row.display_in_profile_summary,
            use_for_user_matching=row.use_for_user_matching,
        )
        for order, row in enumerate(rows, start=1)
    ]


class ProfileFieldsChanged(Event, frozen=True, kw_only=True):
    """All custom profile fields; values of a removed field are removed with it."""

    kind: ClassVar[str] = "custom_profile_fields"
    wire_type: ClassVar[str] = "custom_profile_fields"

    type: Literal["custom_profile_fields"] = "custom_profile_fields"
    fields: list[ShownField]
