"""Dates, times and directions of languages, from the data of Unicode's CLDR."""

from datetime import date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from server.i18n.catalogues import SOURCE

if TYPE_CHECKING:
    from babel import Locale

UNITS: Final = (("day", "d", 86_400), ("hour", "h", 3_600), ("minute", "min", 60))
SECOND: Final = ("second", "s", 1)
HOURS_OF_A_DAY: Final = "Hk"
"""Letters of patterns that stand for an hour from 0 to 24."""


def localized_time(moment: datetime, language: str) -> str:
    """Return date and time, to the minute, in the zone that `moment` is in."""
    if language == SOURCE:
        return f"{moment:%Y-%m-%d %H:%M}"
    from babel.dates import format_date, format_time

    day = format_date(moment, "medium", locale=_locale(language))
    # The figures of a region, such as the Arabic ones of Egypt, are not those of the client.
    return f"{day} {format_time(moment, 'HH:mm', locale=_locale(language))}"


def localized_date(day: date, language: str) -> str:
    """Return the date, with its day of the week."""
    if language == SOURCE:
        return f"{day:%A, %Y-%m-%d}"
    from babel.dates import format_date

    return format_date(day, "full", locale=_locale(language))


def localized_span(span: timedelta, language: str) -> str:
    """Return a duration in its largest unit of which there are at least two."""
    seconds = span.total_seconds()
    unit, short, length = next((each for each in UNITS if seconds >= 2 * each[2]), SECOND)
    if language == SOURCE:
        return f"{seconds / length:.0f} {short}"
    from babel.units import format_unit

    return format_unit(
        round(seconds / length), f"duration-{unit}", "short", locale=_locale(language)
    )


@cache
def direction(language: str) -> Literal["ltr", "rtl"]:
    """Return the direction of the script in which the language is written."""
    return "rtl" if _locale(language).text_direction == "rtl" else "ltr"


@cache
def uses_24_hours(tag: str) -> bool:
    """Return whether times are usually written as 17:00, and not as 5:00 PM.

    `tag` is a language, with or without a region; unknown regions are left out.
    """
    pattern = _locale(tag).time_formats["short"].pattern
    return any(letter in pattern for letter in HOURS_OF_A_DAY)


@cache
def _locale(tag: str) -> "Locale":
    from babel import Locale, UnknownLocaleError

    while tag:
        try:
            return Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            tag = tag.rpartition("-")[0]
    return Locale.parse(SOURCE)
