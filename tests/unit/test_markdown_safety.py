"""No message makes HTML that a client or a browser takes for more than text, links and looks."""

from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from server.domain.markdown import render
from server.domain.markdown.links import safe_href
from server.domain.markdown.tags import ALLOWED, template
from testkit.markdown.reader import UnreadableError, descendants, read
from testkit.markdown.realm import Realm
from testkit.markdown.typesetting import typeset_here

FOLDER = Path(__file__).parent / "markdown"
STAND_INS = str.maketrans({"␤": "\n", "␉": "\t", "␀": "\0", "␍": "\r"})
ATTACKS = [
    line.translate(STAND_INS) for line in (FOLDER / "hostile.txt").read_text().splitlines()[1:]
]
WRAPPERS = ("{}", "**{}**", "> {}", "- {}", "```quote\n{}\n```", "[{}](http://x.org)", "a\n{}\nb")


def tags_in_a_browser(html: str) -> list[str | None]:
    """The start tags in the order in which an HTML5 parser has them in its tree."""
    body = LexborHTMLParser(f"<body>{html}</body>").body
    assert body is not None
    return [node.tag for node in body.traverse(include_text=False)][1:]


def test_there_are_enough_attacks():
    assert len(set(ATTACKS)) >= 150


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_attack_yields_known_nodes_only(attack, wrapper):
    html = typeset_here(wrapper.format(attack)).html
    tree = read(html)
    assert tags_in_a_browser(html) == [element.tag for element in descendants(tree)]


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack[0] == "<"])
def test_tags_in_a_message_are_visible(attack):
    """HTML is shown as it was typed, not swallowed."""
    shown = read(render(attack, Realm()).html).text
    for tag in ("script", "img", "svg", "iframe"):
        if f"<{tag}" in attack:
            assert tag in shown


@pytest.mark.parametrize(
    "html",
    [
        "<script>x</script>",
        '<p onclick="x">a</p>',
        '<p><a href="javascript:x">a</a></p>',
        '<p><a href="http://x" onclick="y">a</a></p>',
        "<p>a</p>text",
        "<p><p>a</p></p>",
        "<p>a",
        "<!-- x -->",
        "<p><span>a</span></p>",
        '<p><span class="user-mention" data-user-id="x">@a</span></p>',
        "<ul>a</ul>",
        "<table><thead></thead></table>",
        '<div class="other"></div>',
        "<p><img></p>",
        '<p><img alt=":x:" class="emoji" src="//evil.example/x.png" title="x" onerror="y"></p>',
        '<p><span class="katex"><span class="katex-mathml"><math></math></span></span></p>',
        '<div class="codehilite"><pre><span></span><code><b>x</b></code></pre></div>',
        '<div class="message_inline_image"><a href="/a"><img src="/b"></a></div>',
    ],
)
def test_the_reader_refuses(html):
    """The judge of the tests above does find what it is there for."""
    with pytest.raises((UnreadableError, ValueError)):
        read(html)


def test_the_serializer_refuses_what_is_not_listed():
    assert not {"script", "style", "iframe", "svg", "input", "form", "object"} & set(ALLOWED)
    with pytest.raises(KeyError):
        template("script")
    with pytest.raises(ValueError, match="onclick"):
        template("p", "onclick")
    assert template("a", "href")('"><x') == '<a href="&quot;&gt;&lt;x">'


@pytest.mark.parametrize(
    "address",
    [
        "javascript:x",
        " javascript:x",
        "\tjavascript:x",
        "java\nscript:x",
        "\x01javascript:x",
        "data:text/html,x",
        "x",
        "",
        "?x",
        "./x",
        "http:\x00//x",
        "\u2028javascript:x",
    ],
)
def test_unsafe_addresses(address):
    assert safe_href(address) is None


@pytest.mark.parametrize(
    ("address", "href"),
    [
        ("https://x.org", "https://x.org"),
        ("HTTP://x.org", "HTTP://x.org"),
        (" /a b", "/a%20b"),
        ("/\\evil.example", "/%5Cevil.example"),
        ("#narrow", "#narrow"),
        ("example.org:8080/x", "http://example.org:8080/x"),
        ("mailto:a@b.org", "mailto:a@b.org"),
    ],
)
def test_safe_addresses(address, href):
    assert safe_href(address) == href
