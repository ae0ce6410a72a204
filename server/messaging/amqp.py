"""One AMQP connection with one channel; pika's callbacks become awaitables here."""

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn, Self

import pika
from pika import spec
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.adapters.utils.connection_workflow import AMQPConnectorStackTimeout
from pika.channel import Channel
from pika.exceptions import (
    AMQPError,
    ConnectionOpenAborted,
    IncompatibleProtocolError,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
)

HEARTBEAT_SECONDS = 10  # a broker that vanished without a word is noticed after two of them
CONNECT_TIMEOUT_SECONDS = 5
CLOSE_TIMEOUT_SECONDS = 2

SILENT = "what listens at its address says no word of AMQP within seconds"
SENTENCES: dict[type[BaseException], str] = {
    AMQPConnectorStackTimeout: SILENT,
    IncompatibleProtocolError: (
        "what listens at its address ends connections before a word of AMQP is said, as a proxy"
        " does while its broker is away"
    ),
    ProbableAuthenticationError: "it does not accept the name and password in AMQP_URL",
    ProbableAccessDeniedError: (
        "it does not let that user into the virtual host that AMQP_URL names"
    ),
}


class LinkLostError(Exception):
    """The connection could not be made, or has ended."""


class AmqpConnection:
    """A connection and its channel, as one thing that works until it is lost.

    It never connects again: after `lost` is done, open another. Use `AmqpConnection.open`.
    """

    def __init__(self, url: str) -> None:
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        """Done, with a LinkLostError, once nothing more goes out or comes in."""
        self.lost.add_done_callback(_retrieve)
        self._connection = AsyncioConnection(
            _parameters(url),
            on_open_callback=lambda _: _finish(self._opened),
            on_open_error_callback=self._connection_ended,
            on_close_callback=self._connection_ended,
            custom_ioloop=loop,
        )
        self.blocked = False
        """The broker has asked its publishers to hold back."""
        self.channel: Channel

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect and open a channel; LinkLostError if the broker is away or refuses."""
        link = cls(url)
        try:
            await link.answered(link._opened)
            await link._open_channel()
        except BaseException:
            await link.close()
            raise
        return link

    def request(self, method: Callable[..., Any], **arguments: Any) -> asyncio.Future[Any]:
        """Call a method of the channel that takes a callback: the broker's answer, to come.

        The answer never comes if the link is lost before; `answered` knows about that.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            method(**arguments, callback=lambda frame: _finish(answer, frame))
        except AMQPError as error:
            raise LinkLostError(repr(error)) from error
        return answer

    def cancel(self, consumer: str) -> asyncio.Future[Any]:
        """Have no more sent to a consumer of the channel: the broker's answer, to come.

        What comes before the answer still reaches the consumer. Pika's own `basic_cancel` refuses
        that, so that it counts as handed out, and takes the first answer for that to all.
        """

        def ask(*, callback: Callable[[Any], None]) -> None:
            replies = [(spec.Basic.CancelOk, {"consumer_tag": consumer})]
            self.channel._rpc(spec.Basic.Cancel(consumer_tag=consumer), callback, replies)  # noqa: SLF001

        return self.request(ask)

    async def answered(self, answer: asyncio.Future[Any]) -> Any:
        """Wait for the answer; LinkLostError if the link is lost before."""
        await asyncio.wait([answer, self.lost], return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            self.lost.result()
        return answer.result()

    async def until_lost(self) -> NoReturn:
        """Wait for the end of the link, and raise the LinkLostError."""
        await asyncio.wait([self.lost])
        reason = self.lost.exception()
        raise LinkLostError(str(reason)) from reason

    async def close(self) -> None:
        """Take leave of the broker; of one that does not answer, without its answer."""
        if not (self._connection.is_closing or self._connection.is_closed):
            self._connection.close()
        await asyncio.wait([self._ended], timeout=CLOSE_TIMEOUT_SECONDS)

    async def _open_channel(self) -> None:
        connection = self._connection
        connection.add_on_connection_blocked_callback(lambda *_: self._hold_back(True))
        connection.add_on_connection_unblocked_callback(lambda *_: self._hold_back(False))
        opened: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        connection.channel(on_open_callback=lambda channel: _finish(opened, channel))
        self.channel = await self.answered(opened)
        self.channel.add_on_close_callback(self._channel_closed)
        self.channel.add_on_cancel_callback(self._consumer_ended)

    def _hold_back(self, blocked: bool) -> None:  # noqa: FBT001, the broker says it so
        self.blocked = blocked

    def _connection_ended(self, _connection: AsyncioConnection, reason: BaseException) -> None:
        _lose(self.lost, reason)
        _finish(self._ended)

    def _channel_closed(self, _channel: Channel, reason: Exception) -> None:
        """Without its channel the connection is of no use: end it, whatever the reason."""
        self._give_up(reason)

    def _consumer_ended(self, frame: Any) -> None:
        """Nothing comes from that queue any more: who opens the next link declares it anew."""
        tag = frame.method.consumer_tag
        self._give_up(LinkLostError(f"the broker ended {tag}: its queue was deleted"))

    def _give_up(self, reason: BaseException) -> None:
        _lose(self.lost, reason)
        if self._connection.is_open:
            self._connection.close()


def _parameters(url: str) -> pika.URLParameters:
    parameters = pika.URLParameters(url)
    parameters.heartbeat = HEARTBEAT_SECONDS
    parameters.socket_timeout = CONNECT_TIMEOUT_SECONDS
    parameters.stack_timeout = CONNECT_TIMEOUT_SECONDS
    parameters.connection_attempts = 1
    return parameters


def reason_of(error: BaseException) -> str:
    """Return the reason of a connection error as text, where pika has only a class name."""
    cause = _cause(error)
    if isinstance(cause, LinkLostError):
        return str(cause)
    if isinstance(cause, OSError):
        return cause.strerror or str(cause) or repr(cause)
    if isinstance(cause, ConnectionOpenAborted) and "Timeout" in str(cause):
        return SILENT
    return SENTENCES.get(type(cause), repr(cause))


def _cause(error: BaseException) -> BaseException:
    """What pika has wrapped, once or several times."""
    while True:
        wrapped = [*getattr(error, "exceptions", ()), getattr(error, "exception", None)]
        inner = [each for each in (*wrapped, *error.args) if isinstance(each, BaseException)]
        if not inner:
            return error
        error = inner[-1]


def _finish(future: asyncio.Future[Any], result: Any = None) -> None:
    if not future.done():
        future.set_result(result)


def _lose(lost: asyncio.Future[None], error: BaseException) -> None:
    if not lost.done():
        lost.set_exception(LinkLostError(reason_of(error)))


def _retrieve(lost: asyncio.Future[None]) -> None:
    """Retrieve the exception, so that asyncio does not warn about it."""
    if not lost.cancelled():
        lost.exception()
