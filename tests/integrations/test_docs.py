"""docs/integrations.md has what the integrations declare."""

from testkit.integration_docs import DOCUMENT, document


def test_the_list_of_services_is_up_to_date():
    """Run `python -m testkit.integration_docs` if this fails."""
    assert DOCUMENT.read_text() == document()
