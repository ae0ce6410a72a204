"""Emphasis beside punctuation, and what stays as CommonMark has it."""

import re
from collections import Counter

import pyromark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.domain.markdown import EmptyResolver, render
from server.domain.markdown.emphasis import free_flanks, may_have_unused, unused_freed
from server.domain.markdown.source import FLANK
from testkit.markdown.realm import Realm

MARKS = {"*": "em", "**": "strong", "~~": "del"}
OPTIONS = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH
SCRIPTS = {
    "Chinese": ("请看", "注意：", "正文"),
    "Japanese": ("これは", "「重要」", "です"),
    "Japanese, full stop": ("", "重要です。", "次に"),
    "Korean": ("한국어", "(중요)", "입니다"),
    "Thai": ("ภาษาไทย", "“สำคัญ”", "มาก"),
    "Cyrillic": ("это", "«важно»", "так"),
    "Arabic": ("هذا", "مهم؟", "نعم"),
    "Hindi": ("यह", "ज़रूरी।", "है"),
    "Spanish": ("é", "¡hola!", "é"),
    "German quotation": ("", "„Wort“", "und"),
    "French quotation": ("é", "«\u202fmot\u202f»", "é"),
    "parentheses": ("大塚", "(U+585A)", "名"),
    "wide parentheses": ("葛", "（正式）", "城市"),
    "brackets": ("这", "【重点】", "是"),
    "ASCII quotation": ("这是", '"引号"', "吧"),
    "ASCII sign": ("语言", "C++", "很好"),
    "percent": ("约", "50%", "的"),
    "comma": ("", "真，", "她"),
    "exclamation": ("", "快！", "走"),
    "question": ("", "真的？", "是"),
    "ellipsis": ("", "等等…", "后来"),
    "dash": ("前", "—后—", "再"),
    "domain": ("用", ".NET", "写"),
}


def html_of(source: str) -> str:
    return render(source, EmptyResolver()).html.removeprefix("<p>").removesuffix("</p>")


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_emphasis_beside_punctuation_or_letters_beyond_ascii(script, mark):
    before, inner, after = SCRIPTS[script]
    tag = MARKS[mark]
    expected = f"{before}<{tag}>{inner}</{tag}>{after}"
    assert html_of(f"{before}{mark}{inner}{mark}{after}") == expected
    twice = f"{before}{mark}{inner}{mark}{after}，"
    assert html_of(twice * 2) == f"{expected}，" * 2


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("inner", ["bold.", "so!", "so?", "Note:", '"quoted"', "two (2)", "100%"])
def test_a_run_behind_ascii_punctuation_closes_where_nothing_else_does(mark, inner):
    for before in ("", "see ", "("):
        expected = f"{before}<{MARKS[mark]}>{inner}</{MARKS[mark]}>tail"
        assert html_of(f"{before}{mark}{inner}{mark}tail") == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("中~~**「a」**~~中", "中<del><strong>「a」</strong></del>中"),
        ("~~**a.**~~b", "<del><strong>a.</strong></del>b"),
        ("***a** b.*c", "<em><strong>a</strong> b.</em>c"),
        ("**First,**do", "<strong>First,</strong>do"),
        ("text**bold.**tail", "text<strong>bold.</strong>tail"),
        ("**注意：**正文很长**强调**的", "<strong>注意：</strong>正文很长<strong>强调</strong>的"),
        ('_**"x"**_ <**"x"**', '_<strong>"x"</strong>_ &lt;<strong>"x"</strong>'),
        ("（**注意**），“**引**”", "（<strong>注意</strong>），“<strong>引</strong>”"),
    ],
)
def test_runs_together_and_beside_each_other(source, expected):
    assert html_of(source) == expected


def test_headings_and_cells_begin_with_emphasis():
    assert html_of('# **"x"** y') == '<h1><strong>"x"</strong> y</h1>'
    table = html_of("|a|b|\n|-|-|\n|**中**|~~「中」~~|")
    assert "<td><strong>中</strong></td>" in table
    assert "<td><del>「中」</del></td>" in table


def test_beside_mentions_and_emoji():
    html = render("日本**@**Ada Byron**：**語 **bold.**:smile:", Realm()).html
    assert html.count("<strong>") == 2
    assert "*" not in html


UNCHANGED = r"""
2*(3+4)*5
a**(n+1)**b and c**(n)**d
f(*args,**kwargs) and f(**a,**b) and f(*a,*b)
int *a,*b; (*a)*b
foo.*bar.*baz
a.*b.*c
t.*,u.*from
src/**/test.*
*.txt,*.py
2 *(3)*x
x * y. * z
*$*alpha
*£*bravo
*(*foo)
**(**foo)
*foo "*bar*" foo*
a*"foo"*
a**"foo"**
** foo.**bar
**...**foo
**foo "**bar**" baz**
**Some (*words here*, and\n*there*)**
*a `*`* b.*c
\**bold.**tail
**[bold.**tail](x)
**one\n\nbold.**tail
"""


@pytest.mark.parametrize("source", UNCHANGED.strip().split("\n"))
def test_what_has_another_reading_stays_as_commonmark_has_it(source):
    text = source.replace(r"\n", "\n")
    assert _html(_read(text)) == _html(text)


@settings(max_examples=500)
@given(st.lists(st.sampled_from([*'abc 1*.,:()"!\n', "**", "~~"]), max_size=40).map("".join))
def test_what_is_emphasis_in_commonmark_stays_emphasis(source):
    """In ASCII: each element that the parser alone makes is still there, and more may be."""
    assert not _elements(_html(source)) - _elements(_html(_read(source)))


@settings(max_examples=500)
@given(st.text(alphabet="a字。「」“”é*~ .(", max_size=30).map("a{}".format))
def test_no_character_is_lost(text):
    letters = re.sub(r"[^a字。「」“”é.(]", "", text)
    assert re.sub(r"<[^>]*>|[^a字。「」“”é.(]", "", html_of(text)) == letters


def _read(source: str) -> str:
    """What the parser is given in the place of the source."""
    freed = free_flanks(source)
    if may_have_unused(freed):
        freed = unused_freed(freed, pyromark.events_with_range(freed, options=OPTIONS))
    return freed


def _html(source: str) -> str:
    return pyromark.html(source, options=OPTIONS).replace(FLANK, "")


def _elements(html: str) -> Counter[tuple[str, int, int]]:
    """The elements of emphasis, each with the letters at which it begins and ends."""
    found: Counter[tuple[str, int, int]] = Counter()
    opened: list[tuple[str, int]] = []
    letters = 0
    for piece in re.findall(r"</?(?:em|strong|del)>|<[^>]*>|.", html, re.DOTALL):
        tag = piece.strip("</>")
        if tag in MARKS.values():
            if piece.startswith("</"):
                found[(*opened.pop(), letters)] += 1
            else:
                opened.append((tag, letters))
        letters += piece.isalnum()
    return found
