"""What depends on more than the text: emoticons, pictures, code in colours, formulas."""

import re
from random import Random

import pytest
from typing_extensions import override

from server.domain.external_content import ProxyLinks
from server.domain.markdown import (
    EmptyResolver,
    Linkifier,
    Linkifiers,
    MediaPolicy,
    Style,
    render,
)
from server.domain.markdown.emoji import EMOTICONS
from server.domain.markdown.linkifiers import MAX_MATCHES, LinkMatch
from server.domain.markdown.media import MAX_SHOWN
from server.domain.markdown.nodes import Element, Math
from server.domain.markdown.serializer import to_html
from testkit.markdown.reader import descendants, read
from testkit.markdown.realm import STYLE, Realm
from testkit.markdown.typesetting import typeset_here

HOSTED = "https://pics.example/b.jpg"
LINKED = '<p><a href="{0}">{1}</a></p>'
IMAGE = '<div class="message_inline_image"><a href="{0}"{1}><img src="{0}"></a></div>'
FILM = (
    '<div class="message_inline_image message_inline_video"><a href="{0}"{1}>'
    '<video preload="metadata" src="{0}"></video></a></div>'
)


def html_of(content: str) -> str:
    html = typeset_here(content).html
    read(html)
    return html


# -- emoticons


@pytest.mark.parametrize("emoticon", EMOTICONS)
def test_emoticons_are_emoji_if_the_sender_wants_that(emoticon):
    html = html_of(f"{emoticon} a\n{emoticon}")
    assert html.count(f":{EMOTICONS[emoticon]}:</span>") == 2
    assert "<span" not in render(emoticon, Realm()).html


@pytest.mark.parametrize("text", ["a:)", ":)b", "(:)", ":)))", "`:)`", ":d", ":-)", "10:/x", ":D."])
def test_what_is_no_emoticon(text):
    assert "<span" not in html_of(text)


# -- pictures and films


@pytest.mark.parametrize("origin", ["https://Chat.example.org", "http://127.0.0.1:9991"])
def test_addresses_of_the_organization_itself_are_those_below_it(origin):
    style = Style(media=MediaPolicy(), origin=origin.lower())

    def html(content: str) -> str:
        return render(content, Realm(), style).html

    path = "/user_uploads/2/a.PNG"
    own = f"{origin}{path}"
    assert html(own) == LINKED.format(path, own) + "\n" + IMAGE.format(path, "")
    assert html(f"[pic]({own})") == html(f"[pic]({path})")
    assert html(f"![pic]({own})") == html(f"![pic]({path})")
    assert html(f"> [pic]({own})") == html(f"> [pic]({path})")
    place = "/#narrow/channel/7-a/topic/t/near/9"
    assert html(f"[there]({origin}{place})") == LINKED.format(place, "there")
    assert render(f"[t]({origin}{place}) {own}", Realm(), style).links == (place, path)
    for other in (
        f"{origin}.evil.example{path}",
        f"{origin}:1{path}",
        f"{origin}/user_avatars/2/a.png",
        f"{origin}/",
        "https://other.example/#narrow/channel/7-a",
    ):
        assert f'href="{other}"' in html(f"[x]({other})")
    assert f'href="{own}"' in render(own, Realm(), Style()).html


def test_linked_pictures_and_films_are_shown_below():
    html = html_of(f"[pic](/user_uploads/2/a.PNG) and {HOSTED}\n\n[v](/user_uploads/2/c.mp4)")
    assert html.split("\n") == [
        LINKED.format("/user_uploads/2/a.PNG", "pic")[:-4]
        + " and "
        + LINKED.format(HOSTED, HOSTED)[3:],
        IMAGE.format("/user_uploads/2/a.PNG", ' title="pic"'),
        IMAGE.format(HOSTED, ""),
        LINKED.format("/user_uploads/2/c.mp4", "v"),
        FILM.format("/user_uploads/2/c.mp4", ' title="v"'),
    ]


