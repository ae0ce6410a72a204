"""From messages that concern bots to what web servers are asked, and what bots say then."""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email.utils import format_datetime
from typing import Any, cast
from urllib.parse import parse_qs

import msgspec
import pytest
import pytest_asyncio

from queue_processors.outgoing_webhooks import RETRY_SCHEDULE_SECONDS, Caller
from queue_processors.processor import Processor
from server.domain.outgoing_webhooks import GENERIC, SLACK
from server.egress import Egress
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.jobs import OutgoingWebhook, outgoing
from server.settings.network_types import Destinations, Ports
from storage import bots, users
from storage.bots import ServiceRow
from storage.users import UserRow
from testkit.factories import user_ids
from testkit.message_changes import Changes
from testkit.message_fanout import FanoutDesk
from testkit.oracles import contract
from testkit.realm_with_roles import Hall
from testkit.services.job_brokers import Place
from testkit.services.web_server import Received, Web, answering, answering_json, web_at

pytestmark = pytest.mark.asyncio

TOKEN = "secret of the bot"


@dataclass
class Agency:
    """Calls bots as their processor does, without waiting until it is time to try again."""

    hall: Hall
    desk: FanoutDesk
    web: Web
    egress: Egress
    bot: UserRow
    done: int = 0
    pauses: list[float] = field(default_factory=list)

    def caller(self, **parts: Any) -> Caller:
        whole = Caller(self.hall.realm_services(), self.desk.basket, self.egress, 5.0)
        return replace(whole, **parts)

    async def jobs(self) -> list[OutgoingWebhook]:
        """Those that were asked for since the last time."""
        await self.desk.catch_up()
        found = [each for each in self.desk.basket.published if each.queue == OutgoingWebhook.queue]
        new, self.done = found[self.done :], len(found)
        self.pauses = [each.after_seconds for each in new]
        return [msgspec.json.decode(each.body, type=OutgoingWebhook) for each in new]

    async def work(self) -> list[Received]:
        """Do what there is to do; the requests that were made."""
        before = len(self.web.requests)
        for job in await self.jobs():
            await self.caller().handle(job)
        return self.web.requests[before:]

    async def said(self) -> list[str]:
        """What bots have said, that of the system too, and where."""
        return await self.hall.make.connection.values(
            """
            SELECT CASE WHEN u.is_system_bot THEN 'told ' || array_to_string(g.user_ids, ',')
                        WHEN m.channel_id IS NULL THEN 'dm ' || array_to_string(g.user_ids, ',')
                        ELSE c.name || ' > ' || t.name END || ': ' || m.content
              FROM messages m
              JOIN users u USING (realm_id)
              LEFT JOIN channels c ON c.realm_id = m.realm_id AND c.channel_id = m.channel_id
              LEFT JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
              LEFT JOIN dm_groups g ON g.realm_id = m.realm_id
                   AND g.dm_group_id = m.conversation_id AND m.channel_id IS NULL
             WHERE m.realm_id = %(r)s AND u.user_id = m.sender_id AND u.bot_type IS NOT NULL
             ORDER BY m.id
            """,
            r=self.hall.make.realm_id,
        )

    async def told(self) -> list[str]:
        """What the notification bot has told people, beside what bots have said themselves."""
        return [each for each in await self.said() if each.startswith("told")]

    async def outcomes(self) -> list[str | None]:
        return await self.hall.make.connection.values(
            "SELECT outcome FROM webhook_calls WHERE realm_id = %(r)s ORDER BY message_id, bot_id",
            r=self.hall.make.realm_id,
        )

    async def serve(self, bot: UserRow, *, interface: int = GENERIC, url: str = "") -> None:
        row = ServiceRow(
            bot_id=bot.user_id,
            interface=interface,
            base_url=url or self.web.url("/bot?a=b"),
            token=TOKEN,
        )
        await bots.insert_service(self.hall.make.connection, self.hall.make.realm_id, row)

    async def change(self, **service: Any) -> None:
        connection, realm_id = self.hall.make.connection, self.hall.make.realm_id
        known = await bots.services(connection, realm_id, [self.bot.user_id])
        await bots.update_service(connection, realm_id, replace(known[self.bot.user_id], **service))


