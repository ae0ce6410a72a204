"""Process the slash command queue: call services of bots, and post or show their answers.

The caller waits for the answer, so a call is retried for seconds, not for a day.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from queue_processors.bot_services import (
    MAX_CONCURRENT_REQUESTS,
    ServiceClient,
    ServiceRefusedError,
    ServiceUnavailableError,
    conversation_of,
    notify_owner,
)
from queue_processors.processor import Processor
from server.actions.command_answers import CommandAnswerer
from server.actions.realm_services import RealmServices
from server.app import App
from server.domain.addresses import API_PREFIX
from server.domain.markdown.writing import mention
from server.domain.outgoing_webhooks import MAX_ANSWERS, AnswerError
from server.domain.profiles import public_email
from server.domain.slash_commands import (
    ANSWER_PATH,
    CommandAnswer,
    CommandCall,
    answer_in,
)
from server.egress import Egress
from server.i18n import _
from server.jobs import SlashCommandCall, outgoing
from server.messaging.job_broker import JobPublisher
from storage import bots, command_calls
from storage.bots import ServiceRow
from storage.command_calls import CommandCallRow
from storage.users import UserRow

logger = structlog.get_logger(__name__)

RETRY_SCHEDULE_SECONDS: Final = (2, 10)
"""The retry schedule: the delay before each further request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenCall:
    """A call, with the active bot and caller."""

    job: SlashCommandCall
    bot: UserRow
    owner: UserRow | None
    caller: UserRow
    service: ServiceRow


@dataclass(frozen=True, slots=True)
class CommandCaller:
    """Call the service of a command's bot, and deliver the answer or say why there is none."""

    services: RealmServices
    broker: JobPublisher
    egress: Egress
    seconds: float
    """The timeout of a request."""
    pauses: Sequence[float] = RETRY_SCHEDULE_SECONDS

    async def handle(self, job: SlashCommandCall) -> None:
        """Handle the call. Repeats have the same id for the service and for clients."""
        call = await self._open(job)
        if call is None:
            logger.info("slash_commands.call_ended", bot_id=job.bot_id, outcome="obsolete")
            return
        try:
            answer = await self._ask(call)
        except ServiceUnavailableError as trouble:
            # A longer pause than the schedule has is longer than the caller waits.
            if job.failures < len(self.pauses) and trouble.seconds <= max(self.pauses):
                await self._try_again(job, trouble)
                return
            await self._fail(call, str(trouble))
            outcome = "given up"
        except (ServiceRefusedError, AnswerError) as failure:
            await self._fail(call, str(failure))
            outcome = "failed"
        else:
            outcome = "answered"
            if answer is not None:
                await self._answerer(job, call.bot, call.caller).carry_out(answer)
        logger.info("slash_commands.call_ended", bot_id=job.bot_id, outcome=outcome)

    # -- what is to be asked

    async def _open(self, job: SlashCommandCall) -> _OpenCall | None:
        """Load everything that the request needs; None if no one is to be called or answered.

        If the bot was deactivated after the call, the caller gets an answer that says so.
        """
        realm_cache = self.services.realm_cache
        caller, bot = await realm_cache.user(job.caller_id), await realm_cache.user(job.bot_id)
        is_over = (await realm_cache.realm()).deactivated
        if caller is None or not caller.is_active or bot is None or is_over:
            return None
        owner = None if bot.bot_owner_id is None else await realm_cache.user(bot.bot_owner_id)
        async with self.services.read() as connection:
            found = await bots.services(connection, self.services.realm_id, [bot.user_id])
        service = found.get(bot.user_id)
        is_orphaned = owner is not None and not owner.is_active
        if service is None or not bot.is_active or is_orphaned:
            gone = _("{bot} is deactivated, and was not called.", bot=mention(bot))
            await self._answerer(job, bot, caller).say(gone)
            return None
        return _OpenCall(job=job, bot=bot, owner=owner, caller=caller, service=service)

    # -- asking

    async def _ask(self, call: _OpenCall) -> CommandAnswer | None:
        """Send the request; return the response, if any."""
        job = call.job
        address = await self.services.realm_cache.address()
        path = ANSWER_PATH.format(answer_token=await self._answer_token(job))
        request = CommandCall(
            call_id=job.call_id,
            command=job.command,
            text=job.text,
            bot_email=public_email(call.bot, address.domain),
            bot_full_name=call.bot.full_name,
            token=call.service.token,
            caller_id=call.caller.user_id,
            caller_full_name=call.caller.full_name,
            caller_email=public_email(call.caller, address.domain),
            is_direct=job.channel_id is None,
            conversation=await conversation_of(
                self.services,
                call.bot,
                call.owner,
                channel_id=job.channel_id,
                topic=job.topic,
                user_ids=job.user_ids,
            ),
            response_url=f"{address.url}{API_PREFIX}{path}",
            organization_id=self.services.realm_id,
            organization_host=address.host,
        )
        call_id = f"cmd_{self.services.realm_id}_{job.call_id}"
        client = ServiceClient(self.egress, self.services.clock, self.seconds)
        return answer_in(await client.post(call.service, request, call_id=call_id))

    async def _answer_token(self, job: SlashCommandCall) -> str:
        row = CommandCallRow(
            call_id=job.call_id,
            bot_id=job.bot_id,
            caller_id=job.caller_id,
            command=job.command,
            channel_id=job.channel_id,
            topic=job.topic,
            user_ids=job.user_ids,
            answers_left=MAX_ANSWERS,
        )
        token, now = secrets.token_urlsafe(32), self.services.clock.now()
        async with self.services.read() as connection:
            return await command_calls.open_address(
                connection, self.services.realm_id, row, token=token, now=now
            )

    async def _try_again(self, job: SlashCommandCall, trouble: ServiceUnavailableError) -> None:
        following = msgspec.structs.replace(job, failures=job.failures + 1)
        await self.broker.publish(
            outgoing(
                following,
                key=f"{job.call_id}:{following.failures}",
                after_seconds=max(self.pauses[job.failures], trouble.seconds),
            )
        )

    # -- what follows

    async def _fail(self, call: _OpenCall, reason: str) -> None:
        """Show the caller that the call has failed, and notify the bot's owner."""
        await self._answerer(call.job, call.bot, call.caller).fail(reason)
        text = _(
            "Your bot {bot} could not answer the command {command}:",
            bot=mention(call.bot),
            command=f"/{call.job.command}",
        )
        key = f"command:{call.job.call_id}:told"
        await notify_owner(self.services, call.service, call.owner, text, reason, key=key)

    def _answerer(self, job: SlashCommandCall, bot: UserRow, caller: UserRow) -> CommandAnswerer:
        return CommandAnswerer(services=self.services, call=job, bot=bot, caller=caller)


async def handle(app: App, job: SlashCommandCall) -> None:
    services = app.uncached_realm_services(job.realm_id)
    seconds = app.settings.outgoing_webhook_seconds
    await CommandCaller(services, app.jobs, app.egress, seconds).handle(job)


PROCESSOR = Processor(SlashCommandCall, handle, prefetch=MAX_CONCURRENT_REQUESTS)
