"""Process the queue of clicks on buttons: deliver each to the bot's service, and its answer.

Clicks on one message are delivered one after another, in their order: the oldest that is open is
the only one that is sent. The next one follows by a job of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog

from queue_processors.bot_services import (
    MAX_CONCURRENT_REQUESTS,
    ServiceClient,
    ServiceRefusedError,
    ServiceUnavailableError,
    conversation_of,
    notify_owner,
)
from queue_processors.processor import Processor, RetryLaterError
from server.actions.button_answers import Click, ClickAnswerer, ClickPlace, place_of, read_answer
from server.actions.realm_services import RealmServices
from server.app import App
from server.domain.addresses import API_PREFIX
from server.domain.markdown.writing import literal, mention
from server.domain.message_buttons import (
    ANSWER_PATH,
    ButtonAnswer,
    ButtonCall,
    decode_button,
)
from server.domain.outgoing_webhooks import AnswerError
from server.domain.profiles import public_email
from server.egress import Egress
from server.i18n import _
from server.jobs import ButtonClick, outgoing
from server.messaging.job_broker import JobPublisher
from server.parsing.lane import ParserUnavailableError
from server.parsing.parser import Parser
from storage import bots, message_buttons
from storage.bots import ServiceRow
from storage.ids import RealmId
from storage.message_buttons import ClickRow

logger = structlog.get_logger(__name__)

RETRY_SCHEDULE_SECONDS: Final = (2, 10)
"""The retry schedule: the delay before each further request."""
PATIENCE_SECONDS: Final = 60
"""How long after a click its request may be repeated: other clicks wait behind it."""
CLAIM_SECONDS: Final = 30
"""How much longer than its request an attempt may take, before another process takes it over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenClick:
    """A click on a message that is there, of an active user, with the service of an active bot."""

    click: Click
    service: ServiceRow
    place: ClickPlace


