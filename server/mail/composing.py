"""What all emails have in common: templates, and what a header may hold."""

from email.message import EmailMessage
from functools import lru_cache
from typing import Final

import css_inline
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

MAX_SUBJECT: Final = 150
MAX_NAME: Final = 100


def fill(message: EmailMessage, template: str, **values: object) -> None:
    """Give the mail the body that the template makes, as text and as HTML."""
    message.set_content(_templates().get_template(f"{template}.txt").render(values))
    html = _templates().get_template(f"{template}.html").render(values)
    message.add_alternative(_inliner().inline(html), subtype="html")


def line(text: str, longest: int) -> str:
    """The text as a header takes it: one line, not too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


@lru_cache(maxsize=1)
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("server.mail"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@lru_cache(maxsize=1)
def _inliner() -> css_inline.CSSInliner:
    # What depends on the screen stays in a style element: it cannot be inlined.
    return css_inline.CSSInliner(keep_at_rules=True, load_remote_stylesheets=False)
