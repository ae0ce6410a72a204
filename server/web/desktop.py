"""Pages of the desktop sign-in: one in the app's window, one in the browser that it opens."""

from typing import Final

from server.actions.sign_in_links import make_sign_in_token
from server.api.endpoint import Request
from server.domain.confirmations import DESKTOP_SIGN_IN
from server.domain.desktop_flow import encrypted
from server.runtime.pages import Page
from server.web.places import place_here
from server.web.rendering import show
from storage.credentials import CredentialsRow

TEMPLATE_IN_APP: Final = "desktop_app.html"
TEMPLATE_IN_BROWSER: Final = "desktop_token.html"


async def ask_browser(request: Request) -> Page:
    """Return the page in the app's window; its script opens this address in a browser.

    Identity providers refuse to sign people in within the windows of apps.
    """
    wanted = place_here(request.query.get("next", ""))
    return await show(request, TEMPLATE_IN_APP, has_script=True, next=wanted)


async def give_token(request: Request, found: CredentialsRow, otp: str) -> Page:
    """Return the page in the browser, with a token to copy that only the app can decrypt."""
    token = await request.transact(
        lambda tx: make_sign_in_token(tx, found.user_id, purpose=DESKTOP_SIGN_IN, verified=found)
    )
    return await show(
        request, TEMPLATE_IN_BROWSER, has_script=True, encrypted=encrypted(token, otp)
    )
