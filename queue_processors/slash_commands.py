"""Process the slash command queue: call services of bots, and post or show their answers.

The caller waits for the answer, so a call is retried for seconds, not for a day.
"""

import hashlib
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
from server.actions.messages import send
from server.actions.messages.content import render_as, typeset_ahead
from server.actions.messages.decide import OutgoingMessage
from server.actions.realm_services import RealmServices
from server.app import App
from server.domain.actor import Actor
from server.domain.bots import looks_after
from server.domain.errors import DomainError
from server.domain.markdown.writing import mention, quoted
from server.domain.messages import clean_content
from server.domain.outgoing_webhooks import AnswerError
from server.domain.profiles import public_email
from server.domain.slash_commands import CommandAnswer, CommandCall, answer_in
from server.egress import Egress
from server.events.base import to_users
from server.events.slash_commands import SlashCommandAnswered
from server.i18n import Text, _, translated
from server.jobs import SlashCommandCall, outgoing
from server.messaging.job_broker import JobPublisher
from server.transactions import Tx
from storage import bots
from storage.bots import ServiceRow
from storage.ids import UserId
from storage.users import UserRow

logger = structlog.get_logger(__name__)

RETRY_SCHEDULE_SECONDS: Final = (2, 10)
"""The retry schedule: the delay before each further request."""
CLIENT: Final = "SlashCommandAnswer"


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

    bench: RealmServices
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
                await self._deliver(call, answer)
        logger.info("slash_commands.call_ended", bot_id=job.bot_id, outcome=outcome)

    # -- what is to be asked

    async def _open(self, job: SlashCommandCall) -> _OpenCall | None:
        """Load everything that the request needs; None if no one is to be called or answered.

        If the bot was deactivated after the call, the caller gets an answer that says so.
        """
        realm_cache = self.bench.realm_cache
        caller, bot = await realm_cache.user(job.caller_id), await realm_cache.user(job.bot_id)
        is_over = (await realm_cache.realm()).deactivated
        if caller is None or not caller.is_active or bot is None or is_over:
            return None
        owner = None if bot.bot_owner_id is None else await realm_cache.user(bot.bot_owner_id)
        async with self.bench.read() as connection:
            found = await bots.services(connection, self.bench.realm_id, [bot.user_id])
        service = found.get(bot.user_id)
        is_orphaned = owner is not None and not owner.is_active
        if service is None or not bot.is_active or is_orphaned:
            gone = _("{bot} is deactivated, and was not called.", bot=mention(bot))
            await self._say(job, bot, caller, gone)
            return None
        return _OpenCall(job=job, bot=bot, owner=owner, caller=caller, service=service)

    # -- asking

    async def _ask(self, call: _OpenCall) -> CommandAnswer | None:
        """Send the request; return the response, if any."""
        job = call.job
        address = await self.bench.realm_cache.address()
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
                self.bench,
                call.bot,
                call.owner,
                channel_id=job.channel_id,
                topic=job.topic,
                user_ids=job.user_ids,
            ),
            organization_id=self.bench.realm_id,
            organization_host=address.host,
        )
        call_id = f"cmd_{self.bench.realm_id}_{job.call_id}"
        client = ServiceClient(self.egress, self.bench.clock, self.seconds)
        return answer_in(await client.post(call.service, request, call_id=call_id))

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

    async def _deliver(self, call: _OpenCall, answer: CommandAnswer) -> None:
        job = call.job
        is_elsewhere = job.channel_id is None and call.bot.user_id not in job.user_ids
        if not answer.is_posted or is_elsewhere:
            await self._show_answer(call, answer.content)
        else:
            try:
                await self._post(call, answer.content)
            except DomainError as refusal:
                logger.info("slash_commands.answer_not_posted", bot_id=job.bot_id)
                await self._show_answer(call, answer.content, refusal.message)

    async def _post(self, call: _OpenCall, content: str) -> None:
        """Post the answer as the bot, where the command was called. Idempotent."""
        job, bench = call.job, self.bench
        actor = Actor(bench.realm_id, call.bot, CLIENT)
        key = f"command:{job.call_id}"
        is_channel = job.channel_id is not None
        others = [user_id for user_id in job.user_ids if user_id != call.bot.user_id]
        draft = OutgoingMessage(
            type="channel" if is_channel else "direct",
            to=others if job.channel_id is None else job.channel_id,
            topic=job.topic if is_channel else None,
            content=content,
            idempotency_key=key,
            idempotency_digest=hashlib.sha256(key.encode()).digest(),
        )
        decision = await send.prepare(bench.realm_cache, actor, draft, bench.read)
        now = bench.clock.now()
        await bench.write(lambda tx: send.send_message(tx, actor, draft, decision, now))

    async def _show_answer(self, call: _OpenCall, content: str, refusal: str = "") -> None:
        """Show the bot's answer to the caller; with why it could not be posted, if so."""
        actor = Actor(self.bench.realm_id, call.bot, CLIENT)
        try:
            content = clean_content(content)
        except DomainError as error:
            await self._show_failure(call, error.message)
            return
        if refusal:
            language = await self.bench.realm_cache.language_of(call.caller.user_id)
            why = translated(_("Only you see this: the answer could not be posted."), language)
            content = f"{content}\n\n{why}\n\n{quoted(refusal)}"
        await self._show(call.job, actor, content, is_error=False)

    async def _fail(self, call: _OpenCall, reason: str) -> None:
        """Show the caller that the call has failed, and notify the bot's owner."""
        await self._show_failure(call, reason)
        text = _(
            "Your bot {bot} could not answer the command {command}:",
            bot=mention(call.bot),
            command=f"/{call.job.command}",
        )
        key = f"command:{call.job.call_id}:told"
        await notify_owner(self.bench, call.service, call.owner, text, reason, key=key)

    async def _show_failure(self, call: _OpenCall, reason: str) -> None:
        """Show the caller that the call has failed; why, if they manage the bot."""
        text = _("{bot} could not answer.", bot=mention(call.bot))
        may_know = looks_after(self.bench.realm_cache.person(call.caller), call.bot)
        await self._say(call.job, call.bot, call.caller, text, reason if may_know else "")

    async def _say(
        self, job: SlashCommandCall, bot: UserRow, caller: UserRow, text: Text, reason: str = ""
    ) -> None:
        language = await self.bench.realm_cache.language_of(caller.user_id)
        said = translated(text, language)
        content = f"{said}\n\n{quoted(reason)}" if reason else said
        actor = Actor(self.bench.realm_id, bot, CLIENT)
        await self._show(job, actor, content, is_error=True)

    async def _show(
        self, job: SlashCommandCall, actor: Actor, content: str, *, is_error: bool
    ) -> None:
        realm_cache = self.bench.realm_cache
        await typeset_ahead(realm_cache, content, share=actor.user_id)
        rendered = await render_as(realm_cache, actor, content)
        event = SlashCommandAnswered(
            call_id=job.call_id,
            command=job.command,
            bot_id=job.bot_id,
            is_error=is_error,
            content=content,
            rendered_content=rendered.html,
            stream_id=job.channel_id,
            topic=None if job.channel_id is None else job.topic,
            user_ids=job.user_ids if job.channel_id is None else None,
        )
        await self.bench.write(lambda tx: _append(tx, event, job.caller_id))


async def _append(tx: Tx, event: SlashCommandAnswered, caller_id: UserId) -> None:
    tx.append(event, to_users(caller_id))


async def handle(app: App, job: SlashCommandCall) -> None:
    bench = app.uncached_realm_services(job.realm_id)
    seconds = app.settings.outgoing_webhook_seconds
    await CommandCaller(bench, app.jobs, app.egress, seconds).handle(job)


PROCESSOR = Processor(SlashCommandCall, handle, prefetch=MAX_CONCURRENT_REQUESTS)
