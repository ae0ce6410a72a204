"""AMQP connections and their channels; pika's callbacks become awaitables here."""

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

from storage.connection_names import connection_name

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
    """A connection, on which channels are opened, until it is lost.

    It never connects again: after `lost` is done, open another. Use `AmqpConnection.open`.
    """

    def __init__(self, url: str, purpose: str) -> None:
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        """Done, with a LinkLostError, once nothing more goes out or comes in."""
        self.lost.add_done_callback(_retrieve)
        self._connection = AsyncioConnection(
            _parameters(url, connection_name(purpose)),
            on_open_callback=lambda _: _finish(self._opened),
            on_open_error_callback=self._connection_ended,
            on_close_callback=self._connection_ended,
            custom_ioloop=loop,
        )
        self.blocked = False
        """The broker has asked its publishers to hold back."""

    @classmethod
    async def open(cls, url: str, purpose: str) -> Self:
        """Connect; LinkLostError if the broker is away or refuses.

        The broker shows operators the name of the process and the purpose.
        """
        connection = cls(url, purpose)
        try:
            await _answered(connection._opened, connection.lost)
        except BaseException:
            await connection.close()
            raise
        own = connection._connection
        own.add_on_connection_blocked_callback(lambda *_: connection._hold_back(True))
        own.add_on_connection_unblocked_callback(lambda *_: connection._hold_back(False))
        return connection

    async def open_channel(self, *, owns_connection: bool = False) -> "AmqpChannel":
        """Open a channel, with which the connection ends if it owns that. Raises LinkLostError."""
        opened: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        try:
            self._connection.channel(on_open_callback=lambda channel: _finish(opened, channel))
        except AMQPError as error:
            raise LinkLostError(repr(error)) from error
        channel = await _answered(opened, self.lost)
        return AmqpChannel(self, channel, owns_connection=owns_connection)

    async def close(self) -> None:
        """Take leave of the broker; of one that does not answer, without its answer."""
        self.begin_close()
        await asyncio.wait([self._ended], timeout=CLOSE_TIMEOUT_SECONDS)

    def begin_close(self) -> None:
        """Say goodbye to the broker, without waiting for its answer."""
        if not (self._connection.is_closing or self._connection.is_closed):
            self._connection.close()

    def _hold_back(self, blocked: bool) -> None:  # noqa: FBT001, the broker says it so
        self.blocked = blocked

    def _connection_ended(self, _connection: AsyncioConnection, reason: BaseException) -> None:
        _lose(self.lost, reason)
        _finish(self._ended)


class AmqpChannel:
    """A channel of a connection, which works until either is lost.

    Use `AmqpConnection.open_channel`, or `AmqpChannel.open` for one with a connection of its own.
    """

    def __init__(
        self, connection: AmqpConnection, channel: Channel, *, owns_connection: bool = False
    ) -> None:
        self._connection = connection
        self._owns_connection = owns_connection
        self.channel = channel
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        """Done, with a LinkLostError, once nothing more goes out or comes in."""
        self.lost.add_done_callback(_retrieve)
        connection.lost.add_done_callback(self._connection_lost)
        channel.add_on_close_callback(self._channel_closed)
        channel.add_on_cancel_callback(self._consumer_ended)

    @classmethod
    async def open(cls, url: str, purpose: str) -> "AmqpChannel":
        """Connect and open a channel; both end together. Raises LinkLostError."""
        connection = await AmqpConnection.open(url, purpose)
        try:
            return await connection.open_channel(owns_connection=True)
        except BaseException:
            await connection.close()
            raise

    @property
    def blocked(self) -> bool:
        """The broker has asked its publishers to hold back."""
        return self._connection.blocked

    def request(self, method: Callable[..., Any], **arguments: Any) -> asyncio.Future[Any]:
        """Call a method of the channel that takes a callback: the broker's answer, to come.

        The answer never comes if the channel is lost before; `answered` knows about that.
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
        """Wait for the answer; LinkLostError if the channel is lost before."""
        return await _answered(answer, self.lost)

    async def until_lost(self) -> NoReturn:
        """Wait for the end of the channel, and raise the LinkLostError."""
        await asyncio.wait([self.lost])
        reason = self.lost.exception()
        raise LinkLostError(str(reason)) from reason

    async def close(self) -> None:
        """Close it, with its connection if that is its own, whether or not the broker answers."""
        self._begin_close()
        if self._owns_connection:
            await self._connection.close()
        elif not self.channel.is_closed:
            await asyncio.wait([self._ended], timeout=CLOSE_TIMEOUT_SECONDS)

    def _begin_close(self) -> None:
        if self._owns_connection:
            self._connection.begin_close()
        elif self.channel.is_open:
            self.channel.close()

    def _connection_lost(self, lost: asyncio.Future[None]) -> None:
        reason = lost.exception()
        assert reason is not None
        _lose(self.lost, reason)

    def _channel_closed(self, _channel: Channel, reason: Exception) -> None:
        _finish(self._ended)
        self._connection.lost.remove_done_callback(self._connection_lost)
        self._give_up(reason)

    def _consumer_ended(self, frame: Any) -> None:
        """Nothing comes from that queue any more: who opens the next link declares it anew."""
        tag = frame.method.consumer_tag
        self._give_up(LinkLostError(f"the broker ended {tag}: its queue was deleted"))

    def _give_up(self, reason: BaseException) -> None:
        _lose(self.lost, reason)
        self._begin_close()


class SharedConnection:
    """A connection for several channels: opened with the first one, and anew after it was lost."""

    def __init__(self, url: str, purpose: str) -> None:
        self._url = url
        self._purpose = purpose
        self._opening: asyncio.Task[AmqpConnection] | None = None

    async def open_channel(self) -> AmqpChannel:
        """Open a channel. Raises LinkLostError: all that wait for a connection hear of its end."""
        if self._opening is None or _is_of_no_use(self._opening):
            self._opening = asyncio.create_task(AmqpConnection.open(self._url, self._purpose))
        connection = await asyncio.shield(self._opening)
        return await connection.open_channel()

    async def close(self) -> None:
        """Take leave of the broker. Opening a channel connects again."""
        opening, self._opening = self._opening, None
        if opening is None:
            return
        opening.cancel()
        await asyncio.wait([opening])
        if not opening.cancelled() and opening.exception() is None:
            await opening.result().close()


def _is_of_no_use(opening: "asyncio.Task[AmqpConnection]") -> bool:
    """Whether no connection came of it, or one that is lost."""
    if not opening.done():
        return False
    if opening.cancelled() or opening.exception() is not None:
        return True
    return opening.result().lost.done()


async def _answered(answer: asyncio.Future[Any], lost: asyncio.Future[None]) -> Any:
    await asyncio.wait([answer, lost], return_when=asyncio.FIRST_COMPLETED)
    if not answer.done():
        lost.result()
    return answer.result()


def _parameters(url: str, name: str) -> pika.URLParameters:
    parameters = pika.URLParameters(url)
    parameters.client_properties = {"connection_name": name}
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
