"""Register's `web_push_public_key`: the key with which browsers subscribe."""

from typing import Any, Final, TypedDict

from server.initial_state.base import Snapshot, StateSection


class WebPushFields(TypedDict):
    web_push_public_key: str
    """In base64 of URLs; the same as long as the server has its database."""


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    return {"web_push_public_key": snapshot.web_push_public_key}


SECTION: Final = StateSection("web_push", fetch, (WebPushFields,))
