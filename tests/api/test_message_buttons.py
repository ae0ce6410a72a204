"""Buttons of bots' messages, sent, set and clicked over HTTP."""

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from server.domain.message_buttons import MAX_BUTTONS, MAX_LABEL_LENGTH, MAX_VALUE_LENGTH
from server.domain.outgoing_webhooks import ANSWER_SECONDS, MAX_ANSWERS
from storage.bots import ServiceRow, insert_service
from testkit.clients.api import Answer, Client
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

CAPABLE = {"message_buttons": True}
INVALID = "REQUEST_VARIABLE_INVALID"
YES = {"id": "yes", "label": "Yes", "value": "secret of the service", "style": "primary"}
NO = {
    "id": "no",
    "label": "No",
    "style": "danger",
    "confirm": {
        "title": "Really?",
        "text": "It ends the deploy.",
        "confirm": "End",
        "deny": "Go on",
    },
}
SHOWN = [
    {"id": "yes", "label": "Yes", "style": "primary", "confirm": None},
    {"id": "no", "label": "No", "style": "danger", "confirm": NO["confirm"]},
]


@dataclass
class Office:
    member: Client
    """Owner of the bot."""
    other: Client
    admin: Client
    bot: Client

    async def send(self, **fields: Any) -> int:
        sent = await self.bot.post("/messages", **{**KITCHEN, "buttons": [YES, NO], **fields})
        return int(sent["id"])

    async def click(self, message_id: int, by: Client | None = None, **fields: Any) -> Any:
        given = {"button_id": "yes", **fields}
        return await (by or self.other).call(
            "POST", f"/messages/{message_id}/buttons/click", **given
        )

    async def refused(self, buttons: Any) -> dict[str, Any]:
        given = {**KITCHEN, "buttons": buttons}
        return (await self.bot.call("POST", "/messages", **given)).refused(INVALID)


KITCHEN = {"type": "channel", "to": "kitchen", "topic": "soup", "content": "Deploy?"}


@pytest_asyncio.fixture
async def office(log_in, make, connect, server) -> Office:
    member, other = await log_in(), await log_in()
    admin = await log_in(role=ADMINISTRATOR)
    await make.channel("kitchen", subscribers=[member.user, other.user])
    row = await make.user("Deployer", bot_type=3, bot_owner=member.user)
    return Office(member, other, admin, await connect(server, make.realm_id, row))


@pytest_asyncio.fixture
async def stranger(database, server, connect):
    """A member of another organization, where a bot has sent a message of the same id."""
    async with database.connection() as connection:
        other = await new_realm(connection)
        row = await other.user()
        return await connect(server, other.realm_id, row)


async def shown(client: Client, message_id: int) -> Any:
    found = await client.get(f"/messages/{message_id}", message_buttons=True)
    return found["message"].get("buttons")


async def test_clients_that_know_buttons_get_them(office):
    knowing = await office.other.register(client_capabilities=CAPABLE)
    message_id = await office.send()
    message = (await knowing.until("message"))["message"]
    assert (message["id"], message["buttons"]) == (message_id, SHOWN)
    assert message["submessages"] == []
    assert await shown(office.other, message_id) == SHOWN
    page = await office.other.get(
        "/messages", anchor="newest", num_before=9, num_after=0, message_buttons=True
    )
    assert [each.get("buttons") for each in page["messages"]] == [SHOWN]
    assert "secret of the service" not in json.dumps(page)


async def test_other_clients_get_the_message_alone(office):
    queue = await office.other.register()
    message_id = await office.send()
    message = (await queue.until("message"))["message"]
    found = (await office.other.get(f"/messages/{message_id}"))["message"]
    for each in (message, found):
        assert "buttons" not in each
        assert each["submessages"] == []


async def test_messages_without_buttons_have_no_field(office):
    queue = await office.other.register(client_capabilities=CAPABLE)
    message_id = await office.send(buttons=[])
    assert "buttons" not in (await queue.until("message"))["message"]
    assert await shown(office.other, message_id) is None


