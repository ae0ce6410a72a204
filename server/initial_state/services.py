"""Register's external services: calls, and GIFs."""

from typing import Any, Final, TypedDict

from server.initial_state.base import Snapshot, StateSection
from storage import call_tokens


class CallFields(TypedDict):
    has_webex_token: bool
    has_zoom_token: bool


class GiphyFields(TypedDict):
    giphy_api_key: str


class KlipyFields(TypedDict):
    klipy_api_key: str


class TenorFields(TypedDict):
    tenor_api_key: str


async def fetch_calls(snapshot: Snapshot) -> dict[str, Any]:
    """Return at which of the configured services the user has connected an account."""
    configured = snapshot.server.call_services & {"webex", "zoom"}
    if not configured:
        return {"has_webex_token": False, "has_zoom_token": False}
    connected = await call_tokens.services_of(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    services = configured.intersection(connected)
    return {"has_webex_token": "webex" in services, "has_zoom_token": "zoom" in services}


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
