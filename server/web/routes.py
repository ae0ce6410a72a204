"""The routes of all pages."""

from typing import Final

from server.api.pages import PageRoute
from server.web import (
    account,
    api_pages,
    assets,
    browser_client,
    calls,
    clients,
    conversations,
    invitations,
    joining,
    organizations,
    passkeys,
    passwords,
    providers,
    second_factors,
    second_step,
    sign_in,
    sign_in_link,
    sign_up,
)

PAGES: Final[tuple[PageRoute, ...]] = (
    *account.PAGES,
    *api_pages.PAGES,
    *assets.PAGES,
    *browser_client.PAGES,
    *calls.PAGES,
    *clients.PAGES,
    *conversations.PAGES,
    *invitations.PAGES,
    *joining.PAGES,
    *organizations.PAGES,
    *passkeys.PAGES,
    *passwords.PAGES,
    *providers.PAGES,
    *second_factors.PAGES,
    *second_step.PAGES,
    *sign_in.PAGES,
    *sign_in_link.PAGES,
    *sign_up.PAGES,
)
