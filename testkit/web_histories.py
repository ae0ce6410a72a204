"""Random histories on a real server, watched by models of the browser client.

After some steps each model that was given events must hold what a model of a new registration
holds.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from testkit.leaks.generator import HistoryGenerator
from testkit.leaks.model import Model
from testkit.leaks.operations import NUMBERS_EACH
from testkit.leaks.server_clients import ServerClients
from testkit.leaks.world import FOUNDINGS, Place, found, imagine
from testkit.web_chores import Chores
from testkit.web_model import WebModel

SHARE_OF_CHORES: Final = 0.5
STEPS_BETWEEN_LOOKS: Final = 5
PATIENCE_SECONDS: Final = 5.0
WATCHERS: Final = (0, 2, 3, 6)
"""An owner, a moderator, a member and a guest."""
UNORDERED: Final = {"realm_bots": "user_id", "realm_domains": "domain", "members": None}
SHOWN: Final = 20
FETCHED: Final = 50
SHARE_OF_STARTS: Final = 0.3
MOST_TIMES: Final = 5
"""How often a client starts anew after a comparison."""


@dataclass(slots=True)
class Watcher:
    """A client of one user."""

    user: int
    registered: dict[str, Any]
    queue_id: str
    last_event_id: int
    recent: list[dict[str, Any]] = field(default_factory=list)
    """Events since the last comparison that found nothing wrong."""
    presence_update_id: int = field(init=False)
    """That of the last answer which the client holds, not of a registration it is compared with."""

    def __post_init__(self) -> None:
        self.presence_update_id = self.registered["presence_last_update_id"]

    @property
    def name(self) -> str:
        return f"user {self.user}"


@dataclass(slots=True)
class Tally:
    steps: int = 0
    comparisons: int = 0
    messages: int = 0
    taken: int = 0
    """How often messages that were asked for beside register were of use, and how often not."""
    dropped: int = 0
    events: Counter[str] = field(default_factory=Counter)
    refused: int = 0


class WebHistory:
    """One history in one organization."""

    def __init__(self, place: Place, web: WebModel, seed: str, tally: Tally) -> None:
        self._place = place
        self._web = web
        self._rng = random.Random(seed)
        self._tally = tally
        self._steps: list[str] = []
        self._watchers: list[Watcher] = []
        self._clients: ServerClients
        self._model: Model

    async def live(self, name: str, steps: int) -> list[str]:
        """Return what is wrong, as soon as something is.

        The history has at least `steps` steps, and goes on until messages that were fetched beside
        a registration have been taken and have been dropped, to at most `MOST_TIMES` as many.
        """
        founding = FOUNDINGS[0]
        self._model = imagine(founding)
        self._clients = await found(self._place, name, founding)
        try:
            for user in WATCHERS:
                self._watchers.append(await self._watch(user))
            generator = HistoryGenerator(self._rng, 0, self._model)
            chores = Chores(self._rng)
            for number in range(1, MOST_TIMES * steps + 1):
                await self._step(generator, chores)
                if number % STEPS_BETWEEN_LOOKS == 0 or number == steps:
                    for watcher in list(self._watchers):
                        problems = await self._look(watcher)
                        if problems:
                            return [f"{watcher.name}: {each}" for each in problems]
                    if self._watchers and self._rng.random() < SHARE_OF_STARTS:
                        await self._start_anew(self._rng.choice(self._watchers), generator, chores)
                    if number >= steps and self._tally.taken and self._tally.dropped:
                        break
            return []
        finally:
            for client in self._clients.clients.values():
                client.drop()

    async def _step(self, generator: HistoryGenerator, chores: Chores) -> None:
        self._tally.steps += 1
        if self._rng.random() < SHARE_OF_CHORES:
            watcher = self._rng.choice(self._watchers)
            if self._rng.random() < 0.5:
                watcher = self._watchers[0]
            method, path, fields = chores.draw(watcher.registered)
            answer = await self._clients.ask(watcher.user, method, path, **fields)
            self._note(f"{watcher.name}: {method} {path} {fields}", answer.status)
            return
        operation = generator.draw(self._tally.steps * NUMBERS_EACH)
        self._model.now = operation.number
        answer = await operation.perform(self._clients)
        self._note(str(operation), answer.status)
        if answer.status == 200 and hasattr(operation, "happen"):
            operation.happen(self._model, self._clients, answer)
            # Chores may change the organization so that no notice is posted, or one elsewhere.
            for number in range(operation.number, operation.number + NUMBERS_EACH):
                if number not in self._clients.messages.ids:
                    self._model.messages.pop(number, None)

    def _note(self, step: str, status: int) -> None:
        self._steps.append(f"{status} {step}")
        assert status < 500, self._steps[-1]
        self._tally.refused += status != 200

    async def _register(self, user: int) -> dict[str, Any]:
        answer = await self._clients.ask(user, "POST", "/register", **self._web.registration)
        assert answer.status == 200, answer.body
        return answer.body

    async def _watch(self, user: int) -> Watcher:
        registered = await self._register(user)
        watcher = Watcher(user, registered, registered["queue_id"], registered["last_event_id"])
        self._web.register(watcher.name, registered)
        return watcher

    async def _start_anew(
        self, watcher: Watcher, generator: HistoryGenerator, chores: Chores
    ) -> None:
        """Register, and fetch messages beside it: before or after it, with changes between."""
        answers: dict[str, dict[str, Any]] = {}
        requests = {"register": self._register, "messages": self._fetch}
        for name in self._rng.sample(sorted(requests), 2):
            answers[name] = await requests[name](watcher.user)
            for _ in range(self._rng.randrange(3)):
                await self._step(generator, chores)
        registered = answers["register"]
        fresh = Watcher(
            watcher.user, registered, registered["queue_id"], registered["last_event_id"]
        )
        self._watchers[self._watchers.index(watcher)] = fresh
        self._web.register(fresh.name, registered)
        if self._web.take(fresh.name, answers["messages"]):
            self._tally.taken += 1
        else:
            self._tally.dropped += 1

    async def _fetch(self, user: int) -> dict[str, Any]:
        answer = await self._clients.ask(
            user,
            "GET",
            "/messages",
            anchor="newest",
            num_before=FETCHED,
            num_after=0,
            allow_empty_topic_name=True,
            client_gravatar=False,
            include_position=True,
        )
        assert answer.status == 200, answer.body
        return answer.body

    async def _look(self, watcher: Watcher) -> list[str]:
        """Compare, and again for a while: some events come a little later."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while True:
            if not await self._poll(watcher):
                return []
            problems = await self._compare(watcher)
            if not problems:
                self._tally.comparisons += 1
                watcher.recent.clear()
                return []
            if asyncio.get_running_loop().time() > deadline:
                return [*problems[:SHOWN], *self._explanation(watcher)]
            await asyncio.sleep(0.2)

    def _explanation(self, watcher: Watcher) -> Iterator[str]:
        yield from (f"step {each}" for each in self._steps[-2 * STEPS_BETWEEN_LOOKS :])
        yield from (f"event {each}" for each in watcher.recent)

    async def _poll(self, watcher: Watcher) -> bool:
        """Apply the events that there are; False if the queue had ended and is a new one."""
        while True:
            answer = await self._clients.ask(
                watcher.user,
                "GET",
                "/events",
                queue_id=watcher.queue_id,
                last_event_id=watcher.last_event_id,
                dont_block=True,
            )
            if answer.body.get("code") == "BAD_EVENT_QUEUE_ID":
                self._watchers[self._watchers.index(watcher)] = await self._watch(watcher.user)
                return False
            if answer.status == 401:
                self._watchers.remove(watcher)  # the account was deactivated
                return False
            assert answer.status == 200, answer.body
            events = answer.body["events"]
            if not events:
                return True
            watcher.last_event_id = max(each["id"] for each in events)
            watcher.recent += events
            self._tally.events.update(each["type"] for each in events)
            self._web.apply(watcher.name, events)

    async def _ping(self, watcher: Watcher) -> None:
        """Ask for presence as the client does: events announce only who has become more active."""
        answer = await self._clients.ask(
            watcher.user,
            "POST",
            "/users/me/presence",
            status="idle",
            slim_presence=True,
            last_update_id=watcher.presence_update_id,
        )
        assert answer.status == 200, answer.body
        watcher.presence_update_id = answer.body["presence_last_update_id"]
        self._web.apply(watcher.name, [{"type": "presence", "presences": answer.body["presences"]}])

    async def _compare(self, watcher: Watcher) -> list[str]:
        await self._ping(watcher)
        fresh = await self._register(watcher.user)
        watcher.registered = fresh
        await self._clients.ask(watcher.user, "DELETE", "/events", queue_id=fresh["queue_id"])
        self._web.register("fresh", fresh)
        held, expected = self._web.state(watcher.name), self._web.state("fresh")
        for key in held.pop("doubtful"):
            # The client asks the server which message is the newest now.
            held["conversations"].pop(key)
            expected["conversations"].pop(key, None)
        expected.pop("doubtful")
        # Nor can it tell which unread messages that it does not hold mention the user.
        doubtful = held.pop("doubtfulMentions")
        expected.pop("doubtfulMentions")
        for side in (held, expected):
            unread = side["unread"]
            unread["mentions"] = [
                each
                for each in unread["mentions"]
                if unread["places"][str(each)].get("channelId") not in doubtful
            ]
        messages = held.pop("messages")
        expected.pop("messages")
        for key, channel in expected["channels"].items():
            if not channel["is_subscribed"] and key in held["channels"]:
                # No event tells those who are not subscribed of the channel's first message.
                held["channels"][key]["first_message_id"] = channel["first_message_id"]
        problems = [*differences(held, expected)]
        return problems or [*await self._compare_messages(watcher, messages)]

    async def _compare_messages(self, watcher: Watcher, held: dict[str, Any]) -> list[str]:
        """Compare messages that have arrived with those that are fetched."""
        ids = self._rng.sample(sorted(map(int, held)), min(len(held), 20))
        if not ids:
            return []
        answer = await self._clients.ask(
            watcher.user,
            "GET",
            "/messages",
            message_ids=ids,
            allow_empty_topic_name=True,
            client_gravatar=False,
        )
        self._tally.messages += len(answer.body["messages"])
        subscribed = {each["stream_id"] for each in watcher.registered["subscriptions"]}
        fetched = {
            str(each["id"]): each
            for each in answer.body["messages"]
            # Outside of a user's history, no event tells of messages in channels that they left.
            if "historical" not in each["flags"] or each["stream_id"] in subscribed
        }
        own = {key: _alike(each) for key, each in held.items() if key in fetched}
        expected = {key: _alike(each) for key, each in fetched.items()}
        return [*differences(own, expected, "messages")]


