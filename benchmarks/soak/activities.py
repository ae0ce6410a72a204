"""What clients do beside sending and polling: each activity on and on, at a pace of its own."""

import asyncio
import json
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg

from server.domain.clock import SystemClock
from testkit.faults.clients import Surroundings
from testkit.faults.http import Answer, Client, NoAnswerError
from testkit.faults.world import KEEPER, REALM
from testkit.integration_samples import SAMPLES

PATIENCE = 15.0
BOT_KEY = "soak" * 8
TOPICS = 20
KEPT_EXPORTS = 2
UPLOAD_BYTES = (1_000, 200_000)
UNREAD = [["is", "unread"]]
BOUNDARY = "a-boundary-of-the-soak"


def add_bot(url: str) -> None:
    """Insert an incoming webhook bot of the first person."""
    with psycopg.connect(url) as database:
        database.execute(
            "INSERT INTO users (realm_id, email, full_name, role, api_key, date_joined, bot_type,"
            " bot_owner_id) VALUES (%s, 'hook-bot@example.org', 'Hook', 400, %s, now(), 2, %s)",
            [REALM, BOT_KEY, KEEPER],
        )


Activity = Callable[[Client], Awaitable[None]]


@dataclass(eq=False)
class Activities:
    """Everything that clients do, and how often it was done."""

    around: Surroundings
    rate: float
    counts: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    """The slowest response, in seconds, by activity."""
    _free: list[Client] = field(default_factory=list)
    """Connections of members, each for one activity at a time."""
    _readers: list[Client] = field(default_factory=list)
    _samples: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _rng: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self._rng = random.Random(f"{self.around.seed} activities")
        around = self.around
        self._free = [
            around.client(user, f"activities of {user.user_id}")[0]
            for user in around.world.present
            if not user.is_guest
        ]
        self._readers = [
            around.client(user, f"reading of {user.user_id}")[0] for user in around.world.present
        ]
        owner = around.world.users[0]
        self._deleting, _ = around.client(owner, "deletes messages")
        self._exporting, _ = around.client(owner, "exports the organization")
        self._samples = [
            (path.parent.name, json.loads(path.read_bytes()))
            for path in sorted(SAMPLES.rglob("*.json"))
            if path.name != "headers.json"
        ]

    def loops(self) -> list[Coroutine[Any, Any, None]]:
        """All activities, each until the end of the run."""
        plan: Sequence[tuple[float, Activity]] = (
            (0.5, self._life_of_a_message),
            (1.0, self._post_a_webhook),
            (1.0, self._read_and_search),
            (2.0, self._appear),
            (3.0, self._register_anew),
            (3.0, self._catch_up),
            (5.0, self._upload),
            (5.0, self._write_later),
            (60.0, self._export_own_data),
            (90.0, self._export_the_organization),
        )
        return [self._repeat(seconds / self.rate, activity) for seconds, activity in plan]

    async def _repeat(self, seconds: float, activity: Activity) -> None:
        stopping = self.around.pace.stopping
        name = activity.__name__.strip("_").replace("_", " ")
        while not stopping.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._rng.expovariate(1 / seconds)):
                    await stopping.wait()
                    return
            client = self._free.pop(self._rng.randrange(len(self._free)))
            try:
                await activity(client)
                self.counts[name] += 1
            except NoAnswerError:
                self.counts[f"{name}: no answer"] += 1
            except _RefusedError as refusal:
                self.counts[f"{name}: {refusal}"] += 1
            finally:
                self._free.append(client)

    async def _ask(
        self,
        client: Client,
        method: str,
        path: str,
        fields: Mapping[str, object] | None = None,
        *,
        headers: str = "",
        body: bytes | None = None,
    ) -> Answer:
        """Ask; raises _RefusedError unless it succeeds."""
        begin = time.monotonic()
        answer = await client.request(
            method, path, fields or {}, kind="other", patience=PATIENCE, headers=headers, body=body
        )
        took = time.monotonic() - begin
        plain = "/".join("N" if part.isdigit() else part for part in path.split("/"))
        what = f"{method} {plain}"
        self.slowest[what] = max(self.slowest.get(what, 0.0), took)
        if answer.status != 200:
            raise _RefusedError(f"{what}: {answer.status} {str(answer.body.get('msg'))[:80]}")
        return answer

    async def _send(self, client: Client, content: str) -> int:
        place = self._rng.choice([c for c in self.around.world.channels if not c.is_private])
        topic = f"talk {self._rng.randrange(TOPICS)}"
        fields = {"type": "channel", "to": place.channel_id, "topic": topic, "content": content}
        answer = await self._ask(client, "POST", "/messages", fields)
        return int(answer.body["id"])

    async def _life_of_a_message(self, client: Client) -> None:
        """Send, react, edit, move, and sometimes delete."""
        rng = self._rng
        text = f"a message of many words {rng.random()}, with *emphasis* and `code` :tada:"
        one = f"/messages/{await self._send(client, text)}"
        await self._ask(client, "POST", f"{one}/reactions", {"emoji_name": "tada"})
        await self._ask(client, "PATCH", one, {"content": f"{text}, edited"})
        if rng.random() < 0.5:
            await self._ask(client, "DELETE", f"{one}/reactions", {"emoji_name": "tada"})
        if rng.random() < 0.3:
            await self._ask(client, "PATCH", one, {"topic": f"talk {rng.randrange(TOPICS)} moved"})
        if rng.random() < 0.3:
            await self._ask(self._deleting, "DELETE", one)

    async def _post_a_webhook(self, _: Client) -> None:
        service, sample = self._rng.choice(self._samples)
        place = self._rng.choice(self.around.world.channels)
        address = {"api_key": BOT_KEY, "stream": place.name, **sample.get("options", {})}
        lines = [f"{name}: {value}\r\n" for name, value in sample.get("headers", {}).items()]
        client = Client(
            self.around.ports[:1], "", "", self.around.in_flight, random.Random(self._rng.random())
        )
        try:
            await self._ask(
                client,
                "POST",
                f"/external/{service}",
                address,
                headers="".join(lines) + "Content-Type: application/json\r\n",
                body=json.dumps(sample["body"]).encode(),
            )
        finally:
            client.drop()

    async def _read_and_search(self, client: Client) -> None:
        rng = self._rng
        place = rng.choice([c for c in self.around.world.channels if not c.is_private])
        narrow: list[list[object]] = [["channel", place.channel_id]]
        if rng.random() < 0.3:
            narrow = [["search", "many words"]]
        page = {"anchor": "newest", "num_before": 50, "num_after": 0, "narrow": narrow}
        answer = await self._ask(client, "GET", "/messages", page)
        ids = [each["id"] for each in answer.body["messages"]]
        if ids:
            read = {"messages": ids, "op": "add", "flag": "read"}
            await self._ask(client, "POST", "/messages/flags", read)

    async def _catch_up(self, _: Client) -> None:
        """Read all that is unread: workers look again for hours at messages that stay unread."""
        reader = self._rng.choice(self._readers)
        page = {"anchor": "newest", "num_before": 5_000, "num_after": 0, "narrow": UNREAD}
        await self._ask(
            reader, "POST", "/messages/flags/narrow", {**page, "op": "add", "flag": "read"}
        )

    async def _appear(self, client: Client) -> None:
        status = self._rng.choice(("active", "idle"))
        await self._ask(client, "POST", "/users/me/presence", {"status": status})

    async def _register_anew(self, client: Client) -> None:
        """Register a whole client, poll once or not, and leave without a word or with one."""
        queue = (await self._ask(client, "POST", "/register")).body["queue_id"]
        if self._rng.random() < 0.5:
            await self._ask(client, "DELETE", "/events", {"queue_id": queue})

    async def _upload(self, client: Client) -> None:
        rng = self._rng
        content = os.urandom(rng.randint(*UPLOAD_BYTES))
        head = (
            f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=file; filename=soak.bin\r\n"
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        answer = await self._ask(
            client,
            "POST",
            "/user_uploads",
            headers=f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n",
            body=head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode(),
        )
        if rng.random() < 0.5:
            await self._send(client, f"[soak.bin]({answer.body['url']})")
        own = (await self._ask(client, "GET", "/attachments")).body["attachments"]
        if len(own) > 5:
            await self._ask(client, "DELETE", f"/attachments/{rng.choice(own)['id']}")

    async def _write_later(self, client: Client) -> None:
        place = self.around.world.channels[0]
        fields = {
            "type": "channel",
            "to": place.channel_id,
            "topic": "later",
            "content": "a reminder",
            "scheduled_delivery_timestamp": int(SystemClock().now().timestamp()) + 20,
        }
        await self._ask(client, "POST", "/scheduled_messages", fields)
        draft = {"type": "private", "to": [KEEPER], "topic": "", "content": "unfinished"}
        made = await self._ask(client, "POST", "/drafts", {"drafts": [draft]})
        await self._ask(client, "DELETE", f"/drafts/{made.body['ids'][0]}")

    async def _export_own_data(self, client: Client) -> None:
        found = (await self._ask(client, "GET", "/users/me/exports")).body["exports"]
        for each in found[KEPT_EXPORTS:]:
            await self._ask(client, "DELETE", f"/users/me/exports/{each['id']}")
        await self._ask(client, "POST", "/users/me/exports")

    async def _export_the_organization(self, _: Client) -> None:
        owner = self._exporting
        found = (await self._ask(owner, "GET", "/export/realm")).body["exports"]
        done = [each for each in found if not each["pending"] and not each["deleted_timestamp"]]
        for each in done[KEPT_EXPORTS:]:
            await self._ask(owner, "DELETE", f"/export/realm/{each['id']}")
        await self._ask(owner, "POST", "/export/realm", {"export_type": "public"})


class _RefusedError(Exception):
    """The answer was not 200."""
