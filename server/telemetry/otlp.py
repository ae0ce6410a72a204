"""Export of traces to a collector by OTLP over HTTP. Imported only if the settings name one."""

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

from server.runtime.version import VERSION
from server.telemetry import traces
from server.telemetry.traces import Value

MAX_CHILDREN: Final = 64
"""Children of one span: a message to ten thousand waiting polls is not ten thousand spans."""
MAX_QUEUED_SPANS: Final = 4_096
"""Spans that wait for the collector; further ones are dropped."""
EXPORT_SECONDS: Final = 5.0
"""Timeout of an export, also of the last one when the process stops."""
_random: Final = random.Random()  # noqa: S311 - chooses samples, no secret


class TraceSettings(Protocol):
    @property
    def traces_endpoint(self) -> str | None: ...
    @property
    def traces_sample_ratio(self) -> float: ...


class OtlpSpan:
    """A Span of OpenTelemetry's SDK."""

    __slots__ = ("_children", "_span", "_tracer")

    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span
        self._children = 0

    @property
    def context(self) -> str:
        own = self._span.get_span_context()
        return f"00-{own.trace_id:032x}-{own.span_id:016x}-01"

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}"

    @property
    def has_ended(self) -> bool:
        return not self._span.is_recording()

    def child(self, name: str, **attributes: Value) -> "OtlpSpan | None":
        if self._children >= MAX_CHILDREN:
            return None
        self._children += 1
        within = trace.set_span_in_context(self._span)
        return OtlpSpan(self._tracer, self._tracer.start_span(name, within, attributes=attributes))

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def set(self, **attributes: Value) -> None:
        self._span.set_attributes(attributes)

    def link(self, context: str) -> None:
        self._span.add_link(_decoded(context))

    def fail(self, kind: str) -> None:
        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))

    def end(self) -> None:
        self._span.end()


class OtlpTracer:
    """A Tracer that samples traces by a ratio, and exports all spans of sampled ones."""

    def __init__(self, provider: TracerProvider, sample_ratio: float) -> None:
        self._tracer = provider.get_tracer("parley", VERSION)
        self._sample_ratio = sample_ratio

    def root(self, name: str, **attributes: Value) -> OtlpSpan | None:
        if _random.random() >= self._sample_ratio:
            return None
        empty = trace.set_span_in_context(trace.INVALID_SPAN)
        return OtlpSpan(self._tracer, self._tracer.start_span(name, empty, attributes=attributes))

    def continued(self, name: str, contexts: Sequence[str], **attributes: Value) -> OtlpSpan:
        parent, *others = map(_decoded, contexts)
        within = trace.set_span_in_context(NonRecordingSpan(parent))
        links = [Link(each) for each in others]
        span = self._tracer.start_span(name, within, attributes=attributes, links=links)
        return OtlpSpan(self._tracer, span)


@asynccontextmanager
async def open_traces(settings: TraceSettings) -> AsyncIterator[None]:
    """Trace this process while the block runs; export what is left when it ends."""
    assert settings.traces_endpoint is not None, "the caller looks"
    resource = Resource.create(
        {
            "service.name": "parley",
            "service.version": VERSION,
            "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
        }
    )
    exporter = OTLPSpanExporter(
        settings.traces_endpoint, timeout=EXPORT_SECONDS, compression=Compression.Gzip
    )
    provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=MAX_QUEUED_SPANS))
    try:
        with traces.installed(OtlpTracer(provider, settings.traces_sample_ratio)):
            yield
    finally:
        await asyncio.to_thread(provider.shutdown)


def _decoded(context: str) -> SpanContext:
    _, trace_id, span_id, _ = context.split("-")
    sampled = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=sampled)
