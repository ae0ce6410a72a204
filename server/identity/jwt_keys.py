"""JSON Web Tokens in which an organization's own site asserts an identity."""

from typing import Final

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from server.domain.clock import Clock
from server.domain.errors import BadRequestError, InvalidTokenError
from server.domain.providers import JwtKey
from server.i18n import _

LEEWAY_SECONDS: Final = 60
_KINDS: Final[dict[str, type[OctKey | RSAKey | ECKey | OKPKey]]] = {
    "HS": OctKey,
    "RS": RSAKey,
    "PS": RSAKey,
    "ES": ECKey,
    "Ed": OKPKey,
}


def email_in(token: str, key: JwtKey, clock: Clock) -> str:
    """Return the address in the token, if its signature and times are valid.

    Raises InvalidTokenError, or BadRequestError for a valid token without an address.
    """
    now = int(clock.now().timestamp())
    try:
        known = _KINDS[key.algorithm[:2]].import_key(key.key)
        claims = jwt.decode(token, known, algorithms=[key.algorithm]).claims
        jwt.JWTClaimsRegistry(now=now, leeway=LEEWAY_SECONDS).validate(claims)
    except (JoseError, ValueError):
        raise InvalidTokenError(_("Bad JSON web token")) from None
    email = claims.get("email")
    if not isinstance(email, str) or not email:
        raise BadRequestError(_("No email specified in JSON web token claims"))
    return email
