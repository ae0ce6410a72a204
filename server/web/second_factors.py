"""Second factors of one's account: authenticator apps and recovery codes."""

from typing import Final

from server.actions.second_factors import (
    Added,
    NewPasskey,
    NewTotp,
    add_passkey,
    add_totp,
    remove_factor,
    renew_recovery_codes,
)
from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.api.second_factors import factors_key
from server.domain.credential_changes import Ended
from server.domain.decimals import MAX_ID_DIGITS, number_in
from server.domain.errors import BadRequestError, DomainError
from server.domain.passkeys import load as load_ceremony
from server.domain.passkeys import verified_new
from server.i18n import Text, _
from server.runtime.pages import Page
from server.web.endings import done_at, ended_in
from server.web.enrolments import Enrolment, name_in, secret_in
from server.web.passkey_forms import form_to_add
from server.web.places import ACCOUNT, SIGN_IN
from server.web.rendering import go, said, show
from storage import second_factors
from storage.ids import FactorId

PLACE: Final = f"{ACCOUNT}/second-factors"
ADD_TOTP: Final = f"{PLACE}/totp"
ADD_PASSKEY: Final = f"{PLACE}/passkey"
REMOVE: Final = f"{PLACE}/remove"
RENEW_CODES: Final = f"{PLACE}/recovery-codes"
SIGN_IN_AGAIN: Final = f"{SIGN_IN}?again=yes&next={PLACE}"
ADDED: Final = _("The second factor has been added.")
NOTICES: Final = {"removed": _("The second factor has been removed.")}


async def look(request: Request) -> Page:
    return await _page(request)


async def add_authenticator(request: Request) -> Page:
    """Add the authenticator app of the form, if its code is right; show new recovery codes."""
    actor, key, now = request.actor, await factors_key(request), request.app.clock.now()
    secret = ""
    try:
        secret = secret_in(request, actor.user_id, key)
        proof = await request.reauthentication.prove_for_factors(request.form_value("password"))
        new = NewTotp(name=name_in(request), secret=secret, code=request.form_value("code"))
        await request.limits.count_second_factor(
            actor.realm_id, actor.user_id, request.response_headers
        )
        added = await request.transact(
            lambda tx: add_totp(tx, actor.user_id, proof, new, key=key, now=now)
        )
    except DomainError as error:
        return await _page(request, error, "totp", secret=secret)
    return await _page(request, added=added, notice=ADDED)


async def add_new_passkey(request: Request) -> Page:
    """Add the passkey that the browser has made; show new recovery codes."""
    actor, key = request.actor, await factors_key(request)
    address = await request.realm_cache.address()
    try:
        proof = await request.reauthentication.prove_for_factors(request.form_value("password"))
        ceremony = load_ceremony(
            key, request.form_value("ceremony"), "add", actor.realm_id, actor.user_id
        )
        verified = verified_new(ceremony, address, request.form_value("credential"))
        name = request.form_value("name") or _("Passkey")
        added = await request.transact(
            lambda tx: add_passkey(tx, actor.user_id, proof, NewPasskey(name, verified), key=key)
        )
    except DomainError as error:
        return await _page(request, error, "passkey")
    return await _page(request, added=added, notice=ADDED)


async def remove(request: Request) -> Page:
    """Remove a factor."""
    actor, number = request.actor, number_in(request.form_value("factor_id"), MAX_ID_DIGITS)
    try:
        if number is None:
            raise BadRequestError(_("No such second factor"))
        proof = await request.reauthentication.prove_for_factors(request.form_value("password"))
        factor_id = FactorId(number)
        ended = await request.transact(
            lambda tx: remove_factor(tx, actor.user_id, proof, factor_id)
        )
    except DomainError as error:
        return await _page(request, error, "factors")
    return go(request, done_at(PLACE, "removed", ended))


async def renew_codes(request: Request) -> Page:
    """Replace the recovery codes. Only this response shows them."""
    actor, key = request.actor, await factors_key(request)
    try:
        proof = await request.reauthentication.prove_for_factors(request.form_value("password"))
        codes = await request.transact(
            lambda tx: renew_recovery_codes(tx, actor.user_id, proof, key=key)
        )
    except DomainError as error:
        return await _page(request, error, "codes")
    return await _page(request, added=Added(ended=Ended(), recovery_codes=codes))


async def _page(
    request: Request,
    error: DomainError | None = None,
    section: str = "",
    *,
    added: Added | None = None,
    notice: Text | str = "",
    secret: str = "",
) -> Page:
    """Render the page, with an error in its section; `secret` is that of the form to repeat."""
    actor = request.actor
    async with request.app.database.connection() as connection:
        factors = await second_factors.of_user(connection, actor.realm_id, actor.user_id)
        left = await second_factors.codes_left(connection, actor.realm_id, actor.user_id)
    known = [each.credential_id for each in factors if each.credential_id is not None]
    passkey = await form_to_add(request, known)
    realm = await request.realm_cache.realm()
    done = request.query.get("done", "")
    ended = ended_in(request.query) if done else None
    return await show(
        request,
        "second_factors.html",
        error=error,
        problems={} if error is None else {section: said(error)},
        notice=notice or NOTICES.get(done, ""),
        ended=ended if added is None else added.ended,
        recovery_codes=[] if added is None else added.recovery_codes,
        factors=factors,
        codes_left=left,
        has_script=passkey is not None,
        passkey=passkey,
        has_password=await request.reauthentication.has_password(),
        is_fresh=await request.reauthentication.is_fresh(),
        sign_in_again=SIGN_IN_AGAIN,
        name="" if error is None else request.form_value("name"),
        enrolment=await Enrolment.offer(
            request, actor.user_id, account=actor.row.email, issuer=realm.name, secret=secret
        ),
    )


PAGES = (
    PageRoute("GET", PLACE, Access.USER, look),
    PageRoute("POST", ADD_TOTP, Access.USER, add_authenticator),
    PageRoute("POST", ADD_PASSKEY, Access.USER, add_new_passkey),
    PageRoute("POST", REMOVE, Access.USER, remove),
    PageRoute("POST", RENEW_CODES, Access.USER, renew_codes),
)
