"""Reactions to a message become one notification of its sender, pushed to browsers once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from queue_processors.reaction_pushes import ReactionPusher
from server.actions.message_flags import change_flag
from server.actions.muted_users import mute_user
from server.actions.reactions import add_reaction, remove_reaction
from server.actions.user_settings import OwnChange, change_own_settings
from server.actions.user_topics import change_policy
from server.actions.web_push import subscribe_browser
from server.domain.emoji import WantedEmoji
from server.domain.reaction_notifications import WINDOW
from server.domain.topic_policies import FOLLOWED, MUTED, NONE
from server.jobs import ReactionPush
from server.push.browsers import Browsers
from server.push.courier import Courier
from server.telemetry.metrics import Metrics
from storage.ids import MessageId
from storage.users import UserRow
from testkit.factories import user_ids
from testkit.message_changes import Changes
from testkit.message_fanout import FanoutDesk
from testkit.realm_with_roles import Hall
from testkit.services.browser_push import Browser, BrowserPushService, pushing_to_browsers
from testkit.timers import due_item_runner_on

pytestmark = pytest.mark.asyncio


class Reactions:
    """Users of a hall who react, and what the sender of the messages is notified of."""

    def __init__(self, hall: Hall, changes: Changes, desk: FanoutDesk) -> None:
        self.hall = hall
        self.changes = changes
        self.desk = desk

    async def want(self, row: UserRow, **settings: Any) -> None:
        change = OwnChange(settings={"enable_reaction_notifications": True, **settings})
        await self.hall.stage.write(change_own_settings, self.hall.actor(row), change)

    async def react(self, row: UserRow, message_id: MessageId, name: str = "tada") -> None:
        now = self.hall.stage.clock.now()
        actor, emoji = self.hall.actor(row), WantedEmoji(name)
        await self.hall.stage.write(add_reaction, actor, message_id, emoji, now=now)

    async def take_back(self, row: UserRow, message_id: MessageId, name: str = "tada") -> None:
        actor = self.hall.actor(row)
        await self.hall.stage.write(remove_reaction, actor, message_id, name, None, None)

    async def pass_by(self, length: timedelta = WINDOW) -> int:
        """Advance the clock and run due items; return their number."""
        self.hall.stage.clock.advance(length)
        return await due_item_runner_on(self.hall.stage).catch_up()

    async def events(self) -> list[dict[str, Any]]:
        """The notifications in the log, in order."""
        bodies = await self.hall.make.connection.values(
            """
            SELECT body FROM event_log
             WHERE realm_id = %(r)s AND kind = 'reaction_notification' ORDER BY position
            """,
            r=self.hall.make.realm_id,
        )
        return [msgspec.json.decode(body) for body in bodies]

    async def reactors(self) -> list[list[int]]:
        """The users of each notification."""
        return [[each["user_id"] for each in event["reactions"]] for event in await self.events()]


@pytest_asyncio.fixture
async def reactions(hall: Hall, changes: Changes, desk: FanoutDesk) -> Reactions:
    await hall.make.channel("plans", subscribers=hall.everyone)
    return Reactions(hall, changes, desk)


async def test_reactions_within_the_window_are_one_notification(hall, changes, reactions):
    await reactions.want(hall.member)
    message_id = await changes.send(hall.member, "plans")
    await reactions.react(hall.other, message_id)
    assert await reactions.pass_by(WINDOW / 2) == 0
    await reactions.react(hall.admin, message_id, "heart")
    await reactions.react(hall.other, message_id, "heart")
    assert await reactions.pass_by(WINDOW / 2) == 1
    [event] = await reactions.events()
    assert (event["message_id"], event["user_count"]) == (message_id, 2)
    assert [(e["user_id"], e["emoji_name"]) for e in event["reactions"]] == [
        (hall.other.user_id, "tada"),
        (hall.admin.user_id, "heart"),
        (hall.other.user_id, "heart"),
    ]
    # A later one opens another window.
    await reactions.react(hall.admin, message_id)
    assert await reactions.pass_by() == 1
    assert (await reactions.reactors())[1] == [hall.admin.user_id]
    assert await reactions.pass_by() == 0


async def test_nothing_is_collected_for_users_who_do_not_want_it(hall, changes, reactions):
    message_id = await changes.send(hall.member, "plans")
    await reactions.react(hall.other, message_id)
    assert await reactions.pass_by() == 0
    # A window that is open when the setting is switched off ends without a notification.
    await reactions.want(hall.member)
    await reactions.react(hall.admin, message_id)
    await reactions.want(hall.member, enable_reaction_notifications=False)
    assert await reactions.pass_by() == 1
    assert await reactions.events() == []


async def test_reactions_of_oneself_bots_and_muted_users_do_not_count(hall, changes, reactions):
    await reactions.want(hall.member)
    bot = await hall.make.user("Bot", bot_type=1, bot_owner=hall.other)
    message_id = await changes.send(hall.member, [hall.other.user_id, bot.user_id])
    await reactions.react(hall.member, message_id)
    await reactions.react(bot, message_id)
    assert await reactions.pass_by() == 0
    await reactions.react(hall.other, message_id)
    now = hall.stage.clock.now()
    await hall.stage.write(mute_user, hall.actor(hall.member), hall.other.user_id, now=now)
    assert await reactions.pass_by() == 1
    assert await reactions.events() == []


async def test_a_reaction_that_is_gone_is_not_notified_of(hall, changes, reactions):
    await reactions.want(hall.member)
    message_id = await changes.send(hall.member, "plans")
    await reactions.react(hall.other, message_id)
    await reactions.take_back(hall.other, message_id)
    assert await reactions.pass_by() == 1
    assert await reactions.events() == []
    await reactions.react(hall.other, message_id)
    await reactions.react(hall.admin, message_id)
    await reactions.take_back(hall.other, message_id)
    await reactions.pass_by()
    assert await reactions.reactors() == [[hall.admin.user_id]]


async def test_messages_that_are_deleted_or_lost_end_their_window(hall, changes, reactions):
    await reactions.want(hall.member)
    gone = await changes.send(hall.member, "plans")
    await hall.make.channel("hidden", invite_only=True, subscribers=[hall.member, hall.other])
    lost = await changes.send(hall.member, "hidden")
    for message_id in (gone, lost):
        await reactions.react(hall.other, message_id)
    await changes.delete(hall.admin, gone)
    await hall.unsubscribe(hall.member, "hidden")
    assert await reactions.pass_by() == 2
    assert await reactions.events() == []


async def test_a_user_who_has_read_on_has_seen_the_reactions(hall, changes, reactions):
    await reactions.want(hall.member)
    message_id = await changes.send(hall.member, "plans")
    await reactions.react(hall.other, message_id)
    answer = await changes.send(hall.other, "plans")
    await reactions.react(hall.admin, message_id)
    actor = hall.actor(hall.member)
    await hall.stage.write(change_flag, actor, [answer], "add", "read")
    await reactions.pass_by()
    assert await reactions.reactors() == [[hall.admin.user_id]]


async def test_users_without_access_to_their_account_or_the_organization_get_none(
    hall, changes, reactions
):
    await reactions.want(hall.member)
    message_id = await changes.send(hall.member, "plans")
    await reactions.react(hall.other, message_id)
    await hall.make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(r)s", r=hall.make.realm_id
    )
    assert await reactions.pass_by() == 1
    await hall.make.connection.execute(
        "UPDATE realms SET deactivated = false WHERE realm_id = %(r)s", r=hall.make.realm_id
    )
    await reactions.react(hall.admin, message_id)
    await hall.make.connection.execute(
        "UPDATE users SET is_active = false WHERE realm_id = %(r)s AND user_id = %(u)s",
        r=hall.make.realm_id,
        u=hall.member.user_id,
    )
    assert await reactions.pass_by() == 1
    assert await reactions.events() == []


async def test_muted_topics_are_quiet_and_followed_ones_in_muted_channels_are_not(
    hall, changes, reactions
):
    await reactions.want(hall.member)
    followed = await changes.send(hall.member, "plans", topic="followed")
    muted = await changes.send(hall.member, "plans", topic="muted")
    actor, now = hall.actor(hall.member), hall.stage.clock.now()
    for topic, policy in (("followed", FOLLOWED), ("muted", MUTED)):
        await hall.stage.write(change_policy, actor, "plans", topic, policy, now=now)
    other = await changes.send(hall.member, "plans", topic="other")
    await hall.stage.write(change_policy, actor, "plans", "other", NONE, now=now)
    await hall.make.connection.execute(
        "UPDATE subscriptions SET is_muted = true WHERE realm_id = %(r)s AND user_id = %(u)s",
        r=hall.make.realm_id,
        u=hall.member.user_id,
    )
    for message_id in (followed, muted, other):
        await reactions.react(hall.other, message_id)
    assert await reactions.pass_by() == 3
    assert [event["message_id"] for event in await reactions.events()] == [followed]


async def test_clients_that_do_not_ask_hear_nothing(hall, changes, reactions, witnesses):
    message_id = await changes.send(hall.member, "plans")

    async def change():
        await reactions.want(hall.member)
        await reactions.react(hall.other, message_id)
        await reactions.pass_by()

    new, old = await witnesses.watch(change, [hall.member])
    types = [each["type"] for each in new.events]
    assert types == ["user_settings", "reaction", "reaction_notification"]
    assert [each["type"] for each in old.events] == ["reaction"]


async def test_a_window_is_ended_once_by_concurrent_processes(hall, changes, reactions):
    await reactions.want(hall.member)
    message_id = await changes.send(hall.member, "plans")
    await reactions.react(hall.other, message_id)
    hall.stage.clock.advance(WINDOW)
    runners = [due_item_runner_on(hall.stage) for _ in range(3)]
    assert sum(await asyncio.gather(*(each.catch_up() for each in runners))) == 1
    assert len(await reactions.events()) == 1


# -- browsers


@pytest_asyncio.fixture
async def browsers(hall: Hall, push_service: BrowserPushService) -> AsyncIterator[Browsers]:
    push_service.clock = hall.stage.clock
    async with pushing_to_browsers(hall.stage.clock) as found:
        yield found


async def subscribed(hall: Hall, row: UserRow, push_service: BrowserPushService) -> Browser:
    browser = push_service.browser()
    await hall.stage.write(
        subscribe_browser,
        hall.actor(row),
        browser.endpoint,
        public_key=browser.public_key,
        auth_secret=browser.auth,
        user_agent="Firefox",
        wants_removals=True,
        session=None,
        now=hall.stage.clock.now(),
    )
    return browser


async def push(hall: Hall, desk: FanoutDesk, browsers: Browsers, **changes: Any) -> int:
    """Deliver what was asked for; return the number of jobs."""
    await desk.catch_up()
    jobs = desk.basket.of(ReactionPush)
    courier = Courier(hall.realm_services(), None, browsers, Metrics())
    for job in jobs:
        await ReactionPusher(courier, desk.basket).handle(msgspec.structs.replace(job, **changes))
    return len(jobs)


async def test_a_browser_shows_who_reacted_how(
    hall, changes, reactions, desk, browsers, push_service
):
    await reactions.want(hall.member)
    browser = await subscribed(hall, hall.member, push_service)
    message_id = await changes.send(hall.member, "plans", content="It is **ready**")
    await reactions.react(hall.other, message_id)
    await reactions.pass_by()
    assert await push(hall, desk, browsers) == 1
    [shown] = browser.payloads
    assert shown["type"] == "reactions"
    assert shown["message_ids"] == [message_id]
    assert shown["title"] == "Reactions to your message"
    assert shown["body"] == "Other: 🎉\nIt is ready"
    assert shown["url"].endswith(f"/near/{message_id}")
    # Once more after a crash: the same window, by which the browser replaces what it shows.
    await push(hall, desk, browsers)
    first, second = browser.payloads
    assert (first["tag"], first["window_id"]) == (second["tag"], second["window_id"])


async def test_direct_messages_may_be_hidden(
    hall, changes, reactions, desk, browsers, push_service
):
    await reactions.want(hall.member, pm_content_in_desktop_notifications=False)
    browser = await subscribed(hall, hall.member, push_service)
    message_id = await changes.send(hall.member, user_ids([hall.other]), content="secret")
    await reactions.react(hall.other, message_id)
    await reactions.pass_by()
    await push(hall, desk, browsers)
    [shown] = browser.payloads
    assert shown["body"] == "Other: 🎉"


async def test_nothing_is_pushed_once_it_is_gone(
    hall, changes, reactions, desk, browsers, push_service
):
    await reactions.want(hall.member)
    browser = await subscribed(hall, hall.member, push_service)
    message_id = await changes.send(hall.member, "plans")
    await reactions.react(hall.other, message_id)
    await reactions.pass_by()
    await reactions.take_back(hall.other, message_id)
    assert await push(hall, desk, browsers) == 1
    assert browser.payloads == []
