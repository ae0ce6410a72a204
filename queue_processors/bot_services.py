"""Requests to the services of bots, and their outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from server.domain.clock import Clock
from server.domain.outgoing_webhooks import MAX_QUOTED, ServiceCall, signed
from server.domain.retrying import is_passing, seconds_to_wait
from server.egress import Egress, EgressError, HostUnreachableError, Limits
from server.runtime.version import VERSION
from storage.bots import ServiceRow

MAX_RESPONSE_BYTES: Final = 256 * 1024
MAX_CONCURRENT_REQUESTS: Final = 50
"""The maximum number of concurrent requests of a process, for each queue."""
USER_AGENT: Final = f"ParleyOutgoingWebhook/{VERSION}"


class ServiceRefusedError(Exception):
    """A permanent error. Its text is for the users who manage the bot."""


class ServiceUnavailableError(Exception):
    """A transient error. The request is retried after `seconds` at the earliest."""

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """Client of bots' services: its requests are signed, and their size and time are limited."""

    egress: Egress
    clock: Clock
    seconds: float
    """The timeout of a request."""

    async def post(self, service: ServiceRow, call: ServiceCall, *, call_id: str) -> bytes:
        """Send the call, in the format of the service; return the body of a successful response.

        `call_id` is the same for all attempts. Raises ServiceRefusedError or
        ServiceUnavailableError.
        """
        now = self.clock.now()
        content_type, body = call.body(service.interface)
        timestamp = int(now.timestamp())
        headers: Mapping[str, str] = {
            **signed(service.token, call_id=call_id, timestamp=timestamp, body=body),
            **call.headers(service.interface, timestamp=timestamp, body=body),
            "Content-Type": content_type,
            "User-Agent": USER_AGENT,
        }
        limits = Limits(
            seconds=self.seconds, silence_seconds=self.seconds, max_bytes=MAX_RESPONSE_BYTES
        )
        try:
            answer = await self.egress.fetch(
                "POST", service.base_url, headers=headers, body=body, limits=limits
            )
        except HostUnreachableError as error:
            raise ServiceUnavailableError(str(error)) from error
        except EgressError as error:
            raise ServiceRefusedError(str(error)) from error
        if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            return answer.body
        reason = f"It answered {answer.status}."
        if is_passing(answer.status):
            seconds = seconds_to_wait(answer.headers.get("retry-after", ""), now)
            raise ServiceUnavailableError(reason, seconds)
        text = answer.body.decode(errors="replace").replace("\0", "").strip()[:MAX_QUOTED]
        raise ServiceRefusedError(f"{reason}\n{text}" if text else reason)
