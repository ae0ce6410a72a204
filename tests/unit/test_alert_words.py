"""Which alert words are in a text."""

import sys
from random import Random

import pytest

from server.domain.alert_words import MAX_LENGTH, AlertWords, clean_words
from server.domain.errors import BadRequestError
from storage.ids import UserId


def ids(*numbers: int) -> list[UserId]:
    return [UserId(number) for number in numbers]


WORDS = AlertWords(
    [
        ("Parley", ids(1, 2)),
        ("release date", ids(3)),
        ("date", ids(4)),
        ("c++", ids(5)),
        ("the new release date of it", ids(6)),
        ("naïve ß", ids(7)),
        ("v1.2", ids(8)),
    ]
)


@pytest.mark.parametrize(
    ("content", "owners"),
    [
        ("we use parley here", {1, 2}),
        ("PARLEY!", {1, 2}),
        ("*Parley*, `parley` and [Parley]", {1, 2}),
        ("parleys, aparley, par ley, parley-like", set()),
        ("https://example.org/parley @parley", set()),
        ("the Release \n DATE", {3, 4}),
        ("release, date", {4}),
        ("the new release date of it", {3, 4, 6}),
        ("the new release date of them", {3, 4}),
        ("the the new release date of it", {3, 4, 6}),
        ("I write C++.", {5}),
        ("a NAÏVE SS", {7}),
        ("v1.2 and v1", {8}),
        ("", set()),
        ("nothing", set()),
    ],
)
def test_words_are_found(content, owners):
    assert WORDS.owners_in(content) == owners


def test_without_words_nothing_is_found():
    assert AlertWords().owners_in("a b c") == frozenset()
    assert AlertWords([("", ids(1)), ("  ", ids(2))]).owners_in(" ") == frozenset()


@pytest.mark.parametrize("seed", range(100))
def test_it_finds_what_a_search_for_each_phrase_finds(seed):
    random = Random(seed)

    def some(most: int) -> str:
        return " ".join(random.choices("abc", k=random.randint(1, most)))

    phrases = [some(6) for _ in range(20)]
    text = some(60)
    found = AlertWords([(phrase, ids(n)) for n, phrase in enumerate(phrases)]).owners_in(text)
    assert found == {n for n, phrase in enumerate(phrases) if f" {phrase} " in f" {text} "}


def test_the_work_is_that_of_the_message():
    """However many phrases begin and end like it."""
    nested = [(" ".join("a" * length), ids(length)) for length in range(1, 51)]
    nested += [(f"{'a ' * length}b{n}", ids(99)) for length in range(1, 20) for n in range(50)]
    words = AlertWords(nested)
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(profile)
    try:
        found = words.owners_in("a " * 5_000)
    finally:
        sys.setprofile(None)
    assert len(found) == 50
    assert count < 10 * 5_000


def test_words_are_cleaned():
    assert clean_words([" a  b ", "", "A B", "c", "\t"]) == ["a b", "c"]
    assert clean_words(["x" * MAX_LENGTH]) == ["x" * MAX_LENGTH]
    with pytest.raises(BadRequestError):
        clean_words(["x" * (MAX_LENGTH + 1)])
