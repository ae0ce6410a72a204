"""Slack's format whole: what each part of it is in a message."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.domain.markdown import EmptyResolver, render
from server.domain.slack import markdown_of
from server.domain.slack_text import converted, link, plain, time_of
from testkit.markdown.reader import descendants, read
from testkit.sources import ROOT

SAMPLES = sorted((ROOT.parent / "shared/samples/webhooks/slack_incoming").glob("*.json"))
"""Bodies as Slack's own tools make them, where they lie beside the checkout."""
SYNTAX = "ab1 *_~`[]()<>#|$@&:;!.+-=\\/\n字"


def html_of(payload):
    return render(markdown_of(payload), EmptyResolver()).html


def shown(payload):
    """The text that a reader sees."""
    return read(html_of(payload)).text


def rich(*elements):
    return {"blocks": [{"type": "rich_text", "elements": list(elements)}]}


def section(*elements):
    return {"type": "rich_text_section", "elements": list(elements)}


def piece(text, **style):
    return {"type": "text", "text": text, "style": style}


@pytest.mark.parametrize(
    ("pieces", "html"),
    [
        ([piece("a", bold=True)], "<strong>a</strong>"),
        ([piece("a", bold=True, italic=True)], "<em><strong>a</strong></em>"),
        ([piece("a", strike=True), piece("b", code=True)], "<del>a</del><code>b</code>"),
        ([piece("a*b`", code=True, bold=True)], "<strong><code>a*b`</code></strong>"),
        ([piece(" a! ", bold=True), piece("b")], "<strong>a!</strong> b"),
        ([piece("a", bold=True), piece("b", italic=True)], "<strong>a</strong>\u200b<em>b</em>"),
        ([piece("a", italic=True), piece("b", bold=True)], "<em>a</em>\u200b<strong>b</strong>"),
        ([piece("a", bold=True), piece("b", bold=True)], "<strong>ab</strong>"),
        ([piece("a:", bold=True), piece("字")], "<strong>a:</strong>字"),
        ([piece("a\nb", bold=True)], "<strong>a</strong><br>\n<strong>b</strong>"),
        ([piece("*a* [b](c) `d` **e** ~~f~~")], "*a* [b](c) `d` **e** ~~f~~"),
        ([piece("a", underline=True)], "a"),
    ],
)
def test_styles(pieces, html):
    assert html_of(rich(section(*pieces))) == f"<p>{html}</p>"


@pytest.mark.parametrize("style", ["bold", "italic", "strike"])
@pytest.mark.parametrize("text", ["L", "(a)", '"q"', "a:", "[x]", "$5"])
@pytest.mark.parametrize(("before", "behind"), [("pre", "post"), ("", "x"), ("7", ""), (" ", ".")])
def test_a_piece_has_its_style_whatever_stands_beside_it(style, text, before, behind):
    tag = {"bold": "strong", "italic": "em", "strike": "del"}[style]
    link_piece = {"type": "link", "url": "https://e.org", "text": text, "style": {style: True}}
    for each in (piece(text, **{style: True}), link_piece):
        html = html_of(rich(section(piece(before), each, piece(behind))))
        assert f"<{tag}>" in html, html
        assert read(html).text.replace("\u200b", "").strip() == f"{before}{text}{behind}".strip()


@pytest.mark.parametrize(
    "text",
    [
        "a*b*c and 2*3*4 and foo**bar**",
        "[x](y) and ![z](w)",
        "# not a heading",
        "~~~\nnot code\n~~~",
        "*bold\nline*",
        "@**all** and @**Dave User** and #**general>x**",
        "/poll q\na",
        "/me waves",
        "| a | b |\n|---|---|",
        "$$x$$ and \\* and `",
    ],
)
def test_text_that_is_no_style_of_slacks_is_shown_as_it_is(text):
    html = html_of({"text": text})
    assert read(html).text.split() == text.split()
    for sign in ("<h1", "<em", "<strong", "<pre", "<table", "katex", "mention", "<a "):
        assert sign not in html
    assert not markdown_of({"text": text}).startswith("/")