@pytest_asyncio.fixture
async def agency(hall: Hall, changes: Changes, desk: FanoutDesk) -> AsyncIterator[Agency]:
    """The bot is the member's."""
    del changes
    bot = await hall.make.user("Helper", bot_type=3, bot_owner=hall.member)
    guard = Guard(Destinations("127.0.0.1/32"), Ports("80"))
    async with web_at("127.0.0.1") as web:
        egress = Egress(guard, SystemResolver())
        agency = Agency(hall, desk, web, egress, bot)
        await agency.serve(bot)
        yield agency
        await egress.close()


async def test_a_mention_calls_the_bot_and_its_answer_is_posted(
    hall: Hall, changes: Changes, agency: Agency
):
    await hall.make.channel("news", subscribers=[hall.other])
    agency.web.answers = [answering_json({"content": "It is *soup*."})]
    sent = await changes.send(hall.other, "news", topic="lunch", content="@**Helper** what?")
    [request] = await agency.work()

    assert await agency.said() == ["news > lunch: It is *soup*."]
    assert (request.method, request.target) == ("POST", "/bot?a=b")
    payload = request.json()
    assert payload["bot_email"] == agency.bot.email
    assert payload["bot_full_name"] == "Helper"
    assert payload["data"] == "@**Helper** what?"
    assert payload["token"] == TOKEN
    assert payload["trigger"] == "mention"
    message = cast("dict[str, Any]", payload["message"])
    assert message["id"] == sent
    assert message["content"] == "@**Helper** what?"
    assert message["content_type"] == "text/x-markdown"
    assert message["sender_id"] == hall.other.user_id
    assert (message["display_recipient"], message["subject"]) == ("news", "lunch")
    assert f'data-user-id="{agency.bot.user_id}"' in message["rendered_content"]
    has_the_contracts_shape(payload)


def has_the_contracts_shape(payload: dict[str, Any]) -> None:
    """Every field that is not optional, and none that it does not know."""
    kinds = contract.table("types").get("types", contract.table("types"))
    if kind := kinds.get("OutgoingWebhookPayload"):
        for fields, given in (
            (kind["fields"], payload),
            (kind["fields"]["message"]["fields"], payload["message"]),
        ):
            needed = {name for name, each in fields.items() if not each.get("optional")}
            assert needed <= set(given) <= set(fields)


async def test_the_call_is_signed(hall: Hall, changes: Changes, agency: Agency):
    await changes.send(hall.other, user_ids([agency.bot]))
    [request] = await agency.work()
    signed = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    text = b".".join([*map(str.encode, signed), request.body])
    digest = base64.b64encode(hmac.digest(TOKEN.encode(), text, hashlib.sha256)).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"
    assert int(signed[1]) == int(hall.stage.clock.now().timestamp())


@pytest.mark.parametrize("is_group", [False, True])
async def test_a_direct_message_calls_it_and_is_answered_there(
    hall: Hall, changes: Changes, agency: Agency, *, is_group: bool
):
    others = [agency.bot, hall.guest] if is_group else [agency.bot]
    agency.web.answers = [answering_json({"content": "Here."})]
    await changes.send(hall.other, user_ids(others), content="you there?")
    [request] = await agency.work()
    payload = request.json()
    assert payload["trigger"] == "direct_message"
    has_the_contracts_shape(payload)
    everyone = ",".join(map(str, sorted(user_ids([hall.other, *others]))))
    assert await agency.said() == [f"dm {everyone}: Here."]


