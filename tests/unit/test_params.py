"""Parameters: what is read from text, and what is refused with which words."""

import json
import time
from typing import Annotated, Any, Literal, NewType

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.api import params as parameters
from server.api.params import Field, JsonOrBareStr, Params, Part, alias
from server.domain.errors import DomainError

ChannelId = NewType("ChannelId", int)


class Inner(Part):
    name: str
    size: int = 0


class Everything(Params):
    text: str | None = None
    quoted: JsonOrBareStr = ""
    number: int = 0
    channel_id: ChannelId | None = None
    flag: bool | None = None
    mode: Literal["fast", "slow"] = "fast"
    level: Literal[1, 2, 3] | None = None
    policy: Annotated[Literal["a", "b"], "json-or-bare"] = "a"
    to: str | int | list[int] | list[str] = ""
    days: int | str | None = 7
    lifespan: int | Literal["mobile"] | None = None
    ids: Annotated[list[int], Field(max_length=1_000_000)] = []  # noqa: RUF012
    inner: Inner | None = None
    parts: list[Inner] = []  # noqa: RUF012
    anything: dict[str, Any] = {}  # noqa: RUF012
    topic: Annotated[str | None, Field(json_schema_extra=alias("subject"), max_length=60)] = None
    count: Annotated[int | None, Field(ge=0, le=5000)] = None


class Term(Part):
    operator: str
    operand: str


class Narrowed(Params):
    terms: list[list[str] | Term]


class Needs(Params):
    first: str
    second: int


def read(**raw: str) -> Any:
    return parameters.parse(Everything, raw)[0]


def refusal(model: type[Params] = Everything, /, **raw: str) -> tuple[str, dict[str, Any], str]:
    with pytest.raises(DomainError) as caught:
        parameters.parse(model, raw)
    return caught.value.code, caught.value.details, caught.value.message


@pytest.mark.parametrize("text", ["5", "true", '"quoted"', "null", "[1]", "", " x ", "ä€𝄞\n"])
def test_text_is_taken_as_it_comes(text):
    assert read(text=text).text == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"quoted"', "quoted"),
        ("bare", "bare"),
        ("12", "12"),
        ("true", "true"),
        ("null", "null"),
        ('["a"]', '["a"]'),
        ('"', '"'),
        ("", ""),
        ('"a\\u00e4"', "aä"),
    ],
)
def test_a_string_marked_so_comes_bare_or_as_json(text, value):
    assert read(quoted=text).quoted == value


def test_a_choice_marked_so_comes_bare_or_as_json():
    assert read(policy="b").policy == read(policy='"b"').policy == "b"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("general", "general"),
        ('"general"', "general"),
        ("7", 7),
        ("[7, 8]", [7, 8]),
        ('["a@x.org"]', ["a@x.org"]),
        ("true", "true"),
        ("7.5", "7.5"),
        ("a,b", "a,b"),
        ("[]", []),
    ],
)
def test_where_text_and_json_are_allowed_json_of_an_allowed_kind_wins(text, value):
    assert read(to=text).to == value


def test_null_is_nothing_only_where_nothing_is_allowed():
    assert read(days="null").days is None
    assert read(to="null").to == "null"
    assert read(flag="null").flag is None
    assert refusal(number="null")[0] == "REQUEST_VARIABLE_INVALID"


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_booleans_are_json(text, value):
    assert read(flag=text).flag is value


@pytest.mark.parametrize("text", ["True", "1", "0", "yes", "", '"true"', "[]"])
def test_nothing_else_is_a_boolean(text):
    code, details, message = refusal(flag=text)
    assert (code, details) == ("REQUEST_VARIABLE_INVALID", {"var_name": "flag"})
    assert message == "flag is not a boolean"


@pytest.mark.parametrize("text", ["x", "1.0", "1.5", "true", '"1"', "", "007", "1 2", "1e3"])
def test_nothing_but_digits_is_an_integer(text):
    assert refusal(number=text)[0] == "REQUEST_VARIABLE_INVALID"
    assert refusal(channel_id=text)[2] == "channel_id is not an integer"


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775808", "9" * 30])
def test_numbers_that_the_database_cannot_hold_are_refused(text):
    assert refusal(number=text)[0] == "REQUEST_VARIABLE_INVALID"
    assert refusal(ids=f"[1,{text}]")[0] == "REQUEST_VARIABLE_INVALID"


def test_a_number_past_any_integer_is_too_large():
    for text in ("18446744073709551616", "9" * 30):
        assert refusal(number=text)[2] == "number is too large"


def test_the_largest_number_is_held():
    assert read(number="9223372036854775807").number == 2**63 - 1


@pytest.mark.parametrize("text", ["[1", "{", "", "[1,]", "nope", "[1]]", '"\\ud800"'])
def test_lists_and_objects_are_json(text):
    assert refusal(ids=text) == ("INVALID_JSON", {}, 'Argument "ids" is not valid JSON.')