PLACED = '<img alt="{1}" class="inline-image" data-original-src="{0}" src="{0}">'
PLAYER = '<audio controls preload="metadata" src="{0}" title="{1}"></audio>'


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (
            "see ![a **b**](/user_uploads/2/a.png) here",
            PLACED.format("/user_uploads/2/a.png", "a "),
        ),
        ('![a "b" <c>](/user_uploads/2/a.HEIC)', 'alt="a &quot;b&quot; &lt;c&gt;"'),
        ("![](/user_uploads/2/k%20a.png)", PLACED.format("/user_uploads/2/k%20a.png", "k a.png")),
        ("> ![a](/user_uploads/2/a.png)", PLACED.format("/user_uploads/2/a.png", "a")),
        ("|![a](/user_uploads/2/a.png)|\n|-|\n|b|", PLACED.format("/user_uploads/2/a.png", "a")),
        ("# ![a](/user_uploads/2/a.png)", PLACED.format("/user_uploads/2/a.png", "a")),
        ("- *![a](/user_uploads/2/a.png)*", PLACED.format("/user_uploads/2/a.png", "a")),
        (
            "```spoiler ![a](/user_uploads/2/a.png)\nb\n```",
            PLACED.format("/user_uploads/2/a.png", "a"),
        ),
        ("![صوت.mp3](/user_uploads/2/a.mp3)", PLAYER.format("/user_uploads/2/a.mp3", "صوت.mp3")),
        ("> ![v](/user_uploads/2/v.WAV)", PLAYER.format("/user_uploads/2/v.WAV", "v")),
    ],
)
def test_uploads_in_the_syntax_of_images_are_shown_in_the_text(content, shown):
    html = html_of(content)
    assert shown in html
    assert "message_inline_image" not in html


@pytest.mark.parametrize(
    "content",
    [
        "![a](https://other.example/user_uploads/2/a.mp3)",
        "![a](https://pics.example/a.mp3)",
        "[a](/user_uploads/2/a.mp3)",
        "![a](/user_uploads/2/a.pdf)",
        "![a](/user_uploads/2/../../x.png)",
        "[![a](/user_uploads/2/a.png)](https://other.example)",
        "`![a](/user_uploads/2/a.png)`",
    ],
)
def test_nothing_else_is_shown_in_the_text(content):
    html = html_of(content)
    assert "inline-image" not in html
    assert "<audio" not in html


def test_pictures_in_the_text_are_links_where_none_are_shown():
    content = "![a](/user_uploads/2/a.png) ![b](/user_uploads/2/b.mp3)"
    html = render(content, Realm()).html
    links = [LINKED.format(f"/user_uploads/2/{each}", each[0])[3:-4] for each in ("a.png", "b.mp3")]
    assert html == f"<p>{' '.join(links)}</p>"


def test_pictures_in_the_text_count_with_those_below():
    content = "![a](/user_uploads/2/a.png)\n" * (MAX_SHOWN + 2)
    html = html_of(content)
    assert html.count("<img") == MAX_SHOWN
    assert html.count("<a ") == 2


def test_what_a_message_with_media_in_the_text_has():
    picture = typeset_here("![a](/user_uploads/2/a.png)")
    assert picture.has_image
    assert picture.has_attachment
    assert picture.links == ("/user_uploads/2/a.png",)
    recording = typeset_here("![a](/user_uploads/2/a.mp3)")
    assert not recording.has_image
    assert recording.has_attachment


@pytest.mark.parametrize(
    "content",
    [
        "https://other.example/a.mp4",
        "https://other.example/user_uploads/2/a.png",
        "//pics.example/a.png",
        "ftp://pics.example/a.png",
        "https://[pics.example/a.png",
        "[a](/user_uploads/2/a.pdf)",
        "[a](/user_uploads/2/a.svg)",
        "[a](/other/a.png)",
        "> [a](/user_uploads/2/a.png)",
        "```quote\n[a](/user_uploads/2/a.png)\n```",
        "|[a](/user_uploads/2/a.png)|\n|-|\n|b|",
        "`/user_uploads/2/a.png`",
    ],
)
def test_what_is_not_shown(content):
    assert "<img" not in html_of(content)


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example/a.png",
        "http://other.example:8080/a.JPG?b=c&d=e#f",
        "https://pics.example.evil.example/a.png",
        "https://other.example/pics.example/ä.webp",
    ],
)
def test_pictures_of_others_are_shown_by_the_server(url):
    html = html_of(url)
    [source] = re.findall(r'<img src="([^"]*)">', html)
    _, _, digest, encoded = source.split("/")
    assert STYLE.media.proxy is not None
    assert STYLE.media.proxy.address_in(digest, encoded) == url
    assert html.count(url.replace("&", "&amp;")) == 3  # where it leads, twice, and what is read


def test_pictures_of_others_are_links_where_the_server_does_not_go():
    nowhere = ProxyLinks(b"k" * 32, may_be_fetched=lambda url: "intranet" not in url)
    for proxy, shown in ((None, 0), (nowhere, 1)):
        style = Style(media=MediaPolicy(proxy=proxy))
        content = "http://intranet.example/a.png https://x.example/a.png"
        assert render(content, EmptyResolver(), style).html.count("<img") == shown


