"""Register's `navigation_views`: the user's own."""

from typing import Any, TypedDict

from server.events.navigation_views import ShownView
from server.initial_state.base import Snapshot, StateSection
from storage import navigation_views


class NavigationViewFields(TypedDict):
    navigation_views: list[ShownView]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await navigation_views.of_user(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    return {"navigation_views": [ShownView.of(row) for row in rows]}


SECTION = StateSection("navigation_views", fetch, (NavigationViewFields,))
