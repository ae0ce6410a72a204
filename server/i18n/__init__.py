"""Texts in the language of their readers.

A text is marked where it is written, in English, by `_` or `ngettext`, and in templates by `trans`
or `_`. It is translated where it is rendered, for one reader: `translated(text, language)`.
Everything else, such as logs, sees a `str` in English. `docs/translations.md` is the guide.
"""

from server.i18n.catalogues import (
    LANGUAGES,
    SOURCE,
    catalogue_language,
    in_any_catalogue,
    language_of_mail,
)
from server.i18n.formats import (
    direction,
    localized_date,
    localized_span,
    localized_time,
    uses_24_hours,
)
from server.i18n.negotiation import Accepted, accepted_language
from server.i18n.texts import Text, _, from_json, marked, ngettext, to_json, translated

__all__ = [
    "LANGUAGES",
    "SOURCE",
    "Accepted",
    "Text",
    "_",
    "accepted_language",
    "catalogue_language",
    "direction",
    "from_json",
    "in_any_catalogue",
    "language_of_mail",
    "localized_date",
    "localized_span",
    "localized_time",
    "marked",
    "ngettext",
    "to_json",
    "translated",
    "uses_24_hours",
]
