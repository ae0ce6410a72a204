"""Parse a request's query and body into fields."""

import re
from binascii import a2b_qp
from collections.abc import Mapping
from itertools import islice
from typing import Final

from tornado.httputil import HTTPFile, HTTPInputError, parse_body_arguments

from server.domain.errors import BadRequestError, BodyTooLargeError, DomainError

MAX_FIELDS: Final = 1_000
MAX_FORM_BYTES: Final = 1024 * 1024
"""Limit of a form without files. Larger ones come as multipart, which is cheaper to parse."""
MAX_STRAY_PERCENTS: Final = 1_000
"""Limit of percent signs without an escape: people forget to escape them, but not this often."""

_STRAY_PERCENT: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class UnsupportedContentTypeError(DomainError):
    status = 415


def read_query(query: str) -> dict[str, str]:
    """Return the fields of a raw query string.

    Of a name given twice, the last. Raises BadRequestError if it is not UTF-8.
    """
    return _read_pairs(query.encode("latin-1")) if query else {}


def read_body(headers: Mapping[str, str], body: bytes) -> dict[str, str]:
    """Return the fields of a body; an empty one has none, whatever its type.

    Files are skipped (server/api/incoming.py receives those that are wanted). Raises a DomainError
    for a form that cannot be parsed.
    """
    if not body:
        return {}
    content_type = headers.get("Content-Type", "")
    kind = _kind(content_type)
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedContentTypeError("Send the body as it is, without Content-Encoding.")
    if kind == "application/x-www-form-urlencoded":
        if len(body) > MAX_FORM_BYTES:
            raise BodyTooLargeError("The form is too large.")
        return _read_pairs(body)
    if may_hold_files(content_type):
        return _read_multipart(f"{kind};{content_type.partition(';')[2]}", body)
    raise UnsupportedContentTypeError(
        "Send parameters as application/x-www-form-urlencoded or multipart/form-data."
    )


def may_hold_files(content_type: str) -> bool:
    """Return whether it is the content type of forms with files."""
    return _kind(content_type) == "multipart/form-data"


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def percent_decoded(data: bytes) -> str:
    """Return the percent-decoded text. Raises BadRequestError if that is not UTF-8.

    The standard library takes a second for a megabyte of escapes, which would block all other
    requests; this takes time in proportion to copying. An invalid escape is kept.
    """
    if b"%" in data:
        strays = sum(1 for _ in islice(_STRAY_PERCENT.finditer(data), MAX_STRAY_PERCENTS + 1))
        if strays > MAX_STRAY_PERCENTS:
            raise BadRequestError("Malformed form: too many percent signs that are not escapes")
        if strays:
            data = _STRAY_PERCENT.sub(b"%25", data)
        # Quoted-printable is the same encoding with another sign, and is decoded in C.
        data = a2b_qp(data.replace(b"=", b"=3D").replace(b"%", b"="))
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadRequestError("Malformed request: text that is not UTF-8") from None


def _read_pairs(data: bytes) -> dict[str, str]:
    if data.count(b"&") >= MAX_FIELDS:
        raise BadRequestError("Too many parameters")
    fields: dict[str, str] = {}
    for pair in data.replace(b"+", b" ").split(b"&"):
        name, _, value = pair.partition(b"=")
        if pair:
            fields[percent_decoded(name)] = percent_decoded(value)
    return fields


def _read_multipart(content_type: str, body: bytes) -> dict[str, str]:
    arguments: dict[str, list[bytes]] = {}
    files: dict[str, list[HTTPFile]] = {}
    try:
        parse_body_arguments(content_type, body, arguments, files)
        return {name: values[-1].decode() for name, values in arguments.items()}
    except (HTTPInputError, ValueError):
        raise BadRequestError("Malformed form") from None
