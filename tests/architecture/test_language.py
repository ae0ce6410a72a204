"""The code is written in the field's words: see docs/contributing.md."""

import pytest

from testkit.sources import TOOLS, modules, modules_in
from tests.architecture.language import duplicate_classes, figures, is_field_term

MAX_WHO_WORDS = 1.0
"""Per 1,000 words of docstrings."""
MIN_FIELD_TERMS = {"server": 40.0, "storage": 20.0, "queue_processors": 40.0, "scripts": 20.0}
"""Per 1,000 words of docstrings."""
MAX_DUPLICATE_CLASSES = 9


@pytest.mark.parametrize("package", [*MIN_FIELD_TERMS, *TOOLS])
def test_docstrings_name_roles_and_avoid_who_words(package: str):
    found = figures(modules_in(package).values())
    assert found.who_words_per_thousand <= MAX_WHO_WORDS, found


@pytest.mark.parametrize("package", MIN_FIELD_TERMS)
def test_docstrings_use_the_terms_of_the_field(package: str):
    found = figures(modules_in(package).values())
    assert found.field_terms_per_thousand >= MIN_FIELD_TERMS[package], found


def test_class_names_are_unique():
    duplicates = duplicate_classes(modules())
    assert len(duplicates) <= MAX_DUPLICATE_CLASSES, duplicates


def test_field_terms_are_matched_with_their_inflections():
    assert all(map(is_field_term, ["Retries", "re-raised", "invalidating", "enqueues", "cached"]))
    assert not any(map(is_field_term, ["blocked", "eventually", "requester", "retriever"]))
