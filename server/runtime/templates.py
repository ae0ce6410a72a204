"""Templates of pages and emails."""

from functools import cache
from typing import TYPE_CHECKING, Any

from server.i18n import SOURCE, direction, localized_time, translated
from server.i18n.catalogues import catalogue
from server.runtime.formatting import counted, span

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates_of(package: str, language: str = SOURCE) -> "Environment":
    """Return the package's templates: HTML is escaped, and an unknown name raises an error.

    All have the tag `trans`, the globals `language` and `direction`, and texts are rendered in the
    language. Pages of operators, which are in English, have `span` and `counted` as well.
    """
    # Most processes never show a page: they start faster, and are smaller, without it.
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    def finalize(value: Any) -> Any:
        return translated(value, language) if isinstance(value, str) else value

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.i18n"],
        finalize=finalize,
    )
    environment.policies["ext.i18n.trimmed"] = True
    texts: Any = environment
    texts.install_gettext_translations(catalogue(language), newstyle=True)
    environment.filters["span"] = span
    environment.filters["moment"] = lambda moment: localized_time(moment, language)
    environment.globals |= {
        "counted": counted,
        "language": language,
        "direction": direction(language),
    }
    return environment
