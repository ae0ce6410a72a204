"""Register's `onboarding_steps`: those still due for the user; none for bots."""

from typing import Any, TypedDict

from server.domain.onboarding_steps import due
from server.events.onboarding_steps import OnboardingStep, shown
from server.initial_state.base import Snapshot, StateSection
from storage import onboarding_steps


class OnboardingStepFields(TypedDict):
    onboarding_steps: list[OnboardingStep]
    navigation_tour_video_url: str | None


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    actor, steps = snapshot.actor, shown(())
    if not (actor.is_spectator or actor.is_bot):
        seen = await onboarding_steps.seen_by(snapshot.connection, snapshot.realm_id, actor.user_id)
        steps = shown(due(seen))
    return {"onboarding_steps": steps, "navigation_tour_video_url": None}


SECTION = StateSection("onboarding_steps", fetch, (OnboardingStepFields,))
