"""From clicks on buttons to what services are asked, and what becomes of their answers."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
import pytest_asyncio

from queue_processors.message_buttons import (
    CLAIM_SECONDS,
    PATIENCE_SECONDS,
    RETRY_SCHEDULE_SECONDS,
    ClickDeliverer,
)
from server.actions.message_buttons import click_button
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.delete import delete_message
from server.actions.messages.send import send_message
from server.domain.message_buttons import Button, SlackAction
from server.domain.outgoing_webhooks import GENERIC, SLACK
from server.egress import Egress
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.events.message_buttons import ButtonClickAnswered, MessageButtonsChanged
from server.events.message_changes import MessagesChanged
from server.jobs import ButtonClick
from server.parsing.parser import Parser, open_parser
from server.realm_cache.keys import user_key
from server.settings.network_types import Destinations, Ports
from storage import bots
from storage.bots import ServiceRow
from storage.ids import MessageId
from storage.users import UserRow
from testkit.factories import user_ids
from testkit.message_fanout import FanoutDesk
from testkit.realm_with_roles import Hall
from testkit.services.web_server import Received, Web, answering, answering_json, web_at

pytestmark = pytest.mark.asyncio

TOKEN = "secret of the bot"
SECONDS = 5.0
YES = Button(id="yes", label="Yes", value="7", style="primary")
NO = Button(id="no", label="No")


@dataclass
class Panel:
    """Handles clicks as their processor does; time passes when it is told to."""

    hall: Hall
    desk: FanoutDesk
    web: Web
    egress: Egress
    parser: Parser
    bot: UserRow
    message_id: MessageId | None = None
    done: int = 0

    def deliverer(self) -> ClickDeliverer:
        services = self.hall.realm_services()
        return ClickDeliverer(services, self.desk.basket, self.egress, self.parser, SECONDS)

    async def send(
        self, to: Any = "news", topic: str = "lunch", buttons: Sequence[Button] = (YES, NO)
    ) -> MessageId:
        draft = OutgoingMessage(
            type="channel" if isinstance(to, str) else "direct",
            to=to,
            topic=topic,
            content="Deploy?",
            buttons=tuple(buttons),
        )
        now = self.hall.stage.clock.now()
        sent = await self.hall.stage.run(send_message, self.hall.actor(self.bot), draft, None, now)
        self.message_id = sent.result.message_id
        return self.message_id

    async def click(self, row: UserRow, button_id: str = "yes") -> str:
        actor, now = self.hall.actor(row), self.hall.stage.clock.now()
        here = (self.message_id, button_id, None, now)
        return str(await self.hall.stage.write(click_button, actor, *here))

    async def jobs(self) -> list[ButtonClick]:
        """Those that were asked for since the last time."""
        await self.desk.shipped()
        found: list[ButtonClick] = self.desk.basket.of(ButtonClick)
        new, self.done = found[self.done :], len(found)
        return new

    async def work(self) -> list[Received]:
        """Do what there is to do; the requests that were made."""
        before = len(self.web.requests)
        for job in await self.jobs():
            await self.deliverer().handle(job)
        return self.web.requests[before:]

    async def work_off(self) -> list[Received]:
        """Work until no job is left; time passes meanwhile."""
        before = len(self.web.requests)
        for _ in range(100):
            jobs = await self.jobs()
            if not jobs:
                return self.web.requests[before:]
            for job in jobs:
                await self.deliverer().handle(job)
            self.hall.stage.clock.advance(timedelta(seconds=max(RETRY_SCHEDULE_SECONDS)))
        raise AssertionError("there is always another job")

    def shown(self, row: UserRow) -> list[ButtonClickAnswered]:
        """What this user was shown, and no one else."""
        return [
            each.event
            for each in self.hall.stage.happened
            if isinstance(each.event, ButtonClickAnswered) and each.audience.users == (row.user_id,)
        ]

    async def said(self, *, system: bool = False) -> list[str]:
        """The messages of the bot, or of system bots."""
        return await self.hall.make.connection.values(
            """
            SELECT coalesce(t.name, 'dm') || ': ' || m.content FROM messages m
              JOIN users u ON u.realm_id = m.realm_id AND u.user_id = m.sender_id
              LEFT JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
                   AND m.channel_id IS NOT NULL
             WHERE m.realm_id = %(r)s AND u.bot_type IS NOT NULL AND u.is_system_bot = %(s)s
             ORDER BY m.id
            """,
            r=self.hall.make.realm_id,
            s=system,
        )

    async def labels(self) -> list[str]:
        stored = await self.hall.make.connection.values(
            "SELECT content FROM submessages WHERE realm_id = %(r)s AND message_id = %(m)s",
            r=self.hall.make.realm_id,
            m=self.message_id,
        )
        return [each["label"] for content in stored for each in json.loads(content)]

    async def use_slack(self) -> None:
        row = ServiceRow(
            bot_id=self.bot.user_id, interface=SLACK, base_url=self.web.url(), token=TOKEN
        )
        await bots.update_service(self.hall.make.connection, self.hall.make.realm_id, row)


@pytest_asyncio.fixture
async def panel(hall: Hall, desk: FanoutDesk) -> AsyncIterator[Panel]:
    """The bot is the member's; its message is in a channel of others."""
    make = hall.make
    bot = await make.user("Deployer", bot_type=3, bot_owner=hall.member)
    await make.channel("news", subscribers=[hall.other, hall.guest])
    guard = Guard(Destinations("127.0.0.1/32"), Ports("80"))
    async with web_at("127.0.0.1") as web, open_parser() as parser:
        row = ServiceRow(
            bot_id=bot.user_id, interface=GENERIC, base_url=web.url("/run"), token=TOKEN
        )
        await bots.insert_service(make.connection, make.realm_id, row)
        egress = Egress(guard, SystemResolver())
        panel = Panel(hall, desk, web, egress, parser, bot)
        await panel.send()
        yield panel
        await egress.close()


