"""Register's external services: calls, and GIFs."""

from typing import Any, Final, TypedDict

from server.initial_state.base import Snapshot, StateSection


class CallFields(TypedDict):
    has_zoom_token: bool


class GiphyFields(TypedDict):
    giphy_api_key: str


class KlipyFields(TypedDict):
    klipy_api_key: str


class TenorFields(TypedDict):
    tenor_api_key: str


async def fetch_calls(_: Snapshot) -> dict[str, Any]:
    """Return no token: the server has no Zoom credentials."""
    return {"has_zoom_token": False}


async def fetch_giphy(snapshot: Snapshot) -> dict[str, Any]:
    return {"giphy_api_key": snapshot.server.giphy_api_key}


async def fetch_klipy(snapshot: Snapshot) -> dict[str, Any]:
    return {"klipy_api_key": snapshot.server.klipy_api_key}


async def fetch_tenor(snapshot: Snapshot) -> dict[str, Any]:
    return {"tenor_api_key": snapshot.server.tenor_api_key}


SECTIONS: Final = (
    StateSection("video_calls", fetch_calls, (CallFields,)),
    StateSection("giphy", fetch_giphy, (GiphyFields,)),
    StateSection("klipy", fetch_klipy, (KlipyFields,)),
    StateSection("tenor", fetch_tenor, (TenorFields,)),
)