@pytest.mark.parametrize(
    "change",
    [
        {"label": ""},
        {"label": " "},
        {"label": "x" * (MAX_LABEL_LENGTH + 1)},
        {"label": "a\u0007b"},
        {"id": ""},
        {"id": "x" * 256},
        {"value": "x" * (MAX_VALUE_LENGTH + 1)},
        {"style": "purple"},
        {"label": 7},
        {"confirm": {"text": "x" * 301}},
        {"confirm": "yes"},
    ],
)
async def test_limits_of_a_button(office, change):
    assert (await office.refused([{**YES, **change}]))["var_name"].startswith("buttons")


async def test_limits_of_all_buttons(office):
    many = [{"id": f"b{n}", "label": "x"} for n in range(MAX_BUTTONS + 1)]
    assert (await office.refused(many))["var_name"] == "buttons"
    assert (await office.refused([YES, YES]))["var_name"] == "buttons"
    longest = {"id": "x", "label": "\u0645" * MAX_LABEL_LENGTH, "value": "x" * MAX_VALUE_LENGTH}
    message_id = await office.send(buttons=[*many[1:-1], longest])
    assert len(await shown(office.other, message_id)) == MAX_BUTTONS


@pytest.mark.parametrize("content", ["/poll Deploy?\nyes", "/todo\nrest"])
async def test_a_poll_has_no_buttons(office, content):
    given = {**KITCHEN, "content": content, "buttons": [YES]}
    answer = await office.bot.call("POST", "/messages", **given)
    assert answer.refused(INVALID)["var_name"] == "buttons"


async def test_only_outgoing_webhooks_send_buttons(office, make, connect, server):
    row = await make.user("Generic", bot_type=1, bot_owner=office.member.user)
    for client in (office.other, office.admin, await connect(server, make.realm_id, row)):
        answer = await client.call(
            "POST", "/messages", type="direct", to=[row.user_id], content="a", buttons=[YES]
        )
        assert answer.refused(INVALID)["var_name"] == "buttons"


async def test_a_repeated_send_is_one_message_with_its_buttons(office):
    given = {**KITCHEN, "buttons": [YES], "headers": {"Idempotency-Key": "k"}}
    first = await office.bot.post("/messages", **given)
    assert (await office.bot.post("/messages", **given))["id"] == first["id"]
    assert await shown(office.other, first["id"]) == SHOWN[:1]


# -- changes


async def test_the_bot_and_its_owner_set_them(office):
    knowing = await office.other.register(client_capabilities=CAPABLE)
    unknowing = await office.other.register()
    message_id = await office.send(buttons=[])
    path = f"/messages/{message_id}/buttons"
    (await office.bot.call("PUT", path, buttons=[YES])).succeeded()
    event = await knowing.until("message_buttons")
    assert (event["message_id"], event["buttons"]) == (message_id, SHOWN[:1])
    assert await shown(office.other, message_id) == SHOWN[:1]
    (await office.member.call("PUT", path, buttons=[NO])).succeeded()
    assert (await knowing.until("message_buttons"))["buttons"] == SHOWN[1:]
    for client in (office.other, office.admin):
        (await client.call("PUT", path, buttons=[])).refused()
    (await office.bot.call("PUT", path, buttons=[])).succeeded()
    assert (await knowing.until("message_buttons"))["buttons"] == []
    assert await shown(office.other, message_id) is None
    await office.other.post("/users/me/status", status_text="here")
    types = [each["type"] for each in await unknowing.poll()]
    assert types == ["message", "user_status"]


async def test_messages_of_people_get_none(office):
    sent = await office.member.post("/messages", **KITCHEN)
    answer = await office.member.call("PUT", f"/messages/{sent['id']}/buttons", buttons=[YES])
    assert answer.refused(INVALID)["var_name"] == "buttons"
    answer = await office.bot.call("PUT", "/messages/987654321/buttons", buttons=[YES])
    assert answer.status == 400


