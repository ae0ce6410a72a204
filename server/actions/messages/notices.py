"""Messages of the notification bot: notices of moves, and sending in general."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import structlog

from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, DomainError
from server.domain.markdown.links import narrow_href
from server.domain.markdown.writing import link, mention, topic_link
from server.domain.resolved_topics import MarkChange, changes_only_marks
from server.domain.system_bots import NOTIFICATION_BOT, SystemBot
from server.i18n import Text, _, marked, ngettext, translated
from server.realm_cache import RealmCache
from storage import read_marks
from storage.ids import ChannelId, MessageId, UserId
from storage.users import UserRow

logger = structlog.get_logger(__name__)

NO_TOPIC_NAME: Final = "(no topic)"
MAX_TOPICS_LISTED: Final = 10
"""Number of topics that a notice of a move names."""
CLIENT: Final = "Internal"
"""Client name of the notification bot."""


_ARRIVALS: Final[dict[MarkChange | None, str]] = {
    None: marked("{person} moved {messages} here from {topic}."),
    "resolved": marked("{person} moved {messages} here from {topic} and marked it as resolved."),
    "unresolved": marked(
        "{person} moved {messages} here from {topic} and marked it as unresolved."
    ),
}
_MARKINGS: Final[dict[MarkChange, str]] = {
    "resolved": marked("{person} marked this topic as resolved."),
    "unresolved": marked("{person} marked this topic as unresolved."),
}


async def notification_bot(realm_cache: RealmCache) -> Actor:
    """Return the notification bot as an actor. Raises BadRequestError."""
    return await system_bot(realm_cache, NOTIFICATION_BOT)


async def system_bot(realm_cache: RealmCache, bot: SystemBot) -> Actor:
    """Return a system bot of this realm as an actor. Raises BadRequestError."""
    row = await realm_cache.user_by_email(bot.email)
    if row is None:
        raise BadRequestError(_("This organization has no {full_name}.", full_name=bot.full_name))
    return Actor(realm_cache.realm_id, row, CLIENT)


async def post(
    services: RealmServices, draft: OutgoingMessage, sender: SystemBot = NOTIFICATION_BOT
) -> None:
    """Send a message of the bot. Raises a DomainError."""
    draft = replace(draft, read_by_sender=True)
    now = services.clock.now()
    bot = await system_bot(services.realm_cache, sender)
    decision = await send.prepare(services.realm_cache, bot, draft, services.read)
    reader = draft.acting_user_id
    then = None if reader is None else read_marks.read_from_the_start(services.realm_id, reader)
    await services.write(lambda tx: send.send_message(tx, bot, draft, decision, now, then))


async def deliver(
    services: RealmServices, draft: OutgoingMessage, sender: SystemBot = NOTIFICATION_BOT
) -> None:
    """Send a message of the bot; ignore users that it cannot reach."""
    try:
        await post(services, draft, sender)
    except DomainError as refusal:
        logger.info("notice.undeliverable", reason=refusal.message)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the notification bot: in a channel's topic, or to a user."""

    to: ChannelId | list[UserId]
    topic: str = ""
    content: str
    tells_of_resolving: bool = False
    acting_user_id: UserId | None = None
    """The user who did what it reports."""

    def draft(self, work_id: str) -> OutgoingMessage:
        """Return the notice with a key by which it is sent once however often it is retried."""
        is_direct = isinstance(self.to, list)
        digest = hashlib.sha256(msgspec.json.encode(self)).digest()
        return OutgoingMessage(
            type="direct" if is_direct else "channel",
            to=self.to,
            topic=None if is_direct else self.topic or NO_TOPIC_NAME,
            content=self.content,
            idempotency_key=f"notice:{work_id}:{self.to}:{self.topic}",
            idempotency_digest=digest,
            tells_of_resolving=self.tells_of_resolving,
            acting_user_id=self.acting_user_id,
        )


def drafts(plan: Any, work_id: str) -> list[OutgoingMessage]:
    """Return the messages of a plan with `notices`, to send when its work is done."""
    return [notice.draft(work_id) for notice in plan.notices]


