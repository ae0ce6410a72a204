"""Sources of any kind: what holds of every rendering holds of theirs."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.domain.markdown import render, tree
from server.domain.markdown.source import is_prose
from testkit.markdown.properties import MARKS, WORDS, check_source, random_source
from testkit.markdown.reader import read
from testkit.markdown.realm import Realm

# Pieces that keep the letters x, y and z in the text, whatever they turn out to be together: no
# link (its address is not shown), no fence of code (its word is not), and no row longer than
# its table (its last cells are not).
LOSSLESS = (
    *'*_<>{}!$^|\\"=+-.,;? \n\t', "**", "\n\n", "\n  ", "\n    ", "\n- ", "\n* ", "\n1. ",
    "\n  2. ", "\n> ", "\n# ", "\n---\n", "\n===\n", "\n~~~quote\n", "\n~~~\n", "\n~~~spoiler ",
    "| ", "<b>", "<!--", "[", "(", ")", "# ", "$$", "@**", "#**", "http:", "&", "- - - - - - - ",
    "> > > > > > > > > > > > ", "1. - > 2. ", "**x ", "*y ", "x~~y~~z", "x`y`z", "&lt;", "\n```\n",
    "\n- ~~~spoiler x\n",
)  # fmt: skip
LETTERS = "xyz"

bounded = settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@bounded
@given(st.lists(st.sampled_from([*MARKS, *WORDS]), max_size=60))
def test_markup_in_any_order(pieces):
    check_source("".join(pieces))


@bounded
@given(st.text(max_size=300))
def test_any_text(text):
    check_source(text)


@pytest.mark.parametrize("seed", range(20))
def test_random_sources(seed):
    random = Random(seed)
    for _ in range(50):
        check_source(random_source(random))


@bounded
@given(st.lists(st.sampled_from([*LOSSLESS, *LETTERS]), max_size=80))
def test_no_word_is_lost(pieces):
    """Every letter that was typed is shown, in its place, however deep or odd the markup."""
    source = "".join(pieces)
    shown = read(render(source, Realm()).html).text
    assert [c for c in shown if c in LETTERS] == [c for c in source if c in LETTERS]


PROSE = (
    *"abc019 .,;:!?'\"()-+=/^%@{}\u00a0\u3000\u00e4\u6570\u200b", "Hello ", "1. ", "- ", "...",
    " and so on", "e.g. ", " \u2014 ", "it's", "a=b", ":)", "C++", "http", "x@y", "50%",
)  # fmt: skip


@bounded
@given(st.sampled_from("aZ\u00e9\u6570"), st.lists(st.sampled_from(PROSE), max_size=40))
def test_prose_is_what_the_parser_would_make_of_it(first, pieces):
    source = "".join([first, *pieces])
    assert is_prose(source) == (not source.endswith(" "))
    shown = render(source, Realm())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "is_prose", lambda _: False)
        assert render(source, Realm()) == shown


@pytest.mark.parametrize(
    "source",
    ["1. a", "- a", "# a", "> a", "a\nb", "a*b*", "`a`", "a_b", "a|b", "a<b", "a&amp;", "a\\b",
     "[a](b)", " a", "a ", "a ~~b~~", "$$a$$", ""],
)  # fmt: skip
def test_what_may_be_syntax_is_not_prose(source):
    assert not is_prose(source)
