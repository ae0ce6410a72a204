"""Pinned topics and messages over HTTP."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import MODERATOR, OWNER
from server.domain.pins import MAX_PINNED_MESSAGES
from testkit.clients.api import Client
from testkit.clients.api_keys import new_key

pytestmark = pytest.mark.asyncio

CAPABLE = {"pins": True}


@dataclass
class Office:
    moderator: Client
    member: Client
    stranger: Client
    channel_id: int

    async def send(self, content: str = "hello", topic: str = "soup", to: str = "kitchen") -> int:
        sent = await self.member.post(
            "/messages", type="channel", to=to, topic=topic, content=content
        )
        return int(sent["id"])

    async def pin(self, message_id: int, method: str = "PUT", by: Client | None = None) -> Any:
        return await (by or self.moderator).call(method, f"/messages/{message_id}/pin")

    async def pin_topic(self, topic: str, method: str = "PUT", by: Client | None = None) -> Any:
        path = f"/streams/{self.channel_id}/pinned_topics"
        return await (by or self.moderator).call(method, path, topic=topic)


@pytest_asyncio.fixture
async def office(log_in, make) -> Office:
    moderator, member, stranger = await log_in(role=MODERATOR), await log_in(), await log_in()
    row = await make.channel("kitchen", subscribers=[moderator.user, member.user])
    return Office(moderator, member, stranger, row.channel_id)


async def with_scopes(client: Client, *scopes: str) -> Client:
    return replace(client, api_key=(await new_key(client, *scopes))["api_key"])


async def ids(client: Client, *narrow: Any, **window: Any) -> list[int]:
    found = await client.get(
        "/messages",
        **{"anchor": "newest", "num_before": 100, "num_after": 0, "narrow": [*narrow], **window},
    )
    return [each["id"] for each in found["messages"]]


async def test_pins_are_in_register_and_events_of_clients_that_ask(office):
    knowing = await office.member.register(client_capabilities=CAPABLE)
    other = await office.member.register()
    sent = await office.send()
    for _ in range(2):
        (await office.pin(sent)).succeeded()
        (await office.pin_topic("Soup")).succeeded()

    assert (await knowing.until("pinned_messages"))["message_ids"] == [sent]
    assert (await knowing.until("pinned_topics"))["topics"] == ["soup"]
    registered = (await office.member.register(client_capabilities=CAPABLE)).state
    here = {"stream_id": office.channel_id}
    assert registered["pinned_messages"] == [here | {"message_ids": [sent]}]
    assert registered["pinned_topics"] == [here | {"topics": ["soup"]}]
    assert registered["streams"][0]["can_pin_group"]
    assert "can_pin_group" in registered["server_supported_permission_settings"]["stream"]

    (await office.pin(sent, "DELETE")).succeeded()
    await office.moderator.delete(f"/streams/{office.channel_id}/pinned_topics", topic="soup")
    assert (await knowing.until("pinned_messages"))["message_ids"] == []
    assert (await knowing.until("pinned_topics"))["topics"] == []
    types = {event["type"] for event in await other.poll()}
    assert "message" in types
    assert not [each for each in types if each.startswith("pinned")]
    assert "can_pin_group" not in str(other.state)
    assert "pinned" not in str(other.state)


async def test_the_permission_is_changed_like_its_siblings(office, log_in):
    owner = await log_in(role=OWNER)
    knowing = await office.member.register(client_capabilities=CAPABLE)
    other = await office.member.register()
    members = {"direct_members": [office.member.user.user_id], "direct_subgroups": []}
    await owner.patch(f"/streams/{office.channel_id}", can_pin_group={"new": members})
    await owner.patch("/realm", can_pin_group={"new": members})
    await owner.patch(f"/streams/{office.channel_id}", description="Where it smells.")

    changed = await knowing.until("stream")
    assert (changed["property"], changed["value"]) == ("can_pin_group", members)
    assert (await knowing.until("realm"))["data"] == {"can_pin_group": members}
    (await office.pin(await office.send(), by=office.member)).succeeded()
    heard = await other.until("stream")
    assert heard["property"] == "description"


async def test_a_key_that_reads_nothing_learns_of_no_topic(office):
    await office.send()
    client = await with_scopes(office.moderator, "messages")
    for topic in ("soup", "of no message"):
        for method in ("PUT", "DELETE"):
            answer = await office.pin_topic(topic, method, by=client)
            assert "read" in answer.refused()["msg"]
        where = f"/streams/{office.channel_id}/topic_descriptions"
        answer = await client.call("PUT", where, topic=topic, description="hot")
        assert "read" in answer.refused()["msg"]
    (await office.pin_topic("soup", by=await with_scopes(office.moderator, "messages", "read")))
    assert await _pins(office.member, f"/streams/{office.channel_id}/pins") == (["soup"], [])


async def test_a_topic_is_also_called_subject(office):
    await office.send()
    path, where = f"/streams/{office.channel_id}/pinned_topics", office.channel_id
    moderator = office.moderator
    await moderator.call("PUT", path, subject="soup")
    assert await _pins(office.member, f"/streams/{where}/pins") == (["soup"], [])
    await moderator.delete(path, subject="soup")
    assert await _pins(office.member, f"/streams/{where}/pins") == ([], [])
    described = {"subject": "soup", "description": "hot"}
    (await moderator.call("PUT", f"/streams/{where}/topic_descriptions", **described)).succeeded()
    both = await moderator.call("PUT", path, subject="soup", topic="soup")
    assert both.refused("REQUEST_CONFUSING_VAR")
    for endpoint, fields in (
        ("/user_topics", {"stream_id": where, "visibility_policy": 3}),
        ("/typing", {"type": "channel", "stream_id": where, "op": "start"}),
        (
            "/scheduled_messages",
            {
                "type": "channel",
                "to": where,
                "content": "later",
                "scheduled_delivery_timestamp": 4_000_000_000,
            },
        ),
    ):
        answer = await moderator.post(endpoint, **fields, subject="soup")
        assert "ignored_parameters_unsupported" not in answer


async def test_readers_of_the_channel_see_its_pins(office):
    path = f"/streams/{office.channel_id}/pins"
    assert await _pins(office.stranger, path) == ([], [])
    sent = await office.send()
    await office.pin(sent)
    await office.pin_topic("soup")
    assert await _pins(office.stranger, path) == (["soup"], [sent])
    (await office.stranger.call("GET", "/streams/99999/pins")).refused()


async def _pins(client: Client, path: str) -> tuple[list[str], list[int]]:
    found = await client.get(path)
    return found["topics"], found["message_ids"]


async def test_protected_history_hides_pins(office, log_in, make):
    row = await make.channel(
        "cellar", invite_only=True, shares_history=False, subscribers=[office.member.user]
    )
    first = await office.send(to="cellar", topic="old")
    await make.subscribe(row, [office.moderator.user, office.stranger.user])
    second = await office.send(to="cellar", topic="new")
    (await office.pin(first)).refused()
    (await office.pin(second)).succeeded()
    path = f"/streams/{row.channel_id}/pins"
    (await office.moderator.call("PUT", f"/streams/{row.channel_id}/pinned_topics", topic="old"))
    assert await _pins(office.stranger, path) == ([], [second])
    cellar = ["channel", "cellar"]
    for client in (office.moderator, office.stranger, office.member):
        assert await ids(client, ["is", "pinned"], cellar) == [second]


@pytest.mark.parametrize("refused", ["permission", "limit"])
async def test_refusals_are_explained(office, refused):
    if refused == "permission":
        sent = await office.send()
        for answer in (
            await office.pin(sent, by=office.member),
            await office.pin_topic("soup", by=office.member),
        ):
            assert answer.refused()["msg"] == "You don't have permission to pin in this channel."
        return
    for _ in range(MAX_PINNED_MESSAGES):
        (await office.pin(await office.send())).succeeded()
    answer = await office.pin(await office.send())
    assert answer.refused()["msg"] == "A channel has at most 50 pinned messages."


async def test_pinned_messages_are_found_with_other_terms(office, make):
    await make.channel("garden", subscribers=[office.member.user, office.moderator.user])
    soup, bread = await office.send("hot soup"), await office.send("fresh bread", "bread")
    flower = await office.send("red flower", "t", "garden")
    plain = await office.send("cold soup")
    for message_id in (soup, bread, flower):
        (await office.pin(message_id)).succeeded()
    client, pinned = office.member, ["is", "pinned"]
    assert await ids(client, pinned) == [soup, bread, flower]
    assert await ids(client, pinned, ["channel", "kitchen"]) == [soup, bread]
    assert await ids(client, pinned, ["channel", "kitchen"], ["topic", "bread"]) == [bread]
    assert await ids(client, pinned, ["search", "soup"]) == [soup]
    assert await ids(client, pinned, ["sender", client.user.email]) == [soup, bread, flower]
    assert await ids(client, pinned, ["id", plain]) == []
    assert await ids(client, pinned, ["has", "link"]) == []
    assert await ids(client, {"operator": "is", "operand": "pinned", "negated": True}) == [plain]
    assert await ids(client, ["-is", "pinned"], ["search", "soup"]) == [plain]
    assert await ids(client, pinned, num_before=2) == [bread, flower]
    assert await ids(client, pinned, anchor=bread, num_before=0, num_after=1) == [bread, flower]
    assert await ids(office.stranger, pinned) == []
    assert await ids(office.stranger, pinned, ["channel", "kitchen"]) == [soup, bread]
    matched = await client.get("/messages/matches_narrow", msg_ids=[soup, plain], narrow=[pinned])
    assert [*matched["messages"]] == [str(soup)]
    marked = await client.post(
        "/messages/flags/narrow",
        anchor="oldest",
        num_before=0,
        num_after=100,
        narrow=[pinned],
        op="add",
        flag="starred",
    )
    assert marked["processed_count"] == 3


async def test_an_edit_keeps_the_pin_and_no_new_message_is_pinned(office):
    queue = await office.member.register(narrow=[["is", "pinned"]])
    sent = await office.send()
    (await office.pin(sent)).succeeded()
    await office.member.patch(f"/messages/{sent}", content="see https://example.com/")
    assert await ids(office.member, ["is", "pinned"]) == [sent]
    await office.member.patch(f"/messages/{sent}", topic="stew")
    types = {event["type"] for event in await queue.poll()}
    assert "update_message" in types
    assert "message" not in types
