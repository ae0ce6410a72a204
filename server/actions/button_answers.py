"""Carry out what services answer to clicks: replace the message, post another, or show it."""

import hashlib
from dataclasses import dataclass
from typing import Final

import structlog

from server.actions.message_buttons import replace_message
from server.actions.messages import send
from server.actions.messages.content import render_outside_messages, typeset_ahead
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.delete import delete_message
from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.domain.bots import looks_after
from server.domain.errors import DomainError
from server.domain.markdown.writing import mention, quoted
from server.domain.message_buttons import (
    ButtonAnswer,
    answer_in,
    decode_button,
    slack_answer_in,
)
from server.domain.messages import clean_content
from server.domain.outgoing_webhooks import SLACK, AnswerError
from server.events.base import to_users
from server.events.message_buttons import ButtonClickAnswered
from server.i18n import Text, _, translated
from server.parsing.lane import TooCostlyError
from server.parsing.parser import Parser
from server.parsing.reading import SMALL_BYTES, read_webhook
from server.parsing.wire import WebhookOrder
from server.transactions import Tx
from storage import conversations, message_places
from storage.ids import ChannelId, TopicId, UserId
from storage.message_buttons import ClickRow
from storage.users import UserRow

logger = structlog.get_logger(__name__)

CLIENT: Final = "ButtonAnswer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """A click, with the bot and the user who clicked."""

    row: ClickRow
    bot: UserRow
    owner: UserRow | None
    user: UserRow

    @property
    def id(self) -> str:
        return str(self.row.click_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickPlace:
    """The conversation in which the message is now."""

    channel_id: ChannelId | None
    topic: str
    user_ids: tuple[UserId, ...]
    """The participants of direct messages."""
    content: str
    """The message's text."""


async def place_of(services: RealmServices, click: Click) -> ClickPlace | None:
    """Return where the message is; None if it was deleted, or neither bot nor owner may read it."""
    async with services.read() as connection:
        for reader in (click.bot, click.owner, click.user):
            if reader is None:
                continue
            here = (connection, services.realm_id, reader.user_id, click.row.message_id)
            place = await message_places.visible(*here)
            if place is None:
                continue
            content = await message_places.content(connection, services.realm_id, place.id)
            if place.channel_id is None:
                people = await message_places.dm_user_ids(
                    connection, services.realm_id, place.conversation_id
                )
                return ClickPlace(
                    channel_id=None, topic="", user_ids=tuple(people), content=content
                )
            [topic] = await conversations.topics_by_ids(
                connection, services.realm_id, [TopicId(place.conversation_id)]
            )
            return ClickPlace(
                channel_id=place.channel_id, topic=topic.name, user_ids=(), content=content
            )
    return None


async def read_answer(
    parser: Parser, body: bytes, click: Click, *, interface: int, is_response: bool
) -> ButtonAnswer:
    """Return the answer in the format of the service; large ones are parsed in another process.

    `is_response`: whether it is the response to the click itself. Raises AnswerError, or
    ParserUnavailableError.
    """
    if interface != SLACK:
        return answer_in(body)
    order = WebhookOrder("slack", _slack_body(body))
    if len(body) <= SMALL_BYTES:
        said = read_webhook(order)
    else:
        try:
            said = await parser.webhook(order, share=click.bot.user_id)
        except TooCostlyError:
            raise AnswerError("The answer takes too long to read.") from None
    slack = decode_button(click.row.button).slack
    return slack_answer_in(
        body,
        said.content,
        said.buttons,
        replaces_by_default=is_response and slack is not None and slack.callback_id is not None,
    )


def _slack_body(body: bytes) -> bytes:
    return body if body.strip() else b"{}"


