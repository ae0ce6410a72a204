"""Marks of a search in rendered messages: each where it was found, however many there are."""

import pytest

from server.domain.highlights import CLOSE, OPEN, HighlightedMessage, Marks


def marked(marks: Marks, html: str) -> str:
    """The message with its marks, as [text]."""
    return marks.in_html(HighlightedMessage.of(html)).replace(OPEN, "[").replace(CLOSE, "]")


def texts(*found: str) -> Marks:
    return Marks(tuple((text, False) for text in found), frozenset())


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a b a</p>", "<p>[a] b [a]</p>"),
        ("<p><em>a</em>a<em>b</em>a</p>", "<p><em>[a]</em>[a]<em>b</em>[a]</p>"),
        ("<p>x<em>a</em></p><p>a</p>", "<p>x<em>[a]</em></p><p>[a]</p>"),
        ("<p>b</p>", "<p>b</p>"),
    ],
)
def test_each_text_is_marked_where_it_is(html, expected):
    assert marked(texts("a"), html) == expected


def test_what_goes_on_in_the_next_elements_is_marked_in_each():
    html = "<p>x o<em>n</em>e<strong> tw</strong>o y</p><p>one two</p>"
    expected = "<p>x [o]<em>[n]</em>[e]<strong>[ tw]</strong>[o] y</p><p>[one two]</p>"
    assert marked(texts("one two"), html) == expected


def test_what_ends_with_an_element_does_not_go_on():
    assert marked(texts("ab", "c"), "<em>ab</em>c<em>ab</em>") == "<em>[ab]</em>[c]<em>[ab]</em>"


def test_as_many_marks_as_a_message_may_hold():
    count = 3_300
    html = f"<p>{'<em>a</em>' * count}</p>"
    assert marked(texts("a"), html) == f"<p>{'<em>[a]</em>' * count}</p>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Fox FOX outfox foxes</p>", "<p>[Fox] [FOX] outfox [foxes]</p>"),
        ("<p>Fox ÉFOX éfox Foxes İ fox</p>", "<p>[Fox] ÉFOX éfox [Foxes] İ [fox]</p>"),
    ],
)
def test_words_are_marked_whole_whatever_their_letters(html, expected):
    assert marked(Marks((), frozenset({"fox", "foxes"})), html) == expected


@pytest.mark.parametrize(
    ("text", "html", "expected"),
    [
        (
            "λόγοσ",
            "<p>Λόγος λόγοσ ΛΌΓΟΣ λόγοσφαιρα</p>",
            "<p>[Λόγος] [λόγοσ] [ΛΌΓΟΣ] [λόγοσ]φαιρα</p>",
        ),
        ("istanbul", "<p>İSTANBUL i\u0307stanbul é</p>", "<p>[İSTANBUL] [i\u0307stanbul] é</p>"),
        (
            "réunion",
            "<p>a re\u0301union, RE\u0301UNIONS</p>",
            "<p>a [re\u0301union], [RE\u0301UNION]S</p>",
        ),
        (
            "union",
            "<p>x\u0301\u0302 re\u0301<b>un</b>ion é</p>",
            "<p>x\u0301\u0302 re\u0301<b>[un]</b>[ion] é</p>",
        ),
        (
            "한글",
            "<p>\u1112\u1161\u11ab\u1100\u1173\u11af!</p>",
            "<p>[\u1112\u1161\u11ab\u1100\u1173\u11af]!</p>",
        ),
        ("\u0958", "<p>\u0958</p>", "<p>\u0958</p>"),
        ("\u0915\u093c", "<p>a \u0958 \u0915\u093c</p>", "<p>a [\u0958] [\u0915\u093c]</p>"),
    ],
)
def test_what_is_written_in_several_ways_is_marked_in_each(text, html, expected):
    assert marked(texts(text), html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>No knot NO</p>", "<p>[No] knot [NO]</p>"),
        ("<p>No éno İno NO é no</p>", "<p>[No] éno İno [NO] é [no]</p>"),
        ("<p>nono _no 1no -no</p>", "<p>[no]no _no 1no -[no]</p>"),
    ],
)
def test_what_counts_where_words_begin_is_marked_there_alone(html, expected):
    assert marked(Marks((("no", True),), frozenset()), html) == expected


def test_large_letters_that_have_longer_small_ones_move_no_mark():
    assert marked(texts("ab"), "<p>İİ AB aB</p>") == "<p>İİ [AB] [aB]</p>"
