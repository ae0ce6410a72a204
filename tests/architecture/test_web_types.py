"""The browser client's types are those that the server declares."""

from testkit.web_types import PATH, typescript


def test_the_types_are_up_to_date():
    assert PATH.read_text() == typescript(), "run scripts/make-web-types"
