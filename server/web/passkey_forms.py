"""Forms that ask the browser for a passkey."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from server.api.endpoint import Request
from server.api.second_factors import factors_key
from server.domain.addresses import RealmAddress
from server.domain.passkeys import Ceremony, Purpose, options_to_add, options_to_use
from storage.ids import UserId


class PasskeyForm(NamedTuple):
    options: str
    """Options of the browser's function, as JSON."""
    ceremony: str
    """The token to send back."""


async def form_to_use(
    request: Request,
    purpose: Purpose,
    *,
    user_id: UserId | None = None,
    known: Sequence[bytes] = (),
) -> PasskeyForm | None:
    """Return the form for a sign-in with a passkey; None if this address has none."""
    address = await request.realm_cache.address()
    if not has_passkeys(address):
        return None
    ceremony = Ceremony(purpose=purpose, realm_id=request.realm_cache.realm_id, user_id=user_id)
    options = options_to_use(ceremony, address, known=known)
    return PasskeyForm(options, ceremony.dump(await factors_key(request)))


async def form_to_add(request: Request, known: Sequence[bytes]) -> PasskeyForm | None:
    """Return the form for a new passkey of the caller; None if this address has none."""
    address, actor = await request.realm_cache.address(), request.actor
    if not has_passkeys(address):
        return None
    key = await factors_key(request)
    ceremony = Ceremony(purpose="add", realm_id=actor.realm_id, user_id=actor.user_id)
    options = options_to_add(
        ceremony,
        address,
        key=key,
        realm_name=(await request.realm_cache.realm()).name,
        email=actor.row.email,
        full_name=actor.row.full_name,
        known=known,
    )
    return PasskeyForm(options, ceremony.dump(key))


def has_passkeys(address: RealmAddress) -> bool:
    """Return whether browsers allow passkeys there: by name, and over TLS or at localhost."""
    try:
        ip_address(address.domain)
    except ValueError:
        return urlsplit(address.url).scheme == "https" or address.is_loopback
    return False
