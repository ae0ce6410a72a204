"""Validation common to names of channels, groups and folders."""

import unicodedata

from server.domain.errors import InvalidParameterError
from server.i18n import _
from storage.name_folding import FoldedName, fold_name

__all__ = ["FoldedName", "fold_name"]


def composed(name: str) -> str:
    """Return the normalized name: composed and trimmed."""
    return unicodedata.normalize("NFC", name).strip()


def checked_name(name: str, *, empty: str, unprintable: str, parameter: str, longest: int) -> str:
    """Return the normalized name; raise InvalidParameterError.

    `empty`: the refusal of a name without characters. `unprintable`: the marked text of one that
    names the `{place}` of a character.
    """
    cleaned = composed(name)
    if not cleaned:
        raise InvalidParameterError(parameter, empty)
    if len(cleaned) > longest:
        raise _too_long(parameter, longest)
    if place := unprintable_at(cleaned):
        raise InvalidParameterError(parameter, _(unprintable, place=place))
    return cleaned


def checked_description(description: str, *, parameter: str, longest: int) -> str:
    """Return the normalized description; raise InvalidParameterError if it is too long."""
    cleaned = description.strip()
    if len(cleaned) > longest:
        raise _too_long(parameter, longest)
    return cleaned


def _too_long(parameter: str, longest: int) -> InvalidParameterError:
    return InvalidParameterError(
        parameter,
        _(
            "{parameter} is too long (limit: {longest} characters)",
            parameter=parameter,
            longest=longest,
        ),
    )


def unprintable_at(name: str) -> int | None:
    """Return the place, from 1, of the first character that is not allowed; None without one."""
    places = (place for place, each in enumerate(name, start=1) if not _is_printable(each))
    return next(places, None)


def _is_printable(character: str) -> bool:
    """Return False for control characters, surrogates, line ends and noncharacters."""
    if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
        return False
    code = ord(character)
    return code & 0xFFFE != 0xFFFE and not 0xFDD0 <= code <= 0xFDEF  # noqa: PLR2004 - Unicode's
