"""Parse configuration tables given as TOML or JSON, with precise errors."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

Kind = TypeVar("Kind", bound=msgspec.Struct)

_WORDS: Final = {
    "str": "text",
    "bool": "true or false",
    "array": "a list of texts",
    "object": "a table of texts",
}
"""Field types in error messages, by msgspec's names."""


class DescriptionError(ValueError):
    """A configuration table is invalid; the message says where and why, and shows no value."""


def table_of(given: object) -> dict[str, dict[str, Any]]:
    """Return the tables by name; `given` is a table of them, or its JSON.

    Raises DescriptionError.
    """
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given) if given else {}
        except (ValueError, RecursionError):
            raise DescriptionError("it is not JSON") from None
    if not isinstance(given, dict):
        raise DescriptionError("it is not a table")
    for name, each in given.items():
        if not isinstance(each, dict):
            raise DescriptionError(f"{called(name)} is not a table")
    return given


def described_as(kind: type[Kind], name: str, given: Mapping[str, Any]) -> Kind:
    """Return the parsed table of this name; raise DescriptionError."""
    known = kind.__struct_encode_fields__
    unknown = [field for field in given if field not in known]
    if unknown:
        raise wrong(name, unknown[0], f"is not known; it may have {', '.join(map(called, known))}")
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        complaint = str(error)
        if missing := re.search(r"missing required field `(\w+)`", complaint):
            raise wrong(name, missing[1], "is missing") from None
        place, expected = re.search(r"`\$\.(\w+)", complaint), re.search(r"`(\w+)`", complaint)
        assert place is not None, complaint
        assert expected is not None, complaint
        is_in_table = "[...]" in complaint
        kind_of_value = "object" if is_in_table else expected[1]
        raise wrong(name, place[1], f"must be {_WORDS[kind_of_value]}") from None


def wrong(name: str, field: str, problem: str) -> DescriptionError:
    """Return the error for a field of the table of this name."""
    return DescriptionError(f"{called(field)} of {called(name)} {problem}")


def one_of(names: Collection[str]) -> str:
    """Return the choices as part of a sentence."""
    return f"must be one of {', '.join(names)}"


def is_web_address(url: str) -> bool:
    """Return whether it is an HTTP URL with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"https", "http"} and bool(parts.hostname)
    except ValueError:
        return False


def called(name: str) -> str:
    """Return the name for use in a sentence."""
    return f"`{name}`" if name else '`""`'
