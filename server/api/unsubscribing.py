"""Unsubscribe links of emails: a page for people, one-click for mail programs."""

from contextlib import suppress
from html import escape
from typing import Final

from server.actions import unsubscribing
from server.actions.digests import stop_digests
from server.api.endpoint import Access, Endpoint, RawResult, Request, ResponseKind
from server.api.params import Params
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.domain.page_links import NOTIFICATIONS
from server.domain.unsubscribing import (
    DIGESTS,
    MISSED,
    PATH,
    PURPOSE,
    SIGN_INS,
    WELCOMES,
    Subscriber,
    subscriber_of,
)
from server.i18n import _
from storage import server_keys

CLIENT: Final = "email"
_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>{title}</title></head>
<body style="max-width: 32em; margin: 4em auto; font: 16px/1.5 sans-serif">
<h1 style="font-size: 20px">{title}</h1>{body}</body></html>
"""
_WORDS: Final = {
    MISSED: (
        "Emails about missed messages",
        "Do you want no more emails from {realm} about messages that you have missed?",
        "You will get no more emails about missed messages.",
    ),
    DIGESTS: (
        "Weekly digests",
        "Do you want no more weekly digests from {realm}?",
        "You will get no more weekly digests.",
    ),
    WELCOMES: (
        "Emails about what there is",
        "Do you want no emails from {realm} that say what there is?",
        "You will get no more emails that say what there is.",
    ),
    SIGN_INS: (
        "Emails about sign-ins",
        "Do you want no more emails from {realm} when someone signs in to your account?",
        "You will get no more emails about sign-ins.",
    ),
}
"""By kind: name of the emails, question, and confirmation."""
_STOPPING: Final = {
    MISSED: unsubscribing.stop_emails,
    DIGESTS: stop_digests,
    WELCOMES: unsubscribing.stop_welcomes,
    SIGN_INS: unsubscribing.stop_sign_ins,
}
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
}


class UnsubscribeParams(Params):
    token: str
    """Signed token from an email."""


async def ask(request: Request, params: UnsubscribeParams) -> RawResult:
    """Return a page that asks for confirmation: programs that follow links change nothing."""
    subscriber = await _subscriber(request, params.token)
    realm = await request.app.realm_caches.of(subscriber.realm_id).realm()
    title, question, _ = _WORDS[subscriber.kind]
    asked = question.format(realm=escape(realm.name))
    body = f'<p>{asked}</p><form method="post"><button>No more emails</button></form>'
    return _page(request, title, body)


async def stop(request: Request, params: UnsubscribeParams) -> RawResult:
    """Unsubscribe. Idempotent, and harmless for users without an account any more."""
    subscriber = await _subscriber(request, params.token)
    realm_cache = request.app.realm_caches.of(subscriber.realm_id)
    row = await realm_cache.user(subscriber.user_id)
    if row is not None and row.is_active:
        actor = Actor(subscriber.realm_id, row, CLIENT)
        writer = request.app.writers.of(subscriber.realm_id)
        with suppress(UserDeactivatedError):
            await writer.write(lambda tx: _STOPPING[subscriber.kind](tx, actor))
    _, _, done = _WORDS[subscriber.kind]
    settings = f'<a href="{NOTIFICATIONS}">Your settings</a> bring them back.'
    return _page(request, "Done", f"<p>{done} {settings}</p>")


async def _subscriber(request: Request, token: str) -> Subscriber:
    """Return the subscriber of the link. Raises BadRequestError if it is invalid here."""
    async with request.read() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    subscriber = subscriber_of(key, token)
    if subscriber is None or subscriber.realm_id != request.realm_id:
        raise BadRequestError(
            _("This link is invalid, or too old. Your settings stop emails, too.")
        )
    return subscriber


def _page(request: Request, title: str, body: str) -> RawResult:
    request.response_headers.update(_HEADERS)
    page = _PAGE.format(title=escape(title), body=body)
    return RawResult(page.encode(), is_enveloped=False)


ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.ANONYMOUS,
        UnsubscribeParams,
        ask,
        response=ResponseKind.PAGE,
        summary="Show the page that stops emails of a kind",
        description=(
            "Emails link to it. The page asks first, since mail programs open links by themselves."
        ),
    ),
    Endpoint(
        "POST",
        PATH,
        Access.ANONYMOUS,
        UnsubscribeParams,
        stop,
        response=ResponseKind.PAGE,
        summary="Stop emails of a kind",
        description=(
            "The page's button, and the one-click unsubscription of mail programs (RFC 8058)."
        ),
    ),
)
