"""Properties of every rendering, and random sources to check them on."""

from random import Random

from selectolax.lexbor import LexborHTMLParser

from server.domain.markdown import Rendered, render
from testkit.markdown.reader import Element, descendants, read
from testkit.markdown.realm import STYLE, Realm
from testkit.markdown.typesetting import typeset_here

LONG = 2_000
"""Longer code is left plain here: lexers have no deadline in tests."""
WORDS = ("a", "bc", "Ada Byron", "x y", "é", "😀", "\u202e", "\x00", "\ufdd0", "0", "12", "\u2028")
MARKS = (
    *"*_~`<>[](){}!@#$%^&|\\\"'/=+-.,:;? \n\t",
    "**", "***", "~~", "``", "```", "~~~", "\n\n", "  \n", "\n  ", "\n    ", "](", "![", "[x]",
    "@**", "@_**", "@*", "#**", "$$", "<!--", "-->", "</", "/>", "|7**", "@**|7**", "&lt;", "&#60;",
    "&#xFDD0;", "\ufdd00\ufdd0", "\ufdd7", "javascript:", "http://", "https://x.org", "www.",
    ".com", "example.org", "mailto:a@b.co", "a@b.co", "<http://x.org>", "<time:2024-01-01>",
    "data:", "%3C", "onerror=", "<script>", "<img src=x>", "</p>", "</code>", "@**Ada Byron**",
    "@_**Twin|22**", "@*support*", "@**all**", "@**topic**", "#**general**", "#**general>a**",
    "#**general>b@1**", "$$x$$", "\n- ", "\n* ", "\n1. ", "\n  2. ", "\n> ", "\n# ", "\n---\n",
    "\n===\n", "\n***\n",
    "\n```quote\n", "\n```spoiler h\n", "\n```py\n", "\n```\n", "\n~~~\n", "\n```math\n",
    "\n|a|b|\n|-|-|\n", "\n| c | d |", "\n|:-:|-:|\n", "[a](http://x.org)", "[a](x.org 't')",
    "![a](/b.png)",
    "\n[a]: b\n",
    ":smile:", ":party_parrot:", ":zulip:", ":", ":)", " :D ", "<3", "🙂", "👍🏽", "👩‍👩‍👧", "🇩🇪",
    "❤️", "\ufe0e", "\u200d", "#12", "ABC-7", "#1234", "x!!", "[p](/user_uploads/2/a.png)",
    "/user_uploads/2/v.mp4", "https://pics.example/a.jpg", "https://x.org/a.png",
    "$$\\frac{a}{b}$$", "$$\\text{<b>}$$", "$$x<y$$", "\\sqrt", "{", "}", "^2", "/me ", "/poll ",
    "\n```c++\nint a;", "\n```html\n<b>",
    "。**", "**「", "」~~", ".**", "**.net", "“", "”", "：*", "字",
)  # fmt: skip


def random_source(random: Random) -> str:
    """Markup and words in any order: a little, or up to some hundred pieces of few kinds."""
    kinds = random.sample(MARKS, random.randint(1, 12)) + random.sample(WORDS, random.randint(1, 3))
    if random.random() < 0.3:
        kinds = [*MARKS, *WORDS]
    return "".join(random.choices(kinds, k=random.choice((3, 8, 20, 40, 150))))


def check_source(source: str) -> Rendered:
    """Render the source, and assert what holds of every rendering."""
    is_long = len(source) > LONG
    rendered = render(source, Realm(), STYLE) if is_long else typeset_here(source)
    tree = read(rendered.html)
    elements = descendants(tree)
    assert tags_in_a_browser(rendered.html) == [element.tag for element in elements]
    assert mentioned(elements, "data-user-id") == {str(i) for i in rendered.mentioned_user_ids}
    assert mentioned(elements, "data-user-group-id") == {
        str(i) for i in rendered.mentioned_group_ids
    }
    assert wildcards(elements) == (rendered.channel_wildcard, rendered.topic_wildcard)
    assert links(elements) == list(rendered.links)
    return rendered


def tags_in_a_browser(html: str) -> list[str | None]:
    """The start tags in the order in which an HTML5 parser has them in its tree."""
    body = LexborHTMLParser(f"<body>{html}</body>").body
    assert body is not None
    return [node.tag for node in body.traverse(include_text=False)][1:]


def mentioned(elements: list[Element], attribute: str) -> set[str]:
    loud = [element for element in elements if "silent" not in element.class_name]
    return {element.attributes.get(attribute, "*") for element in loud} - {"*"}


def wildcards(elements: list[Element]) -> tuple[bool, bool]:
    classes = {element.class_name for element in elements}
    return "user-mention channel-wildcard-mention" in classes, "topic-mention" in classes


def links(elements: list[Element]) -> list[str]:
    """The addresses of links out of the message and of media in its text, each once, in order."""
    found: dict[str, None] = {}
    for element in elements:
        if element.tag == "a" and not element.class_name:
            found[element.attributes["href"]] = None
        elif element.tag == "audio" or element.class_name == "inline-image":
            found[element.attributes["src"]] = None
    return list(found)
