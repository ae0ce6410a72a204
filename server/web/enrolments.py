"""Enrolment of authenticator apps: the secret that a page shows, and that its form returns."""

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from itsdangerous import BadData, URLSafeTimedSerializer

from server.api.endpoint import Request
from server.api.second_factors import factors_key
from server.domain.errors import BadRequestError
from server.domain.second_factors import new_totp_secret, provisioning_uri
from server.i18n import _
from storage.ids import UserId

if TYPE_CHECKING:
    from markupsafe import Markup

LIFETIME_SECONDS: Final = 1_800


class Enrolment(NamedTuple):
    """What a page shows of a new secret."""

    secret: str
    qr_code: "Markup"
    token: str
    """The secret, signed for the user: the form returns it."""

    @classmethod
    async def offer(
        cls, request: Request, user_id: UserId, *, account: str, issuer: str, secret: str = ""
    ) -> "Enrolment":
        """Offer the user a new secret, or again the one of a form that had an error."""
        secret = secret or new_totp_secret()
        key = await factors_key(request)
        token = _serializer(key).dumps([request.realm_cache.realm_id, user_id, secret])
        uri = provisioning_uri(secret, account=account, issuer=issuer)
        return cls(secret, _qr_code(uri), str(token))


def name_in(request: Request) -> str:
    """Return the name of the form's authenticator app."""
    return request.form_value("name") or _("Authenticator app")


def secret_in(request: Request, user_id: UserId, key: bytes) -> str:
    """Return the secret that a page has offered to this user. Raises BadRequestError."""
    try:
        realm_id, offered_to, secret = msgspec.convert(
            _serializer(key).loads(request.form_value("enrolment"), max_age=LIFETIME_SECONDS),
            tuple[int, int, str],
        )
    except (BadData, msgspec.ValidationError):
        realm_id, offered_to, secret = 0, 0, ""
    if (realm_id, offered_to) != (request.realm_cache.realm_id, user_id):
        raise BadRequestError(_("That took too long. Scan the new code."))
    return secret


def _qr_code(uri: str) -> "Markup":
    """Return the QR code as inline SVG, dark on light whatever the page's colours are."""
    import segno  # starts faster without it
    from markupsafe import Markup

    drawn = segno.make(uri, error="m", micro=False).svg_inline(
        scale=4, border=4, dark="#000", light="#fff", svgclass="qr-code", lineclass=None
    )
    return Markup(drawn)  # noqa: S704 - drawn from modules, without any text


def _serializer(key: bytes) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        key, salt="enrolment", signer_kwargs={"digest_method": hashlib.sha256}
    )