def test_what_is_wrong_inside_a_list_or_object_is_named():
    assert refusal(ids='[1,"2"]')[2] == "ids[1] is not an integer"
    assert refusal(inner='{"size":1}')[2] == 'inner["name"] is missing'
    assert refusal(parts='[{"name":"a","size":"b"}]')[2] == 'parts[0]["size"] is not an integer'
    assert refusal(inner="[]")[2] == "inner is not a dict"
    assert refusal(to='[1,"b"]')[2] == "to is not of an allowed type"


def test_of_a_list_of_alternatives_the_one_that_is_wrong_is_named():
    assert told(terms='[["a","b"],{"operator":"c"}]') == 'terms[1]["operand"] is missing'
    assert told(terms="[7]") == "terms[0] is not of an allowed type"
    assert told(terms='[["a",{}]]') == "terms[0][1] is not a string"
    assert told(terms="{}") == "terms is not a list"


def told(**raw: str) -> str:
    with pytest.raises(DomainError) as error:
        parameters.parse(Narrowed, raw)
    return str(error.value)


def test_limits_are_told():
    assert refusal(topic="x" * 61)[2] == "topic is too long (limit: 60 characters)"
    assert refusal(count="-1")[2] == "count is too small"
    assert refusal(count="5001")[2] == "count is too large"
    assert refusal(mode="medium")[2] == "mode must be one of 'fast' or 'slow'"


def test_unknown_keys_of_an_object_are_passed_over():
    assert read(inner='{"name":"a","colour":"red"}').inner == Inner(name="a")


def test_a_missing_parameter_is_named_before_a_wrong_one():
    assert refusal(Needs, second="x")[:2] == ("REQUEST_VARIABLE_INVALID", {"var_name": "second"})
    assert refusal(Needs, second="1")[:2] == ("REQUEST_VARIABLE_MISSING", {"var_name": "first"})
    assert refusal(Needs)[2] == "Missing 'first' argument"


def test_an_older_name_means_the_same():
    assert read(subject="old").topic == "old"
    assert refusal(subject="x" * 61)[1] == {"var_name": "topic"}


def test_two_names_for_one_thing_are_confusing_even_if_they_agree():
    code, details, message = refusal(topic="a", subject="a")
    assert code == "REQUEST_CONFUSING_VAR"
    assert details == {"var_name1": "topic", "var_name2": "subject"}
    assert message == "Can't decide between 'topic' and 'subject' arguments"


def test_parameters_that_mean_nothing_are_named_in_order():
    raw = {"z": "1", "text": "t", "dense_mode": "x", "client": "website"}
    assert parameters.parse(Everything, raw)[1] == ["z", "dense_mode"]


@pytest.mark.parametrize(
    "raw",
    [
        {"text": "a\0b"},
        {"quoted": "a\0b"},
        {"quoted": '"a\\u0000b"'},
        {"to": '["a\\u0000"]'},
        {"mode": "\0"},
        {"anything": '{"a":{"\\u0000":1}}'},
        {"parts": '[{"name":"\\u0000"}]'},
    ],
)
def test_null_characters_are_refused_wherever_they_are(raw):
    code, details, message = refusal(**raw)
    [name] = raw
    assert (code, details) == ("REQUEST_VARIABLE_INVALID", {"var_name": name})
    assert message == f"{name} must not contain null characters"


def test_a_backslash_before_u0000_is_no_null_character():
    assert read(quoted='"\\\\u0000"').quoted == "\\u0000"
    assert read(text="\\u0000").text == "\\u0000"


def test_what_is_nested_too_deeply_is_refused():
    deep = '{"a":' * 65 + "1" + "}" * 65
    assert refusal(anything=deep)[2] == "anything is nested too deeply"
    assert refusal(anything='{"a":' * 5000 + "1" + "}" * 5000)[0] == "INVALID_JSON"
    assert read(anything='{"a":' * 60 + "1" + "}" * 60).anything


def test_brackets_within_text_are_no_nesting():
    assert read(quoted="[" * 100).quoted == "[" * 100
    assert read(anything=orjson.dumps({"a": "[" * 20_000}).decode()).anything


@pytest.mark.parametrize(
    "raw",
    [
        {"ids": "[" + '"",' * 300_000 + '""]'},
        {"ids": "[" + "1," * 500_000 + "null]"},
        {"parts": "[" + "{}," * 250_000 + "{}]"},
        {"to": "[" + "[]," * 250_000 + "[]]"},
        {"anything": "{" + ",".join(f'"{n}":[]' for n in range(80_000)) + "}"},
    ],
)
def test_a_megabyte_of_nonsense_is_refused_without_delay(raw):
    started = time.process_time()
    assert refusal(**raw)[0] == "REQUEST_VARIABLE_INVALID"
    assert time.process_time() - started < 10


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3)
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(sorted(Everything.model_fields)),
        st.text(max_size=20) | _json.map(json.dumps),
        max_size=4,
    )
)
def test_whatever_comes_is_read_or_refused(raw):
    try:
        read = parameters.parse(Everything, raw)[0]
    except DomainError:
        return
    assert "\0" not in "".join(map(str, read.model_dump().values()))