async def test_other_messages_call_no_service(hall: Hall, changes: Changes, agency: Agency):
    await hall.make.channel("news", subscribers=[hall.other, agency.bot])
    plain = await hall.make.user("Plain", bot_type=1, bot_owner=hall.member)
    group_id = await hall.make.group("crew", members=[agency.bot])
    assert group_id
    for content in (
        "Helper",
        "@_**Helper**",
        "> @**Helper**",
        "`@**Helper**`",
        "@**Other** @**Plain** @*crew*",
        f'<span class="user-mention" data-user-id="{agency.bot.user_id}">',
    ):
        await changes.send(hall.other, "news", content=content)
    await changes.send(hall.other, user_ids([plain]))
    assert await agency.work() == []
    assert await agency.outcomes() == []


async def test_bots_do_not_call_bots(hall: Hall, changes: Changes, agency: Agency):
    """Whatever they say to each other, and to themselves."""
    twin = await hall.make.user("Twin", bot_type=3, bot_owner=hall.member)
    await agency.serve(twin)
    await hall.make.channel("news", subscribers=[agency.bot, twin, hall.other])
    agency.web.answers = [answering_json({"content": "@**Twin** @**Helper** your turn"})]
    await changes.send(hall.other, "news", content="@**Helper** go")
    assert len(await agency.work()) == 1
    await changes.send(twin, user_ids([agency.bot]))
    for _ in range(3):
        assert await agency.work() == []
    assert await agency.said() == [
        "news > t: @**Twin** @**Helper** your turn",
        f"dm {agency.bot.user_id},{twin.user_id}: hello",
    ]


async def test_each_bot_that_is_mentioned_is_called(hall: Hall, changes: Changes, agency: Agency):
    twin = await hall.make.user("Twin", bot_type=3, bot_owner=hall.member)
    await agency.serve(twin)
    await hall.make.channel("news", subscribers=[hall.other])
    await changes.send(hall.other, "news", content="@**Helper** @**Twin**")
    requests = await agency.work()
    assert sorted(str(each.json()["bot_full_name"]) for each in requests) == ["Helper", "Twin"]
    assert len({each.headers["webhook-id"] for each in requests}) == 2


async def test_the_format_of_the_older_service(hall: Hall, changes: Changes, agency: Agency):
    channel = await hall.make.channel("news", subscribers=[hall.other])
    await agency.change(interface=SLACK)
    agency.web.answers = [answering_json({"text": "Gulasch & Co."})]
    await changes.send(hall.other, "news", content="@**Helper** ä&b=c")
    await changes.send(hall.other, user_ids([agency.bot]), content="x")
    in_channel, direct = await agency.work()

    assert in_channel.headers["content-type"] == "application/x-www-form-urlencoded"
    form = {name: values[0] for name, values in parse_qs(in_channel.body.decode()).items()}
    assert form["token"] == TOKEN
    assert form["channel_id"] == f"C{channel.channel_id}"
    assert form["channel_name"] == "news"
    assert form["user_id"] == f"U{hall.other.user_id}"
    assert form["user_name"] == "Other"
    assert form["text"] == "@**Helper** ä&b=c"
    assert form["trigger_word"] == "mention"
    assert {"team_id", "team_domain", "timestamp", "thread_ts", "service_id"} <= set(form)
    assert "channel_name=directmessage" in direct.body.decode()
    assert (await agency.said())[0] == "news > t: Gulasch & Co."


