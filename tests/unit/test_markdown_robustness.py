"""Content that is odd as text, and a parser that fails."""

import pyromark
import pytest

from server.domain.markdown import EmptyResolver, render


def html_of(content: str) -> str:
    return render(content, EmptyResolver()).html


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_of_all_systems(newline):
    assert html_of(newline.join(["a", "b", "", "c"])) == "<p>a<br>\nb</p>\n<p>c</p>"


@pytest.mark.parametrize(
    "character", ["\x00", "\x1b", "\x7f", "\ud800", "\ufdd0", "\ufdd7", "\ufffe"]
)
def test_what_no_message_may_contain_is_replaced(character):
    assert html_of(f"a{character}b `{character}`") == "<p>a\ufffdb <code>\ufffd</code></p>"
    assert html_of(f"```\n{character}\n```").count("\ufffd") == 1


@pytest.mark.parametrize("entity", ["&#xFDD0;0&#xFDD0;", "&#64976;0&#64976;", "&#xFDD0;9&#xFDD0;"])
def test_marks_cannot_be_forged_into_anything_but_text_or_a_token(entity):
    assert "\ufdd0" not in html_of(f"http://x.org {entity}")
    assert html_of(f"{entity} no token").endswith(" no token</p>")


class PanicException(BaseException):
    """Stands for a bug in the parser, which the binding reports like this."""


def test_a_panic_of_the_parser_leaves_plain_text(monkeypatch):
    def panic(*_args: object, **_options: object) -> None:
        raise PanicException

    monkeypatch.setattr(pyromark, "events", panic)
    assert html_of("**a** <b>\nc") == "<p>**a** &lt;b&gt;<br>\nc</p>"


def test_what_is_no_panic_goes_on(monkeypatch):
    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pyromark, "events", interrupt)
    with pytest.raises(KeyboardInterrupt):
        html_of("*a*")


def test_more_than_any_honest_message_is_shown_plain():
    square = "|a" * 500 + "\n" + "|-" * 500 + "\n" + "a\n" * 500
    assert html_of(square).startswith("<p>|a|a|a")
    assert html_of(square[:3]) == "<p>|a|</p>"