async def test_they_stay_when_the_text_is_edited_or_moved(office, make):
    await make.channel("hall", subscribers=[office.member.user, office.other.user])
    message_id = await office.send()
    await office.bot.patch(f"/messages/{message_id}", content="Deploy now?")
    assert await shown(office.other, message_id) == SHOWN
    await office.admin.patch(f"/messages/{message_id}", topic="salad")
    assert await shown(office.other, message_id) == SHOWN
    (await office.click(message_id)).succeeded()


async def test_they_go_with_the_message(office, database):
    message_id = await office.send()
    (await office.bot.call("PUT", f"/messages/{message_id}/buttons", buttons=[NO])).succeeded()
    await office.admin.delete(f"/messages/{message_id}")
    (await office.click(message_id)).refused()
    async with database.connection() as connection:
        kept = await connection.values(
            "SELECT convert_from(body, 'UTF8') FROM event_log WHERE body IS NOT NULL"
        )
        rows = await connection.value("SELECT count(*) FROM submessages WHERE msg_type = 'buttons'")
    assert not [body for body in kept if "It ends the deploy." in body]
    assert rows == 0


# -- clicks


async def test_a_click_sends_no_message(office):
    message_id = await office.send()
    queue = await office.member.register(event_types=["message"])
    assert (await office.click(message_id)).succeeded()["click_id"]
    await office.other.post("/messages", **{**KITCHEN, "content": "done"})
    assert [each["message"]["content"] for each in await queue.poll()] == ["done"]


async def test_a_repeated_click_is_one(office):
    message_id = await office.send()
    first = (await office.click(message_id, local_id="1")).succeeded()["click_id"]
    # The same request, a double click, and the same again.
    for fields in ({"local_id": "1"}, {}, {"local_id": "2"}):
        assert (await office.click(message_id, **fields)).succeeded()["click_id"] == first
    other_button = (await office.click(message_id, button_id="no")).succeeded()["click_id"]
    other_person = (await office.click(message_id, office.member)).succeeded()["click_id"]
    assert len({first, other_button, other_person}) == 3


async def test_buttons_that_are_not_there(office):
    message_id = await office.send()
    for button_id in ("", "maybe", "YES"):
        answer = await office.click(message_id, button_id=button_id)
        assert answer.refused(INVALID)["var_name"] == "button_id"
    answer = await office.click(message_id, local_id="x" * 201)
    assert answer.refused(INVALID)["var_name"] == "local_id"
    sent = await office.other.post("/messages", **KITCHEN)
    assert (await office.click(sent["id"])).refused(INVALID)["var_name"] == "button_id"
    (await office.click(987_654_321)).refused()


async def test_who_may_click(office, make, log_in):
    message_id = await office.send()
    guest, outsider = await log_in(role=GUEST), await log_in()
    (await office.click(message_id, guest)).refused()
    (await office.click(message_id, outsider)).succeeded()
    (await office.click(message_id, office.bot)).refused()
    direct = await office.send(type="direct", to=[office.other.user.user_id])
    (await office.click(direct)).succeeded()
    (await office.click(direct, office.member)).refused()
    await make.channel("parlour", subscribers=[guest.user, office.member.user])
    message_id = await office.send(to="parlour")
    (await office.click(message_id, guest)).succeeded()


async def test_who_reads_but_may_not_post(office, make):
    channel = await make.channel("news", subscribers=[office.member.user, office.other.user])
    message_id = await office.send(to="news")
    admins = (await office.admin.get("/user_groups"))["user_groups"]
    [group] = [g["id"] for g in admins if g["name"] == "role:administrators"]
    await office.admin.patch(
        f"/streams/{channel.channel_id}", can_send_message_group={"new": group}
    )
    (await office.click(message_id)).refused()
    (await office.click(message_id, office.admin)).succeeded()