@pytest.mark.parametrize(
    "body",
    [
        "",
        "  \n",
        '""',
        "{}",
        '{"response_not_required": true, "content": "unheard"}',
        '{"content": ""}',
        '{"content": null, "text": " "}',
        '{"something": "else"}',
    ],
)
async def test_a_bot_may_have_nothing_to_say(
    hall: Hall, changes: Changes, agency: Agency, body: str
):
    agency.web.answers = [answering(200, body)]
    await changes.send(hall.other, user_ids([agency.bot]))
    assert len(await agency.work()) == 1
    assert await agency.said() == []
    assert await agency.outcomes() == ["answered"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answering(200, "hello"), "The answer is not JSON."),
        (answering(200, "[" * 5000), "The answer is not JSON."),
        (answering(200, '["hello"]'), "The answer is not a JSON object."),
        (answering(200, '{"content": 7}'), "`content` in the answer is not a text."),
        (answering_json({"content": "x" * 10_001}), "Its answer was not posted: Message is too"),
        (answering_json({"content": "\0"}), "Its answer was not posted: Message must not contain"),
        (answering(200, "x" * 300_000), "The answer is larger than 262144 bytes."),
        (answering(404, "no\n```\n@**all**"), "It answered 404.\n> no\n> ```\n> @**all**"),
        (answering(400, b"\0bin\xffary\0"), "It answered 400.\n> bin\N{REPLACEMENT CHARACTER}ary"),
        (answering(302, Location="/elsewhere"), "It answered 302."),
    ],
)
async def test_what_goes_wrong_for_good_is_told_at_once(
    hall: Hall, changes: Changes, agency: Agency, answer: Any, reason: str
):
    await hall.make.channel("news", subscribers=[hall.other])
    agency.web.answers = [answer]
    sent = await changes.send(hall.other, "news", topic="a b", content="@**Helper**")
    assert len(await agency.work()) == 1
    assert await agency.work() == []
    [told] = await agency.said()
    assert f"> {reason}" in told
    assert f"Your bot @_**Helper|{agency.bot.user_id}** could not be called for [" in told
    assert f"/near/{sent})" in told
    assert str(hall.member.user_id) in told.partition(": ")[0].removeprefix("told ").split(",")
    assert await agency.outcomes() == ["failed"]


async def test_a_private_address_is_told_and_not_connected_to(
    hall: Hall, changes: Changes, agency: Agency
):
    async with web_at("127.0.0.2") as private:
        await agency.change(base_url=private.url())
        await changes.send(hall.other, user_ids([agency.bot]))
        assert await agency.work() == []
    assert private.connections == 0
    [told] = await agency.told()
    assert "private network" in told


async def test_the_owner_is_not_told_again_and_again(hall: Hall, changes: Changes, agency: Agency):
    agency.web.answers = [answering(404)]
    for _ in range(3):
        await changes.send(hall.other, user_ids([agency.bot]))
    assert len(await agency.work()) == 3
    assert len(await agency.told()) == 1
    hall.stage.clock.advance(timedelta(hours=2))
    await changes.send(hall.other, user_ids([agency.bot]))
    await agency.work()
    assert len(await agency.told()) == 2


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_what_may_go_better_is_tried_again(
    hall: Hall, changes: Changes, agency: Agency, status: int
):
    agency.web.answers = [answering(status), answering_json({"content": "at last"})]
    await changes.send(hall.other, user_ids([agency.bot]))
    first, second = [await agency.work() for _ in range(2)]
    assert agency.pauses == [RETRY_SCHEDULE_SECONDS[0]]
    assert await agency.work() == []
    assert first[0].headers["webhook-id"] == second[0].headers["webhook-id"]
    assert first[0].body == second[0].body
    assert [each.partition(": ")[2] for each in await agency.said()] == ["at last"]


async def test_a_bot_may_say_when_to_come_again(hall: Hall, changes: Changes, agency: Agency):
    soon = hall.stage.clock.now() + timedelta(minutes=2)
    for wish, pause in (
        ("90", 90.0),
        ("1", 5.0),
        ("999999999", 3_600.0),
        ("Sun, 06 Nov", 5.0),
        (format_datetime(soon, usegmt=True), 120.0),
    ):
        agency.web.answers = [answering(429, Retry_After=wish)]
        await changes.send(hall.other, user_ids([agency.bot]))
        await agency.work()
        await agency.jobs()
        assert agency.pauses == pytest.approx([pause], abs=0.001)


