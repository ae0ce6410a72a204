"""Templates of pages and emails."""

from functools import cache
from typing import TYPE_CHECKING

from server.runtime.formatting import counted, span

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates_of(package: str) -> "Environment":
    """Return the package's templates: HTML is escaped, and an unknown name raises an error.

    All have the filter `span` and the global `counted`.
    """
    # Most processes never show a page: they start faster, and are smaller, without it.
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["span"] = span
    environment.globals["counted"] = counted
    return environment
