"""What the server writes around people's words stays around them."""

import pytest

from server.domain.markdown import render
from server.domain.markdown.writing import channel_link, link, quoted, topic_link
from storage.ids import ChannelId, MessageId
from testkit.markdown.realm import Realm

NASTY = (
    "~~~~\n```` and @**all**",
    "```quote\nopen",
    "```spoiler a\nb",
    "$$\nx",
    "- a\n    - b",
    "    code\n~~~",
    "a\r- b\r\n\x0b\x85\u2028# c",
    "> > deep\n\n1. x",
    "| a |\n|--|\n| b |",
    "<div>",
    "\n\nx\n\n",
)


def shown(text: str) -> str:
    return render(text, Realm()).html


@pytest.mark.parametrize("text", NASTY)
def test_nothing_breaks_out_of_a_quote(text):
    html = shown(f"Before\n\n{quoted(text)}\n\nAfter *it*")
    assert html.startswith("<p>Before</p>\n<blockquote>\n")
    assert html.endswith("\n</blockquote>\n<p>After <em>it</em></p>")


@pytest.mark.parametrize(
    "text",
    [
        "a*b] `c` > x** @**all** [y](z)",
        "#**general** :smile: <time:2026-01-01> $$x$$ \\ https://example.com/ _u_ ~~s~~ &amp;",
        "1. no | list",
        "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        "<https://example.com> <b>",
    ],
)
def test_a_link_shows_its_text_as_it_is(text):
    html = shown(link(text, "/#scheduled"))
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert html == f'<p><a href="/#scheduled">{escaped}</a></p>'


NAMES = (
    "x** @**all** y",
    "@*hamletcharacters*",
    "@_**King Hamlet** #**Denmark>t**",
    "[x](y) ![z](/w)",
    "`",
    "$$x$$",
    "<b> &amp;",
    "a>b",
    ":smile: \\ #123",
    "*\ufe0f\u20e3 #\ufe0f\u20e3",
)


@pytest.mark.parametrize("name", NAMES)
def test_links_to_places_show_their_names_whatever_those_are(name):
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    channel = render(channel_link(ChannelId(7), name), Realm())
    topic = render(topic_link(ChannelId(7), name, name, empty_topic_name="none"), Realm())
    for rendered, shown_name in ((channel, f"#{escaped}"), (topic, f"#{escaped} &gt; {escaped}")):
        [href] = rendered.links
        assert href.startswith("/#narrow/channel/7-")
        assert rendered.html == f'<p><a href="{href}">{shown_name}</a></p>'
        assert not rendered.mentioned_user_ids
        assert not rendered.mentioned_group_ids
        assert not rendered.channel_wildcard


def test_the_empty_topic_has_a_link_of_its_own_and_is_shown_by_the_name_for_it():
    text = topic_link(
        ChannelId(7), "a b", "", empty_topic_name="general chat", message_id=MessageId(9)
    )
    assert shown(text) == (
        '<p><a href="/#narrow/channel/7-a-b/topic//near/9">#a b &gt; general chat</a></p>'
    )


def test_a_quote_is_cut_where_it_is_too_long():
    assert quoted("ab\n\ncd", limit=8) == "> ab\n>\n>"
    assert quoted("ab") == "> ab"
