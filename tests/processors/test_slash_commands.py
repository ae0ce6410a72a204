"""From calls of slash commands to what services are asked, and what callers are shown."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
import pytest_asyncio

from queue_processors.slash_commands import RETRY_SCHEDULE_SECONDS, CommandCaller
from server.actions.slash_commands import CallDestination, CommandTexts, add_command, call_command
from server.domain.outgoing_webhooks import GENERIC, SLACK
from server.egress import Egress
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.events.slash_commands import SlashCommandAnswered
from server.jobs import SlashCommandCall
from server.realm_cache.keys import user_key
from server.settings.network_types import Destinations, Ports
from storage import bots
from storage.bots import ServiceRow
from storage.users import UserRow
from testkit.factories import user_ids
from testkit.message_fanout import FanoutDesk
from testkit.realm_with_roles import Hall
from testkit.services.web_server import Received, Web, answering, answering_json, web_at

pytestmark = pytest.mark.asyncio

TOKEN = "secret of the bot"


@dataclass
class Bridge:
    """Handles calls as their processor does, without waiting until it is time to try again."""

    hall: Hall
    desk: FanoutDesk
    web: Web
    egress: Egress
    bot: UserRow
    done: int = 0

    def caller(self) -> CommandCaller:
        return CommandCaller(self.hall.realm_services(), self.desk.basket, self.egress, 5.0)

    async def call(
        self, row: UserRow, text: str = "/deploy web 7", to: Any = "news", topic: str = "lunch"
    ) -> str:
        where = CallDestination(is_channel=isinstance(to, str), to=to, topic=topic)
        call_id: str = await self.hall.stage.run(call_command, self.hall.actor(row), text, where)
        return call_id

    async def jobs(self) -> list[SlashCommandCall]:
        """Those that were asked for since the last time."""
        await self.desk.shipped()
        found: list[SlashCommandCall] = self.desk.basket.of(SlashCommandCall)
        new, self.done = found[self.done :], len(found)
        return new

    async def work(self) -> list[Received]:
        """Do what there is to do; the requests that were made."""
        before = len(self.web.requests)
        for job in await self.jobs():
            await self.caller().handle(job)
        return self.web.requests[before:]

    def shown(self, row: UserRow) -> list[SlashCommandAnswered]:
        """What this caller was shown, and no one else."""
        return [
            each.event
            for each in self.hall.stage.happened
            if isinstance(each.event, SlashCommandAnswered)
            and each.audience.users == (row.user_id,)
        ]

    async def said(self) -> list[str]:
        """The messages of bots."""
        return await self.hall.make.connection.values(
            """
            SELECT coalesce(t.name, 'dm') || ': ' || m.content FROM messages m
              JOIN users u ON u.realm_id = m.realm_id AND u.user_id = m.sender_id
              LEFT JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
                   AND m.channel_id IS NOT NULL
             WHERE m.realm_id = %(r)s AND u.bot_type IS NOT NULL ORDER BY m.id
            """,
            r=self.hall.make.realm_id,
        )


@pytest_asyncio.fixture
async def bridge(hall: Hall, desk: FanoutDesk) -> AsyncIterator[Bridge]:
    """The bot is the member's."""
    make = hall.make
    bot = await make.user("Deployer", bot_type=3, bot_owner=hall.member)
    await make.channel("news", subscribers=[hall.other, hall.guest])
    guard = Guard(Destinations("127.0.0.1/32"), Ports("80"))
    async with web_at("127.0.0.1") as web:
        row = ServiceRow(
            bot_id=bot.user_id, interface=GENERIC, base_url=web.url("/run"), token=TOKEN
        )
        await bots.insert_service(make.connection, make.realm_id, row)
        texts = CommandTexts(description="Deploy a service")
        await hall.stage.run(add_command, hall.actor(hall.member), bot.user_id, "deploy", texts)
        egress = Egress(guard, SystemResolver())
        yield Bridge(hall, desk, web, egress, bot)
        await egress.close()


async def use_slack(bridge: Bridge) -> None:
    connection, realm_id = bridge.hall.make.connection, bridge.hall.make.realm_id
    row = ServiceRow(
        bot_id=bridge.bot.user_id, interface=SLACK, base_url=bridge.web.url(), token=TOKEN
    )
    await bots.update_service(connection, realm_id, row)


