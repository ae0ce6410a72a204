"""Several deliveries about one build or alert: what is over is replaced, what ended is marked."""

import pytest

from tests.api.test_external import hook, newest

__all__ = ["hook"]
pytestmark = pytest.mark.asyncio

JENKINS = "/external/jenkins"
ZABBIX = "/external/zabbix"


def build(phase, status="SUCCESS", number=7):
    return {
        "name": "engine",
        "build": {
            "full_url": f"https://jenkins.example/job/engine/{number}/",
            "number": number,
            "phase": phase,
            "status": status,
            "duration": 61_000,
        },
    }


def problem(status, severity="High"):
    return {
        "hostname": "web1",
        "trigger": "Load is high",
        "status": status,
        "severity": severity,
        "link": "https://zabbix.example/1",
    }


async def posted(hook):
    """Return content and reactions of what the bot has posted, oldest first."""
    page = await hook.member.get(
        "/messages", anchor="newest", num_before=50, num_after=0, apply_markdown=False
    )
    return [
        (each["content"], [reaction["emoji_name"] for reaction in each["reactions"]])
        for each in page["messages"]
        if each["sender_id"] == hook.bot["user_id"]
    ]


async def send(hook, path, *payloads, **query):
    for payload in payloads:
        (await hook(path, payload, **query)).succeeded()


async def test_the_end_of_a_build_replaces_its_start(hook):
    await send(hook, JENKINS, build("STARTED"), build("FINALIZED"))
    assert await posted(hook) == [
        (r"[Build \#7](https://jenkins.example/job/engine/7/) :check: succeeded in 1 min 1 s.", [])
    ]


async def test_a_failure_is_a_message_of_its_own(hook):
    await send(hook, JENKINS, build("STARTED"), build("FINALIZED", "FAILURE"))
    [(started, marks), (failed, none)] = await posted(hook)
    assert "has started" in started
    assert "failed" in failed
    assert (marks, none) == (["cross_mark"], [])


async def test_builds_are_told_apart(hook):
    await send(hook, JENKINS, build("STARTED"), build("FINALIZED", number=8))
    assert ["started" in content for content, _ in await posted(hook)] == [True, False]


async def test_addresses_are_told_apart(hook):
    await send(hook, JENKINS, build("STARTED"), topic="one")
    await send(hook, JENKINS, build("FINALIZED"), topic="another")
    assert ["started" in content for content, _ in await posted(hook)] == [True, False]


async def test_a_start_after_the_end_is_late(hook):
    await send(hook, JENKINS, build("FINALIZED"), build("STARTED"))
    assert ["succeeded" in content for content, _ in await posted(hook)] == [True]


async def test_a_start_that_was_deleted_is_not_replaced(hook, log_in, make):
    await send(hook, JENKINS, build("STARTED"))
    owner = await log_in(await make.user("Olga", role=100))
    message = await newest(hook.member)
    await owner.delete(f"/messages/{message['id']}")
    await send(hook, JENKINS, build("FINALIZED"))
    assert ["succeeded" in content for content, _ in await posted(hook)] == [True]


async def test_where_nothing_may_be_edited_the_end_is_a_new_message(hook, make):
    await make.change_settings(allow_message_editing=False)
    await send(hook, JENKINS, build("STARTED"), build("FINALIZED"))
    assert len(await posted(hook)) == 2


async def test_the_end_of_an_alert_is_a_message_and_a_mark(hook):
    await send(hook, ZABBIX, problem("PROBLEM"), problem("RESOLVED"))
    [(_, marks), (resolved, none)] = await posted(hook)
    assert "Resolved" in resolved
    assert (marks, none) == (["check"], [])


async def test_an_alert_may_fire_anew(hook):
    fired, over = problem("PROBLEM"), problem("RESOLVED")
    await send(hook, ZABBIX, fired, over, fired, over, over)
    marks = [marks for _, marks in await posted(hook)]
    assert marks == [["check"], [], ["check"], [], []]


async def test_a_repeated_delivery_changes_nothing(hook):
    def status(state, delivery):
        body = {
            "state": state,
            "sha": "1d40c3be7919f066f9158eaaaecaf696b3e22886",
            "context": "lint",
            "repository": {"name": "engine"},
        }
        headers = {"Content-Type": "application/json", "X-GitHub-Event": "status"}
        return hook("/external/github", body, headers=headers | {"X-GitHub-Delivery": delivery})

    for state, delivery in (("pending", "1"), ("success", "2"), ("success", "2"), ("pending", "1")):
        (await status(state, delivery)).succeeded()
    [(content, _)] = await posted(hook)
    assert "succeeded" in content


async def test_direct_messages_are_replaced_as_well(hook):
    await send(hook, JENKINS, build("STARTED"), build("FINALIZED"), stream=None)
    assert ["succeeded" in content for content, _ in await posted(hook)] == [True]