async def test_who_has_left_a_private_channel(office, make):
    await make.channel(
        "plans", subscribers=[office.member.user, office.other.user], invite_only=True
    )
    message_id = await office.send(to="plans")
    await office.other.delete("/users/me/subscriptions", subscriptions=["plans"])
    (await office.click(message_id)).refused()
    (await office.click(message_id, office.member)).succeeded()


async def test_archived_channels_and_deactivated_bots(office, make):
    channel = await make.channel("old", subscribers=[office.member.user, office.other.user])
    message_id = await office.send(to="old")
    await office.admin.delete(f"/streams/{channel.channel_id}")
    (await office.click(message_id)).refused()
    message_id = await office.send()
    await office.member.delete(f"/bots/{office.bot.user.user_id}")
    assert "deactivated" in (await office.click(message_id)).refused()["msg"]


async def test_messages_of_other_organizations_are_unknown(office, stranger):
    message_id = await office.send()
    (await office.click(message_id, stranger)).refused()
    (await stranger.call("PUT", f"/messages/{message_id}/buttons", buttons=[])).refused()
    assert await shown(office.other, message_id) == SHOWN


# -- answers to the address of a click


@dataclass
class Service:
    """The bot's service, which has got the address."""

    office: Office
    message_id: int
    token: str

    async def answer(self, client: Client | None = None, /, **said: Any) -> Answer:
        body = json.dumps(said).encode()
        return await (client or self.office.bot).send(
            "POST", f"/message_buttons/answers/{self.token}", body=body
        )

    async def posted(self) -> list[str]:
        narrow = [{"operator": "channel", "operand": "kitchen"}]
        page = await self.office.other.get(
            "/messages",
            anchor="newest",
            num_before=99,
            num_after=0,
            narrow=narrow,
            apply_markdown=False,
        )
        return [each["content"] for each in page["messages"]]


@pytest_asyncio.fixture
async def service(office, make) -> Service:
    bot_id, url = office.bot.user.user_id, "https://bots.example.com/"
    row = ServiceRow(bot_id=bot_id, interface=1, base_url=url, token="t")
    await insert_service(make.connection, make.realm_id, row)
    message_id = await office.send()
    (await office.click(message_id)).succeeded()
    token = await make.connection.value(
        "SELECT answer_token FROM button_clicks WHERE realm_id = %(r)s AND message_id = %(m)s",
        r=make.realm_id,
        m=message_id,
    )
    return Service(office, message_id, token)


async def test_later_answers(office, service):
    queue = await office.other.register(client_capabilities=CAPABLE)
    (await service.answer(text="Soon *done*.")).succeeded()
    shown_answer = await queue.until("button_click_answer")
    assert shown_answer["rendered_content"] == "<p>Soon <em>done</em>.</p>"
    assert shown_answer["message_id"] == service.message_id
    (await service.answer(response_type="in_channel", text="Deployed.")).succeeded()
    (await service.answer(response_type="in_channel", text="Deployed.")).succeeded()
    (await service.answer(replace_original=True, text="Over.")).succeeded()
    assert await service.posted() == ["Over.", "Deployed.", "Deployed."]
    assert await shown(office.other, service.message_id) is None


async def test_an_address_takes_five_answers(service):
    for _ in range(MAX_ANSWERS):
        (await service.answer(text="a")).succeeded()
    assert (await service.answer(text="a")).status == 404


async def test_answers_at_the_same_time_are_counted(service):
    given = await asyncio.gather(*(service.answer(text="a") for _ in range(MAX_ANSWERS + 3)))
    assert sorted(each.status for each in given) == [200] * MAX_ANSWERS + [404] * 3


async def test_an_address_takes_answers_for_half_an_hour(service, make):
    await make.connection.execute(
        "UPDATE button_clicks SET clicked_at = clicked_at - %(age)s WHERE realm_id = %(r)s",
        age=timedelta(seconds=ANSWER_SECONDS),
        r=make.realm_id,
    )
    assert (await service.answer(text="a")).status == 404


