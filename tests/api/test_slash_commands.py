"""Slash commands of bots, registered and called over HTTP."""

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from server.domain.clock import SystemClock
from server.domain.outgoing_webhooks import ANSWER_SECONDS, MAX_ANSWERS
from storage import command_calls
from storage.command_calls import CommandCallRow
from storage.ids import UserId
from testkit.clients.api import Answer, Client
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

CAPABLE = {"slash_commands": True}
PATH = "/realm/slash_commands"
_numbers = count(1)
INVALID = "REQUEST_VARIABLE_INVALID"
DEPLOY = {"name": "deploy", "description": "Deploy a service", "parameter_hint": "[service]"}


@dataclass
class Office:
    member: Client
    """Owner of the bot."""
    other: Client
    admin: Client
    bot_id: int

    async def add(self, by: Client | None = None, /, **fields: Any) -> int:
        made = await (by or self.member).post(PATH, bot_id=self.bot_id, **{**DEPLOY, **fields})
        return int(made["id"])

    async def refused(self, **fields: Any) -> dict[str, Any]:
        given = {"bot_id": self.bot_id, **DEPLOY, **fields}
        return (await self.member.call("POST", PATH, **given)).refused(INVALID)

    async def names(self) -> list[str]:
        found = await self.other.get(PATH)
        return [each["name"] for each in found["slash_commands"]]

    async def call(self, command: str, by: Client | None = None, **to: Any) -> Any:
        where = to or {"type": "channel", "to": "kitchen", "topic": "soup"}
        return await (by or self.other).call("POST", f"{PATH}/call", command=command, **where)


async def new_bot(owner: Client, name: str = "deployer", bot_type: int = 3) -> int:
    service = {"payload_url": "https://deploy.example.com/"} if bot_type == 3 else {}
    made = await owner.post(
        "/bots", full_name=name.capitalize(), short_name=name, bot_type=bot_type, **service
    )
    return int(made["user_id"])


@pytest_asyncio.fixture
async def office(log_in, make) -> Office:
    member, other = await log_in(), await log_in()
    admin = await log_in(role=ADMINISTRATOR)
    await make.channel("kitchen", subscribers=[member.user, other.user])
    return Office(member, other, admin, await new_bot(member))


async def test_clients_that_know_commands_hear_of_them(office):
    knowing = await office.other.register(client_capabilities=CAPABLE)
    assert knowing.state["realm_slash_commands"] == []
    command_id = await office.add()
    shown = {"id": command_id, **DEPLOY, "bot_id": office.bot_id}
    assert (await knowing.until("realm_slash_commands"))["realm_slash_commands"] == [shown]
    state = (await office.other.register(client_capabilities=CAPABLE)).state
    assert state["realm_slash_commands"] == [shown]

    await office.member.patch(f"{PATH}/{command_id}", description="Roll out")
    changed = {**shown, "description": "Roll out"}
    assert (await knowing.until("realm_slash_commands"))["realm_slash_commands"] == [changed]
    await office.member.delete(f"{PATH}/{command_id}")
    assert (await knowing.until("realm_slash_commands"))["realm_slash_commands"] == []


async def test_other_clients_hear_nothing(office):
    queue = await office.other.register()
    assert "realm_slash_commands" not in queue.state
    await office.add()
    await office.other.post("/users/me/status", status_text="here")
    assert [each["type"] for each in await queue.poll()] == ["user_status"]


@pytest.mark.parametrize("name", ["/deploy", "größe", "développer", "部署", "नियोजन", "a-b_7"])
async def test_names_of_any_script(office, name):
    await office.add(name=name)
    assert await office.names() == [name.removeprefix("/")]
    (await office.call(f"/{name.removeprefix('/').upper()} x")).succeeded()


@pytest.mark.parametrize("name", ["", "/", "two words", "a/b", "x" * 33, "a\0", "poll!", "@a"])
async def test_bad_names(office, name):
    assert (await office.refused(name=name))["var_name"] == "name"


@pytest.mark.parametrize("name", ["poll", "/TODO", "Me", "dark"])
async def test_built_in_commands_stay(office, name):
    assert "built-in" in (await office.refused(name=name))["msg"]


async def test_a_name_is_given_once_in_any_spelling(office):
    await office.add(name="straße")
    for name in ("straße", "STRASSE", "Straße"):
        assert "already" in (await office.refused(name=name))["msg"]
    other_id = await office.add(name="weg")
    answer = await office.member.call("PATCH", f"{PATH}/{other_id}", name="strasse")
    assert answer.refused(INVALID)["var_name"] == "name"
    await office.member.patch(f"{PATH}/{other_id}", name="WEG")
    assert sorted(await office.names()) == ["WEG", "straße"]