def test_underscores_within_a_word_are_part_of_the_italics():
    assert html_of({"text": "_snake_case_ b_c_d"}) == "<p><em>snake_case</em> b_c_d</p>"


@pytest.mark.parametrize(
    ("element", "markdown"),
    [
        ({"type": "link", "url": "https://e.org"}, "[https://e.org](https://e.org)"),
        (
            {"type": "link", "url": "https://e.org", "text": "[1] *x*"},
            r"[[1] \*x\*](https://e.org)",
        ),
        ({"type": "emoji", "name": "wave", "unicode": "1f44b-1f3fd"}, "👋🏽"),
        ({"type": "emoji", "name": "party_parrot"}, ":party_parrot:"),
        ({"type": "emoji", "name": "x", "unicode": "ffffff"}, ":x:"),
        ({"type": "user", "user_id": "U1"}, "@U1"),
        ({"type": "user", "user_id": "U1", "name": "cook"}, "@cook"),
        ({"type": "usergroup", "usergroup_id": "S1"}, "@S1"),
        ({"type": "channel", "channel_id": "C1"}, "#C1"),
        ({"type": "team", "team_id": "T1"}, "@T1"),
        ({"type": "broadcast", "range": "here"}, "@here"),
        ({"type": "color", "value": "#F405B3"}, "#F405B3"),
        (
            {"type": "date", "timestamp": 1720710212, "fallback": "then"},
            "<time:2024-07-11T15:03:32Z>",
        ),
        ({"type": "date", "timestamp": None, "fallback": "then"}, "then"),
        ({"type": "hologram", "fallback": "a *thing*"}, r"a \*thing\*"),
        ({"type": "hologram", "text": {"type": "mrkdwn", "text": "*x*"}}, "**x**"),
        ({"type": "hologram"}, ""),
        ({"type": "text"}, ""),
        ({}, ""),
    ],
)
def test_pieces_and_their_fallbacks(element, markdown):
    assert markdown_of(rich(section(element))) == markdown


def items(style, *texts, **more):
    return {
        "type": "rich_text_list",
        "style": style,
        "elements": [section(piece(text)) for text in texts],
        **more,
    }


def test_lists_have_levels_and_numbers():
    payload = rich(
        section(piece("Plan:\n")),
        items("ordered", "one", "two\nmore"),
        items("bullet", "deep", indent=1),
        items("ordered", "three", indent=0, offset=2),
        section(piece("after")),
    )
    assert markdown_of(payload) == ("Plan:\n1. one\n2. two\n   more\n  * deep\n3. three\n\nafter")
    assert html_of(payload) == (
        "<p>Plan:</p>\n<ol>\n<li>one</li>\n<li>two<br>\nmore<ul>\n<li>deep</li>\n</ul>\n</li>\n"
        "<li>three</li>\n</ol>\n<p>after</p>"
    )


def test_a_list_begins_at_the_level_at_which_it_can():
    payload = rich(items("bullet", "a", indent=5), items("bullet", "b", indent=7))
    assert markdown_of(payload) == "* a\n  * b"
    assert "<pre>" not in html_of(payload)


def test_quotes_and_code_end_where_they_end():
    payload = rich(
        {"type": "rich_text_quote", "elements": [piece("a\n\nb", bold=True)]},
        section(piece("c")),
        {"type": "rich_text_preformatted", "elements": [piece("```\n*x*")], "language": "python"},
    )
    assert markdown_of(payload) == "> **a**\n>\n> **b**\n\nc\n````python\n```\n*x*\n````"