async def test_the_service_is_asked(hall, panel):
    click_id = await panel.click(hall.other)
    [request] = await panel.work()
    payload = request.json()
    assert payload["trigger"] == "message_button"
    assert (payload["click_id"], payload["message_id"]) == (click_id, panel.message_id)
    assert payload["button"] == {"id": "yes", "label": "Yes", "value": "7"}
    assert payload["data"] == "Deploy?"
    assert payload["user"]["user_id"] == hall.other.user_id
    assert payload["conversation"]["name"] == "news"
    assert payload["response_url"].startswith("http")
    signed = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    text = b".".join([*map(str.encode, signed), request.body])
    digest = base64.b64encode(hmac.digest(TOKEN.encode(), text, hashlib.sha256)).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"
    [shown] = panel.shown(hall.other)
    assert (shown.click_id, shown.content, shown.is_error) == (click_id, "", False)
    assert await panel.work() == []


async def test_an_answer_for_the_user_alone(hall, panel):
    panel.web.answers = [answering_json({"text": "*Deploying*."})]
    await panel.click(hall.guest)
    await panel.work()
    [shown] = panel.shown(hall.guest)
    assert shown.rendered_content == "<p><em>Deploying</em>.</p>"
    assert (shown.message_id, shown.bot_id) == (panel.message_id, panel.bot.user_id)
    assert await panel.said() == ["lunch: Deploy?"]


async def test_an_answer_for_all_is_posted_once(hall, panel):
    answer = {"response_type": "in_channel", "text": "Done."}
    panel.web.answers = [answering_json(answer)]
    await panel.click(hall.other)
    [job] = await panel.jobs()
    await asyncio.gather(*(panel.deliverer().handle(job) for _ in range(3)))
    assert len(panel.web.requests) == 1
    assert await panel.said() == ["lunch: Deploy?", "lunch: Done."]
    assert [each.content for each in panel.shown(hall.other)] == [""]


