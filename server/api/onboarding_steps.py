"""Endpoint of onboarding steps."""

from server.actions import onboarding_steps
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params


class StepParams(Params):
    onboarding_step: str
    """Name of the hint, from `POST /register`."""


async def mark_seen(request: Request, params: StepParams) -> Empty:
    request.refuse_bots()
    await request.write(onboarding_steps.mark_seen, params.onboarding_step)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/users/me/onboarding_steps",
        Access.USER,
        StepParams,
        mark_seen,
        summary="Mark a hint for new users as seen",
        description="Clients then show it no more, on any device.",
    ),
)
