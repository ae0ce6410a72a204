"""One rule of where words end, for addresses, linkifiers, mentions, links and alert words."""

import sys
from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.alert_words import AlertWords
from server.domain.markdown import render
from server.domain.words import JOINING, begins_word, ends_word, tokens_of
from storage.ids import UserId
from testkit.markdown.realm import LINKIFIERS, Realm

LETTERS = "字ひカ한กמبжωაहક\u0e34ー々"
"""Of scripts other than Latin; the last ones are a mark, and two that stand behind others."""
FOUND = {
    "https://e.org/x": '<a href="https://e.org/x">https://e.org/x</a>',
    "www.e.org": '<a href="http://www.e.org">www.e.org</a>',
    "e.org/a(b)": '<a href="http://e.org/a(b)">e.org/a(b)</a>',
    "e.com": '<a href="http://e.com">e.com</a>',
    "a@b.co": '<a href="mailto:a@b.co">a@b.co</a>',
    "#123": '<a href="https://x.org/issues/123">#123</a>',
    "ABC-7": '<a href="https://x.org/ABC?id=7">ABC-7</a>',
    "@**Ada Byron**": '<span class="user-mention" data-user-id="7">@Ada Byron</span>',
    "@_*support*": '<span class="user-group-mention silent" data-user-group-id="3">support</span>',
    "#**general**": '<a class="stream" data-stream-id="5" href="/#narrow/channel/5-general">'
    "#general</a>",
    "$$x$$": "<code>x</code>",
}
ALERTS = AlertWords([("parley", [UserId(1)]), ("c++", [UserId(2)]), ("v1.2 beta", [UserId(3)])])
PHRASES = {"Parley": {1}, "C++": {2}, "v1.2 beta": {3}}
PAIRS = ("「」", "（）", "《》", "“”", "«»", "„“", "‘’", "[]", "()", "''", '""')
SIGNS = "".join(
    each
    for each in map(chr, range(0xA1, 0x10000))
    if category(each)[0] in "PS"
    and each not in "\u00b7\u2010\u2011\u2013\u30a0\u30fb"
    and normalize("NFC", each) == each
)
"""Beyond ASCII, all but those that join words in addresses, or are a sign with a mark: marks are of
words."""


def html_of(source: str) -> str:
    return render(source, Realm()).html.removeprefix("<p>").removesuffix("</p>")


@pytest.mark.parametrize("token", FOUND)
@pytest.mark.parametrize("letter", LETTERS)
def test_another_script_ends_it(token, letter):
    behind = letter if category(letter)[0] == "L" else "字"
    source = f"日{letter}{token}{behind}本"
    assert html_of(source) == source.replace(token, FOUND[token])
    assert html_of(f"{token}{behind}") == f"{FOUND[token]}{behind}"


@pytest.mark.parametrize("token", FOUND)
@given(before=st.sampled_from(SIGNS), behind=st.sampled_from(SIGNS))
def test_punctuation_beyond_ascii_ends_it(token, before, behind):
    assert FOUND[token] in html_of(f"{before}{token}{behind}")
    assert FOUND[token] in html_of(f"字{before}{token}{behind}字")


@pytest.mark.parametrize("token", FOUND)
@pytest.mark.parametrize("pair", PAIRS)
def test_brackets_and_quotes_stand_around_it(token, pair):
    html = html_of(f"日{pair[0]}{token}{pair[1]}本").replace("&quot;", '"')
    assert html == f"日{pair[0]}{FOUND[token]}{pair[1]}本"


@pytest.mark.parametrize("token", FOUND)
@pytest.mark.parametrize("letter", "aéZ1ﬀ")
def test_latin_letters_before_it_make_it_a_part_of_a_word(token, letter):
    found = FOUND[token]
    assert found not in html_of(f"{letter}{token}")
    assert found not in html_of(f"{letter}\u0301{token}")


@pytest.mark.parametrize("token", ["#123", "ABC-7", "e.com", "a@b.co"])
@pytest.mark.parametrize("letter", "aéZﬀ")
def test_latin_letters_behind_it_make_it_a_part_of_a_word(token, letter):
    assert FOUND[token] not in html_of(f"{token}{letter}")


