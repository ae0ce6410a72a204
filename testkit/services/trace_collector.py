"""A collector of traces: it keeps what an exporter posts to it by OTLP over HTTP."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from testkit.services.web_server import Web, answering, web_at


@dataclass(frozen=True, slots=True)
class CollectedSpan:
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[str, ...]
    """The traces that it links to."""
    attributes: dict[str, Any]
    has_failed: bool


@dataclass(frozen=True, slots=True)
class TraceCollector:
    web: Web

    @property
    def endpoint(self) -> str:
        return self.web.url("/v1/traces")

    @property
    def received(self) -> bytes:
        """Everything that has arrived, to search for what must not be there."""
        return b"".join(gzip.decompress(each.body) for each in self._posted)

    @property
    def _posted(self) -> list[Any]:
        return [each for each in self.web.requests if each.target == "/v1/traces"]

    def spans(self) -> list[CollectedSpan]:
        found = []
        for posted in self._posted:
            message = ExportTraceServiceRequest.FromString(gzip.decompress(posted.body))
            for resource in message.resource_spans:
                for scope in resource.scope_spans:
                    found += [_read(span) for span in scope.spans]
        return found


def _read(span: Any) -> CollectedSpan:
    return CollectedSpan(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        links=tuple(link.trace_id.hex() for link in span.links),
        attributes={
            each.key: getattr(each.value, each.value.WhichOneof("value"))
            for each in span.attributes
        },
        has_failed=span.status.code == 2,
    )


@asynccontextmanager
async def trace_collector() -> AsyncIterator[TraceCollector]:
    protobuf = answering(200, b"", content_type="application/x-protobuf")
    async with web_at("127.0.0.1", protobuf) as web:
        yield TraceCollector(web)