async def test_after_a_day_it_is_given_up_and_told(hall: Hall, changes: Changes, agency: Agency):
    agency.web.answers = [answering(503)]
    await changes.send(hall.other, user_ids([agency.bot]))
    passed, told = 0.0, []
    while await agency.work():
        told.append(len(await agency.told()))
        await agency.desk.catch_up()
        [*pauses] = agency.pauses
        passed += sum(pauses)
        hall.stage.clock.advance(timedelta(seconds=sum(pauses)))
    assert len(agency.web.requests) == 11
    assert 23 * 3600 < passed <= 24 * 3600
    assert told == [0, 0, *([1] * 8), 2]
    soon, late = await agency.told()
    assert "does not answer, and is called again for a day at most" in soon
    assert "could not be called for a day" in late
    assert "It answered 503." in late
    assert await agency.outcomes() == ["given up"]


async def test_a_service_that_does_not_answer_in_time_is_called_again(
    hall: Hall, changes: Changes, agency: Agency
):
    async def never(_: Received, writer: asyncio.StreamWriter) -> None:
        await writer.drain()
        await asyncio.sleep(60)

    agency.web.answers = [never]
    await changes.send(hall.other, user_ids([agency.bot]))
    [job] = await agency.jobs()
    await agency.caller(seconds=0.1).handle(job)
    [again] = await agency.jobs()
    assert again.failures == 1
    assert await agency.outcomes() == [None]


# -- repeats


async def test_a_message_that_is_fanned_out_twice_is_one_call(
    hall: Hall, changes: Changes, agency: Agency
):
    await changes.send(hall.other, user_ids([agency.bot]))
    [fanout] = await agency.desk.shipped()
    await agency.desk.handle(fanout)
    await agency.desk.handle(fanout)
    [job] = await agency.jobs()
    await agency.caller().handle(job)
    await agency.caller().handle(job)
    await agency.desk.handle(fanout)
    assert await agency.work() == []
    assert len(agency.web.requests) == 1


async def test_an_answer_is_posted_once_though_the_worker_died_then(
    hall: Hall, changes: Changes, agency: Agency
):
    """It is called again, under the same id; what it says then is not said again."""
    agency.web.answers = [answering_json({"content": "first"}), answering_json({"content": "2nd"})]
    await changes.send(hall.other, user_ids([agency.bot]))
    [job] = await agency.jobs()
    await agency.caller().handle(job)
    await hall.make.connection.execute("UPDATE webhook_calls SET outcome = NULL")
    await agency.caller().handle(job)
    first, second = agency.web.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert [each.partition(": ")[2] for each in await agency.said()] == ["first"]
    assert await agency.outcomes() == ["answered"]


async def test_a_job_that_has_been_followed_by_another_does_nothing(
    hall: Hall, changes: Changes, agency: Agency
):
    agency.web.answers = [answering(503)]
    await changes.send(hall.other, user_ids([agency.bot]))
    [job] = await agency.jobs()
    await agency.caller().handle(job)
    await agency.caller().handle(job)
    assert len(agency.web.requests) == 1
    assert len(await agency.jobs()) == 1


async def test_a_call_that_was_not_handed_on_is_handed_on_later(
    hall: Hall, changes: Changes, agency: Agency
):
    await changes.send(hall.other, user_ids([agency.bot]))
    [fanout] = await agency.desk.shipped()
    await agency.desk.fanout(hands_to=frozenset()).handle(fanout)
    assert await agency.jobs() == []
    await agency.desk.handle(fanout)
    assert len(await agency.jobs()) == 1


# -- what has happened meanwhile


@pytest.mark.parametrize("what", ["bot", "owner", "deleted", "archived", "realm"])
async def test_bots_or_messages_that_are_gone_cause_no_call(
    hall: Hall, changes: Changes, agency: Agency, what: str
):
    channel = await hall.make.channel("news", subscribers=[hall.other, agency.bot])
    await hall.make.change_settings(can_delete_own_message_group="role:everyone")
    sent = await changes.send(hall.other, "news", content="@**Helper**")
    [job] = await agency.jobs()
    if what == "deleted":
        await changes.delete(hall.other, sent)
    elif what == "realm":
        await hall.make.connection.execute("UPDATE realms SET deactivated = true")
        hall.stage.realm_caches.of(hall.make.realm_id).forget_everything()
    elif what == "archived":
        await hall.make.archive(channel)
        hall.stage.realm_caches.of(hall.make.realm_id).forget_everything()
    else:
        gone = agency.bot if what == "bot" else hall.member
        connection, realm_id = hall.make.connection, hall.make.realm_id
        await users.update_active(connection, realm_id, [gone.user_id], active=False)
    await agency.caller().handle(job)
    assert agency.web.connections == 0
    assert await agency.said() == []
    assert await agency.outcomes() == ["obsolete"]