async def test_bad_answers_say_what_is_wrong(service):
    answer = await service.answer(text=7)
    assert "not valid" in answer.refused()["msg"]
    path = f"/message_buttons/answers/{service.token}"
    assert (await service.office.bot.send("POST", path, body=b"<html>")).status == 400
    assert await service.posted() == ["Deploy?"]


async def test_addresses_are_of_one_organization(service, stranger):
    assert (await service.answer(stranger, text="a")).status == 404
    made_up = Service(service.office, 0, "made-up")
    assert (await made_up.answer(text="a")).status == 404


async def test_deactivated_bots_answer_no_more(office, service):
    await office.member.delete(f"/bots/{office.bot.user.user_id}")
    # Its key is refused everywhere; the address needs none.
    anyone = replace(office.bot, email=None, api_key=None)
    assert (await service.answer(anyone, text="a")).status == 404


# -- choices of the protocol

QUESTION = {
    "type": "choices",
    "heading": "Deploy?",
    "choices": [{"type": "multiple_choice", "short_name": "Y", "long_name": "Yes", "reply": "yes"}],
}
CHOICES = {"widget_type": "zform", "extra_data": QUESTION}


async def test_bots_send_choices_that_clients_know(office):
    queue = await office.other.register()
    given = {**KITCHEN, "widget_content": json.dumps(CHOICES)}
    sent = await office.bot.post("/messages", **given)
    [part] = (await queue.until("message"))["message"]["submessages"]
    assert (part["msg_type"], json.loads(part["content"])) == ("widget", CHOICES)
    found = (await office.other.get(f"/messages/{sent['id']}"))["message"]
    assert found["submessages"] == [part]
    vote = json.dumps({"type": "vote", "key": "a", "vote": 1})
    given = {"message_id": sent["id"], "msg_type": "widget", "content": vote}
    (await office.other.call("POST", "/submessage", **given)).refused()


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        "[]",
        json.dumps({"widget_type": "poll", "extra_data": {}}),
        json.dumps({**CHOICES, "extra_data": {**QUESTION, "choices": []}}),
        json.dumps({**CHOICES, "extra_data": {**QUESTION, "heading": "x" * 301}}),
        json.dumps({**CHOICES, "more": 1}),
    ],
)
async def test_bad_choices(office, content):
    answer = await office.bot.call("POST", "/messages", **KITCHEN, widget_content=content)
    assert answer.refused(INVALID)["var_name"] == "widget_content"


async def test_choices_are_for_bots_and_not_beside_buttons(office):
    content = json.dumps(CHOICES)
    answer = await office.other.call("POST", "/messages", **KITCHEN, widget_content=content)
    assert answer.refused(INVALID)["var_name"] == "widget_content"
    given = {**KITCHEN, "buttons": [YES], "widget_content": content}
    answer = await office.bot.call("POST", "/messages", **given)
    assert answer.refused(INVALID)["var_name"] == "widget_content"


# -- payloads written for Slack

BLOCKS = {
    "text": "Deploy?",
    "blocks": [
        {"type": "section", "text": {"type": "mrkdwn", "text": "Deploy *7*?"}},
        {
            "type": "actions",
            "block_id": "b1",
            "elements": [
                {
                    "type": "button",
                    "action_id": "go",
                    "text": {"type": "plain_text", "text": "Go &amp; see"},
                    "value": "7",
                    "style": "primary",
                    "confirm": {
                        "title": {"type": "plain_text", "text": "Sure?"},
                        "text": {"type": "mrkdwn", "text": "It is live."},
                        "confirm": {"type": "plain_text", "text": "Yes"},
                        "deny": {"type": "plain_text", "text": "No"},
                    },
                },
                {
                    "type": "button",
                    "action_id": "log",
                    "text": {"type": "plain_text", "text": "Log"},
                    "url": "https://ci.example.com/7",
                },
                {"type": "static_select", "action_id": "where", "options": []},
            ],
        },
    ],
}
GO = {
    "id": "go",
    "label": "Go & see",
    "style": "primary",
    "confirm": {"title": "Sure?", "text": "It is live.", "confirm": "Yes", "deny": "No"},
}


