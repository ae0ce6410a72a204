"""Endpoints of event queues: long polls, and server-sent events."""

import asyncio
from contextlib import aclosing
from sys import intern
from typing import Any, Final

import structlog
from typing_extensions import override

from server.api.credentials import Credential
from server.api.endpoint import (
    Access,
    DeferredResponse,
    Empty,
    Endpoint,
    RawResult,
    Request,
    ResponseKind,
    ResponseSink,
    Result,
)
from server.api.envelopes import error_body
from server.api.params import Params
from server.app import App
from server.domain.actor import Actor
from server.domain.api_keys import Scope
from server.domain.errors import (
    DomainError,
    InvalidParameterError,
    MissingParameterError,
    ServerNotReadyError,
)
from server.realtime import poll as polls
from server.realtime.queue import WireEvent
from server.realtime.stream import follow
from storage.database import RETRYABLE_ERRORS
from storage.ids import QueueId
from storage.users import UserRow

logger = structlog.get_logger(__name__)

PATH: Final = "/events"
EVENT_STREAM: Final = "text/event-stream"
RECONNECT_MILLISECONDS: Final = 2_000
_STREAM_HEADERS: Final = {
    "Content-Type": EVENT_STREAM,
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}


class PollParams(Params):
    queue_id: str
    """Id of the queue, from `POST /register`."""
    last_event_id: int | None = None
    """Id of the last event that the client has received; at first `last_event_id` of `POST
    /register`."""
    dont_block: bool = False
    """Whether to answer at once, even if there is no event."""


class QueueParams(Params):
    queue_id: str
    """Id of the queue, from `POST /register`."""


class PollResult(Result):
    events: list[dict[str, Any]]
    """Each has an `id` and a `type`; other fields depend on the type."""
    queue_id: str


async def get_events(request: Request, params: PollParams) -> RawResult | DeferredResponse | None:
    """Answer one poll.

    Or send server-sent events until the client disconnects, if it accepts them.
    """
    if EVENT_STREAM in request.headers.get("Accept", ""):
        await _stream(request, params)
        return None
    if params.last_event_id is None:
        raise MissingParameterError("last_event_id")
    queue_id = QueueId(params.queue_id)
    begun = await polls.begin(
        request.app.realtime,
        _RepeatablePoll if request.credential is None else _CheckedPoll,
        realm_id=request.actor.realm_id,
        user_id=request.actor.user_id,
        queue_id=queue_id,
        last_event_id=params.last_event_id,
        may_know_secrets=request.may_know_secrets,
        dont_block=params.dont_block,
    )
    if isinstance(begun, _RepeatablePoll):
        begun.app, begun.row = request.app, request.actor.row
        begun.client = intern(request.actor.client)
    elif isinstance(begun, _CheckedPoll):
        assert request.credential is not None, "it would be repeatable"
        begun.credential = request.credential
    if isinstance(begun, _DeferredPoll):
        return begun
    await _check(request.credential)
    return RawResult(polls.answer(queue_id, begun))


class _DeferredPoll(polls.WaitingPoll, DeferredResponse):
    """A waiting poll, which is answered by a deferred response."""

    __slots__ = ("_sink",)

    @override
    def deliver_to(self, sink: ResponseSink) -> None:
        self._sink: ResponseSink | None = sink

    @override
    def deliver_events(self, events: list[WireEvent]) -> None:
        self._take_sink().deliver(polls.answer(self.queue.queue_id, events))

    def _take_sink(self) -> ResponseSink:
        """Return the sink, which is called once, and break the reference cycle with it."""
        sink, self._sink = self._sink, None
        assert sink is not None, "a poll is answered once"
        return sink


class _RepeatablePoll(_DeferredPoll):
    """A poll by the account's own key."""

    __slots__ = ("app", "client", "row")

    app: App
    row: UserRow
    """The caller."""
    client: str

    @property
    @override
    def parameter(self) -> bytes:
        return b"last_event_id="

    @override
    def repeat(self, value: int) -> RawResult | DeferredResponse | None:
        """Answer the poll that acknowledges the events of this one.

        The key is valid as long as the rows that it was compared with are current: the log entry
        that changes one of them removes it from the cache.
        """
        realm_cache = self.follower.realm_cache
        if not realm_cache.holds(self.row):
            return None
        events = self.begin_again(value)
        if events is None:
            return None
        self.app.activity.note(Actor(realm_cache.realm_id, self.row, self.client), PATH)
        return RawResult(polls.answer(self.queue.queue_id, events)) if events else self


