"""Endpoint of the services whose webhooks are understood."""

import msgspec

from server.api.endpoint import Access, Endpoint, NoParams, Request, Result
from server.integrations.base import Integration
from server.integrations.registry import integrations


class OptionResult(msgspec.Struct, kw_only=True):
    """A parameter of an address, beside those of all integrations."""

    name: str
    label: str
    is_flag: bool
    """Whether it is true or false; else it is a text."""
    is_on: bool
    """Whether a flag that the address does not have is true."""


class IntegrationResult(msgspec.Struct, kw_only=True):
    """A service."""

    name: str
    """The last part of its address, `/api/v1/external/NAME`."""
    display_name: str
    category: str
    setup: list[str]
    """Steps to connect it, in Markdown; `{url}` stands for the address."""
    events: list[str]
    """Names for `only_events` and `exclude_events`; empty if there is one event alone."""
    options: list[OptionResult]
    signing_step: str
    """Where the service has the secret with which it signs, in Markdown; empty if it does not."""


class IntegrationsResult(Result):
    integrations: list[IntegrationResult]


async def get(request: Request, params: NoParams) -> IntegrationsResult:
    del request, params
    return IntegrationsResult(integrations=[_shown(each) for each in integrations().values()])


def _shown(integration: Integration) -> IntegrationResult:
    return IntegrationResult(
        name=integration.name,
        display_name=integration.display_name,
        category=integration.category.value,
        setup=integration.steps,
        events=list(integration.events),
        options=[
            OptionResult(name=each.key, label=each.label, is_flag=each.is_flag, is_on=each.is_on)
            for each in integration.options
        ],
        signing_step=integration.signing_step,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/integrations",
        Access.USER,
        NoParams,
        get,
        IntegrationsResult,
        summary="List the services whose webhooks are understood",
        description="What `POST /external/{integration}` accepts, and how to connect each service.",
    ),
)
