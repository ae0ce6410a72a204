"""What SQL makes of a name that comes without its folding is what Python makes of it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage import channels
from storage.name_folding import fold_name
from testkit.confusable_names import ASSIGNED
from testkit.factories import Make

FOLDINGS = """
    SELECT name_folding(n.name) FROM unnest(%(names)s::text[]) WITH ORDINALITY AS n(name, place)
     ORDER BY n.place
"""
SOME_TEXT = st.text(
    st.one_of(
        st.sampled_from("aIİiıßẞΣσςᾳΐǰŉﬁﬃÅÅ\u0301\u0307\u0323\u0327\u0345\u0344"),
        st.characters(categories=["L", "M", "N", "S", "Z"]),
    ),
    max_size=12,
)


@pytest.mark.asyncio
async def test_both_fold_each_letter_of_unicode_alike(make_here: Make):
    around = (("", ""), ("aI", "\u0301Z"))
    names = [f"{before}{c}{after}" for c in ASSIGNED for before, after in around]

    assert await make_here.connection.values(FOLDINGS, names=names) == [*map(fold_name, names)]


@pytest.mark.asyncio
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(names=st.lists(SOME_TEXT, min_size=20, max_size=200))
async def test_both_fold_whole_names_alike(make_here: Make, names: list[str]):
    assert await make_here.connection.values(FOLDINGS, names=names) == [*map(fold_name, names)]


@given(SOME_TEXT)
def test_folding_twice_changes_nothing(name: str):
    assert fold_name(fold_name(name)) == fold_name(name)


def test_compatibility_forms_and_other_letters_stay_apart():
    assert fold_name("x²") != fold_name("x2")
    assert fold_name("①") != fold_name("1")
    assert fold_name("ı") != fold_name("i")
    assert fold_name("é") != fold_name("e")


def test_cases_and_canonical_forms_are_one():
    for one, other in (
        ("ΜΙΣΘΌΣ", "Μισθός"),
        ("Straße", "STRASSE"),
        ("İ", "i\u0307"),
        ("ﬁ", "FI"),
        ("Å", "a\u030a"),
    ):
        assert fold_name(one) == fold_name(other)


@pytest.mark.asyncio
async def test_what_an_older_release_writes_is_found(make_here: Make):
    """It knows no foldings: neither those of new names nor those of changed ones."""
    make = make_here
    await make.connection.execute(
        "INSERT INTO channels (realm_id, name, created_at) VALUES (%(realm_id)s, 'old', now())",
        realm_id=make.realm_id,
    )
    for new in ("Straße", "ΜΙΣΘΌΣ", "STRASSE"):
        await make.connection.execute(
            "UPDATE channels SET name = %(new)s WHERE realm_id = %(realm_id)s AND name <> %(new)s",
            realm_id=make.realm_id,
            new=new,
        )
        [found] = await channels.named(make.connection, make.realm_id, [new.swapcase()])
        assert found.channel_id is not None