async def test_an_answer_replaces_the_message_and_its_buttons(hall, panel):
    again = {"id": "undo", "label": "Undo", "style": "danger"}
    answer = {"replace_original": True, "text": "Deployed.", "buttons": [again]}
    panel.web.answers = [answering_json(answer)]
    # Longer after it was sent than people may correct their own words.
    hall.stage.clock.advance(timedelta(days=1))
    await panel.click(hall.other)
    await panel.work()
    assert await panel.said() == ["lunch: Deployed."]
    assert await panel.labels() == ["Undo"]
    events = [each.event for each in hall.stage.happened]
    [edited] = [each.content for each in events if isinstance(each, MessagesChanged)]
    assert edited is not None
    assert edited.content == "Deployed."
    [changed] = [each for each in events if isinstance(each, MessageButtonsChanged)]
    assert [each.id for each in changed.buttons] == ["undo"]


async def test_an_answer_without_a_text_replaces_the_buttons_alone(hall, panel):
    panel.web.answers = [
        answering_json({"replace_original": True, "buttons": [{"id": "b", "label": "B"}]})
    ]
    await panel.click(hall.other)
    await panel.work()
    assert await panel.said() == ["lunch: Deploy?"]
    assert await panel.labels() == ["B"]


async def test_an_answer_deletes_the_message_if_the_bot_may(hall, panel):
    panel.web.answers = [answering_json({"delete_original": True})]
    await panel.click(hall.other)
    await panel.work()
    assert await panel.said() == []
    await panel.send()
    hall.stage.clock.advance(timedelta(days=1))
    await panel.click(hall.other)
    await panel.work()
    assert await panel.said() == ["lunch: Deploy?"]
    assert "time limit" in panel.shown(hall.other)[-1].content


async def test_messages_where_only_the_owner_may_read(hall, panel):
    await hall.make.channel("plans", subscribers=[hall.member, hall.other], invite_only=True)
    await panel.send("plans")
    answer = {"replace_original": True, "text": "Deployed."}
    panel.web.answers = [answering_json(answer)]
    await panel.click(hall.other)
    [request] = await panel.work()
    assert request.json()["conversation"]["name"] == "plans"
    assert "lunch: Deployed." in await panel.said()
    assert await panel.labels() == []


async def test_direct_messages(hall, panel):
    await panel.send(user_ids([hall.other]))
    panel.web.answers = [answering_json({"response_type": "in_channel", "text": "Done."})]
    await panel.click(hall.other)
    [request] = await panel.work()
    people = sorted(user_ids([hall.other, panel.bot]))
    assert request.json()["conversation"] == {"type": "direct", "user_ids": people}
    assert (await panel.said())[-1] == "dm: Done."


# -- order


async def test_clicks_of_several_people_are_delivered_in_their_order(hall, panel):
    people = [hall.other, hall.guest, hall.admin]
    for row in people:
        await panel.click(row)
    jobs = await panel.jobs()
    # Whatever order the broker hands them out in, and all at once.
    await asyncio.gather(*(panel.deliverer().handle(job) for job in reversed(jobs)))
    await panel.work_off()
    asked = [request.json()["user"]["user_id"] for request in panel.web.requests]
    assert asked == user_ids(people)
    assert [len(panel.shown(row)) for row in people] == [1, 1, 1]


async def test_a_click_waits_for_the_answer_to_the_one_before(hall, panel):
    panel.web.answers = [
        answering(503),
        answering_json({"replace_original": True, "text": "First."}),
        answering_json({"replace_original": True, "text": "Second."}),
    ]
    await panel.click(hall.other)
    await panel.click(hall.guest, "no")
    requests = await panel.work_off()
    buttons = [(each.json()["button"]["id"], each.json()["data"]) for each in requests]
    assert buttons == [("yes", "Deploy?"), ("yes", "Deploy?"), ("no", "First.")]
    assert await panel.said() == ["lunch: Second."]


async def test_clicks_on_other_messages_do_not_wait(hall, panel):
    await panel.click(hall.other)
    await panel.send(topic="dinner")
    await panel.click(hall.guest)
    _, second = await panel.jobs()
    await panel.deliverer().handle(second)
    [request] = panel.web.requests
    assert request.json()["conversation"]["topic"] == "dinner"


# -- failures


