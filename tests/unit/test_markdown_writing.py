"""What the server writes around people's words stays around them."""

import pytest

from server.domain.markdown import render
from server.domain.markdown.writing import link, quoted
from tests.unit.markdown.realm import Realm

NASTY = (
    "~~~~\n```` and @**all**",
    "```quote\nopen",
    "```spoiler a\nb",
    "$$\nx",
    "- a\n    - b",
    "    code\n~~~",
    "a\r- b\r\n\x0b\x85\u2028# c",
    "> > deep\n\n1. x",
    "| a |\n|--|\n| b |",
    "<div>",
    "\n\nx\n\n",
)


def shown(text: str) -> str:
    return render(text, Realm()).html


@pytest.mark.parametrize("text", NASTY)
def test_nothing_breaks_out_of_a_quote(text):
    html = shown(f"Before\n\n{quoted(text)}\n\nAfter *it*")
    assert html.startswith("<p>Before</p>\n<blockquote>\n")
    assert html.endswith("\n</blockquote>\n<p>After <em>it</em></p>")


@pytest.mark.parametrize(
    "text",
    [
        "a*b] `c` > x** @**all** [y](z)",
        "#**general** :smile: <time:2026-01-01> $$x$$ \\ https://example.com/ _u_ ~~s~~ &amp;",
        "1. no | list",
        "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        "<https://example.com> <b>",
    ],
)
def test_a_link_shows_its_text_as_it_is(text):
    html = shown(link(text, "/#scheduled"))
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert html == f'<p><a href="/#scheduled">{escaped}</a></p>'


def test_a_quote_is_cut_where_it_is_too_long():
    assert quoted("ab\n\ncd", limit=8) == "> ab\n>\n>"
    assert quoted("ab") == "> ab"