def test_pictures_in_lists_and_spoilers_stay_there():
    html = html_of(
        "- *[a](/user_uploads/2/a.png)* and text\n  - deep\n- b\n\n"
        "```spoiler [h](/user_uploads/2/h.png)\n[s](/user_uploads/2/s.png)\n```"
    )
    shown = [e for e in descendants(read(html)) if e.tag == "img"]
    assert [e.attributes["src"] for e in shown] == [
        "/user_uploads/2/a.png",
        "/user_uploads/2/s.png",
    ]
    assert "and text<div" in html


def test_where_the_organization_shows_none():
    assert "<img" not in render("[a](/user_uploads/2/a.png)", Realm(), Style()).html


def test_so_many_are_shown_at_most():
    html = html_of(" ".join(f"[a](/user_uploads/2/{n}.png)" for n in range(40)))
    assert html.count("<img") == MAX_SHOWN
    assert html.count("<a href") == 40 + MAX_SHOWN


# -- code and formulas


def test_code_in_colours():
    assert html_of("```py\ndef f(x):\n    return x < '&'\n```") == (
        '<div class="codehilite" data-code-language="Python"><pre><span></span><code>'
        '<span class="k">def</span> <span class="nf">f</span><span class="p">(</span>'
        '<span class="n">x</span><span class="p">):</span>\n    <span class="k">return</span> '
        '<span class="n">x</span> <span class="o">&lt;</span> '
        '<span class="s1">&#x27;&amp;&#x27;</span>\n</code></pre></div>'
    )


@pytest.mark.parametrize(
    "language", ["python", "C++", "html+jinja", "sql", "diff", "console", "js"]
)
@pytest.mark.parametrize(
    "code", ["\n\n  x = '<b>' + \"\t\"  \n\n", "+ a\n- b\n@@", "\ufffd é 😀 \u2028"]
)
def test_code_is_not_changed(language, code):
    tree = read(html_of(f"```{language}\n{code}\n```"))
    assert next(e for e in descendants(tree) if e.tag == "code").text == code + "\n"


def test_code_without_a_known_language_is_plain():
    for word in ("", "nosuchlanguage", "text"):
        assert "<span class" not in html_of(f"```{word}\nif x: 1\n```")


def test_a_formula_in_a_line_and_on_lines_of_its_own():
    inline = html_of("so $$x^2 < y$$ holds")
    assert inline == (
        '<p>so <span class="katex"><span class="katex-mathml">'
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><msup><mi>x</mi>'
        "<mn>2</mn></msup><mo>&lt;</mo><mi>y</mi></mrow>"
        '<annotation encoding="application/x-tex">x^2 &lt; y</annotation></semantics></math></span>'
        '<span aria-hidden="true" class="katex-html">x^2 &lt; y</span></span> holds</p>'
    )
    block = html_of("```math\n\\frac{a}{b}\n```")
    assert block.startswith('<p><span class="katex-display"><span class="katex">')
    assert 'display="block"' in block


@pytest.mark.parametrize(
    "formula",
    [
        r"\nosuchcommand",
        r"\href{javascript:alert(1)}{x}",
        r"\frac{a}",
        "{",
        r"\left(",
        r"\def\a{\a\a}\a",
        "a" * 1_001,
        r"\text{\textbf{a}}",
        r"\includegraphics{http://x.org/a.png}",
    ],
)
def test_a_formula_that_is_none_is_shown_as_it_was_typed(formula):
    html = html_of(f"$${formula}$$")
    assert "katex" not in html
    assert html.startswith("<p><code>")


@pytest.mark.parametrize(
    "mathml",
    [
        Element("math", {}, [Element("script", {}, ["x"])]),
        Element("math", {}, [Element("mi", {}, [Element("mi", {}, [])])]),
        Element("svg", {}, []),
        Element("math", {}, [Element("annotation-xml", {"encoding": "text/html"}, ["<b>"])]),
    ],
)
def test_what_is_not_listed_is_not_written(mathml):
    assert to_html([Math("x", mathml)]) == "<p><code>x</code></p>"


def test_attributes_that_are_not_listed_are_left_out():
    odd = {
        "href": "javascript:x",
        "onclick": "x",
        "style": "background: url(x)",
        "width": '"><b>',
        "height": "1em",
    }
    html = to_html([Math("x", Element("math", {}, [Element("mrow", odd, [])]))])
    assert '<mrow height="1em"></mrow>' in html


# -- linkifiers


@pytest.mark.parametrize(
    ("pattern", "template"),
    [("(", "https://x.org"), ("(?=a)", "https://x.org"), ("(?P<a>a)", "https://x.org/{b}")],
)
def test_bad_linkifiers_are_refused(pattern, template):
    with pytest.raises(ValueError):  # noqa: PT011 - what it says is RE2's
        Linkifier(pattern, template)


