"""Mentions and links by names that hold what ends one."""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from server.domain.markdown import (
    NO_LINKIFIERS,
    MentionedChannel,
    MentionedGroup,
    MentionedUser,
    Names,
    names_in,
    render,
)
from server.domain.names import fold_name
from storage.ids import ChannelId, GroupId, UserId

NAMES = st.text(alphabet="ab*`>@&|#$~[]()<_7 字", min_size=1, max_size=12).filter(
    lambda name: name == name.strip()
)
"""Names as channels, topics and groups may have them."""


class Place:
    """An organization of channels and their topics, groups and people, by number."""

    def __init__(self, channels=(), topics=(), groups=(), people=()):
        self._channels, self._groups, self._people = list(channels), list(groups), list(people)
        self._topics = set(topics)

    linkifiers = NO_LINKIFIERS

    def emoji_image(self, name):
        del name

    def channel_by_name(self, name):
        if name in self._channels:
            return MentionedChannel(ChannelId(self._channels.index(name)), name)
        return None

    def topics_in(self, channel, topics):
        return [topic for topic in topics if (channel, topic) in self._topics]

    def group_by_name(self, name):
        if name in self._groups:
            return MentionedGroup(GroupId(self._groups.index(name)), name)
        return None

    def user_by_name(self, name):
        return self.user_by_id(self._people.index(name)) if name in self._people else None

    def user_by_id(self, user_id):
        known = 0 <= user_id < len(self._people)
        return MentionedUser(UserId(user_id), self._people[user_id]) if known else None


def links(source, place):
    """The kind, channel and address of each link into the organization."""
    html = render(source, place).html
    found = re.findall(
        r'<a class="([\w-]+)"(?: data-stream-id="\d+")? href="(/#narrow/channel/(\d+)[^"]*)"', html
    )
    return [(kind, int(channel), href) for kind, href, channel in found]


def link(source, place):
    [found] = links(source, place)
    return found


def longest(names, text):
    """The longest of the names that ends where a name may in the text."""
    return max(
        (name for name in names if re.match(re.escape(name) + r"(?:\*\*|>.*\*\*)", text)), key=len
    )


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.data())
def test_the_longest_existing_channel_wins(names, data):
    name = data.draw(st.sampled_from(names))
    topic = data.draw(st.sampled_from(["", "x", "x@9", *names]))
    form = data.draw(st.sampled_from([name, f"{name}>{topic}"]))
    assume("`" not in form or form == name)
    wanted = longest(names, f"{form}** b")
    assume(len(re.findall(r"\*(?=\*)|>", f"{form}**")) <= 5)
    kind, channel, _ = link(f"a #**{form}** b", Place(names))
    assert names[channel] == wanted
    assert kind == "stream" or wanted != form


@example("7", "7 *")
@given(NAMES, NAMES)
def test_existing_topics_are_linked_whatever_is_in_their_names(name, topic):
    place = Place([name], [(name, topic)])
    assume(len(re.findall(r"\*(?=\*)|>", f"{name}>{topic}**")) <= 5)
    simple = Place(["a"], [("a", topic)])
    expected = link(f"#**a>{topic}**", simple)
    assert expected[0] == "stream-topic"
    assert expected[2].endswith(link("#**a>t**", Place(["a"]))[2].removesuffix("t") + _coded(topic))
    assert link(f"#**{name}>{topic}**", place)[2].endswith(f"/topic/{_coded(topic)}")
    kind, _, href = link(f"#**{name}>{topic}@4711**", place)
    assert (kind, href.rpartition("/topic/")[2]) == ("message-link", f"{_coded(topic)}/near/4711")


def _coded(topic):
    [coded] = re.findall(
        r"/topic/([^\"]*)", render(f"#**a>{topic}**", Place(["a"], [("a", topic)])).html
    )
    return coded


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#**a>b**", ("stream", 1)),
        ("#**a>b>c**", ("stream-topic", 1)),
        ("#**a>b>c@7**", ("message-link", 1)),
        ("#**a>c**", ("stream-topic", 0)),
        ("#**a** and **b**", ("stream", 0)),
        ("#**a>x** and **b**", ("stream-topic", 0)),
        ("#**a**b**", ("stream", 2)),
        ("#**c`d**", ("stream", 3)),
        ("#**me@7**", ("stream", 4)),
        ("#**me@7>x@8**", ("message-link", 4)),
        ("#**R&D**", ("stream", 5)),
        ("#***x***", ("stream", 6)),
    ],
)
def test_channels(source, expected):
    place = Place(["a", "a>b", "a**b", "c`d", "me@7", "R&D", "*x*"])
    assert link(source, place)[:2] == expected


@pytest.mark.parametrize(
    ("source", "tail"),
    [
        ("#**a>lunch@7**", "lunch/near/7"),
        ("#**a>at@7**", "at.407"),
        ("#**a>at@7@9**", "at.407/near/9"),
        ("#**a>new@7**", "new/near/7"),
        ("#**a>x**y**", "x.2A.2Ay"),
        ("#**a>x**z**", "x"),
        ("#**a>x`y**", "x.60y"),
        ("#**a>b>c**", "b.3Ec"),
        ("#**a>**", ""),
    ],
)
def test_topics(source, tail):
    existing = ["lunch", "at@7", "at", "x**y", "x`y", "x"]
    place = Place(["a"], [("a", topic) for topic in existing])
    assert link(source, place)[2] == f"/#narrow/channel/0-a/topic/{tail}"


def test_what_does_not_exist_is_no_link():
    assert not links("#**a`b** #**a>b`c** #**b>c**", Place(["a"]))


def test_backticks_of_names_leave_code_and_fences_alone():
    place = Place(["a`b"])
    assert "<code>#**a`b**" not in render("`x` #**a`b** `y`", place).html
    assert links("`x` #**a`b** `y`", place)
    assert render("``#**a`b**``", place).html == "<p><code>#**a`b**</code></p>"
    html = render("```#**a`b**\nc", place).html
    assert "c</p>" in html


@pytest.mark.parametrize("name", ["a|b", "R&D", "x>y", "7|8", "all|everyone"])
def test_people_by_name_and_id(name):
    place = Place(people=["Ada", name])
    pill = f'data-user-id="1">@{name.replace("&", "&amp;").replace(">", "&gt;")}<'
    assert pill in render(f"日@**{name}|1**語 **b**", place).html
    assert "<span" not in render(f"@**{name}|0**", place).html
    if name != "7|8":  # which says: 8, who is called 7
        assert pill in render(f"@**{name}** **b**", place).html


@given(NAMES)
def test_groups_by_any_name(name):
    assume(len(re.findall(r"\*(?!\*)", f"{name}*")) <= 5)
    assume(not name.startswith("*"))
    assert render(f"@*{name}* b", Place(groups=["another", name])).mentioned_group_ids == {1}


def test_unusual_names_are_looked_up_apart():
    names = names_in("#**a>b** **c** @*d*e* #**f`g** #**a>x@7**")
    assert isinstance(names, Names)
    assert list(names.channels) == ["a"]
    assert list(names.groups) == ["d"]
    assert "d*e" in names.unusual_groups
    assert {"a>b", "f`g", "a>x@7"} <= {*names.unusual_channels}
    assert {"x@7", "x"} <= {*names.topics["a"]}
    assert fold_name("A") == fold_name("a")