class _CheckedPoll(_DeferredPoll):
    """A poll by a session or a named key, which may end while it waits, without a log entry."""

    __slots__ = ("_checking", "credential")

    credential: Credential

    @override
    def deliver_to(self, sink: ResponseSink) -> None:
        super().deliver_to(sink)
        self._checking: asyncio.Task[None] | None = None

    @override
    def deliver_events(self, events: list[WireEvent]) -> None:
        if self.credential.is_trusted:
            super().deliver_events(events)
        else:
            self._checking = asyncio.create_task(self._deliver_checked(events))

    @override
    def give_up(self) -> None:
        super().give_up()
        if self._checking is not None:
            self._checking.cancel()

    async def _deliver_checked(self, events: list[WireEvent]) -> None:
        try:
            await self.credential.check()
        except DomainError as error:
            self._take_sink().fail(error)
        except RETRYABLE_ERRORS as error:
            logger.warning("http.database_unavailable", endpoint=PATH, error=str(error))
            self._take_sink().fail(_not_ready())
        except Exception:
            logger.exception("http.unexpected_error", endpoint=PATH)
            self._take_sink().fail(_not_ready())
        else:
            super().deliver_events(events)


def _not_ready() -> DomainError:
    return ServerNotReadyError("The server is not ready. Try again shortly.")


async def _check(credential: Credential | None) -> None:
    """Raise a DomainError if the caller's credential has ended meanwhile."""
    if credential is not None:
        await credential.check()


async def _stream(request: Request, params: PollParams) -> None:
    batches = follow(
        request.app.realtime,
        realm_id=request.actor.realm_id,
        user_id=request.actor.user_id,
        queue_id=QueueId(params.queue_id),
        last_event_id=_last_event_id(request, params),
        may_know_secrets=request.may_know_secrets,
    )
    async with aclosing(batches):
        first = await anext(batches)
        await _check(request.credential)
        stream = request.open_stream()
        await stream.start(_STREAM_HEADERS)
        await stream.send(b"retry: %d\n\n" % RECONNECT_MILLISECONDS + _as_stream(first))
        try:
            async for events in batches:
                await _check(request.credential)
                await stream.send(_as_stream(events))
        except DomainError as error:
            await stream.send(b"event: error\ndata: %b\n\n" % error_body(error))
        stream.close()


def _last_event_id(request: Request, params: PollParams) -> int | None:
    """Return the last event of a reconnecting client; for its first request the parameter."""
    header = request.headers.get("Last-Event-ID")
    if header is None:
        return params.last_event_id
    try:
        return int(header)
    except ValueError:
        raise InvalidParameterError("Last-Event-ID", "Last-Event-ID is not an integer") from None


def _as_stream(events: list[WireEvent]) -> bytes:
    """Return the events in the format of server-sent events.

    A heartbeat only moves the client's cursor.
    """
    return b"".join(
        b"id: %d\n%bdata: %b\n\n"
        % (event_id, b"event: heartbeat\n" if polls.is_heartbeat(body) else b"", body)
        for event_id, body in events
    )


async def delete_queue(request: Request, params: QueueParams) -> Empty:
    actor = request.actor
    await request.app.realtime.delete_queue(actor.realm_id, actor.user_id, QueueId(params.queue_id))
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.USER,
        PollParams,
        get_events,
        PollResult,
        is_rate_limited=False,
        response=ResponseKind.EVENT_STREAM,
        summary="Get events from a queue",
        description=(
            "Waits until there is an event, or for about 50 seconds, and answers then with a"
            " heartbeat. Passing the id of the last event received acknowledges it and those"
            " before it. With `Accept: text/event-stream` the answer is a stream of server-sent"
            " events that goes on until the client closes it.\n\n"
            "A queue that is unknown or expired is answered with the code `BAD_EVENT_QUEUE_ID`:"
            " the client registers again."
        ),
    ),
    Endpoint(
        "DELETE",
        PATH,
        Access.USER,
        QueueParams,
        delete_queue,
        scope=Scope.READ,
        summary="Delete an event queue",
        description="Queues that are not polled expire by themselves.",
    ),
)
