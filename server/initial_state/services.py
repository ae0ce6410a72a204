"""What clients use of services elsewhere: calls, and GIFs."""

from typing import Any, Final

from server.initial_state.base import Section, Snapshot


async def fetch_calls(_: Snapshot) -> dict[str, Any]:
    """Return this server has no credentials of Zoom's, so no user has signed in there for it."""
    return {"has_zoom_token": False}


async def fetch_gifs(snapshot: Snapshot) -> dict[str, Any]:
    return {"giphy_api_key": snapshot.server.giphy_api_key}


SECTIONS: Final = (Section("video_calls", fetch_calls), Section("giphy", fetch_gifs))
