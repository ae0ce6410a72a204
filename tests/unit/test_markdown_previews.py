"""Previews in a message: for which of its links, and as what HTML."""

import re
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.external_content import ProxyLinks
from server.domain.markdown import render
from server.domain.markdown.nodes import Preview
from server.domain.markdown.previews import (
    MAX_PREVIEWS,
    links_to_preview,
    preview,
    with_previews,
    without_previews,
)
from testkit.markdown.reader import read
from testkit.markdown.realm import Realm
from tests.unit.test_markdown_safety import tags_in_a_browser

PAGE = "https://x.org/page"
IMAGE = "https://x.org/image.png"


def shown(*previews):
    return with_previews("<p>text</p>", [each for each in previews if each is not None])


@pytest.mark.parametrize(
    ("content", "links"),
    [
        ("no link", []),
        (f"see {PAGE}", [PAGE]),
        (f"**[here]({PAGE})** and {PAGE} and https://y.org", [PAGE, "https://y.org"]),
        (f"* {PAGE}\n* x\n\n# www.y.org", [PAGE, "http://www.y.org"]),
        (f"> {PAGE}\n\n```quote\n{PAGE}\n```\n```spoiler x\n{PAGE}\n```\n`{PAGE}`", []),
        (f"```\n{PAGE}\n```", []),
        ("mailto:a@x.org a@x.org /relative [a](/b) [x](#y) ftp://x.org", []),
        ("https://x.org/a.png https://x.org/a.mp4 https://x.org/user_uploads/1/a", []),
        ("javascript:alert(1) [x](javascript:alert(1))", []),
        (" ".join(f"https://x.org/{n}" for n in range(9)), None),
    ],
)
def test_pages_that_a_message_links_itself(content, links):
    found = links_to_preview(content)
    assert found == (links if links is not None else [f"https://x.org/{n}" for n in range(5)])
    assert len(found) <= MAX_PREVIEWS


def test_the_html_is_what_clients_know():
    html = shown(preview(PAGE, IMAGE, "A <title>", 'text & "more"'), preview(PAGE, IMAGE, "", ""))
    assert html == (
        '<p>text</p>\n<div class="message_embed">'
        f'<a class="message_embed_image" href="{PAGE}"'
        f' style="background-image: url(&quot;{IMAGE}&quot;)"></a>'
        '<div class="data-container"><div class="message_embed_title">'
        f'<a href="{PAGE}" title="A &lt;title&gt;">A &lt;title&gt;</a></div>'
        '<div class="message_embed_description">text &amp; "more"</div></div></div>\n'
        f'<div class="message_embed"><a class="message_embed_image" href="{PAGE}"'
        f' style="background-image: url(&quot;{IMAGE}&quot;)"></a>'
        '<div class="data-container"></div></div>'
    )
    read(html)


@pytest.mark.parametrize(
    "image",
    ["", "http://x.org/a.png", "//x.org/a.png", "/a.png", "data:image/png;base64,AA==", "https:x",
     "javascript:alert(1)", "https://x.org/a\n.png", "HTTP://x.org/a.png", "ftp://x.org/a.png"],
)  # fmt: skip
def test_only_pictures_by_https_are_shown(image):
    assert preview(PAGE, image, "A title", "") is None


@pytest.mark.parametrize("image", [IMAGE, "http://x.org/ä (b)'\".png"])
def test_pictures_are_loaded_by_the_server_where_it_does_so(image):
    links = ProxyLinks(b"k" * 32)
    html = shown(preview(PAGE, image, "A title", "", links))
    read(html)
    [found] = re.findall(r"url\(&quot;/external_content/([0-9a-f]+)/([0-9a-f]+)&quot;\)", html)
    address = links.address_in(*found)
    assert address is not None
    assert unquote(address) == unquote(quote(image, safe="%/:()"))
    assert preview(PAGE, "ftp://x.org/a.png", "A title", "", links) is None
    assert preview(PAGE, image, "A title", "", ProxyLinks(b"k", lambda _: False)) is None


@given(image=st.text(), title=st.text(), description=st.text())
def test_whatever_a_page_says_is_text(image, title, description):
    html = shown(preview(PAGE, f"https://x.org/{image}", title, description))
    tree = read(html)
    assert set(tags_in_a_browser(html)) <= {"p", "div", "a"}
    assert tree.kids


def test_previews_are_replaced_as_a_whole():
    first, second = Preview(PAGE, IMAGE, "One"), Preview(PAGE, IMAGE, "Two")
    html = with_previews(shown(first, second), [second])
    assert html == shown(second)
    assert without_previews(html) == with_previews(html, []) == "<p>text</p>"


def test_nothing_that_people_write_is_taken_for_a_preview():
    for content in ('\n<div class="message_embed">x', 'a\n\n<div class="message_embed">\n\nb'):
        html = render(content, Realm()).html
        assert without_previews(html) == html
