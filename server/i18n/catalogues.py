"""Catalogues of translations: GNU gettext files, loaded with the first text in their language."""

import os
import tempfile
from contextlib import suppress
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Final

SOURCE: Final = "en"
"""Language of the texts in the code, and of every text without a translation."""
LANGUAGES: Final = ("en", "de", "ar")
"""Languages of which the catalogue is complete: those of pages and new accounts."""
FOLDER: Final = Path(__file__).parent / "locales"


def catalogue_language(code: str, languages: tuple[str, ...] = LANGUAGES) -> str:
    """Return the language in which readers with this display language get texts.

    It is the language itself, its main form (`de-at`: `de`), or English.
    """
    code = code.lower()
    while code and code not in languages:
        code = code.rpartition("-")[0]
    return code or SOURCE


@cache
def in_any_catalogue() -> tuple[str, ...]:
    """Return the languages with a catalogue, some of which translate only a part of the texts."""
    found = {path.stem for path in FOLDER.iterdir() if path.suffix in {".po", ".mo"}}
    return (SOURCE, *sorted(found))


def language_of_mail(code: str, message: str) -> str:
    """Return the language for an email to a reader with this display language.

    It is English unless there is a catalogue with its `message`: an email is in one language, and
    some catalogues are partial.
    """
    language = catalogue_language(code, in_any_catalogue())
    is_translated = language == SOURCE or catalogue(language).gettext(message) != message
    return language if is_translated else SOURCE


@cache
def catalogue(language: str) -> NullTranslations:
    """Return the translations into this language; those into English change nothing."""
    if language not in in_any_catalogue() or language == SOURCE:
        return NullTranslations()
    with BytesIO(_compiled(FOLDER / f"{language}.po")) as content:
        return GNUTranslations(content)


def _compiled(source: Path) -> bytes:
    """Return the compiled catalogue: from its file, which a checkout renews where it is older.

    An installed server has compiled catalogues alone.
    """
    target = source.with_suffix(".mo")
    if target.exists() and (
        not source.exists() or target.stat().st_mtime_ns >= source.stat().st_mtime_ns
    ):
        return target.read_bytes()
    content = compiled(source)
    # A folder that this process may not write to costs each process the time to compile.
    with suppress(OSError):
        _replace(target, content)
    return content


def compiled(source: Path) -> bytes:
    """Return a catalogue in the binary format."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with source.open(encoding="utf-8") as text:
        messages = read_po(text, locale=babel_name(source.stem))
    content = BytesIO()
    write_mo(content, messages)
    return content.getvalue()


def babel_name(language: str) -> str:
    """Return a language as Babel's functions name it: `zh-hans` is `zh_Hans`."""
    main, _hyphen, script = language.partition("-")
    return f"{main}_{script.capitalize()}" if script else main


def _replace(target: Path, content: bytes) -> None:
    """Write the file as a whole: other processes may read it."""
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
