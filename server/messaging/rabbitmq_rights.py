"""What the server may do on its RabbitMQ, or in a sentence what it lacks."""

import secrets
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.adapters.utils.connection_workflow import AMQPConnectorException
from pika.exceptions import (
    AMQPError,
    ChannelClosedByBroker,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
)

from server.messaging.amqp import reason_of
from server.messaging.job_broker import BrokerUnavailableError
from server.messaging.job_topology import PREFIX
from server.messaging.rabbitmq import EXCHANGE

SECONDS: Final = 5
ACCESS_REFUSED: Final = 403
Trial = Callable[[BlockingChannel, str], object]


def missing_right(url: str) -> str | None:
    """What the user in this address lacks, as one sentence; None if nothing.

    It tries what the server does, on names of the server's kind, and leaves nothing behind.
    Raises BrokerUnavailableError if there is no response.
    """
    parameters = pika.URLParameters(url)
    parameters.socket_timeout = parameters.blocked_connection_timeout = SECONDS
    parameters.stack_timeout = 2 * SECONDS
    parameters.connection_attempts = 1
    user, host = shlex.quote(parameters.credentials.username), shlex.quote(parameters.virtual_host)
    remedy = f"`rabbitmqctl set_permissions -p {host} {user} '.*' '.*' '.*'` gives it"
    try:
        with _connected(parameters) as connection:
            missing = list(_missing(connection))
    except ProbableAuthenticationError:
        return "RabbitMQ does not accept the name and password in AMQP_URL."
    except ProbableAccessDeniedError:
        return (
            f"RabbitMQ does not let the user {user} into the virtual host {host} that AMQP_URL"
            f" names: {remedy}, once both are there."
        )
    except (AMQPError, AMQPConnectorException, OSError) as error:
        raise BrokerUnavailableError(f"at {place(url)} ({reason_of(error)})") from error
    if not missing:
        return None
    return (
        f"The user {user} lacks a right in RabbitMQ's virtual host {host}"
        f" (to {', to '.join(missing)}): {remedy}."
    )


def place(url: str) -> str:
    """Where that RabbitMQ is, without the password."""
    parameters = pika.URLParameters(url)
    return f"{parameters.host}:{parameters.port}"


@contextmanager
def _connected(parameters: pika.URLParameters) -> Iterator[pika.BlockingConnection]:
    connection = pika.BlockingConnection(parameters)
    try:
        yield connection
    finally:
        if connection.is_open:
            connection.close()


def _missing(connection: pika.BlockingConnection) -> Iterator[str]:
    """The rights that are missing, by RabbitMQ's names."""
    end = f"check.{secrets.token_hex(8)}"
    names = (PREFIX + end, f"{EXCHANGE}.{end}")
    trials: tuple[tuple[str, Trial, tuple[str, ...]], ...] = (
        ("configure", _declare, names),
        ("write", _publish, ("", *names)),
        ("read", _take, names),
    )
    for right, trial, places in trials:
        if any(_is_refused(connection, trial, each) for each in places):
            yield right


def _declare(channel: BlockingChannel, name: str) -> object:
    return channel.queue_declare(name, exclusive=True)  # it goes with the connection


def _publish(channel: BlockingChannel, exchange: str) -> object:
    channel.confirm_delivery()
    return channel.basic_publish(exchange, "", b"")  # to no queue


def _take(channel: BlockingChannel, name: str) -> object:
    return channel.basic_get(name)


def _is_refused(connection: pika.BlockingConnection, trial: Trial, name: str) -> bool:
    """Whether the right is missing: RabbitMQ asks for it before it looks for what is named."""
    channel = connection.channel()
    try:
        trial(channel, name)
    except ChannelClosedByBroker as closed:
        return bool(closed.reply_code == ACCESS_REFUSED)
    channel.close()
    return False
