"""Sends broken deliveries of all services: `python -m benchmarks.webhook_fuzz --cases 100000`.

Each is a sample of a service, changed at random (testkit/webhook_fuzz.py), and read in this
process: nothing may be raised, and text of the service may mention no one and leave no quotation.
Some are sent to a server as well, which must answer in JSON, and never with 500 or above. The
slowest are printed.
"""

import argparse
import heapq
import sys
import time
from collections import Counter
from random import Random
from typing import Any
from urllib.parse import urlencode

import psycopg

from benchmarks import world as worlds
from benchmarks.api_fuzz.requests import Line, SentRequest
from benchmarks.server import running
from testkit.webhook_fuzz import FuzzedDelivery, check, random_delivery

SHOWN_EVERY = 10_000
MAX_FAILURES = 10
BOT_KEY = "b" * 32


def add_bot(database: psycopg.Connection[Any], world: worlds.World, key: str = BOT_KEY) -> None:
    """Insert an incoming webhook bot of the first person, with this key."""
    database.execute(
        "INSERT INTO users (realm_id, email, full_name, role, api_key, date_joined, bot_type,"
        " bot_owner_id) VALUES (%s, 'hook-bot@example.com', 'Hook', 400, %s, now(), 2, %s)",
        [world.realm_id, key, world.first_user_id],
    )


def address(service: str, **options: Any) -> str:
    query = urlencode({"api_key": BOT_KEY, "stream": "webhooks", **options})
    return f"/api/v1/external/{service}?{query}"


class Run:
    """The counts of a run, and its failures."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.failures = 0
        self._slowest: list[tuple[float, str, bytes]] = []

    def read(self, delivery: FuzzedDelivery) -> None:
        begin = time.thread_time()
        try:
            self.outcomes[check(delivery)] += 1
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what this looks for)
            self._fail(delivery, repr(error))
        taken = (time.thread_time() - begin, delivery.service, delivery.body[:60])
        self._slowest = heapq.nlargest(5, [*self._slowest, taken])

    def send(self, line: Line, delivery: FuzzedDelivery) -> None:
        headers = {"Content-Type": "application/json", **delivery.headers}
        path = address(delivery.service, **delivery.options)
        answer = line.ask(SentRequest("POST", path, headers, delivery.body))
        self.statuses[answer.status] += 1
        is_described = isinstance(answer.body, dict) and "result" in answer.body
        if answer.status >= 500 or not is_described:
            self._fail(delivery, f"{answer.status} {answer.content[:200]!r}")

    def _fail(self, delivery: FuzzedDelivery, what: str) -> None:
        self.failures += 1
        print(f"FAILED: {what[:2_000]}\n    {delivery}"[:4_000], flush=True)

    def report(self) -> None:
        for name, counts in (("outcomes", self.outcomes), ("statuses", self.statuses)):
            shown = ", ".join(f"{each}: {count:,}" for each, count in sorted(counts.items()))
            print(f"{name}: {shown}")
        for seconds, service, body in self._slowest:
            print(f"{seconds * 1000:7.2f} ms  {service}  {body!r}")


def main() -> int:
    """Run for a number of cases; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sent-every", type=int, default=20, help="cases of which one is sent")
    arguments = parser.parse_args()
    random, run = Random(arguments.seed), Run()
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=1)
        worlds.channel(database, world, "webhooks", 1)
        add_bot(database, world)
        line = Line(server.port)
        for case in range(1, arguments.cases + 1):
            delivery = random_delivery(random)
            run.read(delivery)
            if case % arguments.sent_every == 0:
                run.send(line, delivery)
            if case % SHOWN_EVERY == 0:
                print(f"{case:,} deliveries, {run.failures} failed", flush=True)
            if run.failures >= MAX_FAILURES:
                break
        line.close()
    print(f"seed {arguments.seed}: {case:,} deliveries, {run.failures} failed")
    run.report()
    return int(run.failures > 0)


if __name__ == "__main__":
    sys.exit(main())