def attached(*actions: Any, **fields: Any) -> dict[str, Any]:
    attachment = {"text": "Choose", "callback_id": "game", "actions": list(actions), **fields}
    return {"text": "Play?", "attachments": [attachment]}


async def by_slack(client: Client, payload: Any) -> Answer:
    path = f"/external/slack_incoming?api_key={client.api_key}&stream=kitchen&topic=slack"
    anyone = replace(client, email=None, api_key=None)
    return await anyone.send("POST", path, body=json.dumps(payload).encode())


async def newest(client: Client) -> dict[str, Any]:
    page = await client.get(
        "/messages",
        anchor="newest",
        num_before=1,
        num_after=0,
        message_buttons=True,
        apply_markdown=False,
    )
    return dict(page["messages"][-1])


async def test_blocks_of_slack_have_buttons(office):
    (await by_slack(office.bot, BLOCKS)).succeeded()
    message = await newest(office.other)
    assert message["buttons"] == [GO]
    # What only leads to an address is a link, as before.
    assert "[Log](https://ci.example.com/7)" in message["content"]
    assert "Go" not in message["content"]
    (await office.click(message["id"], button_id="go")).succeeded()


async def test_attachments_of_slack_have_buttons(office):
    payload = attached(
        {"name": "pick", "text": "Chess", "type": "button", "value": "chess"},
        {"name": "pick", "text": "War", "type": "button", "value": "war", "style": "danger"},
        {"name": "list", "text": "Which?", "type": "select"},
    )
    (await by_slack(office.bot, payload)).succeeded()
    shown_now = (await newest(office.other))["buttons"]
    assert [(each["id"], each["label"], each["style"]) for each in shown_now] == [
        ("pick", "Chess", "default"),
        ("pick#2", "War", "danger"),
    ]


async def test_bots_without_a_service_post_such_payloads_as_before(office, make, connect, server):
    row = await make.user("Hook", bot_type=2, bot_owner=office.member.user)
    client = await connect(server, make.realm_id, row)
    (await by_slack(client, BLOCKS)).succeeded()
    message = await newest(office.other)
    assert "buttons" not in message
    assert message["content"].startswith("Deploy **7**?")


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        (
            attached(*[{"name": f"b{n}", "text": "x"} for n in range(MAX_BUTTONS + 1)]),
            "attachments",
        ),
        (attached({"name": "a", "text": "x" * (MAX_LABEL_LENGTH + 1)}), "attachments"),
        (attached({"name": "a", "text": "x", "value": "v" * 2_001}), "attachments"),
        (
            {
                "text": "a",
                "blocks": [{"type": "actions", "elements": [{"type": "button", "action_id": "a"}]}],
            },
            "blocks",
        ),
    ],
)
async def test_limits_of_slacks_buttons(office, payload, name):
    answer = await by_slack(office.bot, payload)
    assert answer.refused(INVALID)["var_name"] == name


@pytest.mark.parametrize(
    "payload",
    [
        attached("no object", {"type": "button"} | {"url": "https://e.org"}, 7),
        {"text": "a", "attachments": [{"text": "b", "actions": "many"}, "c"]},
        {"text": "a", "blocks": [{"type": "actions", "elements": {"a": 1}}, [], None]},
        {"text": "a", "blocks": [{"type": "section", "accessory": []}]},
    ],
)
async def test_malformed_parts_are_left_out(office, payload):
    (await by_slack(office.bot, payload)).succeeded()
    assert "buttons" not in await newest(office.other)
