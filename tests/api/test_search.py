"""Search: words and their stems, parts of words, phrases, other scripts; indexed or not yet."""

import asyncio

import pytest
import pytest_asyncio

from queue_processors.search_indexer import SearchIndexer
from storage import search
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

TEXTS = {
    "run": "We are running the migrations",
    "happy": "The whole team is happy about the deployment",
    "phrase": "the quick brown fox, and the lazy dog",
    "backwards": "a fox that is brown is quick",
    "japanese": "明日の会議は日本語テストです",
    "chinese": "数据库迁移完成",
    "korean": "데이터베이스를 옮겼습니다",
    "thai": "ฐานข้อมูลใหม่",
    "code": "use C++ or foo_bar(100%) in snake_case",
    "german": "Über Ärger im Straßenverkehr",
    "greek": "Ο λόγος, η ΟΔΟΣ και οι άνθρωποι του ΚΟΣΜΟΥ",
    "turkish": "İstanbul'da DİKKAT",
    "decomposed": "une re\u0301union a\u0300 Z\u030curich, \u1112\u1161\u11ab\u1100\u1173\u11af",
    "link": "[the manual](https://docs.example.com/redeployment)",
}


@pytest_asyncio.fixture
async def alice(log_in, people):
    return await log_in(people[0])


@pytest_asyncio.fixture
async def sent(make: Make, people):
    """All texts, by name, in one topic; a message in a topic of its own; and a private one."""
    channel = await make.channel("general", subscribers=people)
    topic = await make.topic(channel, "t")
    ids = {n: await make.message(people[1], topic, content=c) for n, c in TEXTS.items()}
    released = await make.topic(channel, "Release of Parley")
    ids["topic"] = await make.message(people[1], released, content="soon")
    secret = await make.channel("secret", subscribers=people[1:], invite_only=True)
    await make.message(people[1], await make.topic(secret, "running"), content="fox migrations")
    return ids


async def found(client, operand, **fields):
    narrow = [{"operator": "search", "operand": operand}]
    asked = {"anchor": "newest", "num_before": 100, "num_after": 0, "narrow": narrow, **fields}
    return (await client.get("/messages", **asked))["messages"]


CASES = {
    "running": ["run"],
    "RUN": ["run"],
    "migration": ["run"],
    "happiness": ["happy"],
    "deployments": ["happy"],
    "ploym": ["happy", "link"],
    "nothing": [],
    "quick fox": ["phrase", "backwards"],
    "the fox": ["phrase", "backwards"],
    '"quick brown"': ["phrase"],
    '"brown quick"': [],
    '"the lazy" fox': ["phrase"],
    "dog brown lazy": ["phrase"],
    "日本語": ["japanese"],
    "会議": ["japanese"],
    "語": ["japanese"],
    "迁移": ["chinese"],
    "데이터": ["korean"],
    "옮겼": ["korean"],
    "ข้อมูล": ["thai"],
    "c++": ["code"],
    "foo_bar(": ["code"],
    "100%": ["code"],
    "1%": [],
    "_case": ["code"],
    "ärger": ["german"],
    "STRASSEN": [],
    "λόγος": ["greek"],
    "ΛΌΓΟΣ": ["greek"],
    "λόγοσ": ["greek"],
    "οδος": ["greek"],
    "οδοσ": ["greek"],
    "κοσμ": ["greek"],
    '"λόγος η οδος"': ["greek"],
    "İSTANBUL": ["turkish"],
    "istanbul": ["turkish"],
    "dikkat": ["turkish"],
    "réunion": ["decomposed"],
    "RE\u0301UNION": ["decomposed"],
    "union": ["decomposed"],
    "Žurich": ["decomposed"],
    "한글": ["decomposed"],
    "u\u0308ber": ["german"],
    "docs.example.com": ["link"],
    "re": ["link"],
    "release": ["topic"],
    "release soon": ["topic"],
    "parley release": ["topic"],
    "release later": [],
}