async def test_the_answer_follows_a_message_that_has_moved(
    hall: Hall, changes: Changes, agency: Agency
):
    await hall.make.channel("news", subscribers=hall.everyone)
    await hall.make.channel("other", subscribers=hall.everyone)
    sent = await changes.send(hall.other, "news", content="@**Helper**")
    [job] = await agency.jobs()
    other = await hall.stage.realm_caches.of(hall.make.realm_id).channel_by_name("other")
    assert other is not None
    await changes.move(hall.admin, sent, channel_id=other.channel_id, topic="elsewhere")
    agency.web.answers = [answering_json({"content": "found you"})]
    await agency.caller().handle(job)
    assert (await agency.said())[-1] == "other > elsewhere: found you"


@pytest.mark.parametrize(
    ("who", "is_called"), [("bot", True), ("owner", True), ("stranger", False)]
)
async def test_private_channels_call_only_who_may_read_them(
    hall: Hall, changes: Changes, agency: Agency, who: str, *, is_called: bool
):
    """Its owner learns what a bot is told: so the owner may read it, or the bot."""
    reader = {"bot": agency.bot, "owner": hall.member, "stranger": hall.admin}[who]
    await hall.make.channel("secret", subscribers=[hall.other, reader], invite_only=True)
    agency.web.answers = [answering_json({"content": "psst"})]
    await changes.send(hall.other, "secret", content="@**Helper**")
    assert len(await agency.work()) == int(is_called)
    assert await agency.said() == (["secret > t: psst"] if is_called else [])


async def test_what_the_bot_may_not_post_is_told(hall: Hall, changes: Changes, agency: Agency):
    """Neither it nor its owner may write there."""
    await hall.make.channel(
        "news", subscribers=[hall.other, agency.bot], can_send_message_group=[hall.other]
    )
    agency.web.answers = [answering_json({"content": "hello"})]
    await changes.send(hall.other, "news", content="@**Helper**")
    await agency.work()
    [told] = await agency.said()
    assert "Its answer was not posted: You do not have permission to post" in told


async def test_a_bot_without_an_owner_is_called_without_a_notice(
    hall: Hall, changes: Changes, agency: Agency
):
    orphan = await hall.make.user("Orphan", bot_type=3)
    await agency.serve(orphan)
    agency.web.answers = [answering(404)]
    await changes.send(hall.other, user_ids([orphan]))
    assert len(await agency.work()) == 1
    assert await agency.said() == []


# -- with a broker


async def test_failures_are_tried_again_by_the_broker(
    hall: Hall, changes: Changes, agency: Agency, place: Place
):
    said = asyncio.Event()

    async def last(request: Received, writer: asyncio.StreamWriter) -> None:
        await answering_json({"content": "at last"})(request, writer)
        said.set()

    agency.web.answers = [answering(503), answering(500), last]
    await changes.send(hall.other, user_ids([agency.bot]))
    [job] = await agency.jobs()
    async with place.open() as broker:
        caller = agency.caller(broker=broker, pauses=(0.0,) * 5)

        async def handle(_: object, job: OutgoingWebhook) -> None:
            await caller.handle(job)

        await broker.publish(outgoing(job, key="first"))
        processor = Processor(OutgoingWebhook, handle)
        working = asyncio.create_task(processor.run(None, broker))
        try:
            async with asyncio.timeout(60):
                await said.wait()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    assert len(agency.web.requests) == 3
    assert [each.partition(": ")[2] for each in await agency.said()] == ["at last"]
