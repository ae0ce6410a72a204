"""Check the broker of server and worker processes."""

from typing import TYPE_CHECKING

from scripts.cli.failures import Failure

if TYPE_CHECKING:
    from server.settings import Settings


def refuse_unfit_broker(settings: "Settings") -> None:
    """Raise Failure if the broker refuses this installation; an unavailable one may come back."""
    from server.messaging.job_broker import BrokerUnavailableError

    if settings.amqp_url is None:
        return
    from server.messaging.rabbitmq_rights import missing_right  # starts faster without pika

    try:
        lacked = missing_right(settings.amqp_url)
    except BrokerUnavailableError:
        return
    if lacked is not None:
        raise Failure(lacked)
