"""Text from outside stays in its place."""

import pytest

from server.integrations.markdown import (
    bold,
    code,
    code_block,
    counted,
    link,
    listed,
    quote,
    text,
    web_address,
)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (text("a\n *b* @**all**"), r"a \*b\* \@\*\*all\*\*"),
        (text("x" * 300), "x" * 199 + "…"),
        (bold(""), ""),
        (code("a`b``c"), "``` a`b``c ```"),
        (code("x\ny"), "`x y`"),
        (link("a]b", "https://example.com/(x) y"), r"[a\]b](https://example.com/%28x%29%20y)"),
        (link("a", "https://example.com/@**all**"), "[a](https://example.com/%40**all**)"),
        (link("bad", "javascript:alert(1)"), "bad"),
        (link("", "http://example.com/"), "[http\\:\\/\\/example\\.com\\/](http://example.com/)"),
        (code_block("a\n```\nb", "sh"), "````sh\na\n```\nb\n````"),
        (code_block("  \n"), ""),
        (quote("one\r\n\r\n```\n@_**x|1**"), "> one\n>\n> ```\n> @\u2060_**x|1**"),
        (quote("\\@**all** <!-- hidden\n -->"), "> \\@\u2060**all**"),
        (quote("<!-- only this"), ""),
        (listed(["a", "", "b", "c"]), "a, b and c"),
        (listed([]), ""),
        (counted(1, "commit"), "1 commit"),
        (counted(2, "branch", "branches"), "2 branches"),
    ],
)
def test_text_is_escaped_and_cut(made: str, expected: str):
    assert made == expected


@pytest.mark.parametrize("url", ["", "x", "//a", "ftp://a/b", "http://", "http://[", "data:a"])
def test_what_is_no_web_address_is_no_link(url: str):
    assert web_address(url) == ""
