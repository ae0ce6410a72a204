"""Signed links of the image proxy, which serves external pictures; only the server creates them."""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

PATH: Final = "/external_content/{digest}/{url}"
PURPOSE: Final = "external content"
"""Purpose of the signing key (storage/server_keys.py)."""
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+")
_LINK: Final = re.compile(
    r"(?<![\w.:/])/external_content/[0-9a-f]{64}/((?:[0-9a-f]{2})+)(?![0-9a-f])"
)


def _anywhere(url: str) -> bool:
    del url
    return True


@dataclass(frozen=True, slots=True)
class ProxyLinks:
    key: bytes
    may_be_fetched: Callable[[str], bool] = _anywhere
    """Whether the server would fetch this address, judged by the address alone."""

    def to(self, url: str) -> str | None:
        """Return the proxy's link for this address; None if the server would not fetch it."""
        return self._link(url.encode()) if self.may_be_fetched(url) else None

    def address_in(self, digest: str, encoded: str) -> str | None:
        """Return the address in a proxy's link; None if the signature is invalid."""
        if _HEX.fullmatch(encoded) is None:
            return None
        raw = bytes.fromhex(encoded)
        if not hmac.compare_digest(self._digest(raw).encode(), digest.encode()):
            return None
        return raw.decode()

    def made_own(self, html: str) -> str:
        """Return the HTML with another server's proxy links signed by this server."""
        return _LINK.sub(lambda found: self._link(bytes.fromhex(found[1])), html)

    def _link(self, raw: bytes) -> str:
        return PATH.format(digest=self._digest(raw), url=raw.hex())

    def _digest(self, raw: bytes) -> str:
        return hmac.new(self.key, raw, hashlib.sha256).hexdigest()
