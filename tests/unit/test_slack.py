"""What programs write for Slack, as our Markdown."""

import pytest

from server.domain.slack import MAX_PARTS, channel_of, converted, markdown_of


def joined(parts: list[str]) -> str:
    return "\n\n".join(parts)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("plain", "plain"),
        ("*bold* and _italic_ and ~gone~", "**bold** and *italic* and ~~gone~~"),
        ("2*3*4 snake_case_name a * b * c", r"2\*3\*4 snake_case_name a \* b \* c"),
        ("`*code*` *bold*", "`*code*` **bold**"),
        ("```\n*code* <http://x|y>\n```", "```\n*code* <http://x|y>\n```"),
        ("&lt;b&gt; &amp; co", "&lt;b> & co"),
        (
            "see <https://example.com/a?b=1&amp;c=2|the page>",
            "see [the page](https://example.com/a?b=1&c=2)",
        ),
        ("<https://example.com>", "https://example.com"),
        ("<mailto:cook@example.com|cook@example.com>", "cook@example.com"),
        ("<@U123> in <#C42|kitchen>, <!here>", "@U123 in #kitchen, @here"),
        ("<@U123|Cook>", "Cook"),
        ("<javascript:alert(1)|x>", "[x](<javascript:alert(1)>)"),
        ("<https://example.com/a(b)|x]y>", r"[x\]y](<https://example.com/a(b)>)"),
        ("a < b > c", "a < b > c"),
    ],
)
def test_texts_are_converted(theirs, ours):
    assert converted(theirs) == ours


def test_a_text_is_shown():
    assert markdown_of({"text": "*Done*\nin 3 s"}) == "**Done**\nin 3 s"


def test_blocks_stand_in_place_of_the_text():
    payload = {
        "text": "for notifications",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "Build *7*"}},
            {"type": "section", "text": {"type": "mrkdwn", "text": "*green*"}},
            {
                "type": "section",
                "fields": [{"type": "mrkdwn", "text": "a"}, {"type": "mrkdwn", "text": "b"}],
            },
            {"type": "divider"},
            {"type": "image", "image_url": "https://example.com/x.png", "alt_text": "chart"},
            {
                "type": "context",
                "elements": [
                    {"type": "image", "image_url": "https://example.com/i.png", "alt_text": "i"},
                    {"type": "plain_text", "text": "by CI"},
                ],
            },
            {
                "type": "rich_text",
                "elements": [
                    {
                        "type": "rich_text_section",
                        "elements": [
                            {"type": "text", "text": "see "},
                            {"type": "link", "url": "https://example.com", "text": "here"},
                            {"type": "emoji", "name": "tada"},
                        ],
                    },
                    {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x"}]},
                ],
            },
            {"type": "actions", "elements": [{"type": "button"}]},
        ],
    }
    assert markdown_of(payload) == joined(
        [
            r"## Build \*7\*",
            "**green**",
            "a",
            "b",
            "----",
            "[chart](https://example.com/x.png)",
            "[i](https://example.com/i.png)\nby CI",
            "see [here](https://example.com):tada:\n```\nx\n```",
        ]
    )


def test_attachments_follow_the_text():
    payload = {
        "text": "Alert",
        "attachments": [
            {
                "pretext": "now",
                "title": "Disk full",
                "title_link": "https://example.com/7",
                "text": "*95 %*",
                "fields": [{"title": "Host", "value": "db1", "short": True}, {"value": 7}],
                "footer": "monitor",
                "fallback": "not shown",
            },
            {"fallback": "only this"},
        ],
    }
    assert markdown_of(payload) == joined(
        [
            "Alert",
            "now",
            "## [Disk full](https://example.com/7)",
            "**95 %**",
            "**Host**: db1\n7",
            "*monitor*",
            "only this",
        ]
    )


@pytest.mark.parametrize(
    "payload",
    [
        None,
        7,
        "text",
        [],
        {},
        {"text": None},
        {"text": {"a": "b"}},
        {"blocks": "x", "attachments": {"a": 1}},
        {"blocks": [None, 7, {"type": "section", "text": 7.5, "fields": [[]]}, {"type": []}]},
        {"attachments": [[], {"fields": [None], "title": [], "blocks": {}}]},
    ],
)
def test_whatever_it_is_it_does_no_harm(payload):
    assert isinstance(markdown_of(payload), str)


def test_not_more_than_so_many_parts_are_looked_at():
    block = {"type": "divider"}
    assert markdown_of({"blocks": [block] * (MAX_PARTS + 50)}).count("----") == MAX_PARTS


def test_channels_are_named_as_slack_names_them():
    assert channel_of({"channel": "#general"}) == "general"
    assert channel_of({"channel": "@cook"}) == "cook"
    assert channel_of({"channel": 7}) == "7"
    assert channel_of({"channel": "#"}) is None
    assert channel_of([]) is None


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        ({"channel": "C1H9RESGL"}, None),
        ({"channel": " G024BE91L "}, None),
        ({"channel": "D024BE91LQZ", "channel_name": "#builds"}, "builds"),
        ({"channel": {"id": "C1H9RESGL", "name": "builds"}}, "builds"),
        ({"channel": {"id": "C1H9RESGL"}}, None),
        ({"channel": "builds", "channel_name": "C1H9RESGL"}, "builds"),
        ({"channel_name": ["x"], "channel": "builds"}, "builds"),
        # What is written by hand is a name.
        ({"channel": "#C1H9RESGL"}, "C1H9RESGL"),
        ({"channel": "DEPLOYMENTS"}, "DEPLOYMENTS"),
        ({"channel": "c1h9resgl"}, "c1h9resgl"),
        ({"channel": "C1H9"}, "C1H9"),
    ],
)
def test_ids_of_slack_are_no_names(payload, name):
    assert channel_of(payload) == name
