"""Event of onboarding steps, delivered to their user only."""

from collections.abc import Iterable
from typing import ClassVar, Literal

import msgspec

from server.events.base import Event


class OnboardingStep(msgspec.Struct, frozen=True, kw_only=True):
    """Something that clients explain once."""

    type: Literal["one_time_notice"] = "one_time_notice"
    name: str


class OnboardingStepsChanged(Event, frozen=True, kw_only=True):
    """The steps that are still due."""

    kind: ClassVar[str] = "onboarding_steps"
    wire_type: ClassVar[str] = "onboarding_steps"

    type: Literal["onboarding_steps"] = "onboarding_steps"
    onboarding_steps: tuple[OnboardingStep, ...]


def shown(names: Iterable[str]) -> tuple[OnboardingStep, ...]:
    """Return the steps in their wire form."""
    return tuple(OnboardingStep(name=name) for name in names)
