"""Patterns and templates that organizations write."""

import pytest

from server.domain.errors import InvalidParameterError
from server.domain.url_templates import checked_linkifier, checked_playground, checked_template

TEMPLATE = "https://example.com/{id}"


@pytest.mark.parametrize(
    ("pattern", "template"),
    [
        (r"#(?P<id>\d+)", TEMPLATE),
        (r" #(?P<id>\d+) ", f" {TEMPLATE} "),
        (r"(?P<org>\w+)/(?P<id>\d+)", "https://example.com/{org}/issues{?id}"),
        ("ärger(?P<id>[äöü]+)", "https://example.com/{+id}{#id}{&id:3}"),
        ("help", "http://example.com/help"),
        ("(?P<id>x)", "example.com/{id}"),
    ],
)
def test_what_can_be_is_kept_without_blanks_around_it(pattern, template):
    assert checked_linkifier(pattern, template) == (pattern.strip(), template.strip())


@pytest.mark.parametrize(
    ("pattern", "template", "name", "why"),
    [
        ("", TEMPLATE, "pattern", "blank"),
        ("  ", TEMPLATE, "pattern", "blank"),
        ("x" * 1001, TEMPLATE, "pattern", "too long"),
        ("(?P<id>[", TEMPLATE, "pattern", "Bad regular expression"),
        (")(?P<id>x)(", TEMPLATE, "pattern", "Bad regular expression"),
        ("(?P<id>x)*", TEMPLATE, "pattern", "empty"),
        ("(?<=a)(?P<id>x)", TEMPLATE, "pattern", "RE2"),
        ("(?P<id>x)(?!y)", TEMPLATE, "pattern", "RE2"),
        (r"(?P<id>x)\1", TEMPLATE, "pattern", "RE2"),
        ("(?P<id>x){1000}{1000}", TEMPLATE, "pattern", "Bad regular expression"),
        ("x", TEMPLATE, "url_template", "'id' in URL template"),
        ("(?P<id>x)(?P<b>y)", TEMPLATE, "pattern", "'b' in pattern"),
        ("(?P<id>x)", "https://example.com/{id", "url_template", "Invalid URL template"),
        ("(?P<id>x)", "https://example.com/{id}}", "url_template", "Invalid URL template"),
        ("(?P<id>x)", "https://example.com/{}", "url_template", "Invalid URL template"),
        ("(?P<id>x)", "https://example.com/{!id}", "url_template", "Invalid URL template"),
        ("(?P<id>x)", "javascript:alert({id})", "url_template", "address"),
        ("(?P<id>x)", "javascript://x/{id}", "url_template", "address"),
        ("(?P<id>x)", "/{id}", "url_template", "address"),
        ("(?P<id>x)", "https://" + "x" * 2000 + "/{id}", "url_template", "too long"),
    ],
)
def test_what_is_wrong_is_said(pattern, template, name, why):
    with pytest.raises(InvalidParameterError, match=why) as refusal:
        checked_linkifier(pattern, template)
    assert refusal.value.details == {"var_name": name}


@pytest.mark.parametrize(
    ("name", "language", "template", "wrong"),
    [
        ("", "Python", "https://x.org/{code}", "name"),
        ("x" * 101, "Python", "https://x.org/{code}", "name"),
        ("Try", "", "https://x.org/{code}", "pygments_language"),
        ("Try", "x" * 41, "https://x.org/{code}", "pygments_language"),
        ("Try", "<b>", "https://x.org/{code}", "pygments_language"),
        ("Try", "Python", "https://x.org/", "url_template"),
        ("Try", "Python", "https://x.org/{code}{more}", "url_template"),
        ("Try", "Python", "https://x.org/{code", "url_template"),
    ],
)
def test_a_playground_takes_code_and_nothing_else(name, language, template, wrong):
    with pytest.raises(InvalidParameterError) as refusal:
        checked_playground(name, language, template)
    assert refusal.value.details == {"var_name": wrong}


def test_playgrounds_of_languages_with_signs_in_their_names():
    kept = ("Try", "C++", "https://x.org/#{code}")
    assert checked_playground(" Try ", "C++", "https://x.org/#{code}") == kept


def test_a_template_may_lead_anywhere_that_a_link_may():
    assert checked_template("t", "http://{host}.example.com/{+path*}")