async def test_texts_are_lines_and_have_limits(office):
    await office.add(description="  two\nlines ", parameter_hint="")
    found = await office.other.get(PATH)
    assert found["slash_commands"][0]["description"] == "two lines"
    assert (await office.refused(name="b", description="x" * 201))["var_name"] == "description"
    assert (await office.refused(name="b", parameter_hint="x" * 101))["var_name"] == (
        "parameter_hint"
    )


async def test_only_outgoing_webhooks_have_commands(office):
    generic = await new_bot(office.member, "generic", 1)
    assert "outgoing" in (await office.refused(bot_id=generic))["msg"]
    for user_id in (office.member.user.user_id, 1_000_000_000):
        assert (await office.refused(bot_id=user_id))["var_name"] == "bot_id"
    await office.member.delete(f"/bots/{office.bot_id}")
    assert "deactivated" in (await office.refused())["msg"]


async def test_who_may_manage_them(office):
    command_id = await office.add()
    for method in ("PATCH", "DELETE"):
        answer = await office.other.call(method, f"{PATH}/{command_id}")
        assert answer.refused(INVALID)["var_name"] == "command_id"
    answer = await office.other.call("POST", PATH, bot_id=office.bot_id, name="mine")
    assert answer.refused(INVALID)["var_name"] == "bot_id"
    await office.admin.patch(f"{PATH}/{command_id}", name="release")
    await office.admin.delete(f"{PATH}/{command_id}")
    assert await office.names() == []
    entries = (await office.admin.get("/realm/audit_log"))["entries"]
    seen = [each["action"] for each in entries if each["subject_id"] == office.bot_id]
    assert seen[:3] == ["bot_command_removed", "bot_command_changed", "bot_command_added"]


# -- calls


async def test_a_call_sends_no_message(office):
    await office.add()
    queue = await office.member.register(event_types=["message"])
    assert (await office.call("/deploy web 7")).succeeded()["call_id"]
    where = {"type": "channel", "to": "kitchen", "topic": "soup"}
    await office.other.post("/messages", **where, content="done")
    assert [each["message"]["content"] for each in await queue.poll()] == ["done"]


async def test_a_message_of_any_client_stays_a_message(office):
    await office.add()
    queue = await office.member.register(event_types=["message"])
    await office.other.post(
        "/messages", type="channel", to="kitchen", topic="soup", content="/deploy web"
    )
    assert (await queue.until("message"))["message"]["content"] == "/deploy web"


@pytest.mark.parametrize("command", ["deploy", "/", "/ deploy", "/nothing x"])
async def test_what_is_no_command(office, command):
    await office.add()
    assert (await office.call(command)).refused(INVALID)["var_name"] == "command"


@pytest.mark.parametrize("command", ["", " ", "/deploy " + "x" * 10_000])
async def test_what_is_no_text(office, command):
    await office.add()
    (await office.call(command)).refused()


async def test_the_caller_must_be_allowed_to_post_there(office, make, log_in):
    await office.add()
    await make.channel("secret", subscribers=[office.member.user], invite_only=True)
    await make.channel("old", subscribers=[office.other.user], is_archived=True)
    for name in ("secret", "old", "nowhere"):
        answer = await office.call("/deploy", type="channel", to=name, topic="t")
        assert answer.status == 400
    (await office.call("/deploy", type="channel", to="kitchen")).refused("REQUEST_VARIABLE_MISSING")
    (await office.call("/deploy", type="direct", to=[1_000_000_000])).refused()
    guest = await log_in(role=GUEST)
    (await office.call("/deploy", guest)).refused("STREAM_DOES_NOT_EXIST")
    (await office.call("/deploy", guest, type="direct", to=[guest.user.user_id])).succeeded()


async def test_a_deactivated_bot_is_said_to_be_so(office):
    await office.add()
    await office.member.delete(f"/bots/{office.bot_id}")
    assert "deactivated" in (await office.call("/deploy")).refused()["msg"]


async def test_bots_call_none(office, make, connect, server):
    await office.add()
    caller = await make.user("Caller", bot_type=1, bot_owner=office.member.user)
    client = await connect(server, make.realm_id, caller)
    (await office.call("/deploy", client)).refused()


