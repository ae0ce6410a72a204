"""Second factors of sign-in: time-based codes (RFC 6238), recovery codes, and names.

The secrets of authenticator apps are encrypted, bound to their user, and recovery codes are kept by
their keyed hash: a copy of these tables alone signs no user in.
"""

import hashlib
import hmac
import re
import secrets
from datetime import datetime
from typing import Final

import pyotp

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER
from server.domain.errors import AuthenticationFailedError, BadRequestError, DomainError
from server.domain.realm_settings import RealmSettings
from server.domain.user_secrets import owner_of
from server.i18n import _
from storage.ids import RealmId, UserId

PURPOSE: Final = "second factors"
"""Purpose of the key of everything here (storage/server_keys.py)."""
MAX_FACTORS: Final = 10
"""Maximum number of second factors per user."""
MAX_NAME_LENGTH: Final = 60
STEP_SECONDS: Final = 30
DRIFT_STEPS: Final = 1
"""How many time steps the clock of an authenticator app may be slow or fast."""
RECOVERY_CODES: Final = 10
RECOVERY_CODE_LENGTH: Final = 12
"""In characters of five bits each."""
_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyz23456789"
_GROUP: Final = 4
_TIME_CODE: Final = re.compile(r"[0-9]{6}")
_NOT_IN_CODE: Final = re.compile(r"[^a-z0-9]")


REQUIRED_ROLES: Final = {
    "nobody": None,
    "owners": OWNER,
    "administrators": ADMINISTRATOR,
    "moderators": MODERATOR,
    "members": MEMBER,
    "everyone": GUEST,
}
"""The lowest role of those that need a second factor, by the organization's setting."""


class WrongCodeError(AuthenticationFailedError):
    """The code of the second factor is wrong, expired, or used before."""

    def __init__(self) -> None:
        super().__init__(_("This code is wrong, too old, or was used before. Try the next one."))


class SecondFactorRequiredError(DomainError):
    """The password alone is not enough for this account; clients go through a browser."""

    code = "SECOND_FACTOR_REQUIRED"
    status = 403

    def __init__(self, login_url: str) -> None:
        super().__init__(
            _(
                "This account signs in with a second factor, or has to set one up. Sign in with"
                " your browser."
            ),
            login_url=login_url,
        )


def is_required(settings: RealmSettings, role: int) -> bool:
    """Return whether the organization requires a second factor of users with this role."""
    lowest = REQUIRED_ROLES[settings.second_factor_required_of]
    return lowest is not None and role <= lowest


def checked_factor_name(name: str) -> str:
    """Return the stripped name of a factor. Raises BadRequestError."""
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME_LENGTH:
        raise BadRequestError(
            _("The name must have from 1 to {limit} characters.", limit=MAX_NAME_LENGTH)
        )
    return name


def new_totp_secret() -> str:
    """Return a random secret of 160 bits, in base32."""
    return pyotp.random_base32()


def provisioning_uri(secret: str, *, account: str, issuer: str) -> str:
    """Return the URI that authenticator apps read from a QR code."""
    # Apps split the label at its colon.
    return pyotp.TOTP(secret).provisioning_uri(name=account, issuer_name=issuer.replace(":", " "))


def step_of_code(secret: str, code: str, now: datetime) -> int | None:
    """Return the time step of the code if it is valid now, within the allowed drift."""
    code = "".join(code.split())
    if _TIME_CODE.fullmatch(code) is None:
        return None
    totp, present = pyotp.TOTP(secret), int(now.timestamp()) // STEP_SECONDS
    steps = range(present - DRIFT_STEPS, present + DRIFT_STEPS + 1)
    matching = [step for step in steps if hmac.compare_digest(totp.generate_otp(step), code)]
    return max(matching, default=None)


def new_recovery_codes() -> list[str]:
    """Return random codes of 60 bits, in groups of characters that are not easily confused."""
    codes = [
        "".join(secrets.choice(_ALPHABET) for _each in range(RECOVERY_CODE_LENGTH))
        for _code in range(RECOVERY_CODES)
    ]
    return [
        "-".join(code[at : at + _GROUP] for at in range(0, RECOVERY_CODE_LENGTH, _GROUP))
        for code in codes
    ]


def recovery_digest(key: bytes, realm_id: RealmId, user_id: UserId, code: str) -> bytes | None:
    """Return the stored digest of a recovery code; None for what cannot be one.

    Capitals, blanks and dashes make no difference.
    """
    plain = _NOT_IN_CODE.sub("", code[:100].lower())
    if len(plain) != RECOVERY_CODE_LENGTH:
        return None
    return hmac.digest(key, owner_of(realm_id, user_id) + b":" + plain.encode(), hashlib.sha256)
