"""The table of levels in the documentation is the one that is declared."""

from testkit.levels import DOCUMENT, document


def test_the_table_of_levels_is_up_to_date():
    """Run `python -m testkit.levels` if this fails."""
    assert DOCUMENT.read_text() == document()
