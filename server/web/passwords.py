"""Password reset."""

from typing import Final

from server.actions.confirmations import ask_to_confirm
from server.actions.passwords import reset_password
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.domain.accounts import checked_email
from server.domain.confirmations import PATHS, RESET_PASSWORD
from server.domain.errors import BadRequestError, DomainError, PasswordAuthDisabledError
from server.domain.sign_in import PASSWORDS
from server.i18n import _
from server.runtime.pages import Page
from server.web.confirming import digest_in, to_confirm
from server.web.endings import done_at
from server.web.mailing import count_mail, mail_sent
from server.web.new_passwords import new_password_hash
from server.web.places import SIGN_IN
from server.web.rendering import go, show

ASK: Final = "/accounts/password/reset"
CHOOSE: Final = PATHS[RESET_PASSWORD]


async def ask(request: Request) -> Page:
    await _refuse_without_passwords(request)
    if "sent" in request.query:
        return await mail_sent(request, SIGN_IN)
    return await show(request, "reset_ask.html", email=request.query.get("email", ""))


async def send(request: Request) -> Page:
    """Send a mail even if no account has the address: only its reader learns that."""
    await _refuse_without_passwords(request)
    email = request.form_value("email")
    try:
        email = checked_email(email)
        await count_mail(request, email)
    except DomainError as error:
        return await show(request, "reset_ask.html", error=error, email=email)
    language = request.language
    await request.transact(
        lambda tx: ask_to_confirm(tx, purpose=RESET_PASSWORD, email=email, language=language)
    )
    return go(request, f"{ASK}?sent=yes")


async def choose(request: Request) -> Page:
    """Return the page of that link."""
    await to_confirm(request, RESET_PASSWORD)
    return await _form(request)


async def keep(request: Request) -> Page:
    email = (await to_confirm(request, RESET_PASSWORD)).email
    try:
        new_hash = await new_password_hash(request, email)
    except BadRequestError as error:
        return await _form(request, error)
    digest = digest_in(request)
    end_keys = bool(request.form_value("end_keys"))
    _, ended = await request.transact(
        lambda tx: reset_password(tx, digest, new_hash, end_keys=end_keys)
    )
    await request.limits.forget_sign_ins(request.realm_cache.realm_id, email)
    return go(request, done_at(SIGN_IN, "password", ended))


async def _form(request: Request, error: DomainError | None = None) -> Page:
    action = CHOOSE.format(token=request.path_params["token"])
    return await show(request, "reset_choose.html", error=error, action=action)


async def _refuse_without_passwords(request: Request) -> None:
    if not (await request.realm_cache.settings()).wants_method(PASSWORDS):
        raise PasswordAuthDisabledError(
            _("Password authentication is disabled in your organization")
        )


PAGES = (
    PageRoute("GET", ASK, Access.ANONYMOUS, ask),
    PageRoute("POST", ASK, Access.ANONYMOUS, send),
    PageRoute("GET", CHOOSE, Access.ANONYMOUS, choose),
    PageRoute("POST", CHOOSE, Access.ANONYMOUS, keep),
)
