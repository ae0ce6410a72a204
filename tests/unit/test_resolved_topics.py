"""Names of resolved topics, whatever the name is."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from server.domain.messages import MAX_TOPIC_LENGTH, clean_topic, cut_topic
from server.domain.resolved_topics import (
    base_name,
    changes_only_marks,
    is_resolved,
    mark_change,
    renamed,
)

MARK = "\N{HEAVY CHECK MARK} "
EMPTY = "general chat"


def is_plain(name: str) -> bool:
    return name.strip() == name != "" and base_name(name) == name and name != EMPTY


letters = st.characters(exclude_categories=["Cc", "Cs", "Cn"])
names = st.text(letters, min_size=1, max_size=MAX_TOPIC_LENGTH).filter(is_plain)


@given(names)
@example("x" * 58)
@example("x" * 59)
@example("x" * 57 + " to")
@example("\N{HEAVY CHECK MARK}t")
@example("\N{HEAVY CHECK MARK}\N{HEAVY CHECK MARK} t")
@example("x" * 60)
def test_a_name_with_the_mark_is_as_valid_as_without_and_unresolves_to_itself(name):
    assert clean_topic(name, EMPTY) == name
    marked = clean_topic(MARK + name, EMPTY)
    assert marked == MARK + name
    assert cut_topic(marked) == marked
    for requested in (marked, marked[:MAX_TOPIC_LENGTH].rstrip()):
        assert renamed(name, requested, max_length=MAX_TOPIC_LENGTH) == marked
    assert mark_change(name, marked) == "resolved"
    for requested in (name, re.sub("^✔ [ ✔]*", "", marked)):
        assert renamed(marked, requested, max_length=MAX_TOPIC_LENGTH) == name
    assert mark_change(marked, name) == "unresolved"
    assert changes_only_marks(name, marked)


@given(names, st.integers(1, 4), st.integers(1, 4))
def test_more_marks_are_one(name, before, after):
    new = renamed(MARK * before + name, MARK * after + name, max_length=MAX_TOPIC_LENGTH)
    assert new == (MARK * before + name if after >= before else MARK + name)
    assert renamed(name, MARK * after + name, max_length=MAX_TOPIC_LENGTH) == MARK + name
    assert mark_change(MARK * before + name, name) == "unresolved"


@given(names, names)
def test_other_names_are_kept_as_requested(old, new):
    assert renamed(old, new, max_length=MAX_TOPIC_LENGTH) == new
    assert is_resolved(renamed(MARK + old, MARK + new, max_length=MAX_TOPIC_LENGTH))
    assert changes_only_marks(old, MARK + new) is (old == new)
