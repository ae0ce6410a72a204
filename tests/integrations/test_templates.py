"""Templates: what they make of JSON, and what is none."""

import random
from typing import Any

import pytest

from server.integrations.payload import Payload
from server.integrations.templates import TemplateError, parse

DATA: dict[str, Any] = {
    "name": "Ada *L*",
    "count": 3,
    "ratio": 0.5,
    "open": True,
    "gone": None,
    "url": "https://example.com/a b",
    "tags": ["a", "b_c", ""],
    "jobs": [{"name": "one", "steps": [{"n": 1}, {"n": 2}]}, {"name": "two", "steps": [{"n": 3}]}],
    "deep": {"er": {"x": "y"}},
    "lines": "one\n```\n@**all**\n/poll",
    "ключ": "значение",
}


def made(template: str, data: Any = DATA, *, plain: bool = False) -> str:
    return parse(template).render(Payload(data), plain=plain)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", ""),
        ("no field", "no field"),
        ("{{name}} is {name}", r"{name} is Ada \*L\*"),
        ("{ name }", r"Ada \*L\*"),
        ("{count} {ratio} {open} {gone}{missing.at.all}", r"3 0\.5 true "),
        ("{tags}", r"a, b\_c"),
        ("{tags.1} {tags.-1}{tags.9}", r"b\_c "),
        ("{jobs.*.name}", "one, two"),
        ('{jobs.*.steps.*.n|first 2|join " / "}', "1 / 2"),
        (r'{tags|join "\n"}', "a\nb\\_c"),
        ("{deep.er}", r"\{\"x\"\:\"y\"\}"),
        ("{missing|default none}", "none"),
        ('{missing|default "a | b"}', r"a \| b"),
        ("{name|default x}", r"Ada \*L\*"),
        ("{name|cut 3|bold}", "**Ad…**"),
        ("{tags|code}", "`a`, `b_c`"),
        ("{name|link url}", r"[Ada \*L\*](https://example.com/a%20b)"),
        ("{name|link missing}", r"Ada \*L\*"),
        ("{lines}", r"one \`\`\` \@\*\*all\*\* \/poll"),
        ("{lines|quote}", "> one\n> ```\n> @\u2060**all**\n> /poll"),
        ("{lines|block}", "````\none\n```\n@**all**\n/poll\n````"),
        ("{ключ}", "значение"),
    ],
)
def test_fields_are_shown_escaped(template: str, expected: str):
    assert made(template) == expected


def test_a_topic_is_plain_text():
    assert made("{name|bold}: {tags.*|code}", plain=True) == "Ada *L*: a, b_c"


@pytest.mark.parametrize("data", [None, 1, "x", [], [[[]]], {}, True])
@pytest.mark.parametrize("template", ["{a.b}", "{a.*.b|first 1}", "{*}", "{0.0}", "{a|link b.*}"])
def test_any_json_makes_a_text(template: str, data: Any):
    assert isinstance(made(template, data), str)


@pytest.mark.parametrize(
    "template",
    [
        *("{", "}", "a { b", "{a}}", "{}", "{ }", "{|bold}", "{a..b}", "{.a}", "{a b}"),
        *("{a|}", "{a|nothing}", "{a|first}", "{a|first x}", "{a|first 0}", "{a|first -1}"),
        *("{a|cut 999999}", "{a|default}", "{a|link}", '{a|join "}', r'{a|join "\x"}'),
        *("{a|bold b c|}", "{a|bold||code}", "{" + "a." * 21 + "a}", "{a}" * 51, "x" * 4_001),
    ],
)
def test_what_is_no_template_is_refused(template: str):
    with pytest.raises(TemplateError):
        parse(template)


def test_random_templates_are_refused_or_make_a_text():
    rng = random.Random(1)
    pieces = [
        *("{", "}", "{{", "|", ".", "*", "name", "jobs", "tags", "first 2", "join", '"', "\\"),
        *(" ", "default x", "link url", "0", "-1", "bold", "quote", "\n", "ä", "@**all**"),
    ]
    parsed = 0
    for _ in range(20_000):
        source = "".join(rng.choices(pieces, k=rng.randint(1, 12)))
        try:
            template = parse(source)
        except TemplateError:
            continue
        parsed += 1
        assert isinstance(template.render(Payload(DATA)), str)
    assert parsed > 100


def test_many_items_are_bounded():
    data = {"a": [{"b": ["x" * 100] * 1_000}] * 1_000}
    assert len(made("{a.*.b.*.missing}{a.*.b.*}", data)) < 200_000