@pytest.mark.parametrize("status", [429, 503])
async def test_what_may_go_better_is_tried_again_for_seconds(hall, panel, status):
    panel.web.answers = [answering(status)]
    await panel.click(hall.other)
    requests = await panel.work_off()
    assert len(requests) == 1 + len(RETRY_SCHEDULE_SECONDS)
    assert len({each.headers["webhook-id"] for each in requests}) == 1
    [shown] = panel.shown(hall.other)
    assert shown.is_error
    assert shown.content == f"@_**Deployer|{panel.bot.user_id}** could not answer."


async def test_a_click_that_has_waited_for_others_is_tried_once(hall, panel):
    panel.web.answers = [answering(503)]
    await panel.click(hall.other)
    hall.stage.clock.advance(timedelta(seconds=PATIENCE_SECONDS))
    assert len(await panel.work_off()) == 1
    assert [each.is_error for each in panel.shown(hall.other)] == [True]


async def test_a_repeated_job_waits_for_a_process_that_was_killed(hall, panel):
    await panel.click(hall.other)
    [job] = await panel.jobs()
    is_asked = asyncio.Event()

    async def hang(_: Received, writer: asyncio.StreamWriter) -> None:
        is_asked.set()
        await writer.wait_closed()

    panel.web.answers = [hang, answering()]
    async with asyncio.timeout(5):
        task = asyncio.create_task(panel.deliverer().handle(job))
        await is_asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await panel.deliverer().handle(job)
    assert len(panel.web.requests) == 1
    hall.stage.clock.advance(timedelta(seconds=SECONDS + CLAIM_SECONDS))
    await panel.work_off()
    assert len({each.headers["webhook-id"] for each in panel.web.requests}) == 1
    assert len(panel.web.requests) == 2
    assert [each.content for each in panel.shown(hall.other)] == [""]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answering(200, "hello"), "The answer is not JSON."),
        (answering(200, b'{"text": "\xff"}'), "The answer is not JSON."),
        (answering_json({"text": "a", "response_type": "loud"}), "The answer is not valid"),
        (answering_json({"text": 7}), "The answer is not valid"),
        (answering_json([]), "The answer is not valid"),
        (answering_json({"text": "x" * 10_001}), "Message is too long"),
        (
            answering_json({"replace_original": True, "buttons": [{"id": "a", "label": ""}]}),
            "label of a button",
        ),
        (answering(404, "no\n@**all**"), "It answered 404.\n> no\n> @**all**"),
    ],
)
async def test_failures_are_shown_with_their_reason_to_those_who_manage_the_bot(
    hall, panel, answer, reason
):
    panel.web.answers = [answer]
    await panel.click(hall.other)
    await panel.work()
    [shown] = panel.shown(hall.other)
    assert shown.is_error
    assert shown.content == f"@_**Deployer|{panel.bot.user_id}** could not answer."
    await panel.click(hall.admin)
    await panel.work()
    [shown] = panel.shown(hall.admin)
    assert reason in shown.content


async def test_the_owner_is_notified_at_most_once_an_hour(hall, panel):
    await hall.make.notification_bot()
    panel.web.answers = [answering(404)]
    for minutes, count in ((0, 1), (30, 1), (31, 2)):
        hall.stage.clock.advance(timedelta(minutes=minutes))
        await panel.click(hall.other)
        await panel.work()
        assert len(await panel.said(system=True)) == count
    notice = (await panel.said(system=True))[0]
    assert notice.startswith(f"dm: Your bot @_**Deployer|{panel.bot.user_id}** could not answer")
    assert "Yes" in notice
    assert "It answered 404." in notice


async def test_a_refused_replacement_is_shown_to_the_user(hall, panel):
    answer = {"replace_original": True, "text": "@**all** done"}
    panel.web.answers = [answering_json({**answer, "text": "x" * 10_001})]
    await panel.click(hall.other)
    await panel.work()
    [shown] = panel.shown(hall.other)
    assert shown.is_error
    assert await panel.said() == ["lunch: Deploy?"]


