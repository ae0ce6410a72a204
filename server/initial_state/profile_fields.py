"""Register's custom profile fields; users' values are in the users' section."""

from typing import Any, Final

from server.domain.profile_fields import SHOWN_TYPES
from server.events.profile_fields import shown_fields
from server.initial_state.base import Snapshot, StateSection
from storage import profile_fields


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await profile_fields.of_realm(snapshot.connection, snapshot.realm_id)
    return {
        "custom_profile_fields": shown_fields(rows),
        "custom_profile_field_types": SHOWN_TYPES,
    }


SECTION: Final = StateSection("custom_profile_fields", fetch)
