"""What the index of search is asked for."""

import pytest

from storage.search import Word


@pytest.mark.parametrize(
    ("word", "query"),
    [
        (Word("need", ("need",), None), "'@need':*"),
        (Word("needle", ("needle",), None), "'@needle'"),
        (Word("needles", ("needles",), None), "'@needle'"),
        (Word("foo.bar", ("foo", "bar"), None), "'@foo' & '@bar':*"),
        (Word("--help", ("help",), None), "'@help':*"),
        (Word("c++", ("c",), None), "'@c':*"),
        (Word("++", (), None), ""),
    ],
)
def test_whatever_begins_with_the_last_part_of_a_word_and_ends_with_the_others(word, query):
    assert word.query == query


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("quick brown", "'@quick' & '@brown':*"),
        ("brown foxes", "'@brown' & '@foxes':*"),
        ("foxes jumped", "'@foxes' & '@jumped'"),
        ("needle in", "'@needle'"),
        ("in haystacks", "'@in' & '@haysta'"),
        ("in", "'@in':*"),
    ],
)
def test_a_short_end_of_a_phrase_is_left_to_the_comparison_of_texts(text, query):
    assert Word(text, tuple(text.split()), None).query == query


@pytest.mark.parametrize(
    ("text", "query", "start"),
    [
        ("λόγοσ", "('@λόγοσ':* | '@λόγος')", "λόγο[σς]"),
        ("κόσμοσ", "('@κόσμοσ' | '@κόσμος')", "κό[σς]μο[σς]"),
        ("άνθρωποσ", "'@άνθρωπ'", "άνθρωπο[σς]"),
    ],
)
def test_what_was_indexed_with_a_last_sigma_is_found(text, query, start):
    word = Word(text, (text,), None)
    assert (word.query, word.pattern, word.start) == (query, None, start)


@pytest.mark.parametrize(
    ("text", "stem", "query"),
    [
        ("jumps", "jump", "('@jump':* | '@=jump')"),
        ("message", "messag", "('@messag' | '@=messag')"),
        ("happy", "happi", "('@happy':* | '@happi':* | '@=happi')"),
        ("happiness", "happi", "('@happi':* | '@=happi')"),
    ],
)
def test_a_word_is_not_looked_for_beside_a_stem_that_it_begins_with(text, stem, query):
    assert Word(text, (text,), stem).query == query