def test_blocks_of_markdown_and_tables():
    cell = {"type": "rich_text", "elements": [section(piece("a|b", bold=True))]}
    payload = {
        "blocks": [
            {"type": "markdown", "text": "**a** _b_ __c__ `_d_` snake_case\n- [e](https://e.org)"},
            {
                "type": "table",
                "column_settings": [{"align": "right"}, None],
                "rows": [
                    [{"type": "raw_text", "text": "h*1*"}, {"type": "raw_text", "text": "h2"}],
                    [cell],
                    [{"type": "hologram", "alt_text": "x\ny"}, {"type": "raw_text", "text": ""}],
                ],
            },
        ]
    }
    assert markdown_of(payload) == (
        "**a** *b* **c** `_d_` snake_case\n- [e](https://e.org)\n\n"
        "| h\\*1\\* | h2 |\n| --: | --- |\n| **a\\|b** |  |\n| x y |  |"
    )
    assert '<td align="right"><strong>a|b</strong></td>' in html_of(payload).replace(
        'style="text-align: right;"', 'align="right"'
    )


def test_links_of_authors_buttons_and_menus():
    button = {
        "type": "button",
        "text": {"type": "plain_text", "text": "[1] Go"},
        "url": "https://e.org",
    }
    dead = {"type": "button", "text": {"type": "plain_text", "text": "Reply"}, "value": "7"}
    menu = {
        "type": "overflow",
        "options": [{"text": {"type": "plain_text", "text": "M"}, "url": "https://m.org"}, {}],
    }
    payload = {
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": "x"}, "accessory": button},
            {"type": "actions", "elements": [button, dead, menu]},
        ],
        "attachments": [
            {
                "author_name": "Ann *B*",
                "author_link": "https://a.org",
                "title": "[FIRING:1] Down (a*b)",
                "title_link": "https://t.org",
                "actions": [{"type": "button", "text": "View", "url": "https://v.org"}],
                "thumb_url": "https://t.org/t.png",
                "footer": "by *CI*",
                "ts": "1655945306.25",
            },
            {"title": "[FIRING:2] Up", "author_name": "B"},
        ],
    }
    assert markdown_of(payload).split("\n\n") == [
        "x",
        "[[1] Go](https://e.org)",
        "[[1] Go](https://e.org) [M](https://m.org)",
        r"**[Ann \*B\*](https://a.org)**",
        r"## [[FIRING:1] Down (a\*b)](https://t.org)",
        "[image](https://t.org/t.png)",
        "[View](https://v.org)",
        r"*by \*CI\**",
        "<time:2022-06-23T00:48:26Z>",
        "**B**",
        "## [FIRING:2] Up",
    ]


@pytest.mark.parametrize(
    "title", ["[FIRING:1] a", "a] b", "[a [b]] c", "x](y", "[a][b]", "\\]", "a`b"]
)
def test_titles_are_whole(title):
    for linked in ({}, {"title_link": "https://e.org/x(y) z"}):
        html = html_of({"attachments": [{"title": title, **linked}]})
        assert html.startswith("<h2>")
        assert shown({"attachments": [{"title": title, **linked}]}) == title
        assert html.count("<a ") == len(linked)


def test_what_is_not_known_shows_its_fallback():
    payload = {
        "blocks": [
            {"type": "hologram", "text": {"type": "plain_text", "text": "*a*"}},
            {"type": "hologram", "fallback": "b"},
            {
                "type": "video",
                "title": {"type": "plain_text", "text": "V"},
                "video_url": "https://v.org",
            },
            {"type": "context", "elements": [{"type": "hologram", "alt_text": "c"}]},
            {"type": "rich_text", "elements": [{"type": "hologram", "fallback": "d"}]},
            {"type": "input", "label": {"type": "plain_text", "text": "not shown"}},
        ]
    }
    assert markdown_of(payload) == "\\*a\\*\n\nb\n\n[V](https://v.org)\n\nc\n\nd"
    assert markdown_of({"text": "t", "blocks": [{"type": "hologram"}]}) == "t"
    assert markdown_of({"attachments": [{"fallback": "*f* <https://e.org|g>"}]}) == (
        r"\*f\* [g](https://e.org)"
    )


