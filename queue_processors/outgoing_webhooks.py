"""Process the outgoing webhook queue: send requests to bots and post their responses."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import structlog

from queue_processors.bot_services import (
    MAX_CONCURRENT_REQUESTS,
    ServiceClient,
    ServiceRefusedError,
    ServiceUnavailableError,
    notify_owner,
)
from queue_processors.processor import Processor
from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.links import link_to
from server.actions.realm_services import RealmServices
from server.app import App
from server.domain.actor import Actor
from server.domain.errors import DomainError
from server.domain.markdown.writing import mention
from server.domain.messages import NO_TOPIC
from server.domain.outgoing_webhooks import AnswerError, Call, reply_in
from server.domain.profiles import public_email
from server.egress import Egress
from server.events.base import ClientView
from server.history import fetch
from server.i18n import _, marked
from server.jobs import OutgoingWebhook, outgoing
from server.messaging.job_broker import JobPublisher, OutgoingJob
from storage import bots, message_edits, messages, users, webhook_calls
from storage.bots import ServiceRow
from storage.database import Connection, Database
from storage.ids import MessageId, RealmId
from storage.users import UserRow
from storage.webhook_calls import CallRow

logger = structlog.get_logger(__name__)

RETRY_SCHEDULE_SECONDS: Final = (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800)
"""The retry schedule: the delay before each further request, nearly a day in all."""
MAX_SILENT_FAILURES: Final = 2
"""The number of failed requests before the bot's owner is notified."""
CLIENT: Final = "OutgoingWebhookResponse"

_FAILED: Final = marked("Your bot {bot} could not be called for {message}:")
_CALLED_AGAIN: Final = marked(
    "Your bot {bot} does not answer, and is called again for a day at most, for {message}:"
)
_GIVEN_UP: Final = marked("Your bot {bot} could not be called for a day for {message}:")
"""Notices to the bot's owner."""

