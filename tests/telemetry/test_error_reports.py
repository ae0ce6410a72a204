"""A fault becomes one report, with its trace and without secrets; metrics name the trace too."""

import gzip

import pytest
from tornado.httpclient import AsyncHTTPClient

from server.api.endpoint import Access, Endpoint, NoParams, Request
from server.operator.port import metrics_port
from testkit.services.trace_collector import trace_collector
from testkit.services.web_server import answering_json, web_at

pytestmark = pytest.mark.asyncio

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SAMPLED = f"00-{TRACE}-00f067aa0ba902b7-01"
SECRET_WORDS = " ".join(f"word{number}" for number in range(5))


async def fail(request: Request, params: NoParams) -> None:
    words = request.headers["X-Words"]
    raise ZeroDivisionError(words)


async def test_a_fault_is_reported_with_its_trace(
    serving_with, make, connect, log, unused_tcp_port
):
    routes = (Endpoint("GET", "/test/fail", Access.USER, NoParams, fail),)
    async with (
        trace_collector() as collector,
        web_at("127.0.0.1", answering_json({"id": "1"})) as service,
        serving_with(
            routes=routes,
            sentry_dsn=f"http://key@127.0.0.1:{service.port}/7",
            metrics_port=unused_tcp_port,
            traces_endpoint=collector.endpoint,
            traces_sample_ratio=0.0,
            trusted_proxies="127.0.0.1",
        ) as server,
        metrics_port(server.app) as port,
    ):
        log()
        user = await make.user()
        client = await connect(server, make.realm_id, user)
        headers = {"Traceparent": SAMPLED, "X-Words": SECRET_WORDS, "X-Request-Id": "find-me"}
        path = "/test/fail?password=word0+word1+word2"
        (await client.send("GET", path, headers=headers)).refused("INTERNAL_SERVER_ERROR", 500)
        url = f"http://127.0.0.1:{port}/metrics"
        accept = {"Accept": "application/openmetrics-text;version=1.0.0"}
        metrics = (await AsyncHTTPClient().fetch(url, headers=accept)).body
        plain = (await AsyncHTTPClient().fetch(url)).body

    [posted] = service.requests
    assert posted.target == "/api/7/envelope/"
    envelope = gzip.decompress(posted.body)
    _, _, payload = envelope.split(b"\n", 2)
    for expected in (TRACE, "ZeroDivisionError", "/test/fail", "find-me", "http.unexpected_error"):
        assert expected.encode() in payload
    for secret in (SECRET_WORDS, "word0", user.email, user.api_key, "password"):
        assert secret.encode() not in envelope
    [failed] = [span for span in collector.spans() if span.has_failed]
    assert (failed.name, failed.trace_id) == ("GET /test/fail", TRACE)
    assert f'# {{trace_id="{TRACE}"}}'.encode() in metrics
    assert metrics.endswith(b"# EOF\n")
    assert TRACE.encode() not in plain