class Location(msgspec.Struct, frozen=True):
    """A topic of a channel, by names."""

    channel_id: ChannelId
    channel: str
    topic: str

    def link(self, empty_topic_name: str) -> str:
        return topic_link(
            self.channel_id, self.channel, self.topic, empty_topic_name=empty_topic_name
        )

    def message_href(self, message_id: MessageId) -> str:
        return narrow_href(self.channel_id, self.channel, self.topic, message_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveSummary:
    """A move, as its notices describe it."""

    actor: UserRow
    old: Location
    new: Location
    message_id: MessageId
    count: int
    is_whole: bool
    """Whether all messages of the topic were moved."""
    mark_change: MarkChange | None
    """Whether the topic as a whole was resolved or unresolved by it."""

    @property
    def changes_only_marks(self) -> bool:
        """Whether the channel and the name without its marks stay."""
        is_here = self.old.channel_id == self.new.channel_id
        return is_here and changes_only_marks(self.old.topic, self.new.topic)

    def messages(self, language: str) -> str:
        """Return the messages that were moved, as Markdown; a single one as a link to it."""
        if self.is_whole:
            return translated(_("this topic"), language)
        many = translated(_messages(self.count), language)
        return link(many, self.new.message_href(self.message_id)) if self.count == 1 else many


def of_move(
    move: MoveSummary, *, notify_old: bool, notify_new: bool, empty_topic_name: str, language: str
) -> list[Notice]:
    """Return the notices in the topic that messages have left, and in the new one.

    A change of the marks alone has a notice of its own, if it is one of the whole topic.
    """
    new = move.new
    if move.changes_only_marks and move.mark_change is not None:
        return of_resolving(move.actor, new, move.mark_change, language)
    if move.changes_only_marks and move.is_whole:
        return []
    if move.mark_change is not None and not notify_new:
        notices = of_resolving(move.actor, new, move.mark_change, language)
    else:
        notices = []
    facts = {"person": mention(move.actor), "messages": move.messages(language)}
    if notify_new:
        facts["topic"] = move.old.link(empty_topic_name)
        content = translated(_(_ARRIVALS[move.mark_change], **facts), language)
        notices.append(_notice(move.actor, new, content))
    if notify_old:
        facts["topic"] = new.link(empty_topic_name)
        content = translated(
            _("{person} moved {messages} from here to {topic}.", **facts), language
        )
        notices.append(_notice(move.actor, move.old, content))
    return notices


def of_moves(
    moves: Sequence[MoveSummary],
    *,
    notify_old: bool,
    notify_new: bool,
    empty_topic_name: str,
    language: str,
) -> list[Notice]:
    """Return the notices of moves to one topic: one there, and one in each that messages left."""
    if len(moves) == 1:
        return of_move(
            moves[0],
            notify_old=notify_old,
            notify_new=notify_new,
            empty_topic_name=empty_topic_name,
            language=language,
        )
    notices = [
        notice
        for move in moves
        for notice in of_move(
            replace(move, mark_change=None),
            notify_old=notify_old,
            notify_new=False,
            empty_topic_name=empty_topic_name,
            language=language,
        )
    ]
    if notify_new:
        actor, new = moves[0].actor, moves[0].new
        content = _(
            "{person} moved {messages} here from {topics}.",
            person=mention(actor),
            messages=_messages(sum(move.count for move in moves)),
            topics=_listed([move.old.link(empty_topic_name) for move in moves]),
        )
        notices.insert(0, _notice(actor, new, translated(content, language)))
    return notices


def _messages(count: int) -> Text:
    return ngettext("{count} message", "{count} messages", count)


def _listed(topics: Sequence[str]) -> str:
    """Return links to topics, as many as a notice has."""
    shown, more = ", ".join(topics[:MAX_TOPICS_LISTED]), len(topics) - MAX_TOPICS_LISTED
    if more <= 0:
        return shown
    return ngettext(
        "{topics} and {count} other topic", "{topics} and {count} other topics", more, topics=shown
    )


def of_resolving(
    actor: UserRow, place: Location, change: MarkChange, language: str
) -> list[Notice]:
    """Return the notice in a topic that has been resolved or unresolved."""
    content = translated(_(_MARKINGS[change], person=mention(actor)), language)
    return [_notice(actor, place, content, tells_of_resolving=True)]


def _notice(
    actor: UserRow, place: Location, content: str, *, tells_of_resolving: bool = False
) -> Notice:
    return Notice(
        to=place.channel_id,
        topic=place.topic,
        content=content,
        tells_of_resolving=tells_of_resolving,
        acting_user_id=actor.user_id,
    )
