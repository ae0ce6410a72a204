"""Requests that a client repeats on its connection with another value of one parameter."""

import re
from hashlib import blake2b
from typing import Final

_END: Final = b"\r\n\r\n"
_VALUE: Final = re.compile(rb"-?\d{1,19}(?=[& ])")
_DIGEST_BYTES: Final = 16
"""Against requests of others that share the connection, behind a proxy."""


def split(request: bytes, parameter: bytes) -> tuple[bytes, bytes] | None:
    """Return a digest of the request without the value of the parameter, and the value.

    `parameter`: its name and an equals sign. None if this is not the head of a single request in
    which it occurs once, in the query, with a number.
    """
    start = request.find(parameter)
    if start < 1 or request[start - 1] not in b"?&" or request.find(parameter, start + 1) >= 0:
        return None
    value = _VALUE.match(request, start + len(parameter))
    is_in_query = request.find(b"\r\n", 0, start) < 0
    if value is None or not is_in_query or request.find(_END) != len(request) - len(_END):
        return None
    digest = blake2b(request[: value.start()], digest_size=_DIGEST_BYTES)
    digest.update(request[value.end() :])
    return digest.digest(), value[0]
