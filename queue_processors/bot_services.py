"""Requests to the services of bots, and their outcomes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from server.actions.messages import notices
from server.actions.messages.decide import OutgoingMessage
from server.actions.realm_services import RealmServices
from server.domain.channels import Standing
from server.domain.clock import Clock
from server.domain.markdown.writing import quoted
from server.domain.outgoing_webhooks import (
    MAX_QUOTED,
    CallOrigin,
    ChannelOrigin,
    DirectOrigin,
    ServiceCall,
    signed,
)
from server.domain.retrying import is_passing, seconds_to_wait
from server.egress import Egress, EgressError, HostUnreachableError, Limits
from server.i18n import Text, translated
from server.runtime.version import VERSION
from storage import bots
from storage.bots import ServiceRow
from storage.ids import ChannelId, UserId
from storage.users import UserRow

MAX_RESPONSE_BYTES: Final = 256 * 1024
MAX_CONCURRENT_REQUESTS: Final = 50
"""The maximum number of concurrent requests of a process, for each queue."""
NOTICE_INTERVAL: Final = timedelta(hours=1)
"""Between two notices to the owner of a bot."""
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


async def conversation_of(
    services: RealmServices,
    bot: UserRow,
    owner: UserRow | None,
    *,
    channel_id: ChannelId | None,
    topic: str,
    user_ids: tuple[UserId, ...],
) -> CallOrigin | None:
    """Return a conversation for the service, if the bot or else its owner can read it.

    Direct messages only if the bot takes part in them.
    """
    realm_cache = services.realm_cache
    if channel_id is None:
        return DirectOrigin(user_ids=user_ids) if bot.user_id in user_ids else None
    channel = await realm_cache.channel(channel_id)
    if channel is None:
        return None
    graph, settings = await realm_cache.groups(), await realm_cache.settings()
    for reader in (bot, owner):
        if reader is None:
            continue
        subscription = await realm_cache.subscription(reader.user_id, channel_id)
        is_subscribed = subscription is not None and subscription.active
        standing = Standing(realm_cache.person(reader), graph, settings)
        if standing.reads(channel, subscribed=is_subscribed):
            return ChannelOrigin(stream_id=channel.channel_id, name=channel.name, topic=topic)
    return None


async def notify_owner(
    services: RealmServices,
    service: ServiceRow,
    owner: UserRow | None,
    text: Text,
    reason: str,
    *,
    key: str,
) -> None:
    """Notify the bot's owner of a failure by the notification bot, unless it has just done so.

    Notices with the same key are one.
    """
    now = services.clock.now()
    is_recent = service.told_at is not None and now - service.told_at < NOTICE_INTERVAL
    if owner is None or not owner.is_active or is_recent:
        return
    language = await services.realm_cache.language_of(owner.user_id)
    draft = OutgoingMessage(
        type="direct",
        to=[owner.user_id],
        topic=None,
        content=f"{translated(text, language)}\n\n{quoted(reason)}",
        idempotency_key=key,
        idempotency_digest=hashlib.sha256(key.encode()).digest(),
    )
    await notices.deliver(services, draft)
    async with services.read() as connection:
        await bots.record_owner_notified(connection, services.realm_id, service.bot_id, at=now)
