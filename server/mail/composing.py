"""Common parts of all emails: templates, and valid header values."""

from email.message import EmailMessage
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from server.runtime.templates import templates_of

if TYPE_CHECKING:
    from css_inline import CSSInliner

MAX_SUBJECT: Final = 150
MAX_NAME: Final = 100


def fill(message: EmailMessage, template: str, language: str, **values: object) -> None:
    """Render the template into the email's body, as text and as HTML, in the language."""
    templates = templates_of("server.mail", language)
    message.set_content(templates.get_template(f"{template}.txt").render(values))
    html = templates.get_template(f"{template}.html").render(values)
    message.add_alternative(_inliner().inline(html), subtype="html")
    # At last: with a second part, headers of the content go to the first.
    message["Content-Language"] = language


def line(text: str, longest: int) -> str:
    """Return the text as a header value: one line, of limited length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


@lru_cache(maxsize=1)
def _inliner() -> "CSSInliner":
    from css_inline import CSSInliner  # starts faster without

    # What depends on the screen stays in a style element: it cannot be inlined.
    return CSSInliner(keep_at_rules=True, load_remote_stylesheets=False)