async def check(client, sent):
    for operand, names in CASES.items():
        ids = [each["id"] for each in await found(client, operand)]
        assert [name for name in sent if sent[name] in ids] == [
            name for name in sent if name in names or (operand == "re" and name == "topic")
        ], operand


async def test_search_before_and_after_it_is_indexed(alice, sent, database, make):
    await check(alice, sent)
    await SearchIndexer(database).catch_up()
    indexed = await make.connection.value("SELECT count(*) FROM message_terms")
    assert indexed == len(sent) + 1
    await check(alice, sent)


async def test_what_is_found_is_marked(alice, sent, make):
    [shown] = await found(alice, "run migrations")
    assert shown["match_content"] == (
        'We are <span class="highlight">running</span>'
        ' the <span class="highlight">migrations</span>'
    )
    assert shown["match_subject"] == "t"
    assert shown["content"] == TEXTS["run"]
    [shown] = await found(alice, "release", apply_markdown=False)
    assert shown["match_subject"] == '<span class="highlight">Release</span> of Parley'
    [shown] = await found(alice, "happiness")
    assert '<span class="highlight">happy</span>' in shown["match_content"]


async def test_marks_are_the_same_when_its_words_are_known(alice, people, make):
    """Also of a word that is too long to be kept, and without what a client has rendered."""
    channel = await make.channel("general", subscribers=people)
    word = "a" * 40 + "ing"
    said = f"{word} happy deployed"
    await make.message(people[1], await make.topic(channel, "t"), content=said)
    pages = [await found(alice, f"{'a' * 40}ed happiness") for _ in range(3)]
    pages.append(await found(alice, f"{'a' * 40}ed happiness", apply_markdown=False))
    for [shown] in pages:
        for each in (word, "happy"):
            assert f'<span class="highlight">{each}</span>' in shown["match_content"]
        assert '<span class="highlight">deployed' not in shown["match_content"]


async def test_without_a_search_nothing_is_marked(alice, sent):
    [*_, last] = (await alice.get("/messages", anchor="newest", num_before=1, num_after=0))[
        "messages"
    ]
    assert "match_content" not in last


async def test_marks_keep_markup_as_it_is(log_in, people, make):
    await make.channel("general", subscribers=people)
    bob = await log_in(people[1])
    fields = {"type": "channel", "to": "general", "topic": "<b> & span"}
    await bob.post("/messages", **fields, content="**span** <em> & `class` amp")
    [shown] = await found(bob, "span")
    assert shown["match_content"] == (
        '<p><strong><span class="highlight">span</span></strong> &lt;em&gt; &amp; '
        "<code>class</code> amp</p>"
    )
    assert shown["match_subject"] == '&lt;b&gt; &amp; <span class="highlight">span</span>'
    [shown] = await found(bob, "amp")
    assert shown["match_content"].count("highlight") == 1


async def test_search_goes_with_other_terms(alice, sent, people, database):
    for _ in range(2):
        narrow = [["search", "fox"], ["topic", "t"], ["sender", people[1].user_id]]
        asked = {"anchor": "oldest", "num_before": 0, "num_after": 1, "narrow": narrow}
        body = await alice.get("/messages", **asked)
        assert [m["id"] for m in body["messages"]] == [sent["phrase"]]
        assert (body["found_oldest"], body["found_newest"]) == (True, False)
        without = [["search", "fox"], {"operator": "search", "operand": "dog", "negated": True}]
        assert [m["id"] for m in await found(alice, "x", narrow=without)] == [sent["backwards"]]
        twice = [["search", "fox"], ["search", "dog"]]
        assert [m["id"] for m in await found(alice, "x", narrow=twice)] == [sent["phrase"]]
        assert await found(alice, "x", narrow=[["search", "fox"], ["is", "dm"]]) == []
        await SearchIndexer(database).catch_up()


