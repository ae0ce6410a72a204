"""What a rendered message says of itself besides its HTML: its mentions and its links."""

from random import Random

import pytest

from server.domain.markdown import EmptyResolver, Names, names_in, render, render_description
from server.domain.markdown.tokens import MAX_TOKENS
from testkit.markdown.pathological import PATHOLOGICAL
from testkit.markdown.properties import random_source
from testkit.markdown.realm import Realm


def test_mentions_that_notify():
    rendered = render("@**Ada Byron** @**Twin|22** @*support* @**Ada Byron**", Realm())
    assert rendered.mentioned_user_ids == {7, 22}
    assert rendered.mentioned_group_ids == {3}
    assert not rendered.channel_wildcard
    assert not rendered.topic_wildcard


@pytest.mark.parametrize(
    "content",
    [
        "@_**Ada Byron** @_*support* @_**all** @_**topic**",
        "> @**Ada Byron** @*support* @**all** @**topic**",
        "```quote\n@**Ada Byron** @*support* @**all** @**topic**\n```",
        "- ```quote\n  @**Ada Byron** @*support* @**all** @**topic**\n  ```",
        "`@**Ada Byron** @*support* @**all** @**topic**`",
        "```\n@**Ada Byron** @*support* @**all** @**topic**\n```",
        "@**Gone Away** @**Twin** @**Nobody** x@**Ada Byron** \\@**all**",
        "[x](http://x.org/@**Ada Byron**) [x](http://x.org '@**all**')",
    ],
)
def test_mentions_that_notify_no_user(content):
    rendered = render(content, Realm())
    assert not rendered.mentioned_user_ids
    assert not rendered.mentioned_group_ids
    assert not rendered.channel_wildcard
    assert not rendered.topic_wildcard


@pytest.mark.parametrize("word", ["all", "everyone", "channel", "stream"])
def test_wildcards_of_the_channel(word):
    rendered = render(f"@**{word}**", Realm())
    assert rendered.channel_wildcard
    assert not rendered.topic_wildcard


def test_wildcard_of_the_topic():
    rendered = render("@**topic**", Realm())
    assert rendered.topic_wildcard
    assert not rendered.channel_wildcard


def test_mention_in_a_spoiler_notifies():
    content = "```spoiler @**Ada Byron**\n@*support*\n```"
    rendered = render(content, Realm())
    assert rendered.mentioned_user_ids == {7}
    assert rendered.mentioned_group_ids == {3}


def test_quote_ends_where_it_ends():
    rendered = render("> quoted @**Twin|21**\n\n@**Ada Byron**", Realm())
    assert rendered.mentioned_user_ids == {7}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("/me waves", True),
        ("/me", False),
        ("/meow", False),
        (" /me waves", False),
        ("a /me b", False),
    ],
)
def test_status_messages(content, expected):
    assert render(content, Realm()).is_me_message is expected


def test_links_in_order_and_once():
    content = "http://b.org [a](http://a.org) http://b.org [x](javascript:x) `http://c.org`"
    rendered = render(content, Realm())
    assert rendered.links == ("http://b.org", "http://a.org")
    assert rendered.has_link


def test_links_to_channels_are_no_links():
    rendered = render("#**general** #**general>x** <time:2024-01-01>", Realm())
    assert not rendered.has_link


@pytest.mark.parametrize(
    ("content", "image", "attachment"),
    [
        ("http://x.org", False, False),
        ("http://x.org/cat.PNG?size=1#x", True, False),
        ("http://x.org/?cat.png", False, False),
        ("![cat](http://x.org/cat)", True, False),
        ("[notes](/user_uploads/2/ab/notes.txt)", False, True),
        ("[cat](/user_uploads/2/ab/cat.jpeg)", True, True),
        ("https://chat.example.org/user_uploads/2/ab/notes.txt", False, True),
        ("https://x.org/a/user_uploads/1", False, False),
    ],
)
def test_images_and_attachments(content, image, attachment):
    rendered = render(content, Realm())
    assert (rendered.has_image, rendered.has_attachment) == (image, attachment)


def test_descriptions_mention_no_user():
    html = render_description("**News** of @**Ada Byron**, @**all**: http://x.org")
    assert html == (
        '<p><strong>News</strong> of @<strong>Ada Byron</strong>, <span class="user-mention '
        'channel-wildcard-mention" data-user-id="*">@all</span>: '
        '<a href="http://x.org">http://x.org</a></p>'
    )


def test_the_empty_directory_knows_no_user():
    rendered = render("@**Ada Byron** @**|7** @*support* #**general**", EmptyResolver())
    assert "<span" not in rendered.html
    assert "<a" not in rendered.html


def test_only_so_many_tokens_are_looked_up():
    realm = Realm()
    rendered = render("@**|7** " * 700, realm)
    assert rendered.mentioned_user_ids == {7}
    assert len(realm.questions) == MAX_TOKENS
    assert rendered.html.count("<span") == MAX_TOKENS


def test_names_to_look_up():
    names = names_in(
        "@**Ada Byron** @_**Ada Byron** @**Twin|21** @**|9** @**all** @*support* @_*on call* "
        "#**general** #**web & design>colours@7** ` @**In Code**` x@**No Body** @**a|b|1**"
    )
    assert list(names.users) == ["Ada Byron", "In Code"]
    assert list(names.user_ids) == [21, 9, 1]
    assert list(names.groups) == ["support", "on call"]
    assert list(names.channels) == ["general", "web & design"]


def test_names_are_so_many_at_most():
    names = names_in("".join(f"@**{number}** " for number in range(700)))
    assert len(names.users) == MAX_TOKENS


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_a_rendering_asks_for_nothing_else(name):
    source = PATHOLOGICAL[name](500)
    realm = Realm()
    render(source, realm)
    assert set(realm.questions) <= asked(names_in(source))


@pytest.mark.parametrize("seed", range(200))
def test_a_rendering_of_anything_asks_for_nothing_else(seed):
    source = random_source(Random(seed))
    realm = Realm()
    render(source, realm)
    assert set(realm.questions) <= asked(names_in(source))


def asked(names: Names) -> set[str | int]:
    unusual = {*names.unusual_groups, *names.unusual_channels}
    return {*names.users, *names.user_ids, *names.groups, *names.channels, *unusual}
