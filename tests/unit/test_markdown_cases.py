"""Every case of `markdown/cases.txt`: a source, and the HTML that clients parse."""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from server.domain.markdown import render
from testkit.markdown.reader import read
from testkit.markdown.realm import Realm

CASES = Path(__file__).parent / "markdown" / "cases.txt"


def _case(block: str) -> ParameterSet:
    """A case is `=== name`, the source, `---8<---` and the HTML; `⏎` stands for nothing."""
    name, _, rest = block.partition("\n")
    source, _, html = rest.partition("\n---8<---\n")
    return pytest.param(source.replace("⏎", ""), html.rstrip("\n"), id=name)


@pytest.mark.parametrize(
    ("source", "html"), [_case(block) for block in CASES.read_text().split("\n=== ")[1:]]
)
def test_case(source, html):
    assert render(source, Realm()).html == html
    read(html)
