"""Envelopes of all responses."""

from typing import Any, Final

import msgspec

from server.api.endpoint import RawResult, Remark, Result
from server.domain.errors import DomainError
from server.i18n import SOURCE, translated

REASONS: Final = {
    200: "OK",
    201: "Created",
    204: "No Content",
    206: "Partial Content",
    302: "Found",
    303: "See Other",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    423: "Locked",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
SCIM_TYPE: Final = "application/scim+json"
SCIM_ERROR: Final = "urn:ietf:params:scim:api:messages:2.0:Error"
_SUCCESS: Final = b'{"result":"success"'
_NO_REMARK: Final = b',"msg":""'


def success_body(result: Result | RawResult, unknown: list[str]) -> bytes:
    """Return the success envelope around a result; it lists unknown parameters."""
    if isinstance(result, RawResult):
        if not unknown or not result.is_enveloped:
            return result.body
        return b"%b,%b}" % (result.body[:-1], _ignored(unknown))
    fields = msgspec.json.encode(result)
    opening = _SUCCESS if isinstance(result, Remark) else _SUCCESS + _NO_REMARK
    if unknown:
        opening = b"%b,%b" % (opening, _ignored(unknown))
    return opening + (b"}" if fields == b"{}" else b"," + fields[1:])


def _ignored(unknown: list[str]) -> bytes:
    return b'"ignored_parameters_unsupported":' + msgspec.json.encode(unknown)


def error_body(error: DomainError, language: str = SOURCE) -> bytes:
    """Return the error envelope; texts in it are in the language."""
    fields = {"result": "error", "msg": error.message, "code": error.code, **error.details}
    return msgspec.json.encode(_in_language(fields, language))


def _in_language(value: Any, language: str) -> Any:
    match value:
        case str():
            return translated(value, language)
        case list() | tuple():
            return [_in_language(part, language) for part in value]
        case dict():
            return {name: _in_language(part, language) for name, part in value.items()}
        case _:
            return value


def scim_error_body(error: DomainError) -> bytes:
    """Return the error as SCIM clients expect it (RFC 7644, section 3.12)."""
    fields = {"schemas": [SCIM_ERROR], "status": str(error.status), "detail": str(error.message)}
    return msgspec.json.encode(fields)
