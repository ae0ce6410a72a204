"""Sections of register for what the server does not keep yet: they say that there is nothing.

When something comes to be kept, its entry here gives way to a module of its own.
"""

from typing import Any, Final

from server.initial_state.base import Section, Snapshot

NOTHING: Final[dict[str, dict[str, Any]]] = {
    "default_stream_groups": {"realm_default_stream_groups": []},
    "giphy": {"giphy_api_key": ""},
    "onboarding_steps": {"onboarding_steps": [], "navigation_tour_video_url": None},
    "realm_billing": {"realm_billing": {"has_pending_sponsorship_request": False}},
    "realm_embedded_bots": {"realm_embedded_bots": []},
    "realm_filters": {"realm_filters": []},
    "realm_incoming_webhook_bots": {"realm_incoming_webhook_bots": []},
    "stop_words": {"stop_words": []},
    "video_calls": {"has_zoom_token": False},
}


def _nothing(fetch_type: str) -> Section:
    fields = NOTHING[fetch_type]

    async def fetch(_: Snapshot) -> dict[str, Any]:
        return fields

    return Section(fetch_type, fetch)


SECTIONS: Final = tuple(map(_nothing, NOTHING))
