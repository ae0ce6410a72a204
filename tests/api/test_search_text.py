"""What is searched is what readers see; punctuation around words is ignored."""

import pytest
import pytest_asyncio

from queue_processors.search_indexer import SearchIndexer
from server.domain.highlights import CLOSE, OPEN

pytestmark = pytest.mark.asyncio

SAID = {
    "news": "This is **very important** news, see [our docs](https://d.example/x?a=1&b=2) today."
    ' @_**{name}|{id}** agrees & [says](https://e.example "The Title") 1 < 2',
    "mention": "@**{name}** knows",
    "inline": "a wo*rd* in `some_code(*args)` ~~gone~~",
    "blocks": "first\n\nsecond line\nthird line\n\n* item\n* other\n\n"
    "| left | right |\n|--|--|\n| x | y |",
    "code": "```python\nimport asyncio; print('a' ** 2)\n```",
    "failed": "Deploy failed! Why? Use C# or .NET ... email me (now). running foo/bar 100%",
    "fox": "the quick-brown fox, brown zebra; don't (re)start London today 👍 :tada:",
    "chinese": "数据库**迁移**完成，会议、日本",
    "entity": "fish &amp; chips &lt;b&gt; x<y",
}
FOUND = {
    '"very important news"': ["news"],
    '"our docs today"': ["news"],
    '"{name} agrees"': ["news"],
    "d.example": ["news"],
    "https://d.example/x?a=1&b=2": ["news"],
    '"the title"': ["news"],
    '"2 this"': [],
    '"today d.example"': [],
    '"agrees & says"': ["news"],
    '"|"': [],
    "@_": [],
    "strong": [],
    "span": [],
    "href": [],
    "data-user-id": [],
    "~~": [],
    "gt": [],
    "lt": [],
    "word": ["inline"],
    "words": ["inline"],
    '"word in"': ["inline"],
    "args": ["inline"],
    "some_code": ["inline"],
    '"**"': ["code"],
    "**": ["code"],
    '"*args"': ["inline"],
    "firstsecond": [],
    '"first second"': ["blocks"],
    '"line third"': ["blocks"],
    "itemother": [],
    '"left right"': ["blocks"],
    "leftright": [],
    '"import asyncio"': ["code"],
    "failed?": ["failed"],
    "deploy failed.": ["failed"],
    "why!": ["failed"],
    "email,": ["failed"],
    "now).": ["mention", "failed"],
    "run.": ["failed"],
    '"deploy failed why"': ["failed"],
    '"failed, why?"': ["failed"],
    '"deploy why"': [],
    "c#": ["failed"],
    "(c#),": ["failed"],
    "c++": [],
    ".net": ["failed"],
    ".net,": ["failed"],
    "...net": ["failed"],
    "foo/bar": ["failed"],
    "bar/foo": [],
    "100%": ["failed"],
    "100%,": ["failed"],
    "zebra,": ["fox"],
    "(fox)": ["fox"],
    "“fox”": ["fox"],
    "fox,brown": ["fox"],
    "brown,fox": ["fox"],
    "zebra,fox": [],
    "quick-brown": ["fox"],
    '"quick brown"': ["fox"],
    "don't": ["fox"],
    "don’t": ["fox"],
    "fox - zebra": ["fox"],
    "👍": ["fox"],
    "tada": ["fox"],
    ":tada:": ["fox"],
    "🎉": ["fox"],
    "🎈": [],
    "迁移": ["chinese"],
    "库迁移完": ["chinese"],
    "会议、日本": ["chinese"],
    "会议，": ["chinese"],
    '"完成 会议"': ["chinese"],
    '"fish & chips"': ["entity"],
    "fish&chips": ["entity"],
    "'fish": ["entity", "topic"],
    "`chips`": ["entity"],
    "gone": ["inline", "topic"],
    '"gone fishing"': ["topic"],
    "gone-fishing?": ["topic"],
    '"bait gone"': [],
    "bait gone-fishing": ["topic"],
    '"one fish"': [],
}


@pytest_asyncio.fixture
async def writer(log_in, people, make):
    await make.channel("general", subscribers=people)
    return await log_in(people[1])


async def send(client, content, topic="t"):
    fields = {"type": "channel", "to": "general", "topic": topic, "content": content}
    return (await client.post("/messages", **fields))["id"]


async def found(client, operand):
    asked = {"anchor": "newest", "num_before": 100, "num_after": 0}
    return (await client.get("/messages", **asked, narrow=[["search", operand]]))["messages"]


@pytest_asyncio.fixture
async def sent(writer, people):
    facts = {"name": people[0].full_name, "id": people[0].user_id}
    ids = {}
    for name, text in SAID.items():
        ids[await send(writer, text.format(**facts))] = name
    ids[await send(writer, "bait", topic="Gone: fishing")] = "topic"
    return ids


async def test_what_is_shown_is_found(writer, sent, people, database):
    facts = {"name": people[0].full_name, "id": people[0].user_id}
    for _ in range(2):
        for operand, names in FOUND.items():
            said = operand.format(**facts)
            assert [sent[each["id"]] for each in await found(writer, said)] == names, said
        await SearchIndexer(database).catch_up()


async def test_an_edit_is_searched_as_it_is_shown(writer, people, database):
    message_id = await send(writer, "**one** two")
    for before, after in (("one two", "three four"), ("three four", "five six")):
        for _ in range(2):
            assert [m["id"] for m in await found(writer, f'"{before}"')] == [message_id]
            await SearchIndexer(database).catch_up()
        first, second = after.split()
        await writer.patch(f"/messages/{message_id}", content=f"{first} *{second}*")
        for _ in range(2):
            assert await found(writer, f'"{before}"') == []
            assert [m["id"] for m in await found(writer, f'"{after}"')] == [message_id]
            await SearchIndexer(database).catch_up()


MARKS = {
    '"very important news"': "<strong>[very important]</strong>[ news], see",
    "word": "a [wo]<em>[rd]</em> in",
    "words": "a [wo]<em>[rd]</em> in",
    '"deploy failed why"': "<p>[Deploy failed! Why]? Use",
    "c#.": "Use [C#] or",
    "don't": "zebra; [don't] (re)start London today",
    '"first second"': "<p>[first]</p>\n<p>[second] line",
    "run.": "[running] foo",
    '"fish & chips"': "<p>[fish &amp; chips] &lt;b&gt;",
}


async def test_marks_are_where_the_search_has_found_something(writer, sent):
    for operand, shown in MARKS.items():
        [message] = await found(writer, operand)
        marked = message["match_content"].replace("&#x27;", "'").replace("&quot;", '"')
        expected = shown.replace("[", OPEN).replace("]", CLOSE)
        assert expected in marked, operand
        count = shown.count("[")
        assert marked.count(OPEN) == count, operand
        unmarked = len(message["content"].replace("&#x27;", "'").replace("&quot;", '"'))
        assert len(marked) == unmarked + count * len(OPEN + CLOSE), operand
    [message] = await found(writer, "gone-fishing?")
    assert message["match_subject"] == f"{OPEN}Gone: fishing{CLOSE}"
