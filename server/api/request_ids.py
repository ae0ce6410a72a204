"""Request ids: one name for a request in the proxy's log, in this server's, and in the response."""

import re
from collections.abc import Mapping
from typing import Final

from server.telemetry.logs import new_request_id

REQUEST_ID: Final = "X-Request-Id"
_WELL_FORMED: Final = re.compile(r"[A-Za-z0-9._=:/+-]{1,128}")
"""UUIDs, trace ids and the ids of common proxies. Nothing else reaches a log or a header."""


def request_id_of(headers: Mapping[str, str]) -> str:
    """Return the request id of the client or a proxy, else a new one."""
    given = headers.get(REQUEST_ID, "")
    return given if _WELL_FORMED.fullmatch(given) else new_request_id()
