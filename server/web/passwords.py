"""A new password for somebody who has forgotten theirs."""

from typing import Final

from server.actions.confirmations import ask_to_confirm
from server.actions.passwords import reset_password
from server.api.endpoint import Access
from server.api.visits import PageRoute, Visit
from server.domain.accounts import checked_email
from server.domain.confirmations import PATHS, RESET_PASSWORD
from server.domain.errors import BadRequestError, DomainError, PasswordAuthDisabledError
from server.domain.sign_in import PASSWORDS
from server.runtime.pages import Page
from server.web.confirming import digest_in, to_confirm
from server.web.endings import done_at
from server.web.mailing import count_mail
from server.web.new_passwords import checked_new_password
from server.web.places import SIGN_IN
from server.web.rendering import go, show

ASK: Final = "/accounts/password/reset"
CHOOSE: Final = PATHS[RESET_PASSWORD]


async def ask(visit: Visit) -> Page:
    await _refuse_without_passwords(visit)
    if "sent" in visit.query:
        return await show(visit, "mail_sent.html", title="Read your email", next=SIGN_IN)
    return await show(visit, "reset_ask.html", email=visit.query.get("email", ""))


async def send(visit: Visit) -> Page:
    """Send a mail, whether anybody has the address or not: only its reader learns that."""
    await _refuse_without_passwords(visit)
    email = visit.sent("email")
    try:
        email = checked_email(email)
        await count_mail(visit, email)
    except DomainError as error:
        return await show(visit, "reset_ask.html", error=error, email=email)
    await visit.write(lambda tx: ask_to_confirm(tx, purpose=RESET_PASSWORD, email=email))
    return go(visit, f"{ASK}?sent=yes")


async def choose(visit: Visit) -> Page:
    """The page to which the mail leads."""
    await to_confirm(visit, RESET_PASSWORD)
    return await _form(visit)


async def keep(visit: Visit) -> Page:
    email = (await to_confirm(visit, RESET_PASSWORD)).email
    try:
        password = await checked_new_password(visit, email)
    except BadRequestError as error:
        return await _form(visit, error)
    digest = digest_in(visit)
    new_hash = await visit.app.passwords.hash(password)
    end_keys = bool(visit.sent("end_keys"))
    _, ended = await visit.write(lambda tx: reset_password(tx, digest, new_hash, end_keys=end_keys))
    await visit.limits.forget_sign_ins(visit.realm_cache.realm_id, email)
    return go(visit, done_at(SIGN_IN, "password", ended))


async def _form(visit: Visit, error: DomainError | None = None) -> Page:
    action = CHOOSE.format(token=visit.place["token"])
    return await show(visit, "reset_choose.html", error=error, action=action)


async def _refuse_without_passwords(visit: Visit) -> None:
    if not (await visit.realm_cache.settings()).wants_method(PASSWORDS):
        raise PasswordAuthDisabledError("Password authentication is disabled in your organization")


PAGES = (
    PageRoute("GET", ASK, Access.ANONYMOUS, ask),
    PageRoute("POST", ASK, Access.ANONYMOUS, send),
    PageRoute("GET", CHOOSE, Access.ANONYMOUS, choose),
    PageRoute("POST", CHOOSE, Access.ANONYMOUS, keep),
)
