"""Traces, from a request to what follows from it in other processes, as a collector gets them."""

from collections import Counter

import pytest

from queue_processors.main import run
from queue_processors.registry import PROCESSORS
from server.messaging.background import running
from testkit.services.trace_collector import CollectedSpan, trace_collector
from testkit.services.web_server import answering_json, web_at

pytestmark = pytest.mark.asyncio

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SAMPLED = f"00-{TRACE}-00f067aa0ba902b7-01"
UNSAMPLED = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b7-00"
SECRET_WORDS = "the-lunch-nobody-may-know"


def path_to(span: CollectedSpan, spans: list[CollectedSpan]) -> list[str]:
    """The names from the root down to the span."""
    by_id = {each.span_id: each for each in spans}
    names = [span.name]
    while span.parent_id in by_id:
        span = by_id[span.parent_id]
        names.append(span.name)
    return names[::-1]


@pytest.mark.parametrize("is_clustered", [False, True], ids=["postgres", "rabbitmq"])
async def test_a_message_is_followed_to_polls_and_effects(
    serving_with, make, connect, amqp_url, is_clustered
):
    """One process takes the message, another one answers the poll, and a worker calls a bot."""
    await make.notification_bot()
    async with (
        trace_collector() as collector,
        web_at("127.0.0.1", answering_json({"content": "soup"})) as web,
    ):
        settings = {
            "egress_allow": "127.0.0.1/32",
            "traces_endpoint": collector.endpoint,
            "traces_sample_ratio": 1.0,
            "trusted_proxies": "127.0.0.1",
            **({"amqp_url": amqp_url} if is_clustered else {}),
        }
        async with serving_with(**settings) as server, serving_with(**settings) as other:
            owner = await connect(server, make.realm_id, await make.user())
            bot = await owner.post(
                "/bots",
                full_name="Helper",
                short_name="helper",
                bot_type=3,
                payload_url=web.url(f"/{SECRET_WORDS}"),
            )
            reader = await connect(other, make.realm_id, owner.user)
            queue = await reader.register(event_types=["message"])
            sent = {"type": "direct", "to": [bot["user_id"]], "content": SECRET_WORDS}
            await owner.call("POST", "/messages", headers={"Traceparent": UNSAMPLED}, **sent)
            answer = await owner.call("POST", "/messages", headers={"Traceparent": SAMPLED}, **sent)
            answer.succeeded()
            async with running(run(server.app, PROCESSORS, with_shipper=True)):
                while (await queue.until("message"))["message"]["content"] != "soup":
                    pass
        spans = collector.spans()
        ours = [span for span in spans if span.trace_id == TRACE]
        paths = Counter(" > ".join(path_to(span, ours)) for span in ours)
        write = "POST /messages > write"
        job = "publish message_fanout > process message_fanout"
        call = f"{write} > {job} > process outgoing_webhooks"
        expected = {
            "POST /messages",
            f"{write} > commit",
            f"{write} > apply entry > answer poll",
            f"{write} > {job}",
            f"{call} > egress",
            f"{call} > write > commit",
            f"{call} > write > apply entry",
        }
        assert expected - set(paths) == set()
        polls = [each for each in spans if each.name == "GET /events"]
        assert any(TRACE in poll.links for poll in polls)
        assert {poll.trace_id for poll in polls}.isdisjoint({TRACE})
        assert UNSAMPLED.split("-")[1] not in {span.trace_id for span in spans}
        for secret in (SECRET_WORDS, owner.email, owner.api_key, queue.queue_id, "soup"):
            assert secret.encode() not in collector.received
