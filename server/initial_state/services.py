"""Register's external services: calls, and GIFs."""

from typing import Any, Final, TypedDict

from server.initial_state.base import Snapshot, StateSection


class CallFields(TypedDict):
    has_zoom_token: bool


class GifFields(TypedDict):
    giphy_api_key: str | None


async def fetch_calls(_: Snapshot) -> dict[str, Any]:
    """Return no token: the server has no Zoom credentials."""
    return {"has_zoom_token": False}


async def fetch_gifs(snapshot: Snapshot) -> dict[str, Any]:
    return {"giphy_api_key": snapshot.server.giphy_api_key}


SECTIONS: Final = (
    StateSection("video_calls", fetch_calls, (CallFields,)),
    StateSection("giphy", fetch_gifs, (GifFields,)),
)