async def test_an_edited_message_is_found_by_what_it_says_now(alice, sent, make, database):
    await SearchIndexer(database).catch_up()
    change = "UPDATE messages SET rendered_content = 'something else' WHERE id = %(id)s"
    await make.connection.execute(change, id=sent["run"])
    for _ in range(2):
        assert await found(alice, "running") == []
        assert [m["id"] for m in await found(alice, "something")] == [sent["run"]]
        await SearchIndexer(database).catch_up()
    assert await make.connection.value("SELECT count(*) FROM search_stale") == 0


async def test_a_deleted_message_leaves_the_index_with_it(alice, sent, make, database):
    await SearchIndexer(database).catch_up()
    await make.connection.execute("DELETE FROM messages WHERE id = %(id)s", id=sent["run"])
    left = "SELECT count(*) FROM message_terms WHERE message_id = %(id)s"
    assert await make.connection.value(left, id=sent["run"]) == 0
    assert await found(alice, "running") == []


async def test_a_renamed_topic_is_found_by_its_new_name(alice, sent, make, database):
    await SearchIndexer(database).catch_up()
    rename = "UPDATE topics SET name = 'Launch' WHERE name = 'Release of Parley'"
    await make.connection.execute(rename)
    assert await found(alice, "release") == []
    assert [m["id"] for m in await found(alice, "launch")] == [sent["topic"]]


async def test_the_language_is_the_organizations(alice, sent, make, database):
    await make.change_settings(default_language="de")
    alice.server.forget(make.realm_id)
    topic = await make.topic(await make.channel("de", subscribers=[alice.user]), "t")
    message_id = await make.message(alice.user, topic, content="Die Häuser sind schön")
    for _ in range(2):
        assert [m["id"] for m in await found(alice, "haus")] == [message_id]
        await SearchIndexer(database).catch_up()
    # Changing it makes the index anew.
    await make.change_settings(default_language="en")
    alice.server.forget(make.realm_id)
    await make.message(alice.user, topic, content="more")
    await SearchIndexer(database).catch_up()
    assert await found(alice, "haus") == []
    assert [m["id"] for m in await found(alice, "happiness")] == [sent["happy"]]


async def test_searches_that_mean_nothing_are_refused(alice, sent):
    for operand in ("", "  ", '""', '"', "x" * 1001, " ".join(map(str, range(41)))):
        asked = {"anchor": "newest", "num_before": 1, "num_after": 0}
        answer = await alice.call("GET", "/messages", **asked, narrow=[["search", operand]])
        answer.refused("BAD_NARROW")


async def test_which_of_some_messages_match(alice, sent, make):
    ids = [*sent.values(), max(sent.values()) + 1, 10**9]
    asked = {"msg_ids": ids, "narrow": [["topic", "Release of Parley"]]}
    body = await alice.get("/messages/matches_narrow", **asked)
    assert body["messages"] == {
        str(sent["topic"]): {"match_content": "soon", "match_subject": "Release of Parley"}
    }
    body = await alice.get("/messages/matches_narrow", msg_ids=ids, narrow=[["search", "running"]])
    assert list(body["messages"]) == [str(sent["run"])]
    assert body["messages"][str(sent["run"])]["match_content"] == (
        'We are <span class="highlight">running</span> the migrations'
    )
    nothing = await alice.get("/messages/matches_narrow", msg_ids=[], narrow=[["is", "dm"]])
    assert nothing["messages"] == {}
    refused = await alice.call("GET", "/messages/matches_narrow", msg_ids=ids, narrow=[["x", "y"]])
    refused.refused("BAD_NARROW")
    many = list(range(5001))
    too_many = await alice.call("GET", "/messages/matches_narrow", msg_ids=many, narrow=[])
    too_many.refused()


