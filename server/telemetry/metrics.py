"""Metrics of this process, in Prometheus' format."""

import time
from collections import deque
from collections.abc import Iterable
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import choose_encoder

from server.runtime.version import VERSION
from server.telemetry.overview import QueueView

REQUEST_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Other methods are invented by clients: each would be a label of its own for ever."""
JOB_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600)

BLOCKED_SECONDS = 60.0
"""How far back the longest block of the event loop is looked for."""
BLOCKED_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The instruments of one process."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        gauge = partial(Gauge, registry=registry)
        counter = partial(Counter, registry=registry)
        seconds = partial(Histogram, registry=registry)

        gauge("parley_info", "Which Parley this is.", ["version"]).labels(VERSION).set(1)
        self._state = gauge("parley_state", "What this process holds now.", ["what"])
        self._requests = seconds(
            "parley_request_seconds",
            "Requests and how long they took, by endpoint and class of status.",
            ["method", "endpoint", "status"],
            buckets=REQUEST_BUCKETS,
        )
        self._by_request: dict[tuple[str, str, int], Histogram] = {}

        done = "Jobs done: from the moment that asked for them."
        self._done = seconds("parley_job_seconds", done, ["queue"], buckets=JOB_BUCKETS)
        self._attempts = counter("parley_job_attempts", "Jobs handed out.", ["queue"])
        ends = "How attempts ended: done, retried, dead, lost (the broker did not hear it)."
        self._answers = counter("parley_job_answers", ends, ["queue", "answer"])

        self._jobs = gauge("parley_queue_jobs", "Jobs in a queue.", ["queue", "state"])
        age = "At most how old the oldest job is that waits or is in hand."
        self._oldest = gauge("parley_queue_oldest_seconds", age, ["queue"])
        self._workers = gauge("parley_queue_workers", "Processes that work on a queue.", ["queue"])
        self._paused = gauge(
            "parley_queue_paused", "Whether an operator has stopped a queue.", ["queue"]
        )

        late = "What was sent at its time, or could not be, and how late."
        self._timers = seconds("parley_timer_late_seconds", late, ["kind"], buckets=JOB_BUCKETS)
        outcomes = "Pushes to devices by outcome: sent, gone, later, refused."
        self._pushes = counter("parley_pushes", outcomes, ["kind", "outcome"])
        came = "Mail that came in: taken, refused, later (it may come again)."
        self._mails_in = counter("parley_mails_in", came, ["answer"])

        posted = "Deliveries of incoming webhooks: message, ignored, unknown, malformed."
        self._deliveries = counter("parley_webhook_deliveries", posted, ["integration", "outcome"])

        blocked = "How long the event loop was blocked, each time that it was noticed."
        self._blocked = seconds("parley_loop_blocked_seconds", blocked, buckets=BLOCKED_BUCKETS)
        self._longest_blocks: deque[tuple[float, float]] = deque()
        """Ends and lengths of blocks, each shorter than the one before: later ones outlast it."""

    def loop_blocked(self, seconds: float) -> None:
        """Record that the event loop was blocked for this time."""
        self._blocked.observe(seconds)
        while self._longest_blocks and self._longest_blocks[-1][1] <= seconds:
            self._longest_blocks.pop()
        self._longest_blocks.append((time.monotonic(), seconds))

    def longest_block_seconds(self) -> float:
        """Return the longest block of the event loop within BLOCKED_SECONDS."""
        earliest = time.monotonic() - BLOCKED_SECONDS
        while self._longest_blocks and self._longest_blocks[0][0] < earliest:
            self._longest_blocks.popleft()
        return self._longest_blocks[0][1] if self._longest_blocks else 0.0

    def request(
        self, *, method: str, endpoint: str, status: int, seconds: float, trace_id: str = ""
    ) -> None:
        """Record a response; the trace of its request, if there is one, becomes an exemplar."""
        key = (method if method in METHODS else "other", endpoint, status // 100)
        observed = self._by_request.get(key)
        if observed is None:
            observed = self._requests.labels(*key[:2], f"{status // 100}xx")
            self._by_request[key] = observed
        observed.observe(seconds, {"trace_id": trace_id} if trace_id else None)

    def handed_out(self, queue: str) -> None:
        """Record the start of a job."""
        self._attempts.labels(queue).inc()

    def answered(self, queue: str, answer: str) -> None:
        """Record the end of an attempt; the outcomes are those of the work log."""
        self._answers.labels(queue, answer).inc()

    def done(self, queue: str, seconds: float) -> None:
        """Record a completed job, and the time since it was requested."""
        self._done.labels(queue).observe(seconds)

    def mail_in(self, answer: str) -> None:
        """Record the response to one recipient of an incoming mail."""
        self._mails_in.labels(answer).inc()

    def webhook_delivered(self, integration: str, outcome: str) -> None:
        """Record a delivery of an incoming webhook, and what was made of it."""
        self._deliveries.labels(integration, outcome).inc()

    def timer_done(self, kind: str, seconds: float) -> None:
        """Record a handled timer, and its delay."""
        self._timers.labels(kind).observe(seconds)

    def pushed(self, kind: str, outcome: str, count: int) -> None:
        """Record notifications to devices of one kind, sent or not."""
        self._pushes.labels(kind, outcome).inc(count)

    def queues(self, views: Iterable[QueueView]) -> None:
        """Set the state of the queues; those of other queues are removed."""
        for gauge in (self._jobs, self._oldest, self._workers, self._paused):
            gauge.clear()
        for one in views:
            self._jobs.labels(one.queue, "waiting").set(one.waiting)
            self._jobs.labels(one.queue, "in_hand").set(one.in_hand)
            self._jobs.labels(one.queue, "dead").set(one.dead)
            self._oldest.labels(one.queue).set(one.oldest_seconds)
            self._workers.labels(one.queue).set(one.workers)
            self._paused.labels(one.queue).set(one.paused)

    def state(self, what: str, value: float) -> None:
        """Set a gauge."""
        self._state.labels(what).set(value)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def encoded(self, accept: str) -> tuple[bytes, str]:
        """All metrics, and their content type: OpenMetrics if the scraper accepts it.

        Exemplars are in OpenMetrics only.
        """
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type
