"""Which domains an organization may call its own."""

import pytest

from server.domain.errors import InvalidParameterError
from server.domain.realm_domains import checked_domain


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (" Example.COM ", "example.com"),
        ("a.b-c.example.co.uk", "a.b-c.example.co.uk"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("x" * 63 + ".org", "x" * 63 + ".org"),
    ],
)
def test_a_domain_is_kept_in_small_letters(given, kept):
    assert checked_domain(given) == kept


@pytest.mark.parametrize(
    "domain",
    [
        "",
        " ",
        "localhost",
        ".example.com",
        "example.com.",
        "a..example.com",
        "-a.example.com",
        "a-.example.com",
        "a_b.example.com",
        "bücher.example",
        "someone@example.com",
        "https://example.com",
        "example.com/",
        "x" * 64 + ".org",
        "x." * 126 + "org",
    ],
)
def test_some_cannot_be(domain):
    with pytest.raises(InvalidParameterError) as refusal:
        checked_domain(domain)
    assert refusal.value.details["var_name"] == "domain"