async def test_search_shows_of_protected_history_what_one_received(log_in, people, make, database):
    carol = await make.user("Carol")
    channel = await make.channel("new", subscribers=people, invite_only=True, shares_history=False)
    topic = await make.topic(channel, "treasure")
    sent = [await make.message(people[0], topic, content="a treasure map")]
    for _ in range(2):
        await make.subscribe(channel, [carol])
        sent.append(await make.message(people[0], topic, content="a treasure map"))
        await make.unsubscribe(channel, [carol])
        sent.append(await make.message(people[0], topic, content="a treasure map"))
    client = await log_in(carol)
    for _ in range(2):
        assert await found(client, "treasure") == []
        await SearchIndexer(database).catch_up()
    await make.subscribe(channel, [carol])
    client.server.forget(make.realm_id)
    for operand in ("treasure", "treasure map", "maps"):
        assert [m["id"] for m in await found(client, operand)] == [sent[1], sent[3]]


async def test_the_worker_does_not_wait_for_edits(alice, sent, make, database):
    async with database.transaction() as editing:
        change = "UPDATE messages SET rendered_content = 'something else' WHERE id = %(id)s"
        await editing.execute(change, id=sent["run"])
        await SearchIndexer(database).catch_up()
        assert [m["id"] for m in await found(alice, "running")] == [sent["run"]]
    for _ in range(2):
        assert await found(alice, "running") == []
        assert [m["id"] for m in await found(alice, "something")] == [sent["run"]]
        await SearchIndexer(database).catch_up()
    assert await make.connection.value("SELECT count(*) FROM search_stale") == 0


async def test_the_worker_does_not_wait_for_deletions(alice, sent, make, database):
    async with database.transaction() as deleting:
        await deleting.execute("DELETE FROM messages WHERE id = %(id)s", id=sent["run"])
        await SearchIndexer(database).catch_up()
    assert await found(alice, "running") == []
    await SearchIndexer(database).catch_up()
    left = "SELECT count(*) FROM message_terms WHERE message_id = %(id)s"
    assert await make.connection.value(left, id=sent["run"]) == 0
    assert await make.connection.value("SELECT count(*) FROM search_stale") == 0


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM messages WHERE id = %(id)s",
        "UPDATE messages SET rendered_content = 'something else' WHERE id = %(id)s",
    ],
)
async def test_what_changes_while_the_worker_brings_it_in_does_not_stay_in_the_index(
    alice, sent, make, database, change
):
    async with database.transaction() as bringing_in:
        await search.index_some(bringing_in, make.realm_id, "english", limit=100)
        await make.connection.execute(change, id=sent["run"])
    assert await found(alice, "running") == []
    await SearchIndexer(database).catch_up()
    left = (
        "SELECT count(*) FROM message_terms WHERE message_id = %(id)s AND text LIKE '%%running%%'"
    )
    assert await make.connection.value(left, id=sent["run"]) == 0
    assert await make.connection.value("SELECT count(*) FROM search_stale") == 0


async def test_what_was_edited_before_its_turn_is_brought_in_once(alice, sent, make, database):
    change = "UPDATE messages SET rendered_content = %(text)s WHERE id = %(id)s"
    await make.connection.execute(change, id=sent["run"], text="<p>walking</p>")
    async with database.transaction() as bringing_in:
        await search.index_some(bringing_in, make.realm_id, "english", limit=1)
    terms = "SELECT text FROM message_terms WHERE message_id = %(id)s"
    assert await make.connection.values(terms, id=sent["run"]) == ["\nwalking\n"]
    await SearchIndexer(database).catch_up()
    assert await make.connection.values(terms, id=sent["run"]) == ["\nwalking\n"]
    assert [m["id"] for m in await found(alice, "walking")] == [sent["run"]]


async def test_several_workers_share_a_realm(alice, sent, make, database):
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(SearchIndexer(database).catch_up())
    await SearchIndexer(database).catch_up()
    indexed = await make.connection.value("SELECT count(*) FROM message_terms")
    assert indexed == await make.connection.value("SELECT count(*) FROM messages")
    await check(alice, sent)