@pytest.mark.parametrize(
    ("source", "linked"),
    [
        ("https://ja.wikipedia.org/wiki/ウィキペディア日本語版", None),
        ("https://ja.wikipedia.org/wiki/レオナルド・ダ・ヴィンチ", None),
        ("https://ru.wikipedia.org/wiki/Боинг_737", None),
        ("https://ko.wikipedia.org/wiki/한국", None),
        ("https://th.wikipedia.org/wiki/กรุงเทพ", None),
        ("http://пример.рф/путь", None),
        ("http://müller.de/ä", None),
        ("https://e.org/x/2024年", "https://e.org/x/2024"),
        ("https://e.org/тест日本", "https://e.org/тест"),
        ("http://www.日本.jp/", None),
        ("https://e.org/?q=日本&r=語#節", None),
        ("https://e.org/x.次", "https://e.org/x"),
        ("https://e.org/x,次", "https://e.org/x"),
        ("https://e.org/x?次", "https://e.org/x"),
        ("https://e.org/x—и", "https://e.org/x"),
        ("https://e.org/x・", "https://e.org/x"),
        ("https://e.org/x\u200b字", "https://e.org/x"),
        ("https://e.org/x\u202e字", "https://e.org/x"),
    ],
)
def test_addresses_in_other_scripts(source, linked):
    assert list(render(source, Realm()).links) == [linked or source]


@pytest.mark.parametrize("token", ["https://e.org/x", "#123", "ABC-7"])
@pytest.mark.parametrize("letter", LETTERS)
def test_the_links_of_topics_follow_the_same_rule(token, letter):
    behind = letter if category(letter)[0] == "L" else "字"
    links = LINKIFIERS.topic_links(f"日{letter}「{token}」日{letter}{token}{behind}")
    assert [link["text"] for link in links] == [token, token]
    assert not LINKIFIERS.topic_links(f"é{token}")


@pytest.mark.parametrize("phrase", PHRASES)
@given(
    before=st.sampled_from([*SIGNS, *LETTERS, *"|~/!?;<>{}`*'\"", " "]),
    behind=st.sampled_from([*SIGNS, *LETTERS.replace("\u0e34", ""), *"|~/!?;<>{}`*'\"", " "]),
)
def test_alert_words_end_as_other_words_do(phrase, before, behind):
    assert ALERTS.owners_in(f"{before}{phrase}{behind}") == PHRASES[phrase]


@pytest.mark.parametrize(
    "content",
    [
        "parleyé éparley parley2 parley-like @parley #parley parley_x",
        "https://e.org/parley parley@e.org parley.e.org/x https://e.org/日本/parley",
        "p\u0301arley parley\u0301 ﬀparley",
    ],
)
def test_alert_words_are_not_parts_of_words_or_addresses(content):
    assert ALERTS.owners_in(content) == frozenset()


def test_alert_words_in_any_script_and_form():
    words = AlertWords([("チケット", [UserId(1)]), ("e.org/x", [UserId(2)]), ("café", [UserId(3)])])
    assert words.owners_in("新しいチケットです") == {1}
    assert words.owners_in("サポートチケット") == frozenset()
    assert words.owners_in("見てe.org/xを") == {2}
    assert words.owners_in("e.org/x/y") == frozenset()
    assert words.owners_in("cafe\u0301!") == {3}


@given(st.text(alphabet="aé字ひก1\u0301 「.#-", max_size=20))
def test_nothing_but_blanks_is_between_tokens(text):
    assert "".join(tokens_of(text)) == "".join(text.split())


@given(st.text(alphabet="aé字ひก1\u0301 「.", max_size=20), st.integers(0, 20))
def test_a_word_ends_where_the_next_one_begins(text, at):
    """Where no sign is on either side, of which each side sees only its own."""
    if 0 < at < len(text) and (text[at - 1] + text[at]).isalpha():
        assert begins_word(text, at) == ends_word(text, at)


def test_the_signs_that_join_are_ascii():
    assert all(sign.isascii() and not sign.isalnum() for sign in JOINING)
    assert sys.maxunicode > max(map(ord, SIGNS))