async def test_a_message_that_was_deleted_meanwhile_is_not_asked_about(hall, panel):
    await panel.click(hall.other)
    jobs = await panel.jobs()
    now = hall.stage.clock.now()
    await hall.stage.write(delete_message, hall.actor(hall.admin), panel.message_id, now)
    for job in jobs:
        await panel.deliverer().handle(job)
    assert panel.web.requests == []
    assert await panel.work() == []


async def test_a_bot_that_was_deactivated_meanwhile_is_said_to_be_so(hall, panel):
    await panel.click(hall.other)
    await hall.make.connection.execute(
        "UPDATE users SET is_active = false WHERE realm_id = %(r)s AND user_id = %(u)s",
        r=hall.make.realm_id,
        u=panel.bot.user_id,
    )
    hall.stage.realm_caches.of(hall.make.realm_id).forget([user_key(panel.bot.user_id)])
    assert await panel.work() == []
    [shown] = panel.shown(hall.other)
    assert "deactivated" in shown.content


# -- the format of Slack


def slack_payload(request: Received) -> dict[str, Any]:
    timestamp = request.headers["x-slack-request-timestamp"]
    text = f"v0:{timestamp}:".encode() + request.body
    digest = hmac.new(TOKEN.encode(), text, hashlib.sha256).hexdigest()
    assert request.headers["x-slack-signature"] == f"v0={digest}"
    form = parse_qs(request.body.decode())
    return dict(json.loads(form["payload"][0]))


async def test_blocks_of_slack(hall, panel):
    await panel.use_slack()
    slack = SlackAction(block_id="b1")
    await panel.send(buttons=[Button(id="x", name="go", label="Gö&", value="1", slack=slack)])
    panel.web.answers = [answering_json({"text": "*hi*", "response_type": "ephemeral"})]
    await panel.click(hall.other, "x")
    [request] = await panel.work()
    payload = slack_payload(request)
    assert payload["type"] == "block_actions"
    [action] = payload["actions"]
    assert (action["action_id"], action["block_id"], action["value"]) == ("go", "b1", "1")
    assert action["text"]["text"] == "Gö&"
    assert payload["user"]["id"] == f"U{hall.other.user_id}"
    assert payload["channel"]["name"] == "news"
    assert payload["response_url"]
    [shown] = panel.shown(hall.other)
    assert shown.content == "**hi**"


async def test_attachments_of_slack_are_replaced_by_the_answer(hall, panel):
    await panel.use_slack()
    slack = SlackAction(callback_id="deploys", attachment_id=2)
    await panel.send(buttons=[Button(id="x", name="game", label="Go", value="1", slack=slack)])
    actions = [{"name": "undo", "text": "Undo", "type": "button", "value": "0"}]
    answer = {"text": "Deployed.", "attachments": [{"callback_id": "d", "actions": actions}]}
    panel.web.answers = [answering_json(answer)]
    await panel.click(hall.other, "x")
    [request] = await panel.work()
    payload = slack_payload(request)
    assert (payload["type"], payload["callback_id"]) == ("interactive_message", "deploys")
    assert payload["actions"] == [{"name": "game", "type": "button", "value": "1"}]
    assert payload["attachment_id"] == "2"
    assert (await panel.said())[-1] == "lunch: Deployed."
    assert await panel.labels() == ["Undo"]


async def test_slack_may_keep_the_message(hall, panel):
    await panel.use_slack()
    slack = SlackAction(callback_id="deploys")
    await panel.send(buttons=[Button(id="x", label="Go", slack=slack)])
    answer = {"text": "Just you.", "replace_original": False}
    panel.web.answers = [answering_json(answer)]
    await panel.click(hall.other, "x")
    await panel.work()
    assert [each.content for each in panel.shown(hall.other)] == ["Just you."]
    assert await panel.labels() == ["Go"]


async def test_a_large_answer_of_slack_is_read_elsewhere(hall, panel):
    await panel.use_slack()
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*a*" * 900}}] * 8
    panel.web.answers = [answering_json({"blocks": blocks})]
    await panel.click(hall.other)
    await panel.work()
    [shown] = panel.shown(hall.other)
    assert not shown.is_error
    assert shown.content.endswith("[message cut]")
