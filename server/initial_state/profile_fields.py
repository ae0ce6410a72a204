"""Register's custom profile fields; users' values are in the users' section."""

from typing import Any, Final, TypedDict

from server.domain.profile_fields import SHOWN_TYPES
from server.events.profile_fields import ShownField, shown_fields
from server.initial_state.base import Snapshot, StateSection
from storage import profile_fields


class FieldKind(TypedDict):
    """A type of custom profile fields."""

    id: int
    name: str


class ProfileFields(TypedDict):
    custom_profile_fields: list[ShownField]
    custom_profile_field_types: dict[str, FieldKind]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await profile_fields.of_realm(snapshot.connection, snapshot.realm_id)
    return {
        "custom_profile_fields": shown_fields(rows),
        "custom_profile_field_types": SHOWN_TYPES,
    }


SECTION: Final = StateSection("custom_profile_fields", fetch, (ProfileFields,))
