"""What a page says of itself, and what hostile ones say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.previews.page import MAX_DESCRIPTION, MAX_TITLE, PageMetadata, read_page, with_oembed

URL = "https://x.org/a/b?c"


def page_of(html, content_type="text/html; charset=utf-8"):
    body = html if isinstance(html, bytes) else html.encode()
    return read_page(body, url=URL, content_type=content_type)


def test_open_graph_comes_first():
    page = page_of(
        """
        <html><head><title>The title</title>
        <meta name="description" content="plain">
        <meta property="og:title" content=" The
            rock &amp; roll "><meta property="og:title" content="second">
        <META PROPERTY="OG:Description" CONTENT="Graphic">
        <meta property="og:image" content="../img.png">
        <link rel="alternate" type="application/json+oembed" href="/oembed?x=1&amp;y=2">
        </head><body>hello
        """
    )
    assert page == PageMetadata(
        title="The rock & roll",
        description="Graphic",
        image="https://x.org/img.png",
        oembed_url="https://x.org/oembed?x=1&y=2",
    )


def test_without_it_there_are_others():
    page = page_of(
        '<title> A <b>title</title><meta name=description content="text">'
        '<meta property="og:title" content="  "><meta name="twitter:image" content="//y.org/i">'
    )
    assert (page.title, page.description, page.image) == (
        "A <b>title",
        "text",
        "https://y.org/i",
    )


def test_a_safe_picture_is_preferred():
    page = page_of(
        '<meta property="og:image" content="http://x.org/i">'
        '<meta property="og:image:secure_url" content="https://x.org/i">'
    )
    assert page.image == "https://x.org/i"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<title>Grüße</title>".encode(), "text/html; charset=UTF-8"),
        ("<title>Grüße</title>".encode("latin-1"), 'text/html; charset="iso-8859-1"'),
        (b'<meta charset="utf-8">' + "<title>Grüße</title>".encode(), "text/html"),
        (b'<meta charset="utf-8">' + "<title>Grüße</title>".encode(), "text/html; charset=x-y"),
        ("\ufeff<title>Grüße</title>".encode(), "text/html"),
    ],
)
def test_letters_are_read_as_they_are_meant(body, content_type):
    assert page_of(body, content_type).title == "Grüße"


def test_texts_are_bounded_and_of_one_line():
    page = page_of(
        f"<title>{'long ' * 1000}</title>"
        f'<meta property="og:description" content="{"x" * 5000}">'
        f'<meta property="og:image" content="https://x.org/{"x" * 5000}">'
    )
    assert len(page.title) <= MAX_TITLE
    assert page.title.endswith("…")
    assert len(page.description) == MAX_DESCRIPTION
    assert page.image == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"\0" * 1000,
        b"<",
        b"<!--",
        b"<div>" * 200_000,
        b"<meta property='og:title' content=" * 10_000,
        b"<a " + b"x='y' " * 100_000,
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><title>&b;</title>',
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><title>x</title>',
        b"\xff\xfe\x00" * 1000,
        b"&" * 100_000,
    ],
    ids=range(12),
)
def test_hostile_pages_end(body):
    page = page_of(body)
    assert "aaaa" not in page.title
    assert "root:" not in page.title


@given(st.binary(max_size=500), st.text(max_size=40))
def test_anything_may_come(noise, charset):
    page = read_page(
        b"<title>" + noise + b"<meta name=description content='" + noise,
        url=URL,
        content_type=f"text/html; charset={charset}",
    )
    assert len(page.title) <= MAX_TITLE
    assert "\n" not in page.description


def test_oembed_says_what_the_page_does_not():
    said = (
        b'{"type": "video", "title": "A film", "author_name": "Ada",'
        b' "thumbnail_url": "/t.png", "html": "<script>x</script>"}'
    )
    filled = with_oembed(PageMetadata(oembed_url="x"), said, url=URL)
    assert filled == PageMetadata(
        title="A film", description="Ada", image="https://x.org/t.png", oembed_url="x"
    )
    known = PageMetadata(title="T", description="D", image="https://y.org/i")
    assert with_oembed(known, said, url=URL) == known
    photo = b'{"type": "photo", "url": "https://y.org/p.png", "thumbnail_url": "/t.png"}'
    assert with_oembed(PageMetadata(), photo, url=URL).image == "https://y.org/p.png"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"title": 7, "thumbnail_url": []}', b"7"])
def test_other_answers_say_nothing(body):
    assert with_oembed(PageMetadata(), body, url=URL) == PageMetadata()