@dataclass(frozen=True, slots=True)
class ClickDeliverer:
    """Deliver clicks to services, and carry out the answers or say why there is none."""

    services: RealmServices
    broker: JobPublisher
    egress: Egress
    parser: Parser
    seconds: float
    """The timeout of a request."""
    pauses: Sequence[float] = RETRY_SCHEDULE_SECONDS

    @property
    def _realm_id(self) -> RealmId:
        return self.services.realm_id

    async def handle(self, job: ButtonClick) -> None:
        """Deliver the click if it is the message's oldest open one; repeats change nothing."""
        async with self.services.read() as connection:
            row = await message_buttons.first_open(connection, self._realm_id, job.message_id)
        if row is None:
            return
        if row.click_id != job.click_id:
            if row.click_id > job.click_id:
                # This one has ended, perhaps just before the job of the next one was published.
                await self._publish(row, 0.0)
            return
        now = self.services.clock.now()
        until = now + timedelta(seconds=self.seconds + CLAIM_SECONDS)
        async with self.services.read() as connection:
            is_claimed = await message_buttons.claim(
                connection, self._realm_id, row.click_id, now=now, until=until
            )
        if not is_claimed:
            # Another delivery of the job is at it, or its process was killed.
            pause = (row.not_before - now).total_seconds() if row.not_before else 1.0
            await self._publish(row, max(pause, 1.0))
            return
        if await self._is_ended(row):
            await self._publish_next(row)

    async def _is_ended(self, row: ClickRow) -> bool:
        """Make an attempt; return whether the click has ended with it."""
        case = await self._open(row)
        if case is None:
            await self._end(row, "obsolete")
            return True
        answerer = ClickAnswerer(self.services, case.click)
        try:
            answer = await self._ask(case)
        except ServiceUnavailableError as trouble:
            if self._may_try_again(row, trouble):
                await self._try_again(row, trouble)
                return False
            await self._fail(case, answerer, str(trouble))
            outcome = "given up"
        except (ServiceRefusedError, AnswerError) as failure:
            await self._fail(case, answerer, str(failure))
            outcome = "failed"
        else:
            await answerer.carry_out(answer, ends_click=True)
            outcome = "answered"
        await self._end(row, outcome)
        return True

    # -- what is to be asked

    async def _open(self, row: ClickRow) -> _OpenClick | None:
        """Load everything that the request needs; None if no service is to be called.

        If the bot was deactivated after the click, the user is told so.
        """
        realm_cache = self.services.realm_cache
        user, bot = await realm_cache.user(row.user_id), await realm_cache.user(row.bot_id)
        is_over = (await realm_cache.realm()).deactivated
        if user is None or not user.is_active or bot is None or is_over:
            return None
        owner = None if bot.bot_owner_id is None else await realm_cache.user(bot.bot_owner_id)
        click = Click(row=row, bot=bot, owner=owner, user=user)
        place = await place_of(self.services, click)
        if place is None:
            return None
        async with self.services.read() as connection:
            found = await bots.services(connection, self._realm_id, [bot.user_id])
        service = found.get(bot.user_id)
        is_orphaned = owner is not None and not owner.is_active
        if service is None or not bot.is_active or is_orphaned:
            gone = _("{bot} is deactivated, and was not called.", bot=mention(bot))
            await ClickAnswerer(self.services, click).say(gone)
            return None
        return _OpenClick(click=click, service=service, place=place)

    # -- asking

    async def _ask(self, case: _OpenClick) -> ButtonAnswer:
        """Send the request; return the answer."""
        click, place = case.click, case.place
        address = await self.services.realm_cache.address()
        path = ANSWER_PATH.format(answer_token=click.row.answer_token)
        request = ButtonCall(
            click_id=click.id,
            message_id=click.row.message_id,
            content=place.content,
            button=decode_button(click.row.button),
            bot_email=public_email(click.bot, address.domain),
            bot_full_name=click.bot.full_name,
            token=case.service.token,
            user_id=click.user.user_id,
            user_full_name=click.user.full_name,
            user_email=public_email(click.user, address.domain),
            is_direct=place.channel_id is None,
            conversation=await conversation_of(
                self.services,
                click.bot,
                click.owner,
                channel_id=place.channel_id,
                topic=place.topic,
                user_ids=place.user_ids,
            ),
            clicked_at=int(click.row.clicked_at.timestamp()),
            response_url=f"{address.url}{API_PREFIX}{path}",
            organization_id=self._realm_id,
            organization_host=address.host,
        )
        call_id = f"btn_{self._realm_id}_{click.id}"
        client = ServiceClient(self.egress, self.services.clock, self.seconds)
        body = await client.post(case.service, request, call_id=call_id)
        try:
            return await read_answer(
                self.parser,
                body,
                click,
                interface=case.service.interface,
                is_response=True,
            )
        except ParserUnavailableError as error:
            raise RetryLaterError(str(error), after_seconds=1.0) from error

    # -- what follows

    def _may_try_again(self, row: ClickRow, trouble: ServiceUnavailableError) -> bool:
        age = (self.services.clock.now() - row.clicked_at).total_seconds()
        return (
            row.failures < len(self.pauses)
            and trouble.seconds <= max(self.pauses)
            and age < PATIENCE_SECONDS
        )

    async def _try_again(self, row: ClickRow, trouble: ServiceUnavailableError) -> None:
        pause = max(self.pauses[row.failures], trouble.seconds)
        not_before = self.services.clock.now() + timedelta(seconds=pause)
        # First the job: if this process is killed before the row is written, the job waits for it.
        await self._publish(row, pause, attempt=row.failures + 1)
        async with self.services.read() as connection:
            await message_buttons.failed(
                connection, self._realm_id, row.click_id, not_before=not_before
            )

    async def _fail(self, case: _OpenClick, answerer: ClickAnswerer, reason: str) -> None:
        await answerer.fail(reason)
        click = case.click
        text = _(
            "Your bot {bot} could not answer a click on the button {button}:",
            bot=mention(click.bot),
            button=literal(decode_button(click.row.button).label),
        )
        key = f"button:{click.id}:told"
        await notify_owner(self.services, case.service, click.owner, text, reason, key=key)

    async def _end(self, row: ClickRow, outcome: str) -> None:
        logger.info(
            "message_buttons.click_ended",
            bot_id=row.bot_id,
            message_id=row.message_id,
            outcome=outcome,
        )
        async with self.services.read() as connection:
            await message_buttons.end(connection, self._realm_id, row.click_id)

    async def _publish_next(self, row: ClickRow) -> None:
        async with self.services.read() as connection:
            following = await message_buttons.first_open(connection, self._realm_id, row.message_id)
        if following is not None:
            await self._publish(following, 0.0)

    async def _publish(
        self, row: ClickRow, after_seconds: float, attempt: int | None = None
    ) -> None:
        job = ButtonClick(realm_id=self._realm_id, message_id=row.message_id, click_id=row.click_id)
        number = row.failures if attempt is None else attempt
        now = self.services.clock.now().timestamp()
        key = f"{row.click_id}:{number}:{now}"
        await self.broker.publish(outgoing(job, key=key, after_seconds=after_seconds))


async def handle(app: App, job: ButtonClick) -> None:
    services = app.uncached_realm_services(job.realm_id)
    seconds = app.settings.outgoing_webhook_seconds
    await ClickDeliverer(services, app.jobs, app.egress, app.parser, seconds).handle(job)


PROCESSOR = Processor(ButtonClick, handle, prefetch=MAX_CONCURRENT_REQUESTS)