class Linked(EmptyResolver):
    def __init__(self, *linkifiers: Linkifier) -> None:
        self._linkifiers = Linkifiers(linkifiers)

    @property
    @override
    def linkifiers(self) -> Linkifiers:
        return self._linkifiers


def test_templates_encode_what_they_insert():
    linked = Linked(Linkifier("(?P<name>~.+~)", "https://x.org/{name}{?name}"))
    html = render("~a/b &<c>'~", linked, STYLE).html
    assert "https://x.org/~a%2Fb%20%26%3Cc%3E%27~?name=~a%2Fb%20%26%3Cc%3E%27~" in html


def test_a_group_that_took_no_part_in_the_match_is_left_out():
    pattern = r"T-(?P<id>\d+)(?:/(?P<opt>\d*))?"
    linked = Linked(Linkifier(pattern, "https://t.com/{id}{?opt}"))
    found = {each: linked.linkifiers.matches(each)[0].href for each in ("T-5", "T-5/", "T-5/6")}
    assert found == {
        "T-5": "https://t.com/5",
        "T-5/": "https://t.com/5?opt=",
        "T-5/6": "https://t.com/5?opt=6",
    }


def test_a_match_is_part_of_one_line_and_no_mention_is_lost():
    linked = Linked(Linkifier("(?s)(?P<a>a.*b)", "https://x.org/{a}"))
    assert "<a" not in render("a\nb", linked).html
    realm = Realm()
    realm.linkifiers = Linkifiers([Linkifier(r"\*\*Ada", "https://x.org")])
    assert render("@**Ada Byron**", realm).mentioned_user_ids == {7}


def test_so_many_matches_are_links_at_most():
    html = render("#12 " * 1_000, Realm()).html
    assert html.count("<a") == MAX_MATCHES


@pytest.mark.parametrize("seed", range(20))
def test_of_links_that_overlap_the_first_one_counts(seed):
    """The first in the order of the linkifiers, wherever in the text the others stand."""
    random = Random(seed)
    text = "".join(random.choices("ab ", k=200))
    patterns = random.sample(["a+", "b+", "ab", "ba b", "a b", "(?:ab )+", "b(?: a)?"], k=4)
    linkifiers = [Linkifier(pattern, f"https://x.org/{n}") for n, pattern in enumerate(patterns)]
    expected: list[LinkMatch] = []
    for each in linkifiers:
        for link in Linkifiers([each]).matches(text):
            if all(link.end <= other.start or other.end <= link.start for other in expected):
                expected.append(link)
    assert expected
    assert Linkifiers(linkifiers).matches(text) == sorted(expected)


def test_a_pattern_that_matches_nothing_at_all_ends():
    assert render("aaa", Linked(Linkifier("x*", "https://x.org"))).html == "<p>aaa</p>"


def test_links_of_a_topic():
    assert Realm.linkifiers.topic_links("Fix #12 and ABC-7 ü #34") == [
        {"text": "#12", "url": "https://x.org/issues/12"},
        {"text": "ABC-7", "url": "https://x.org/ABC?id=7"},
        {"text": "#34", "url": "https://x.org/issues/34"},
    ]


@pytest.mark.parametrize(
    ("topic", "links"),
    [
        ("https://a.example/x?y=(1).", {"https://a.example/x?y=(1)": "https://a.example/x?y=(1)"}),
        ("http://a.example #12", {"http://a.example": None, "#12": "https://x.org/issues/12"}),
        ("#12 http://a.example", {"#12": "https://x.org/issues/12", "http://a.example": None}),
        (
            "https://a.example b https://c.example/",
            {"https://a.example": None, "https://c.example/": None},
        ),
        (
            "(WWW.a.example) b.com/c",
            {"WWW.a.example": "http://WWW.a.example", "b.com/c": "http://b.com/c"},
        ),
        (
            "https://a.example/ABC-7 (ABC-7)",
            {"https://a.example/ABC-7": None, "ABC-7": "https://x.org/ABC?id=7"},
        ),
        ("https://a.example/(#12)", {"#12": "https://x.org/issues/12"}),
        ("a@b.com javascript://x ftp://y readme.md x.y", {}),
    ],
)
def test_links_of_a_topic_are_listed_in_its_order(topic, links):
    expected = [{"text": text, "url": url or text} for text, url in links.items()]
    assert Realm.linkifiers.topic_links(topic) == expected


def test_addresses_in_a_topic_need_no_linkifiers():
    [link] = Linkifiers().topic_links("see https://a.example/b")
    assert link == {"text": "https://a.example/b", "url": "https://a.example/b"}