async def test_the_service_is_called_and_the_caller_alone_sees_the_answer(hall, bridge):
    bridge.web.answers = [answering_json({"text": "Deploying *web*."})]
    call_id = await bridge.call(hall.other)
    [request] = await bridge.work()
    payload = request.json()
    assert payload["trigger"] == "slash_command"
    assert (payload["command"], payload["data"]) == ("/deploy", "web 7")
    assert payload["call_id"] == call_id
    assert payload["user"]["user_id"] == hall.other.user_id
    assert "/api/v1/slash_commands/answers/" in payload["response_url"]
    assert payload["conversation"]["type"] == "channel"
    assert payload["conversation"]["name"] == "news"
    assert payload["conversation"]["topic"] == "lunch"
    [shown] = bridge.shown(hall.other)
    assert (shown.content, shown.is_error) == ("Deploying *web*.", False)
    assert shown.rendered_content == "<p>Deploying <em>web</em>.</p>"
    assert (shown.call_id, shown.command, shown.topic) == (call_id, "deploy", "lunch")
    assert await bridge.said() == []


async def test_the_call_is_signed(hall, bridge):
    await bridge.call(hall.other)
    [request] = await bridge.work()
    signed = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    text = b".".join([*map(str.encode, signed), request.body])
    digest = base64.b64encode(hmac.digest(TOKEN.encode(), text, hashlib.sha256)).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"


async def test_the_format_of_slack(hall, bridge):
    await use_slack(bridge)
    await bridge.call(hall.other, "/DEPLOY ä&b=c")
    [request] = await bridge.work()
    form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    assert (form["command"], form["text"]) == ("/deploy", "ä&b=c")
    assert form["user_id"] == f"U{hall.other.user_id}"
    assert form["channel_name"] == "news"
    assert "/api/v1/slash_commands/answers/" in form["response_url"]
    timestamp = request.headers["x-slack-request-timestamp"]
    text = f"v0:{timestamp}:".encode() + request.body
    digest = hmac.new(TOKEN.encode(), text, hashlib.sha256).hexdigest()
    assert request.headers["x-slack-signature"] == f"v0={digest}"


async def test_an_answer_for_all_is_posted_once(hall, bridge):
    bridge.web.answers = [answering_json({"response_type": "in_channel", "text": "Done."})]
    await bridge.call(hall.other)
    [job] = await bridge.jobs()
    await bridge.caller().handle(job)
    await bridge.caller().handle(job)
    assert await bridge.said() == ["lunch: Done."]
    assert bridge.shown(hall.other) == []


async def test_a_private_channel_that_the_bot_cannot_read_is_not_named(hall, bridge):
    await hall.make.channel("plans", subscribers=[hall.other], invite_only=True)
    answer = {"response_type": "in_channel", "text": "Done."}
    bridge.web.answers = [answering_json(answer)]
    await bridge.call(hall.other, to="plans")
    [request] = await bridge.work()
    assert request.json()["conversation"] is None
    assert b"plans" not in request.body
    assert await bridge.said() == []
    [shown] = bridge.shown(hall.other)
    assert shown.content.startswith("Done.\n\nOnly you see this")


async def test_direct_messages_without_the_bot_are_not_described(hall, bridge):
    answer = {"response_type": "in_channel", "text": "Done."}
    bridge.web.answers = [answering_json(answer)]
    await bridge.call(hall.other, to=user_ids([hall.admin]))
    [request] = await bridge.work()
    assert request.json()["conversation"] is None
    assert await bridge.said() == []
    assert [each.content for each in bridge.shown(hall.other)] == ["Done."]


async def test_direct_messages_with_the_bot(hall, bridge):
    answer = {"response_type": "in_channel", "text": "Done."}
    bridge.web.answers = [answering_json(answer)]
    await bridge.call(hall.other, to=user_ids([bridge.bot]))
    [request] = await bridge.work()
    people = sorted(user_ids([hall.other, bridge.bot]))
    assert request.json()["conversation"] == {"type": "direct", "user_ids": people}
    assert await bridge.said() == ["dm: Done."]


