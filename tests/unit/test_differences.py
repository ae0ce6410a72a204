"""What an edit changed: of a message's elements, whatever the two texts are, and in time."""

import asyncio
from itertools import pairwise

import pytest
from selectolax.lexbor import LexborHTMLParser

from server.domain.markdown.differences import GONE, NEW, difference_html
from server.domain.markdown.links import safe_href
from server.domain.markdown.nodes import Element
from server.domain.markdown.tags import ALLOWED
from server.domain.markdown.typesetting import TypesetJob
from server.typesetting.process import ProcessTypesetter
from server.typesetting.wire import TypesetRequest
from server.typesetting.worker import deliver
from testkit.markdown.typesetting import typeset_here
from tests.unit.test_markdown_safety import ATTACKS

ENOUGH_SECONDS = 300.0


def difference(older, newer):
    """The difference of two messages, made here."""
    order = TypesetRequest("difference", typeset_here(older).html, "", 0, typeset_here(newer).html)
    return deliver(order).html


def new(text):
    return f'<span class="{NEW}">{text}</span>'


def gone(text):
    return f'<span class="{GONE}">{text}</span>'


def test_what_is_new_and_what_is_gone():
    found = difference("one two three four five six seven", "one two 3 four five six seven")
    assert found == f"<p>one two {new('3')} {gone('three')} four five six seven</p>"


def test_links_have_their_addresses_and_say_nothing_else():
    found = difference(
        "see [here](http://a.org) now or never", "see [here](http://b.org) now or never"
    )
    assert 'href="http://b.org"' in found
    assert "Link:" not in found
    assert "data-href" not in found


def test_text_that_is_struck_out_is_not_gone():
    found = difference("all of ~~this~~ is as it was", "all of ~~this~~ is as it is")
    assert "<del>this</del>" in found
    assert gone("was") in found


def test_formulas_are_compared_by_their_source():
    found = difference("so $$a$$ is equal to something", "so $$b$$ is equal to something")
    assert "math" not in found
    assert "<code>" in found


def test_the_same_has_no_difference():
    assert NEW not in difference("**as** it was", "**as** it was")


def check(found):
    """All that a browser makes of it is of a message's own elements."""
    body = LexborHTMLParser(f"<body>{found}</body>").body
    assert body is not None
    for node in body.traverse(include_text=False):
        if node.tag == "body":
            continue
        assert node.tag in ALLOWED or node.tag == "tbody", node.html
        allowed = ALLOWED.get(node.tag, frozenset())
        assert set(node.attributes) <= allowed, node.html
        for name in ("href", "src"):
            assert name not in node.attributes or safe_href(node.attributes[name] or ""), node.html


def test_no_attack_gets_through():
    count = 0
    for older, newer in pairwise([*ATTACKS, "text", *reversed(ATTACKS)]):
        found = difference(older, newer)
        if found is not None:
            check(found)
            count += 1
    assert count > len(ATTACKS)


@pytest.mark.parametrize(
    "element",
    [
        Element("script", {}, ["x"]),
        Element("p", {"onclick": "x"}, []),
        Element("a", {"href": "javascript:x"}, []),
        Element("img", {"src": "data:text/html,x"}, []),
        Element("td", {"style": "background: url(x)"}, []),
        Element("math", {}, []),
    ],
)
def test_what_is_not_listed_is_not_written(element):
    assert difference_html(Element("div", {}, [Element("p", {}, [element])])) is None


def test_text_stays_text():
    merged = Element("div", {}, ["<b>", Element("a", {"href": "/x", "title": '"><b>'}, ["&amp;"])])
    assert difference_html(merged) == (
        '&lt;b&gt;<a href="/x" title="&quot;&gt;&lt;b&gt;">&amp;amp;</a>'
    )


@pytest.mark.asyncio
async def test_a_process_compares_and_ends_what_takes_too_long():
    huge = [f"<p>{' '.join(f'{word}{n % 7}' for n in range(40_000))}</p>" for word in "ab"]
    typesetter = ProcessTypesetter(wall_seconds=ENOUGH_SECONDS, cpu_seconds=0.4)
    try:
        found = await typesetter.compare(
            [
                ("<p>a b c d</p>", "<p>a b x d</p>"),
                (huge[0] * 5, huge[1] * 5),
                ("<p>a</p>", "<p>a</p>"),
            ],
            share="ada",
        )
    finally:
        await typesetter.close()
    assert found[0] is not None
    assert NEW in found[0]
    assert found[1:] == [None, "<p>a</p>"]


@pytest.mark.asyncio
async def test_what_a_message_needs_does_not_wait_for_all_that_is_compared():
    typesetter = ProcessTypesetter(wall_seconds=ENOUGH_SECONDS)
    formula = TypesetJob("inline", "x^2")
    pairs = [("<p>a</p>", f"<p>{number}</p>") for number in range(20)]
    try:
        comparing = asyncio.create_task(typesetter.compare(pairs, share="ada"))
        await asyncio.sleep(0)
        await typesetter.set([formula], share="cleo")
        assert typesetter.known(formula) is not None
        assert not comparing.done()
        assert None not in await comparing
    finally:
        await typesetter.close()


@pytest.mark.asyncio
async def test_nothing_is_compared_when_the_time_is_over():
    typesetter = ProcessTypesetter(wall_seconds=0)
    try:
        assert await typesetter.compare([("<p>a</p>", "<p>b</p>")], share="ada") == [None]
    finally:
        await typesetter.close()
