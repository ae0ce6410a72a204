"""What all names have in common that people give: channels, groups, folders."""

import unicodedata


def composed(name: str) -> str:
    """The form in which names are kept: composed, without blanks around it."""
    return unicodedata.normalize("NFC", name).strip()


def unprintable_at(name: str) -> int | None:
    """The place, from 1, of the first character that no name may have; None without one."""
    places = (place for place, each in enumerate(name, start=1) if not _is_printable(each))
    return next(places, None)


def _is_printable(character: str) -> bool:
    """Control characters, surrogates, line ends and the code points that are none are not."""
    if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
        return False
    code = ord(character)
    return code & 0xFFFE != 0xFFFE and not 0xFDD0 <= code <= 0xFDEF  # noqa: PLR2004 - Unicode's
