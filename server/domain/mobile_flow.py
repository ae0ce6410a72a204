"""Mobile sign-in: an app gets its key through a browser that it has opened."""

import re
from typing import Final
from urllib.parse import urlencode

from server.domain.errors import InvalidParameterError

FIELD: Final = "mobile_flow_otp"
"""Query parameter and field with the app's one-time pad."""
OTP_BYTES: Final = 32
"""As long as an API key."""
_OTP: Final = re.compile(r"[0-9a-fA-F]{64}")


def checked_otp(otp: str, *, name: str = FIELD) -> str:
    """Return the app's one-time pad; raise InvalidParameterError for the field of this name."""
    if _OTP.fullmatch(otp) is None:
        raise InvalidParameterError(name, "Invalid OTP")
    return otp


def way_back(scheme: str, otp: str, *, realm_url: str, email: str, user_id: int, key: str) -> str:
    """Return the redirect to the app, with a key that only the app can decrypt."""
    pad = bytes.fromhex(checked_otp(otp))
    encrypted = bytes(a ^ b for a, b in zip(key.encode("ascii"), pad, strict=True))
    fields = {
        "realm": realm_url,
        "email": email,
        "otp_encrypted_api_key": encrypted.hex(),
        "user_id": user_id,
    }
    return f"{scheme}://login?{urlencode(fields)}"