_OF_MESSAGES: Final = (
    *("id", "type", "sender_id", "sender_full_name", "sender_email", "avatar_url", "content"),
    *("timestamp", "stream_id", "subject", "display_recipient", "is_me_message", "topic_links"),
    *("reactions", "submessages", "last_edit_timestamp", "last_moved_timestamp"),
)


def _alike(message: dict[str, Any]) -> dict[str, Any]:
    """The part of a message that events and responses have in common."""
    alike = {name: message.get(name) for name in _OF_MESSAGES}
    alike["flags"] = sorted({*message["flags"]} - {"historical"})
    alike["reactions"] = sorted(
        (each["user_id"], each["emoji_name"], each["emoji_code"], each["reaction_type"])
        for each in message["reactions"]
    )
    if isinstance(alike["display_recipient"], list):
        alike["display_recipient"] = sorted(each["id"] for each in alike["display_recipient"])
    return alike


def differences(held: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Yield where two states differ, as sentences."""
    if isinstance(held, dict) and isinstance(expected, dict):
        for name in held.keys() | expected.keys():
            where = f"{path}.{name}"
            if name not in held:
                yield f"{where}: missing, must be {_short(expected[name])}"
            elif name not in expected:
                yield f"{where}: must not be there: {_short(held[name])}"
            else:
                yield from differences(held[name], expected[name], where)
    elif _in_order(path, held) != _in_order(path, expected):
        yield f"{path}: {_short(held)}, must be {_short(expected)}"


def _in_order(path: str, value: Any) -> Any:
    """The value without an order that means nothing."""
    name = path.rpartition(".")[2]
    if name not in UNORDERED or not isinstance(value, list):
        return value
    key = UNORDERED[name]
    return sorted(value, key=(lambda each: each[key]) if key else None)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 600 else f"{text[:600]}..."