@pytest.mark.parametrize("body", ["", " ", '""', "{}", '{"text": ""}'])
async def test_a_service_may_have_nothing_to_say(hall, bridge, body):
    bridge.web.answers = [answering(200, body)]
    await bridge.call(hall.other)
    assert len(await bridge.work()) == 1
    assert (await bridge.said(), bridge.shown(hall.other)) == ([], [])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answering(200, "hello"), "The answer is not JSON."),
        (answering_json({"text": "a", "response_type": "loud"}), "`response_type`"),
        (answering_json({"text": "x" * 10_001}), "Message is too long"),
        (answering_json({"text": "\0"}), "null bytes"),
        (answering(404, "no\n@**all**"), "It answered 404.\n> no\n> @**all**"),
    ],
)
async def test_failures_are_shown_with_their_reason_to_those_who_manage_the_bot(
    hall, bridge, answer, reason
):
    bridge.web.answers = [answer]
    await hall.make.channel("ours", subscribers=[hall.member])
    await bridge.call(hall.other)
    await bridge.work()
    [shown] = bridge.shown(hall.other)
    assert shown.is_error
    assert shown.content == f"@_**Deployer|{bridge.bot.user_id}** could not answer."
    await bridge.call(hall.member, to="ours")
    await bridge.work()
    [shown] = bridge.shown(hall.member)
    assert reason in shown.content


async def test_a_private_address_is_not_connected_to(hall, bridge):
    async with web_at("127.0.0.2") as private:
        row = ServiceRow(
            bot_id=bridge.bot.user_id, interface=GENERIC, base_url=private.url(), token=TOKEN
        )
        await bots.update_service(hall.make.connection, hall.make.realm_id, row)
        await bridge.call(hall.other)
        assert await bridge.work() == []
    assert private.connections == 0
    assert [each.is_error for each in bridge.shown(hall.other)] == [True]


@pytest.mark.parametrize("status", [429, 503])
async def test_what_may_go_better_is_tried_again_for_seconds(hall, bridge, status):
    bridge.web.answers = [answering(status)]
    await bridge.call(hall.other)
    requests = [*(await bridge.work()), *(await bridge.work())]
    assert bridge.shown(hall.other) == []
    requests += await bridge.work()
    assert len({each.headers["webhook-id"] for each in requests}) == 1
    assert len(requests) == 1 + len(RETRY_SCHEDULE_SECONDS)
    assert await bridge.work() == []
    assert [each.is_error for each in bridge.shown(hall.other)] == [True]


async def test_a_service_that_asks_for_a_long_pause_is_not_called_again(hall, bridge):
    bridge.web.answers = [answering(503, retry_after="3600")]
    await bridge.call(hall.other)
    assert len(await bridge.work()) == 1
    assert await bridge.work() == []
    assert [each.is_error for each in bridge.shown(hall.other)] == [True]


async def test_the_owner_is_notified_at_most_once_an_hour(hall, bridge):
    await hall.make.notification_bot()
    bridge.web.answers = [answering(404)]
    for minutes, count in ((0, 1), (30, 1), (31, 2)):
        hall.stage.clock.advance(timedelta(minutes=minutes))
        await bridge.call(hall.other)
        await bridge.work()
        assert len(await bridge.said()) == count
    [notice, _] = await bridge.said()
    who = f"@_**Deployer|{bridge.bot.user_id}**"
    assert notice.startswith(f"dm: Your bot {who} could not answer the command /deploy:")
    assert "It answered 404." in notice


async def test_two_callers_at_once_are_both_answered(hall, bridge):
    people = [hall.other, hall.guest]
    is_called = asyncio.Event()

    async def answer(request: Received, writer: asyncio.StreamWriter) -> None:
        # The first call is answered last: neither waits for the other.
        if request.json()["data"] == "0":
            await is_called.wait()
        is_called.set()
        await answering_json({"text": request.json()["data"]})(request, writer)

    bridge.web.answers = [answer]
    calls = [await bridge.call(row, f"/deploy {n}") for n, row in enumerate(people)]
    jobs = await bridge.jobs()
    assert [job.call_id for job in jobs] == calls
    hall.stage.happened.clear()
    async with asyncio.timeout(5):
        await asyncio.gather(*(bridge.caller().handle(job) for job in jobs))
    for n, row in enumerate(people):
        [shown] = bridge.shown(row)
        assert (shown.call_id, shown.content) == (calls[n], str(n))


async def test_a_bot_that_was_deactivated_meanwhile_is_said_to_be_so(hall, bridge):
    await bridge.call(hall.other)
    await hall.make.connection.execute(
        "UPDATE users SET is_active = false WHERE realm_id = %(r)s AND user_id = %(u)s",
        r=hall.make.realm_id,
        u=bridge.bot.user_id,
    )
    hall.stage.realm_caches.of(hall.make.realm_id).forget([user_key(bridge.bot.user_id)])
    assert await bridge.work() == []
    [shown] = bridge.shown(hall.other)
    assert "deactivated" in shown.content
