"""Linkifiers and playgrounds over HTTP, and the messages that they change."""

from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, MEMBER
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

FIELDS = {"pattern": r"#(?P<id>\d+)", "url_template": "https://issues.example.com/{id}"}
PLAYGROUND = {
    "name": "Try",
    "pygments_language": "Python",
    "url_template": "https://try.example.com/?code={code}",
}


@pytest_asyncio.fixture
async def boss(log_in):
    return await log_in(role=ADMINISTRATOR)


async def listed(client):
    return (await client.get("/realm/linkifiers"))["linkifiers"]


async def test_they_are_made_changed_ordered_and_removed(boss, log_in):
    first = (await boss.post("/realm/filters", **FIELDS))["id"]
    again = {**FIELDS, "pattern": r"T(?P<id>\d+)"}
    second = (await boss.post("/realm/filters", **again))["id"]
    await boss.patch("/realm/linkifiers", ordered_linkifier_ids=[second, first])
    changed = {**FIELDS, "url_template": "https://new.example.com/{id}"}
    await boss.patch(f"/realm/filters/{first}", **changed)

    member = await log_in(role=MEMBER)
    plain: dict[str, Any] = {
        "example_input": None,
        "reverse_template": None,
        "alternative_url_templates": [],
    }
    shown = [{"id": second, **again, **plain}, {"id": first, **changed, **plain}]
    assert await listed(member) == shown
    state = (
        await member.register(
            fetch_event_types=["realm_linkifiers"],
            client_capabilities={"linkifier_url_template": True},
        )
    ).state
    assert state["realm_linkifiers"] == await listed(member)

    await boss.delete(f"/realm/filters/{second}")
    assert [each["id"] for each in await listed(member)] == [first]


async def test_what_cannot_be_is_refused_by_name(boss):
    for wrong, name in (
        ({"pattern": "(?=x)(?P<id>x)"}, "pattern"),
        ({"url_template": "https://issues.example.com/{no}"}, "url_template"),
    ):
        answer = await boss.call("POST", "/realm/filters", **FIELDS | wrong)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
    (await boss.call("POST", "/realm/filters", pattern="x")).refused("REQUEST_VARIABLE_MISSING")
    (await boss.call("PATCH", "/realm/filters/999999", **FIELDS)).refused()
    (await boss.call("DELETE", "/realm/filters/999999")).refused()
    (await boss.call("PATCH", "/realm/linkifiers", ordered_linkifier_ids=[1])).refused(
        "REQUEST_VARIABLE_INVALID"
    )
    assert await listed(boss) == []


async def test_they_are_for_administrators(boss, log_in):
    member, kept = await log_in(), (await boss.post("/realm/filters", **FIELDS))["id"]
    (await member.call("POST", "/realm/filters", **FIELDS)).refused()
    (await member.call("PATCH", f"/realm/filters/{kept}", **FIELDS)).refused()
    (await member.call("DELETE", f"/realm/filters/{kept}")).refused()
    (await member.call("PATCH", "/realm/linkifiers", ordered_linkifier_ids=[])).refused()
    (await member.call("POST", "/realm/playgrounds", **PLAYGROUND)).refused()


async def test_messages_and_topics_get_links(boss, log_in, make):
    cook = await log_in()
    channel = await make.channel("general", subscribers=[cook.user])
    await boss.post("/realm/filters", **FIELDS)
    queue = await cook.register(event_types=["message", "update_message"], apply_markdown=True)

    fields = {"type": "channel", "to": channel.channel_id, "topic": "about #12"}
    sent = (await cook.post("/messages", content="see #34", **fields))["id"]

    link = '<a href="https://issues.example.com/34">#34</a>'
    links = [{"text": "#12", "url": "https://issues.example.com/12"}]
    message = (await queue.until("message"))["message"]
    assert link in message["content"]
    assert message["topic_links"] == links
    fetched = (await cook.get(f"/messages/{sent}"))["message"]
    assert link in fetched["content"]
    assert fetched["topic_links"] == links

    for mode, topic, number in (("change_all", "or #5", "5"), ("change_one", "or #6", "6")):
        await boss.patch(f"/messages/{sent}", topic=topic, propagate_mode=mode)
        moved = await queue.until("update_message")
        url = f"https://issues.example.com/{number}"
        assert moved["topic_links"] == [{"text": f"#{number}", "url": url}]


async def test_a_change_counts_from_the_next_message_on(boss, log_in):
    cook = await log_in()

    async def shown():
        return (await cook.post("/messages/render", content="see #34"))["rendered"]

    assert "<a" not in await shown()
    kept = (await boss.post("/realm/filters", **FIELDS))["id"]
    assert "https://issues.example.com/34" in await shown()
    await boss.delete(f"/realm/filters/{kept}")
    assert "<a" not in await shown()


async def test_another_organization_has_its_own(boss, make, connect, server):
    other = await new_realm(make.connection)
    stranger = await connect(server, other.realm_id, await other.user(role=ADMINISTRATOR))
    kept = (await boss.post("/realm/filters", **FIELDS))["id"]

    assert await listed(stranger) == []
    (await stranger.call("DELETE", f"/realm/filters/{kept}")).refused()
    (await stranger.call("PATCH", f"/realm/filters/{kept}", **FIELDS)).refused()
    assert len(await listed(boss)) == 1


async def test_playgrounds_come_and_go(boss):
    queue = await boss.register(event_types=["realm_playgrounds"])
    kept = (await boss.post("/realm/playgrounds", **PLAYGROUND))["id"]
    event = await queue.until("realm_playgrounds")
    assert event["realm_playgrounds"] == [{"id": kept, **PLAYGROUND}]
    state = (await boss.register(fetch_event_types=["realm_playgrounds"])).state
    assert state["realm_playgrounds"] == [{"id": kept, **PLAYGROUND}]

    (await boss.call("POST", "/realm/playgrounds", **PLAYGROUND)).refused()
    wrong = PLAYGROUND | {"url_template": "https://try.example.com/"}
    answer = await boss.call("POST", "/realm/playgrounds", **wrong)
    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "url_template"

    await boss.delete(f"/realm/playgrounds/{kept}")
    assert (await queue.until("realm_playgrounds"))["realm_playgrounds"] == []
    (await boss.call("DELETE", f"/realm/playgrounds/{kept}")).refused()