async def test_commands_of_other_organizations_are_unknown(office, other_realm_member):
    command_id = await office.add()
    stranger = other_realm_member
    assert (await stranger.get(PATH))["slash_commands"] == []
    (await stranger.call("DELETE", f"{PATH}/{command_id}")).refused(INVALID)
    to = [stranger.user.user_id]
    (await office.call("/deploy", stranger, type="direct", to=to)).refused(INVALID)


@pytest_asyncio.fixture
async def other_realm_member(database, server, connect):
    async with database.connection() as connection:
        other = await new_realm(connection)
        yield await connect(server, other.realm_id, await other.user(role=ADMINISTRATOR))


# -- answers to the address of a call


async def address(make, office: Office, caller: Client, **place: Any) -> str:
    """The end of the address that the bot's service has got with a call."""
    user_id = (await caller.get("/users/me"))["user_id"]
    token = f"token {next(_numbers)}"
    row = CommandCallRow(
        call_id=token,
        bot_id=UserId(office.bot_id),
        caller_id=user_id,
        command="deploy",
        answers_left=MAX_ANSWERS,
        **{"channel_id": None, "topic": "", "user_ids": (user_id,), **place},
    )
    here, now = (make.connection, make.realm_id), SystemClock().now()
    known = await command_calls.open_address(*here, row, token=token, now=now)
    assert await command_calls.open_address(*here, row, token="another", now=now) == known
    return quote(known)


async def test_later_answers(office, make, connect, server, database):
    visitor: Client = replace(office.other, email=None, api_key=None)

    async def answer(path: str, body: bytes | None = None, /, **said: Any) -> Answer:
        content = json.dumps(said).encode() if body is None else body
        return await visitor.send("POST", f"/slash_commands/answers/{path}", body=content)

    channel = await make.channel("news", subscribers=[office.member.user, office.other.user])
    path = await address(make, office, office.other, channel_id=channel.channel_id, topic="lunch")
    queue = await office.other.register(client_capabilities=CAPABLE)
    (await answer(path, text="Soon *done*.")).succeeded()
    first = await queue.until("slash_command_answer")
    assert (first["content"], first["call_id"][-2:]) == ("Soon *done*.", "-1")
    (await answer(path, text="Half.", replace_original=True)).succeeded()
    second = await queue.until("slash_command_answer")
    assert second["call_id"] == first["call_id"].removesuffix("-1")
    (await answer(path, text="Done.", response_type="in_channel")).succeeded()
    posted = (await queue.until("message"))["message"]
    assert (posted["content"], posted["subject"]) == ("Done.", "lunch")
    await office.admin.delete(f"/streams/{channel.channel_id}")
    (await answer(path, text="Late.", response_type="in_channel")).succeeded()
    refused = await queue.until("slash_command_answer")
    assert refused["content"].startswith("Late.\n\nOnly you see this")
    async with database.connection() as connection:
        other = await new_realm(connection)
        stranger = await connect(server, other.realm_id, await other.user())
    elsewhere = await stranger.send(
        "POST", f"/slash_commands/answers/{path}", body=b'{"text": "a"}'
    )
    assert elsewhere.status == 404
    assert "`text`" in (await answer(path, text=7)).refused()["msg"]
    assert (await answer(path, text="a")).status == 404

    path = await address(make, office, office.other)
    assert (await answer(path, b"<html>")).status == 400
    assert "`response_type`" in (await answer(path, text="a", response_type="all")).refused()["msg"]
    assert (
        "`replace_original`" in (await answer(path, text="a", replace_original=1)).refused()["msg"]
    )
    assert (await answer(path, text="a" * 70_000)).status == 413

    path = await address(make, office, office.other)
    given = await asyncio.gather(*(answer(path, text="a") for _ in range(MAX_ANSWERS + 3)))
    assert sorted(each.status for each in given) == [200] * MAX_ANSWERS + [404] * 3

    path = await address(make, office, office.other)
    await make.connection.execute(
        "UPDATE command_calls SET called_at = called_at - %(age)s WHERE realm_id = %(r)s",
        age=timedelta(seconds=ANSWER_SECONDS),
        r=make.realm_id,
    )
    assert (await answer(path, text="a")).status == 404

    of_user = await address(make, office, office.other)
    of_bot = await address(make, office, office.admin)
    await office.admin.delete(f"/users/{office.other.user.user_id}")
    assert (await answer(of_user, text="a")).status == 404
    visitor = replace(office.admin, email=None, api_key=None)
    await office.admin.delete(f"/bots/{office.bot_id}")
    assert (await answer(of_bot, text="a")).status == 404
