"""Notices that a topic is resolved: unread as each user has chosen."""

from typing import Any

import pytest
import pytest_asyncio

from server.domain.topic_policies import FOLLOWED
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

POLICY = "resolved_topic_notice_auto_read_policy"
PEOPLE = {
    "by default": {},
    "always": {POLICY: "always"},
    "never": {POLICY: "never"},
}


@pytest_asyncio.fixture
async def alice(log_in, make: Make):
    await make.notification_bot()
    return await log_in(full_name="Alice")


@pytest_asyncio.fixture
async def readers(log_in):
    """One who follows the topic, and one who does not, of each policy; by what they are."""
    return {
        (follows, policy): await log_in(settings=settings)
        for follows in (True, False)
        for policy, settings in PEOPLE.items()
    }


@pytest_asyncio.fixture
async def channel(make: Make, alice, readers):
    users = [alice.user, *(reader.user for reader in readers.values())]
    return await make.channel("general", subscribers=users)


class Topic:
    """A topic of Alice's, which she resolves and takes up again."""

    def __init__(self, alice, channel, message_id: int) -> None:
        self.alice, self.channel, self.message_id = alice, channel, message_id
        self.is_resolved = False

    async def toggle(self) -> int:
        """The id of the notice."""
        self.is_resolved = not self.is_resolved
        name = "\N{HEAVY CHECK MARK} t" if self.is_resolved else "t"
        fields = {"topic": name, "propagate_mode": "change_all"}
        await self.alice.patch(f"/messages/{self.message_id}", **fields)
        page = await self.alice.get("/messages", anchor="newest", num_before=1, num_after=0)
        [notice] = page["messages"]
        assert notice["sender_full_name"] == "Notification Bot"
        return int(notice["id"])


@pytest_asyncio.fixture
async def topic(alice, readers, channel):
    sent = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "x"}
    message_id = (await alice.post("/messages", **sent))["id"]
    wanted = {"stream_id": channel.channel_id, "topic": "t", "visibility_policy": FOLLOWED}
    for (follows, _), reader in readers.items():
        if follows:
            await reader.post("/user_topics", **wanted)
        await reader.post("/messages/flags", messages=[message_id], op="add", flag="read")
    return Topic(alice, channel, message_id)


async def unread(client) -> list[int]:
    """As register has it, and the narrow, and the first of them as an anchor."""
    state = await client.post("/register", fetch_event_types=["message", "update_message_flags"])
    ids = sorted(i for t in state["unread_msgs"]["streams"] for i in t["unread_message_ids"])
    window: dict[str, Any] = {"num_before": 0, "num_after": 100}
    page = await client.get("/messages", anchor="oldest", narrow=[["is", "unread"]], **window)
    assert [each["id"] for each in page["messages"]] == ids
    page = await client.get("/messages", anchor="first_unread", num_before=0, num_after=0)
    assert ids == [] or page["anchor"] == ids[0]
    return ids


async def flags(client, message_id: int) -> list[str]:
    shown: list[str] = (await client.get(f"/messages/{message_id}"))["message"]["flags"]
    return shown


async def test_it_is_unread_as_each_user_wants_and_all_get_the_same_event(readers, topic):
    queues = {who: await r.register(event_types=["message"]) for who, r in readers.items()}
    wanting = {(True, "by default"), (True, "never"), (False, "never")}
    for _ in range(2):
        notice = await topic.toggle()
        for who, reader in readers.items():
            event = await queues[who].until("message")
            expected = [] if who in wanting else ["read"]
            assert (event["message"]["id"], event["flags"]) == (notice, expected), who
            assert await flags(reader, notice) == expected, who
            assert (notice in await unread(reader)) is (who in wanting), who


async def test_what_is_unread_of_it_is_marked_as_read_and_as_unread_again(readers, topic):
    notice = await topic.toggle()
    for who in ((True, "by default"), (False, "never"), (False, "always")):
        reader = readers[who]
        changed = [notice] if who != (False, "always") else []
        body = await reader.post("/messages/flags", messages=[notice], op="add", flag="read")
        assert body["messages"] == changed
        assert await unread(reader) == []
        await reader.post("/messages/flags", messages=[notice], op="remove", flag="read")
        assert await unread(reader) == [notice]
        await reader.post(
            "/mark_topic_as_read", stream_id=topic.channel.channel_id, topic_name="✔ t"
        )
        assert await unread(reader) == []
        assert await flags(reader, notice) == ["read"]


async def test_a_change_of_the_setting_is_for_what_comes(readers, topic):
    reader = readers[False, "by default"]
    notices = []
    for policy in ("never", "always", "never", "except_followed"):
        await reader.patch("/settings", **{POLICY: policy})
        notices.append(await topic.toggle())
    assert await unread(reader) == notices[::2]

    follower = readers[True, "by default"]
    assert await unread(follower) == notices
    await follower.patch("/settings", **{POLICY: "always"})
    where = {"stream_id": topic.channel.channel_id, "topic": "t"}
    await follower.post("/user_topics", **where, visibility_policy=0)
    assert await unread(follower) == notices


async def test_who_comes_with_the_setting_has_it_from_the_beginning(log_in, make, topic):
    newcomer = await log_in(settings={POLICY: "never"})
    before = await topic.toggle()
    await make.subscribe(topic.channel, [newcomer.user])
    after = await topic.toggle()
    assert await unread(newcomer) == [after]
    await newcomer.patch("/settings", **{POLICY: "always"})
    assert await unread(newcomer) == [after]
    assert set(await flags(newcomer, before)) == {"read", "historical"}


async def test_other_notices_are_unread_for_all(alice, readers, topic):
    fields = {"topic": "another", "propagate_mode": "change_all"}
    await alice.patch(f"/messages/{topic.message_id}", **fields)
    page = await alice.get("/messages", anchor="newest", num_before=1, num_after=0)
    [notice] = page["messages"]
    for reader in readers.values():
        assert await unread(reader) == [notice["id"]]


@pytest.mark.parametrize("policy", [None, "always", "never"])
async def test_who_resolves_a_topic_has_read_the_notice(alice, readers, topic, policy):
    place = {"stream_id": topic.channel.channel_id, "topic": "t"}
    await alice.post("/user_topics", **place, visibility_policy=FOLLOWED)
    if policy is not None:
        await alice.patch("/settings", **{POLICY: policy})
    other = await readers[True, "never"].register(event_types=["message"])
    queue = await alice.register(event_types=["message", "update_message_flags"])
    notice = await topic.toggle()
    event = await queue.until("message")
    assert (event["message"]["id"], event["flags"]) == (notice, ["read"])
    assert await flags(alice, notice) == ["read"]
    assert notice not in await unread(alice)
    assert (await other.until("message"))["flags"] == []
    await alice.post("/messages/flags", messages=[notice], op="remove", flag="read")
    assert notice in await unread(alice)


async def test_the_notice_is_in_the_language_of_the_organization(alice, channel, make, server):
    await make.change_settings(default_language="de")
    server.forget(make.realm_id)
    sent = await alice.post("/messages", type="channel", to="general", topic="tea", content="Hi")
    await alice.patch(f"/messages/{sent['id']}", topic="✔ tea", propagate_mode="change_all")
    found = await alice.get(
        "/messages", anchor="newest", num_before=1, num_after=0, apply_markdown=False
    )
    [notice] = found["messages"]
    assert notice["content"].startswith("@_**Alice|")
    assert notice["content"].endswith("** hat dieses Thema als gelöst markiert.")
