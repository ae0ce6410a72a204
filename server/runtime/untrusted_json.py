"""Decode JSON that other programs have written."""

from typing import TypeVar

import msgspec

Kind = TypeVar("Kind")


def decode_untrusted(text: bytes | str, kind: type[Kind]) -> Kind:
    """Decode JSON of this type. Raises msgspec.DecodeError, whatever is wrong with it.

    By itself, msgspec raises other errors for text that is no UTF-8, and for deep nesting.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"it is not UTF-8: {error.reason}") from error
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error
