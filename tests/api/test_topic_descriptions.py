"""Descriptions of topics over HTTP."""

from dataclasses import dataclass

import pytest
import pytest_asyncio

from server.domain.access import GUEST, OWNER
from storage.channels import ChannelRow
from testkit.clients.api import Answer, Client

pytestmark = pytest.mark.asyncio

CAPABLE = {"topic_descriptions": True}


@dataclass
class Office:
    owner: Client
    member: Client
    stranger: Client
    channel: ChannelRow

    @property
    def channel_id(self) -> int:
        return self.channel.channel_id

    async def send(self, topic: str = "soup", to: str = "kitchen") -> int:
        sent = await self.member.post("/messages", type="channel", to=to, topic=topic, content="hi")
        return int(sent["id"])

    async def describe(
        self, topic: str, text: str, by: Client | None = None, channel_id: int | None = None
    ) -> Answer:
        where = channel_id or self.channel_id
        return await (by or self.member).call(
            "PUT", f"/streams/{where}/topic_descriptions", topic=topic, description=text
        )

    async def texts(self, client: Client, channel_id: int | None = None) -> dict[str, str]:
        where = channel_id or self.channel_id
        found = await client.get(f"/streams/{where}/topic_descriptions")
        return {each["topic"]: each["description"] for each in found["topics"]}


@pytest_asyncio.fixture
async def office(log_in, make) -> Office:
    owner, member, stranger = await log_in(role=OWNER), await log_in(), await log_in()
    row = await make.channel("kitchen", subscribers=[owner.user, member.user])
    return Office(owner, member, stranger, row)


async def test_descriptions_are_in_register_and_events_of_clients_that_ask(office):
    knowing = await office.owner.register(client_capabilities=CAPABLE)
    other = await office.owner.register()
    await office.send()
    for _ in range(2):
        (await office.describe("SOUP", "*Hot*\nor cold ")).succeeded()

    rendered = "<p><em>Hot</em> or cold</p>"
    shown = {
        "topic": "soup",
        "description": "*Hot* or cold",
        "rendered_description": rendered,
    }
    event = await knowing.until("topic_descriptions")
    assert (event["stream_id"], event["topics"]) == (office.channel_id, [shown])
    registered = (await office.owner.register(client_capabilities=CAPABLE)).state
    assert registered["topic_descriptions"] == [{"stream_id": office.channel_id, **shown}]
    assert await office.texts(office.stranger) == {"soup": shown["description"]}
    stranger = (await office.stranger.register(client_capabilities=CAPABLE)).state
    assert stranger["topic_descriptions"] == []

    (await office.describe("soup", " \n ")).succeeded()
    forgotten = {"topic": "soup", "description": "", "rendered_description": ""}
    assert (await knowing.until("topic_descriptions"))["topics"] == [forgotten]
    assert "topic_descriptions" not in {event["type"] for event in await other.poll()}
    assert "topic_descriptions" not in other.state


async def test_topics_of_every_name_follow_the_permission_to_rename_them(
    office, make, log_in, server
):
    guest = await log_in(role=GUEST)
    names = ["", "Straße", "تصميم", "スープ", "✔ done", "a" * 60]
    await make.subscribe(office.channel, [guest.user])
    for name in names:
        await office.send(name)
        (await office.describe(name, f"About {name or 'everything'}")).succeeded()
    (await office.describe("general chat", "Anything")).succeeded()
    (await office.describe("STRASSE", "Traffic", by=guest)).succeeded()
    texts = await office.texts(office.member)
    assert [*texts] == names
    assert (texts[""], texts["Straße"]) == ("Anything", "Traffic")

    nobody = (await make.role_groups())["role:nobody"]
    await make.change_settings(can_move_messages_between_topics_group=nobody)
    server.forget(make.realm_id)
    refused = await office.describe("Straße", "Mine")
    assert refused.refused()["msg"] == (
        "You don't have permission to describe topics in this channel."
    )
    members = {"direct_members": [office.member.user.user_id], "direct_subgroups": []}
    await office.owner.patch(
        f"/streams/{office.channel_id}", can_move_messages_within_channel_group={"new": members}
    )
    (await office.describe("Straße", "Mine")).succeeded()
    rows = await make.connection.tuples(
        """
        SELECT action, actor_id, subject_id, after FROM audit_log
         WHERE realm_id = %(r)s AND action LIKE 'channel_topic%%' ORDER BY audit_id DESC LIMIT 1
        """,
        r=make.realm_id,
    )
    assert rows == [
        (
            "channel_topic_described",
            office.member.user.user_id,
            office.channel_id,
            {"topic": "Straße"},
        )
    ]


async def test_what_is_wrong_is_named_and_what_is_hidden_does_not_exist(office, make):
    await office.send()
    invalid, missing = "REQUEST_VARIABLE_INVALID", "REQUEST_VARIABLE_MISSING"
    for wrong in ("a" * 1_001, "a\x00"):
        answer = await office.describe("soup", wrong)
        assert answer.refused(invalid)["var_name"] == "description"
    (await office.describe("soup", "😀" * 1_000)).succeeded()
    path = f"/streams/{office.channel_id}/topic_descriptions"
    answer = await office.member.call("PUT", path, topic="soup")
    assert answer.refused(missing)["var_name"] == "description"
    answer = await office.member.call("PUT", path, description="x")
    assert answer.refused(missing)["var_name"] == "topic"
    unknown = await office.describe("bread", "x")
    assert unknown.refused()["msg"] == "There is no topic 'bread'"
    (await office.describe("soup", "x", channel_id=99999)).refused()

    row = await make.channel(
        "cellar", invite_only=True, shares_history=False, subscribers=[office.member.user]
    )
    cellar = row.channel_id
    await office.send("old", "cellar")
    (await office.describe("old", "Before", channel_id=cellar)).succeeded()
    (await office.describe("old", "x", by=office.stranger, channel_id=cellar)).refused()
    (await office.stranger.call("GET", f"/streams/{cellar}/topic_descriptions")).refused()
    await make.subscribe(row, [office.stranger.user])
    await office.send("new", "cellar")
    (await office.describe("new", "Since", channel_id=cellar)).succeeded()
    assert await office.texts(office.stranger, cellar) == {"new": "Since"}
    (await office.describe("old", "x", by=office.stranger, channel_id=cellar)).refused()
    registered = (await office.stranger.register(client_capabilities=CAPABLE)).state
    assert [each["topic"] for each in registered["topic_descriptions"]] == ["new"]
