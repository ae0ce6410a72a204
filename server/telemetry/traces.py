"""Traces of requests and jobs, as OpenTelemetry has them. Off unless a collector is configured.

Nothing of OpenTelemetry is imported here: a tracer (server/telemetry/otlp.py) is installed by
`installed`. Without one, every function is a comparison with None. docs/adr/0052-traces.md.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Final, Protocol, Self

Value = str | int | float | bool

MAX_CONTEXTS: Final = 8
"""Trace contexts that a job carries: it may be about many messages of traced requests."""
SEPARATOR: Final = ","
"""Between trace contexts, which never contain it."""
_TRACEPARENT: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[01]")


class Span(Protocol):
    """A timed operation of a sampled trace.

    Attributes never hold contents, names, addresses, tokens or narrows: numbers of rows and
    realms, and names of the code only.
    """

    @property
    def context(self) -> str:
        """The span as a `traceparent` of W3C Trace Context."""
        ...

    @property
    def trace_id(self) -> str: ...

    def child(self, name: str, **attributes: Value) -> Self | None:
        """Start a part of it; None beyond a maximum, so that a fan-out stays bounded."""
        ...

    def rename(self, name: str) -> None: ...

    def set(self, **attributes: Value) -> None: ...

    def link(self, context: str) -> None:
        """Link to a span of another trace."""
        ...

    def fail(self, kind: str) -> None:
        """Mark it as failed, with the name of an exception's class: messages may hold secrets."""
        ...

    def end(self) -> None: ...

    @property
    def has_ended(self) -> bool: ...


class Tracer(Protocol):
    """Starts traces, and continues those of other processes."""

    def root(self, name: str, **attributes: Value) -> Span | None:
        """Start a trace; None if it is not sampled."""
        ...

    def continued(self, name: str, contexts: Sequence[str], **attributes: Value) -> Span:
        """Start a span below the first context, linked to the others."""
        ...


_NOTHING: Final = nullcontext()
_tracer: Tracer | None = None
_answer: ContextVar[Span | None] = ContextVar("parley_answer", default=None)
_current: ContextVar[Span | None] = ContextVar("parley_span", default=None)


@contextmanager
def installed(tracer: Tracer) -> Iterator[None]:
    """Trace the process while the block runs."""
    global _tracer  # noqa: PLW0603 - one per process, as its log
    before, _tracer = _tracer, tracer
    try:
        yield
    finally:
        _tracer = before


def is_on() -> bool:
    return _tracer is not None


def begin_request(received: str | None, **attributes: Value) -> Span | None:
    """Start the span of a request; None if it is not sampled.

    `received` is the `traceparent` of a trusted proxy, which decides about sampling; without one,
    the sample ratio decides.
    """
    if _tracer is None:
        return None
    if received is None or not _TRACEPARENT.fullmatch(received):
        return _tracer.root("request", **attributes)
    return _tracer.continued("request", [received], **attributes) if received[-1] == "1" else None


def continued(name: str, contexts: str, **attributes: Value) -> Span | None:
    """Start a span below the first of these contexts, linked to the others; None if untraced."""
    if _tracer is None or not contexts:
        return None
    valid = [each for each in contexts.split(SEPARATOR) if _TRACEPARENT.fullmatch(each)]
    return _tracer.continued(name, valid, **attributes) if valid else None


def current() -> Span | None:
    """Return the span of the request or job that this code runs for, if it is traced."""
    span = _current.get()
    return None if span is None or span.has_ended else span


def child(name: str, **attributes: Value) -> Span | None:
    """Start a part of the current span; None if there is none."""
    span = _current.get()
    return None if span is None or span.has_ended else span.child(name, **attributes)


def current_context() -> str:
    """Return the current span as `traceparent`; empty if there is none."""
    span = current()
    return "" if span is None else span.context


def joined(contexts: Sequence[str]) -> str:
    """Return the different ones of these contexts as one text, at most MAX_CONTEXTS."""
    return SEPARATOR.join(list(dict.fromkeys(filter(None, contexts)))[:MAX_CONTEXTS])


def entered(span: Span | None) -> AbstractContextManager[Span | None]:
    """Make the span the current one for the block, also if it is None."""
    return _NOTHING if span is None and _tracer is None else _entered(span)


def ended(span: Span | None) -> AbstractContextManager[Span | None]:
    """Make the span the current one for the block, and end it with the block."""
    return _NOTHING if span is None and _tracer is None else _ended(span)


@contextmanager
def _entered(span: Span | None) -> Iterator[Span | None]:
    token = _current.set(span)
    try:
        yield span
    finally:
        _current.reset(token)


@contextmanager
def _ended(span: Span | None) -> Iterator[Span | None]:
    with _entered(span):
        try:
            yield span
        except BaseException as error:
            if span is not None:
                span.fail(type(error).__name__)
            raise
        finally:
            if span is not None:
                span.end()


@contextmanager
def answering(span: Span) -> Iterator[None]:
    """Answer a poll in the block; `span`, of the event's trace, ends with it."""
    token = _answer.set(span)
    try:
        yield
    finally:
        _answer.reset(token)
        span.end()


def link_to_answer(poll: Span) -> None:
    """Link the span of a poll and that of the event with which it is being answered."""
    answer = _answer.get()
    if answer is not None:
        poll.link(answer.context)
        answer.link(poll.context)