def test_text_without_marks_is_plain():
    assert markdown_of({"text": "*a* <https://e.org|b> _c_", "mrkdwn": False}) == (
        r"\*a\* [b](https://e.org) _c_"
    )
    assert markdown_of({"text": "*a*", "mrkdwn": True}) == "**a**"
    text: dict[str, object] = {"type": "plain_text", "text": "Build *7* :x:"}
    assert markdown_of({"blocks": [{"type": "header", "text": text}]}) == r"## Build \*7\* :x:"
    text |= {"emoji": False}
    assert markdown_of({"blocks": [{"type": "header", "text": text}]}) == (
        r"## Build \*7\* &#58;x:"
    )


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("*<https://e.org/a_b_c|a_b>* _x_", "**[a_b](https://e.org/a_b_c)** *x*"),
        ("<https://e.org/_x_/*y*>", "https://e.org/_x_/*y*"),
        ("_*a*_ *_b_* ~*c*~", "***a*** ***b*** ~~**c**~~"),
        ("a ```x\ny``` b", "a \n```\nx\ny\n```\n b"),
        ("```x``` b", "```x``` b"),
        ("&gt; a\nb", "> a\n\nb"),
        ("&amp;lt; &amp;", r"\&lt; &"),
        ("<!subteam^S1|@ops> <!subteam^S1>", "@ops @S1"),
        ("<!date^1392734382^On {date} at {time}|then>", "On <time:2014-02-18T14:39:42Z>"),
        (
            "<!date^1392734382^{date}^https://e.org|then>",
            "[<time:2014-02-18T14:39:42Z>](https://e.org)",
        ),
        ("<!date^x^{date}|then *x*>", r"then \*x\*"),
    ],
)
def test_texts(theirs, ours):
    assert converted(theirs) == ours


@settings(max_examples=400)
@example("___")
@example("a\n_ _ _ ")
@given(st.text(alphabet=SYNTAX, max_size=40))
def test_plain_text_is_shown_as_it_is(text):
    tree = read(render(plain(text, emoji=False), EmptyResolver()).html)
    assert {element.tag for element in descendants(tree)} <= {"p", "br", "a"}
    assert "".join(tree.text.split()) == "".join(text.split())


@settings(max_examples=400)
@example("\\_\\_")
@given(st.text(alphabet=SYNTAX.replace(":", ""), min_size=1, max_size=30).filter(str.strip))
def test_the_text_of_a_link_is_shown_as_it_is(text):
    [_, *elements] = descendants(read(render(link(text, "https://e.org/"), EmptyResolver()).html))
    assert [element.tag for element in elements] == ["a"]
    assert "".join(elements[0].text.split()) == "".join(text.split())


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(alphabet=SYNTAX, max_size=8)),
    lambda kids: st.one_of(
        st.lists(kids, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["type", "text", "elements", "style", "rows", "url", "fallback", "indent", "ts"]
            ),
            st.one_of(
                kids,
                st.sampled_from(
                    ["rich_text", "rich_text_list", "rich_text_section", "text", "link", "table"]
                ),
            ),
            max_size=5,
        ),
    ),
    max_leaves=20,
)


@given(st.lists(json_values, max_size=3), st.lists(json_values, max_size=3))
def test_whatever_is_sent_is_read(blocks, attachments):
    assert isinstance(markdown_of({"blocks": blocks, "attachments": attachments}), str)


def test_depth_and_length_are_bounded():
    nested = section(piece("x"))
    for _ in range(5_000):
        nested = {"type": "rich_text_list", "elements": [nested]}
    assert isinstance(markdown_of(rich(nested)), str)
    long = {"type": "section", "text": {"type": "mrkdwn", "text": "_a " * 300_000}}
    assert len(markdown_of({"blocks": [long] * 100})) < 200_000


def test_moments():
    assert time_of(1655945306) == "<time:2022-06-23T00:48:26Z>"
    others: list[object] = [None, "", "x", True, -1, 10**15, []]
    assert not any(time_of(value) for value in others)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_samples(sample):
    """What others have sent to servers like this one, where there are such samples."""
    payload = json.loads(sample.read_text())
    read(html_of(payload))
    for each in payload.get("attachments") or ():
        assert (each.get("title") or "") in shown(payload)
