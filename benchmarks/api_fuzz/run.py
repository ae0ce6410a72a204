"""One run: a server, its people, and request after request."""

import http.client
import json
import os
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.api_fuzz.operations import Operation, RequestGenerator, operations_of
from benchmarks.api_fuzz.people import ANONYMOUS, KINDS, LOST, WEIGHTS, People
from benchmarks.api_fuzz.requests import Line, ReceivedResponse, SentRequest
from benchmarks.api_fuzz.seen_values import SeenValues
from benchmarks.api_fuzz.values import Values
from benchmarks.server import Server, load_average, running
from testkit.oracles import openapi

SHOWN_EVERY = 2_000
TRACE_LINES = 12
ENDS_ALL = ("POST", "/realm/deactivate")
"""A request that is never sent as the owner: all later ones would fail."""
EXPECTED_FAILURES = ("RetryLaterError", "mail_in.failed")


def fuzz(requests: int, seed: int, *, slowest_seconds: float, log: Path | None) -> int:
    """Ask so often; 1 if something was found, which is printed."""
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        log = log or Path(folder) / "log"
        with running(log=log) as server, server.database() as database:
            run = Run(server, People(database), Random(seed), slowest_seconds)
            run.go(requests)
        failures = _failures(log)
    for failure in failures:
        print(f"LOGGED: {failure}")
    run.report()
    print(f"seed {seed}: {requests:,} requests, {run.findings + len(failures)} findings")
    return int(run.findings + len(failures) > 0)


class Run:
    """A run: its accounts, its known values and its findings so far."""

    def __init__(self, server: Server, people: People, random: Random, slowest: float) -> None:
        self._line = Line(server.port)
        self._people = people
        self._random = random
        self._slowest_allowed = slowest
        self._slowest = (0.0, "")
        self._statuses: Counter[int] = Counter()
        self._reached: set[Operation] = set()
        self.findings = 0
        self._memory = SeenValues()
        document = json.loads(self._line.ask(SentRequest("GET", "/api/v1/openapi.json")).content)
        self._operations = operations_of(document)
        values = Values(random, self._memory, document)
        self._inventor = RequestGenerator(random, self._memory, values)
        for kind, user_id in people.ids.items():
            self._memory.keep("user_id", user_id)
            self._memory.keep("email", people.emails[kind])
        self._begin()

    def _begin(self) -> None:
        """Make a channel with all accounts in it, so that requests find something there."""
        owner = self._people.headers("owner")
        form = {**owner, "Content-Type": "application/x-www-form-urlencoded"}
        ids = json.dumps(list(self._people.ids.values()))
        channel = f'subscriptions=[{{"name":"fuzzed"}}]&principals={ids}'.encode()
        response = self._line.ask(
            SentRequest("POST", "/api/v1/users/me/subscriptions", form, channel)
        )
        assert response.status == 200, response.content
        for path in ("/streams", "/users", "/user_groups"):
            answered = self._line.ask(SentRequest("GET", f"/api/v1{path}", owner))
            self._memory.learn(path, answered.body)

    def go(self, requests: int) -> None:
        for number in range(1, requests + 1):
            self._turn()
            if number % SHOWN_EVERY == 0:
                print(f"{number:,} requests, {self.findings} findings", flush=True)
        self._line.close()

    def _turn(self) -> None:
        operation = self._random.choice(self._operations)
        [kind] = self._random.choices(KINDS, WEIGHTS)
        if (operation.method, operation.path) == ENDS_ALL and kind == "owner":
            return
        self._memory.account_kind = kind
        asked = self._inventor.invent(operation, self._people.headers(kind))
        try:
            answered = self._line.ask(asked)
        except (OSError, http.client.HTTPException) as error:
            self._line.close()
            self._found(f"no answer: {error!r}", asked)
            return
        self._statuses[answered.status] += 1
        if answered.status < 400:
            self._reached.add(operation)
        self._look_at(operation, asked, answered)
        if kind != ANONYMOUS and _code(answered) in LOST:
            self._people.renew(kind)

    def _look_at(
        self, operation: Operation, asked: SentRequest, answered: ReceivedResponse
    ) -> None:
        name = f"{operation.method} {operation.path}"
        self._slowest = max(self._slowest, (answered.seconds, name))
        # Others use the machine too.
        allowed = self._slowest_allowed * max(1.0, load_average() / (os.cpu_count() or 1))
        if answered.seconds > allowed:
            again = self._line.ask(asked).seconds
            if again > allowed:
                self._found(f"took {answered.seconds:.2f} s, and {again:.2f} s again", asked)
        if answered.status >= 500:
            self._found(f"{answered.status} {answered.content[:300]!r}", asked)
            return
        try:
            body = answered.body
            self._check(operation, asked, answered, body)
        except (ValueError, AssertionError, KeyError, TypeError) as error:
            self._found(f"{answered.status} is not as described: {str(error)[:400]}", asked)
            return
        if answered.status < 300:
            self._memory.learn(operation.path, body)
            if operation.path == "/tus" and (location := answered.headers.get("Location")):
                self._memory.keep("tus", location.rpartition("/")[2])

    def _check(
        self, operation: Operation, asked: SentRequest, answered: ReceivedResponse, body: Any
    ) -> None:
        if answered.status >= 400 and asked.method != "HEAD":
            assert isinstance(body, dict), answered.content[:100]
            assert body["result"] == "error"
            assert body["msg"]
            assert body["code"]
        elif body is not None and operation.is_described and asked.method != "HEAD":
            path = asked.path.partition("?")[0].removeprefix("/api/v1")
            openapi.validate(operation.method, path, answered.status, body)

    def _found(self, what: str, asked: SentRequest) -> None:
        self.findings += 1
        print(f"FOUND: {what}\n    {asked.curl(self._line.root)}", flush=True)

    def report(self) -> None:
        """Print how much was reached, and how quickly."""
        statuses = ", ".join(
            f"{status}: {count}" for status, count in sorted(self._statuses.items())
        )
        print(f"answers by status: {statuses}")
        missed = [each for each in self._operations if each not in self._reached]
        print(f"{len(self._reached)} of {len(self._operations)} operations have succeeded, not:")
        print("    " + ", ".join(f"{each.method} {each.path}" for each in missed))
        print(f"the slowest took {self._slowest[0] * 1000:.0f} ms: {self._slowest[1]}")


def _code(answered: ReceivedResponse) -> str:
    body = answered.body if answered.status == 401 else None
    return str(body["code"]) if body else ""


def _failures(log: Path) -> list[str]:
    """Failures in the server's log, each kind once, with its count."""
    found: Counter[str] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("level") in {"error", "critical"}:
            trace = str(entry.get("exception", "")).splitlines()[-TRACE_LINES:]
            what = f"{entry.get('event')} {entry.get('queue', entry.get('endpoint', ''))}"
            found["\n        ".join([what, *trace])] += 1
    return [
        f"{count} times: {what}"
        for what, count in found.most_common()
        if not any(each in what for each in EXPECTED_FAILURES)
    ]
