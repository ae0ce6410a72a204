"""What clients explain to newcomers, each once: the names that the protocol has for it."""

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
"""In the order in which clients are told of them."""
NEVER_DUE: Final = ("navigation_tour_video", "narrow_to_dm_with_welcome_bot_new_user")
"""What some clients say that they have done, and none is asked to do."""
STEPS: Final = frozenset({*NOTICES, *NEVER_DUE})


def due(seen: Collection[str]) -> tuple[str, ...]:
    """Return what is to be explained yet to whom these have been."""
    return tuple(name for name in NOTICES if name not in seen)
