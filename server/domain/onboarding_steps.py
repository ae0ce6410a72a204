"""Onboarding steps: what clients explain to new users once, by the protocol's names."""

from collections.abc import Collection
from typing import Final

NOTICES: Final = (
    "visibility_policy_banner",
    "intro_inbox_view_modal",
    "intro_recent_view_modal",
    "first_stream_created_banner",
    "jump_to_conversation_banner",
    "non_interleaved_view_messages_fading",
    "interleaved_view_messages_fading",
    "intro_resolve_topic",
)
"""In the order in which clients get them."""
NEVER_DUE: Final = ("navigation_tour_video", "narrow_to_dm_with_welcome_bot_new_user")
"""Steps that some clients report, but that are never due."""
STEPS: Final = frozenset({*NOTICES, *NEVER_DUE})


def due(seen: Collection[str]) -> tuple[str, ...]:
    """Return the steps that are still due after these."""
    return tuple(name for name in NOTICES if name not in seen)
