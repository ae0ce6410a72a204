"""What organizations may ask of their people, and what may be answered."""

import json
from dataclasses import replace

import pytest

from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.profile_fields import (
    CUSTOM,
    MAX_CHOICES,
    SHOWN_TYPES,
    FieldDefinition,
    FieldType,
    checked_terms,
    checked_value,
    field_data_of,
)

TEXT = FieldDefinition(
    field_type=FieldType.SHORT_TEXT,
    name="Team",
    hint="",
    field_data={},
    required=False,
    editable_by_user=True,
    display_in_profile_summary=False,
)
CHOICES = {"0": {"text": "Tea", "order": "1"}, "b": {"text": "Coffee", "order": "2"}}


def account(**data):
    return replace(TEXT, field_type=FieldType.EXTERNAL_ACCOUNT, field_data=data)


def select(data):
    return replace(TEXT, field_type=FieldType.SELECT, field_data=data)


def test_each_type_is_offered():
    assert {each["id"] for each in SHOWN_TYPES.values()} == {*FieldType}


def test_names_and_hints_are_kept_without_blanks_around_them():
    kept = checked_terms(replace(TEXT, name=" Team ", hint="\tWhere? "))
    assert (kept.name, kept.hint) == ("Team", "Where?")


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"hint": "x" * 81}, "hint"),
        ({"field_type": 0}, "field_type"),
        ({"field_type": 9}, "field_type"),
        (
            {"field_type": FieldType.USER, "display_in_profile_summary": True},
            "display_in_profile_summary",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(wrong, parameter):
    with pytest.raises(InvalidParameterError) as refusal:
        checked_terms(replace(TEXT, **wrong))
    assert refusal.value.details["var_name"] == parameter


def test_only_types_that_need_data_keep_some():
    assert checked_terms(replace(TEXT, field_data={"x": 1})).data_text == ""
    assert field_data_of(checked_terms(select(CHOICES)).data_text) == CHOICES


def test_choices_have_no_blanks_around():
    spaced = {f" {key}\t": {"text": " Tea ", "order": " 1"} for key in "a"}
    kept = checked_terms(select(spaced)).data_text
    assert field_data_of(kept) == {"a": {"text": "Tea", "order": "1"}}
    assert checked_value("Field", FieldType.SELECT, kept, " a ") == "a"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"": {"text": "Tea", "order": "1"}},
        {"0": {"text": " ", "order": "1"}},
        {"0": {"text": "x" * 51, "order": "1"}},
        {"0": {"text": "Tea", "order": 1}},
        {"0": {"text": "Tea"}},
        {"0": {"text": "Tea", "order": "1", "more": "x"}},
        {"0": "Tea"},
        {"0": {"text": "Tea", "order": "1"}, "1": {"text": "Tea", "order": "2"}},
        {str(n): {"text": str(n), "order": str(n)} for n in range(MAX_CHOICES + 1)},
        {"a": {"text": "Tea", "order": "1"}, "a ": {"text": "Coffee", "order": "2"}},
        {"a": {"text": "Tea", "order": "1"}, "b": {"text": "Tea ", "order": "2"}},
    ],
)
def test_choices_are_texts_that_differ(data):
    with pytest.raises(InvalidParameterError) as refusal:
        checked_terms(select(data))
    assert refusal.value.details["var_name"] == "field_data"


def test_a_well_known_account_has_its_own_name():
    kept = checked_terms(replace(account(subtype="github", url_pattern="x"), name="", hint="no"))

    assert (kept.name, kept.hint, kept.field_data) == ("GitHub", "", {"subtype": "github"})
    assert kept.external_account == "github"


def test_an_account_of_ones_own_says_where_it_is():
    data = {"subtype": CUSTOM, "url_pattern": "https://example.com/~%(username)s/"}
    kept = checked_terms(account(**data))

    assert (kept.name, json.loads(kept.data_text)) == ("Team", data)
    assert kept.external_account is None


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"subtype": "nowhere"},
        {"subtype": ["github"]},
        {"subtype": CUSTOM},
        {"subtype": CUSTOM, "url_pattern": 1},
        {"subtype": CUSTOM, "url_pattern": "https://example.com/"},
        {"subtype": CUSTOM, "url_pattern": "https://example.com/%(username)s/%(username)s"},
        {"subtype": CUSTOM, "url_pattern": "javascript:alert(%(username)s)"},
        {"subtype": CUSTOM, "url_pattern": "example.com/%(username)s"},
        {"subtype": "github", "more": "x"},
    ],
)
def test_an_account_leads_to_a_page(data):
    with pytest.raises(InvalidParameterError) as refusal:
        checked_terms(account(**data))
    assert refusal.value.details["var_name"] == "field_data"


@pytest.mark.parametrize(
    ("field_type", "value", "kept"),
    [
        (FieldType.SHORT_TEXT, " x" + "y" * 49 + " ", "x" + "y" * 49),
        (FieldType.LONG_TEXT, "*one*\ntwo" + "x" * 491, "*one*\ntwo" + "x" * 491),
        (FieldType.PRONOUNS, "they", "they"),
        (FieldType.EXTERNAL_ACCOUNT, "ada", "ada"),
        (FieldType.SELECT, "b", "b"),
        (FieldType.DATE, "2024-02-29", "2024-02-29"),
        (FieldType.URL, "https://example.com:8443/a?b=c#d", "https://example.com:8443/a?b=c#d"),
        (FieldType.URL, "http://[2001:db8::1]/", "http://[2001:db8::1]/"),
        (FieldType.URL, "http://bücher.example/ü", "http://bücher.example/ü"),
        (FieldType.USER, [9, 7, 9], "[9,7]"),
    ],
)
def test_an_answer_is_kept_as_text(field_type, value, kept):
    assert checked_value("Field", field_type, json.dumps(CHOICES), value) == kept


@pytest.mark.parametrize(
    ("field_type", "value"),
    [
        (FieldType.SHORT_TEXT, "x" * 51),
        (FieldType.SHORT_TEXT, "a\nb"),
        (FieldType.SHORT_TEXT, [7]),
        (FieldType.LONG_TEXT, "x" * 501),
        (FieldType.PRONOUNS, "x" * 51),
        (FieldType.EXTERNAL_ACCOUNT, "x" * 51),
        (FieldType.SELECT, "Coffee"),
        (FieldType.DATE, "2023-02-29"),
        (FieldType.DATE, "20240229"),
        (FieldType.DATE, "2024-W01-1"),
        (FieldType.DATE, "tomorrow"),
        (FieldType.URL, "example.com"),
        (FieldType.URL, "javascript:alert(1)"),
        (FieldType.URL, "https://"),
        (FieldType.URL, "https://exa mple.com/"),
        (FieldType.URL, 'https://example.com/"onclick'),
        (FieldType.URL, "https://example.com:port/"),
        (FieldType.URL, "https://[::1"),
        (FieldType.URL, "https://example.com/" + "x" * 2_000),
        (FieldType.USER, "7"),
        (FieldType.USER, list(range(101))),
    ],
)
def test_what_is_no_answer_is_refused(field_type, value):
    with pytest.raises(BadRequestError, match="Field"):
        checked_value("Field", field_type, json.dumps(CHOICES), value)