_VIEW: Final = ClientView(apply_markdown=False, client_gravatar=False, empty_topic_name=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingCall:
    """A request that is to be sent now, with its bot."""

    call: CallRow
    bot: UserRow
    owner: UserRow | None
    service: ServiceRow
    message: dict[str, Any]
    rendered_content: str

    @property
    def is_direct(self) -> bool:
        return "stream_id" not in self.message


@dataclass(frozen=True, slots=True)
class Caller:
    """Send requests; retry each until there is a response, the schedule ends or the bot is gone."""

    services: RealmServices
    broker: JobPublisher
    egress: Egress
    seconds: float
    """The timeout of a request."""
    pauses: Sequence[float] = RETRY_SCHEDULE_SECONDS

    @property
    def _realm_id(self) -> RealmId:
        return self.services.realm_id

    async def handle(self, job: OutgoingWebhook) -> None:
        """Send the bot's request and post its response. A finished or newer attempt is skipped."""
        async with self.services.read() as connection:
            call = await webhook_calls.of_bot(
                connection, self._realm_id, job.message_id, job.bot_id
            )
            if call is None or job.failures < call.failures:
                return
            # The count is noted after the job that goes on with it has been handed in.
            call = replace(call, failures=job.failures)
            case = await self._open(connection, call)
        if case is None:
            await self._end(call, "obsolete")
            return
        try:
            said = await self._ask(case)
            if said is not None:
                await self._post(case, said)
        except ServiceUnavailableError as trouble:
            await self._try_again(case, trouble)
        except (ServiceRefusedError, AnswerError) as failure:
            await self._notify_owner(case, _FAILED, str(failure))
            await self._end(call, "failed")
        else:
            await self._end(call, "answered")

    # -- what is to be asked

    async def _open(self, connection: Connection, call: CallRow) -> _PendingCall | None:
        """Load everything that the request needs; None if it is no longer wanted."""
        [bot] = await users.by_ids(connection, self._realm_id, [call.bot_id])
        service = (await bots.services(connection, self._realm_id, [call.bot_id])).get(call.bot_id)
        owner = await self._owner(connection, bot)
        is_orphaned = owner is not None and not owner.is_active
        is_over = (await self.services.realm_cache.realm()).deactivated
        if service is None or not bot.is_active or is_orphaned or is_over:
            return None
        # Like its answer, what a bot is told rests on its own rights, or else on its owner's.
        for reader in (bot, owner):
            shown = None if reader is None else await self._shown(connection, reader, call)
            if shown is not None:
                html = await messages.rendered(connection, self._realm_id, [call.message_id])
                return _PendingCall(
                    call=call,
                    bot=bot,
                    owner=owner,
                    service=service,
                    message=shown,
                    rendered_content=html[call.message_id],
                )
        return None

    async def _owner(self, connection: Connection, bot: UserRow) -> UserRow | None:
        if bot.bot_owner_id is None:
            return None
        [owner] = await users.by_ids(connection, self._realm_id, [bot.bot_owner_id])
        return owner

    async def _shown(
        self, connection: Connection, reader: UserRow, call: CallRow
    ) -> dict[str, Any] | None:
        """Return the message if the bot may read it and its channel is not archived."""
        actor = Actor(self._realm_id, reader)
        [*found] = await fetch.by_ids(
            self.services.realm_cache, connection, actor, [call.message_id], _VIEW
        )
        if not found:
            return None
        message = {
            name: value
            for name, value in msgspec.structs.asdict(found[0]).items()
            if name != "flags" and value is not msgspec.UNSET
        }
        if "stream_id" in message:
            channel = await self.services.realm_cache.channel(message["stream_id"])
            if channel is None or channel.is_archived:
                return None
        return message

    # -- asking

    async def _ask(self, case: _PendingCall) -> str | None:
        """Send the request; return the content of the response, if any."""
        address = await self.services.realm_cache.address()
        call = Call(
            bot_email=public_email(case.bot, address.domain),
            bot_full_name=case.bot.full_name,
            token=case.service.token,
            trigger=case.call.trigger,
            message=case.message,
            rendered_content=case.rendered_content,
            organization_id=self._realm_id,
            organization_host=address.host,
        )
        call_id = f"msg_{self._realm_id}_{case.call.message_id}_{case.call.bot_id}"
        client = ServiceClient(self.egress, self.services.clock, self.seconds)
        return reply_in(await client.post(case.service, call, call_id=call_id))

    # -- what follows

    async def _post(self, case: _PendingCall, said: str) -> None:
        """Post the bot's response to the conversation of the request. Idempotent."""
        actor = Actor(self._realm_id, case.bot, CLIENT)
        draft = _reply(case, said)
        services = self.services
        decision = await send.prepare(services.realm_cache, actor, draft, services.read)
        now = services.clock.now()
        try:
            await services.write(lambda tx: send.send_message(tx, actor, draft, decision, now))
        except DomainError as refusal:
            raise ServiceRefusedError(f"Its answer was not posted: {refusal.message}") from refusal

    async def _try_again(self, case: _PendingCall, trouble: ServiceUnavailableError) -> None:
        failures = case.call.failures
        if failures >= len(self.pauses):
            await self._notify_owner(case, _GIVEN_UP, str(trouble))
            await self._end(case.call, "given up")
            return
        pause = max(self.pauses[failures], trouble.seconds)
        await self.broker.publish(_job(self._realm_id, case.call, failures + 1, pause))
        async with self.services.read() as connection:
            await webhook_calls.failed(connection, self._realm_id, case.call)
        if failures == MAX_SILENT_FAILURES:
            await self._notify_owner(case, _CALLED_AGAIN, str(trouble))

    async def _end(self, call: CallRow, outcome: str) -> None:
        logger.info(
            "outgoing_webhooks.call_ended",
            bot_id=call.bot_id,
            message_id=call.message_id,
            outcome=outcome,
        )
        async with self.services.read() as connection:
            await webhook_calls.end(connection, self._realm_id, call, outcome)

    async def _notify_owner(self, case: _PendingCall, text: str, reason: str) -> None:
        """Notify the owner by the notification bot, unless it has just done so."""
        owner, realm_cache = case.owner, self.services.realm_cache
        if owner is None:
            return
        language = await realm_cache.language_of(owner.user_id)
        async with self.services.read() as connection:
            row = await message_edits.visible(
                connection, self._realm_id, owner.user_id, case.call.message_id
            )
            link: str = _("a message")
            if row is not None:
                link = await link_to(realm_cache, connection, owner.user_id, row, language)
        said = _(text, bot=mention(case.bot), message=link)
        key = _key(case, f"told:{case.call.failures}")
        await notify_owner(self.services, case.service, owner, said, reason, key=key)


def _reply(case: _PendingCall, said: str) -> OutgoingMessage:
    message = case.message
    if not case.is_direct:
        return OutgoingMessage(
            type="channel",
            to=message["stream_id"],
            topic=message["subject"] or NO_TOPIC,
            content=said,
            **_once(case, "reply"),
        )
    people = [person.id for person in message["display_recipient"]]
    others = [user_id for user_id in people if user_id != case.bot.user_id]
    return OutgoingMessage(
        type="direct", to=others, topic=None, content=said, **_once(case, "reply")
    )


def _once(case: _PendingCall, what: str) -> dict[str, Any]:
    """Return an idempotency key, independent of the content that is sent."""
    key = _key(case, what)
    return {"idempotency_key": key, "idempotency_digest": hashlib.sha256(key.encode()).digest()}


def _key(case: _PendingCall, what: str) -> str:
    return f"webhook:{case.call.message_id}:{case.call.bot_id}:{what}"


async def ask_bots(
    database: Database, broker: JobPublisher, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> None:
    """Enqueue requests to the bots that these messages trigger. Idempotent."""
    async with database.connection() as connection:
        await webhook_calls.ask(connection, realm_id, message_ids)
        calls = await webhook_calls.unhanded(connection, realm_id, message_ids)
    if calls:
        await broker.publish(*(_job(realm_id, call) for call in calls))
        async with database.connection() as connection:
            await webhook_calls.handed(connection, realm_id, calls)


def _job(
    realm_id: RealmId, call: CallRow, failures: int = 0, after_seconds: float = 0.0
) -> OutgoingJob:
    job = OutgoingWebhook(
        realm_id=realm_id, message_id=call.message_id, bot_id=call.bot_id, failures=failures
    )
    return outgoing(
        job,
        key=f"{call.message_id}:{call.bot_id}:{failures}",
        after_seconds=after_seconds,
    )


async def handle(app: App, job: OutgoingWebhook) -> None:
    services = app.uncached_realm_services(job.realm_id)
    caller = Caller(services, app.jobs, app.egress, app.settings.outgoing_webhook_seconds)
    await caller.handle(job)


PROCESSOR = Processor(OutgoingWebhook, handle, prefetch=MAX_CONCURRENT_REQUESTS)
