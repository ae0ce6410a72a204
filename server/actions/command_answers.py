"""Carry out what services answer to slash commands: post it, or show it to the caller."""

import hashlib
from dataclasses import dataclass
from typing import Final

import structlog

from server.actions.messages import send
from server.actions.messages.content import render_outside_messages, typeset_ahead
from server.actions.messages.decide import OutgoingMessage
from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.domain.bots import looks_after
from server.domain.errors import DomainError
from server.domain.markdown.writing import mention, quoted
from server.domain.messages import clean_content
from server.domain.slash_commands import CommandAnswer
from server.events.base import to_users
from server.events.slash_commands import SlashCommandAnswered
from server.i18n import Text, _, translated
from server.jobs import SlashCommandCall
from server.transactions import Tx
from storage.ids import UserId
from storage.users import UserRow

logger = structlog.get_logger(__name__)

CLIENT: Final = "SlashCommandAnswer"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswerer:
    """Carry out one answer to a call of a command."""

    services: RealmServices
    call: SlashCommandCall
    bot: UserRow
    caller: UserRow
    number: int = 0
    """Which of the later answers it is, from 1; 0 for the response."""

    @property
    def _actor(self) -> Actor:
        return Actor(self.services.realm_id, self.bot, CLIENT)

    async def carry_out(self, answer: CommandAnswer) -> None:
        """Post the answer or show it; what is refused is shown to the caller, with the reason."""
        call = self.call
        is_elsewhere = call.channel_id is None and self.bot.user_id not in call.user_ids
        if not answer.is_posted or is_elsewhere:
            await self._show_answer(answer)
            return
        try:
            await self._post(answer.content)
        except DomainError as refusal:
            logger.info("slash_commands.answer_not_posted", bot_id=call.bot_id)
            await self._show_answer(answer, refusal.message)

    async def fail(self, reason: str) -> None:
        """Show the caller that the call has failed; why, if they manage the bot."""
        text = _("{bot} could not answer.", bot=mention(self.bot))
        may_know = looks_after(self.services.realm_cache.person(self.caller), self.bot)
        await self.say(text, reason if may_know else "")

    async def say(self, text: Text, reason: str = "") -> None:
        """Show the caller an error of the server's."""
        language = await self.services.realm_cache.language_of(self.caller.user_id)
        said = translated(text, language)
        content = f"{said}\n\n{quoted(reason)}" if reason else said
        await self._show(self.call.call_id, content, is_error=True)

    async def _post(self, content: str) -> None:
        """Post the answer as the bot, where the command was called. Idempotent."""
        call, services, actor = self.call, self.services, self._actor
        key = f"command:{call.call_id}" + (f":{self.number}" if self.number else "")
        is_channel = call.channel_id is not None
        others = [user_id for user_id in call.user_ids if user_id != self.bot.user_id]
        draft = OutgoingMessage(
            type="channel" if is_channel else "direct",
            to=others if call.channel_id is None else call.channel_id,
            topic=call.topic if is_channel else None,
            content=content,
            idempotency_key=key,
            idempotency_digest=hashlib.sha256(key.encode()).digest(),
        )
        decision = await send.prepare(services.realm_cache, actor, draft, services.read)
        now = services.clock.now()
        await services.write(lambda tx: send.send_message(tx, actor, draft, decision, now))

    async def _show_answer(self, answer: CommandAnswer, refusal: str = "") -> None:
        """Show the bot's answer to the caller; with why it could not be posted, if so."""
        try:
            content = clean_content(answer.content)
        except DomainError as error:
            await self.fail(error.message)
            return
        if refusal:
            language = await self.services.realm_cache.language_of(self.caller.user_id)
            why = translated(_("Only you see this: the answer could not be posted."), language)
            content = f"{content}\n\n{why}\n\n{quoted(refusal)}"
        shown_id = self.call.call_id
        if self.number and not answer.replaces:
            # Clients show one answer for each id.
            shown_id = f"{shown_id}-{self.number}"
        await self._show(shown_id, content, is_error=False)

    async def _show(self, shown_id: str, content: str, *, is_error: bool) -> None:
        realm_cache, call = self.services.realm_cache, self.call
        await typeset_ahead(realm_cache, content, share=self.bot.user_id)
        rendered = await render_outside_messages(
            realm_cache, self._actor, content, read=self.services.read
        )
        event = SlashCommandAnswered(
            call_id=shown_id,
            command=call.command,
            bot_id=call.bot_id,
            is_error=is_error,
            content=content,
            rendered_content=rendered,
            stream_id=call.channel_id,
            topic=None if call.channel_id is None else call.topic,
            user_ids=call.user_ids if call.channel_id is None else None,
        )
        await self.services.write(lambda tx: _append(tx, event, call.caller_id))


async def _append(tx: Tx, event: SlashCommandAnswered, caller_id: UserId) -> None:
    tx.append(event, to_users(caller_id))
