"""A rendered message as pages show it."""

import pytest

from server.web.message_html import for_page

SPOILER = (
    '<div class="spoiler-block"><div class="spoiler-header">{}</div>'
    '<div class="spoiler-content" aria-hidden="true">{}</div></div>'
)


@pytest.mark.parametrize(
    ("rendered", "shown"),
    [
        ('<a href="/#narrow/channel/7-x/topic/a.2Eb/near/9">l</a>', 'href="/message/9"'),
        ('<span class="emoji emoji-1f642">:smile:</span>', "🙂"),
        ('<img src="https://spy.example/x.png" alt="x">', "x"),
        ('<img src="//spy.example/x.png" alt="x">', "x"),
        (
            '<div class="message_inline_image"><a href="/b"><img src="/user_uploads/b"></a></div>',
            '<img src="/user_uploads/b" loading="lazy">',
        ),
        ('<div class="message_inline_image message_inline_video"><video></video></div>', ""),
        (
            '<img alt="b" class="inline-image" data-original-src="/u/b" src="/t/b.webp">',
            'src="/t/b.webp" loading="lazy">',
        ),
        (
            '<audio controls preload="metadata" src="/u/b.mp3" title="b &amp; c"></audio>',
            '<a href="/u/b.mp3" rel="noopener noreferrer">b &amp; c</a>',
        ),
        (
            SPOILER.format("<p>h</p>", "<p>s</p>"),
            '<details><summary>h</summary><div class="spoiler-content"><p>s</p></div></details>',
        ),
        ('<span class="katex"><math><mi>x</mi><annotation>x^2</annotation></math></span>', "x^2"),
        ("", ""),
    ],
)
def test_messages_are_made_fit_for_pages(rendered, shown):
    html = for_page(f"<p>a</p>{rendered}")
    assert shown in html
    assert "spy.example" not in html
    assert "<video" not in html


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_spoilers_in_spoilers_stay_closed_and_whole(depth):
    html = "<p>deepest</p>"
    for _ in range(depth):
        html = SPOILER.format("", html)
    shown = for_page(html)
    assert shown.count("<details><summary>Spoiler</summary>") == depth
    assert shown.count("deepest") == 1
    assert "aria-hidden" not in shown
