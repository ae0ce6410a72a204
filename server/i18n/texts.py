"""Texts that know how to be translated."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from string import Formatter
from typing import Any, Final

from typing_extensions import override

from server.i18n.catalogues import SOURCE, catalogue
from server.i18n.formats import localized_span


class Text(str):
    """A text in English, with what is needed to render it in another language.

    As a `str` it is English: comparisons, logs and JSON of clients without a language of their own
    do not notice that it can be translated.
    """

    __slots__ = ("_count", "_message", "_plural", "_values")

    _message: str
    _plural: str
    _count: int
    _values: dict[str, Any]

    @property
    def message(self) -> str:
        """The text as it is marked, with its placeholders."""
        return self._message

    @property
    def values(self) -> dict[str, Any]:
        """What replaces the placeholders."""
        return self._values

    def with_texts(self, change: Callable[[str], str]) -> "Text":
        """Return the text with what is no marked text changed, among its values and theirs."""

        def changed(value: Any) -> Any:
            if isinstance(value, Text):
                return value.with_texts(change)
            return change(value) if isinstance(value, str) else value

        values = {key: changed(each) for key, each in self._values.items()}
        return _text(self._message, self._plural, self._count, values)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` makes the text of; in English if its values are no JSON."""
        if not all(isinstance(each, str | int | float) for each in self._values.values()):
            return {"message": str(self), "values": {}}
        values = {
            key: each.as_json() if isinstance(each, Text) else each
            for key, each in self._values.items()
        }
        stored: dict[str, Any] = {"message": self._message, "values": values}
        return stored | ({"plural": self._plural, "count": self._count} if self._plural else {})

    def in_language(self, language: str) -> str:
        """Return the text in the language; in English if its catalogue does not have it."""
        if language == SOURCE:
            return str(self)
        translations = catalogue(language)
        if self._plural:
            pattern = translations.ngettext(self._message, self._plural, self._count)
        else:
            pattern = translations.gettext(self._message)
        return _filled(pattern, self._values, language)


def _(message: str, /, **values: object) -> Text:
    """Mark a text for translation; `values` replace its `{placeholders}`, texts translated too."""
    return _text(message, "", 0, values)


def ngettext(one: str, many: str, count: int, /, **values: object) -> Text:
    """Mark a text that depends on a number, which replaces `{count}`."""
    return _text(one, many, count, {"count": count, **values})


def marked(message: str) -> str:
    """Mark a text that is translated later, by `_` with its values: return it unchanged."""
    return message


def translated(text: str, language: str) -> str:
    """Return the text in the language if it can be translated, otherwise unchanged."""
    return text.in_language(language) if isinstance(text, Text) else text


def to_json(text: str) -> dict[str, Any]:
    """Return a text as JSON, from which `from_json` makes one that can be translated as well."""
    return (text if isinstance(text, Text) else _(text)).as_json()


def from_json(stored: Mapping[str, Any]) -> Text:
    """Return the text of its JSON."""
    values = {
        key: from_json(each) if isinstance(each, Mapping) else each
        for key, each in stored["values"].items()
    }
    return _text(stored["message"], stored.get("plural", ""), stored.get("count", 0), values)


def _text(message: str, plural: str, count: int, values: dict[str, Any]) -> Text:
    text = Text(_filled(plural if plural and count != 1 else message, values, SOURCE))
    text._message, text._plural, text._count = message, plural, count  # noqa: SLF001
    text._values = values  # noqa: SLF001
    return text


def _filled(pattern: str, values: dict[str, Any], language: str) -> str:
    if not values:
        return pattern
    if language == SOURCE and not any(isinstance(each, timedelta) for each in values.values()):
        return pattern.format(**values)
    return _Filler(language).vformat(pattern, (), values)


class _Filler(Formatter):
    """Replaces placeholders: texts and durations, and numbers with `:,`, as the language has it."""

    def __init__(self, language: str) -> None:
        self._language = language

    @override
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == GROUPED and self._language != SOURCE:
            from babel.numbers import format_decimal

            return format_decimal(value, locale=self._language)
        if isinstance(value, timedelta):
            return localized_span(value, self._language)
        if isinstance(value, str):
            value = translated(value, self._language)
        return format(value, format_spec)


GROUPED: Final = ","
"""Format of numbers with separators between thousands."""