@dataclass(frozen=True, slots=True)
class ClickAnswerer:
    """Carry out one answer to a click."""

    services: RealmServices
    click: Click
    key: str = ""
    """What distinguishes the answer from others to the same click: messages are posted once."""

    @property
    def _bot(self) -> Actor:
        return Actor(self.services.realm_id, self.click.bot, CLIENT)

    async def carry_out(self, answer: ButtonAnswer, *, ends_click: bool) -> None:
        """Carry out the answer; what is refused is shown to the user alone, with the reason.

        `ends_click`: tell the client of the user that the click is answered, whatever the answer.
        """
        if answer.is_empty:
            if ends_click:
                await self._show("", is_error=False)
            return
        if answer.kind == "ephemeral":
            await self._show_answer(answer.content)
            return
        try:
            await self._change(answer)
        except DomainError as refusal:
            logger.info("message_buttons.answer_refused", bot_id=self.click.bot.user_id)
            await self._show_answer(answer.content, refusal.message)
        else:
            if ends_click:
                await self._show("", is_error=False)

    async def fail(self, reason: str) -> None:
        """Show the user that the bot could not answer; why, if they manage the bot."""
        click = self.click
        text = _("{bot} could not answer.", bot=mention(click.bot))
        may_know = looks_after(self.services.realm_cache.person(click.user), click.bot)
        await self.say(text, reason if may_know else "")

    async def say(self, text: Text, reason: str = "") -> None:
        """Show the user an error of the server's."""
        language = await self.services.realm_cache.language_of(self.click.user.user_id)
        said = translated(text, language)
        await self._show(f"{said}\n\n{quoted(reason)}" if reason else said, is_error=True)

    async def _change(self, answer: ButtonAnswer) -> None:
        if answer.kind == "replace":
            await self._replace(answer)
        elif answer.kind == "delete":
            now, message_id = self.services.clock.now(), self.click.row.message_id
            await self.services.write(lambda tx: delete_message(tx, self._bot, message_id, now))
        else:
            await self._post(answer)

    async def _replace(self, answer: ButtonAnswer) -> None:
        services, click, bot = self.services, self.click, self._bot
        now = services.clock.now()
        await typeset_ahead(services.realm_cache, answer.content, share=bot.user_id)
        what = (click.row.message_id, answer.content, answer.buttons, now)
        try:
            await services.write(lambda tx: replace_message(tx, bot, bot, *what))
        except DomainError:
            if click.owner is None:
                raise
            # The bot may not read where it wrote with its owner's rights.
            owner = Actor(services.realm_id, click.owner, CLIENT)
            await services.write(lambda tx: replace_message(tx, bot, owner, *what))

    async def _post(self, answer: ButtonAnswer) -> None:
        """Post a message as the bot, where the buttons are. Idempotent."""
        services, bot = self.services, self._bot
        place = await place_of(services, self.click)
        if place is None:
            return
        others = [each for each in place.user_ids if each != bot.user_id]
        key = f"button:{self.click.id}:{self.key}"
        draft = OutgoingMessage(
            type="direct" if place.channel_id is None else "channel",
            to=others if place.channel_id is None else place.channel_id,
            topic=None if place.channel_id is None else place.topic,
            content=answer.content,
            buttons=answer.buttons,
            idempotency_key=key,
            idempotency_digest=hashlib.sha256(key.encode()).digest(),
        )
        decision = await send.prepare(services.realm_cache, bot, draft, services.read)
        now = services.clock.now()
        await services.write(lambda tx: send.send_message(tx, bot, draft, decision, now))

    async def _show_answer(self, content: str, refusal: str = "") -> None:
        try:
            content = clean_content(content) if content.strip() else ""
        except DomainError as error:
            await self.fail(error.message)
            return
        if refusal:
            language = await self.services.realm_cache.language_of(self.click.user.user_id)
            why = translated(_("Only you see this: the answer was refused."), language)
            content = f"{content}\n\n{why}\n\n{quoted(refusal)}".lstrip()
        await self._show(content, is_error=False)

    async def _show(self, content: str, *, is_error: bool) -> None:
        realm_cache, click = self.services.realm_cache, self.click
        html = ""
        if content:
            await typeset_ahead(realm_cache, content, share=click.bot.user_id)
            html = await render_outside_messages(
                realm_cache, self._bot, content, read=self.services.read
            )
        event = ButtonClickAnswered(
            click_id=click.id,
            message_id=click.row.message_id,
            bot_id=click.bot.user_id,
            is_error=is_error,
            content=content,
            rendered_content=html,
        )
        await self.services.write(lambda tx: _append(tx, event, click.user.user_id))


async def _append(tx: Tx, event: ButtonClickAnswered, user_id: UserId) -> None:
    tx.append(event, to_users(user_id))
