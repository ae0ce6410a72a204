"""Email that becomes messages, with the permissions of its arrival."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from server.actions.attachments import add_attachment
from server.actions.messages.decide import OutgoingMessage, decide
from server.actions.messages.send import Sent, send_message, sent_before
from server.actions.timers import check_realm
from server.domain.actor import Actor
from server.domain.channels import allows_named_topics
from server.domain.errors import BadRequestError
from server.domain.mail_addresses import Target, ToChannel, ToMessage
from server.domain.system_bots import EMAIL_GATEWAY
from server.i18n import _
from server.realm_cache import RealmCache
from server.transactions import Clocked, Tx
from storage import conversations, message_places
from storage.attachments import AttachmentRow
from storage.ids import TopicId, UserId
from storage.users import UserRow

CLIENT: Final = "email"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailed:
    """An incoming email, and its digest."""

    topic: str
    content: str
    mail_id: str
    digest: bytes
    """Digest of the text: the content names files, which get other names at each delivery."""
    files: Sequence[AttachmentRow] = ()
    """Stored files that the content links to, owned by the message's sender."""

    def draft(self, address: str, **place: object) -> OutgoingMessage:
        """Return the message, which is sent once per address however often the email arrives."""
        words = (self.mail_id, address, self.topic, self.digest.hex())
        said = hashlib.sha256("\n".join(words).encode()).digest()
        return OutgoingMessage(
            **place,  # type: ignore[arg-type]
            content=self.content,
            idempotency_key=f"mail:{said.hex()}",
            idempotency_digest=said,
        )


async def add_files(tx: Tx, target: Target, mailed: Mailed) -> None:
    """Store the files of an email for its sender, unless its message exists already.

    Raises a DomainError as `take` does, and then stores none.
    """
    actor, draft = await _speaker(tx, target, mailed)
    if await sent_before(tx, actor, draft) is None:
        await decide(await tx.realm_cache(), actor, draft, tx.reading)
        for row in mailed.files:
            await add_attachment(tx, actor, replace(row, owner_id=actor.user_id))


async def take(tx: Tx, target: Target, mailed: Mailed, now: datetime) -> Clocked[Sent]:
    """Send the message of an email. Raises a DomainError if its sender may not send there now."""
    actor, draft = await _speaker(tx, target, mailed)
    return await send_message(tx, actor, draft, None, now)


async def _speaker(tx: Tx, target: Target, mailed: Mailed) -> tuple[Actor, OutgoingMessage]:
    """Return the sender and the draft of the email."""
    tx.must_be_exact()
    await check_realm(tx)
    realm_cache = await tx.realm_cache()
    if isinstance(target, ToChannel):
        return await _in_channel(tx, realm_cache, target, mailed)
    return await _as_answer(tx, realm_cache, target, mailed)


async def _in_channel(
    tx: Tx, realm_cache: RealmCache, target: ToChannel, mailed: Mailed
) -> tuple[Actor, OutgoingMessage]:
    channel = await realm_cache.channel(target.channel_id)
    topic = "" if channel is not None and not allows_named_topics(channel) else mailed.topic
    name = f"channel {target.channel_id}"
    draft = mailed.draft(name, type="channel", to=target.channel_id, topic=topic)
    creator = await _active(realm_cache, target.creator_id)
    if target.sender_id is None:
        # The bot may send anywhere, so the permissions of the address's creator decide.
        await decide(realm_cache, Actor(tx.realm_id, creator, CLIENT), draft, tx.reading)
        bot = await realm_cache.user_by_email(EMAIL_GATEWAY.email)
        if bot is None:
            raise BadRequestError(_("This organization has no bot for email."))
        return Actor(tx.realm_id, bot, CLIENT), draft
    sender = await _active(realm_cache, target.sender_id)
    if creator.user_id not in (sender.user_id, sender.bot_owner_id):
        raise BadRequestError(_("This address is no longer valid."))
    return Actor(tx.realm_id, sender, CLIENT), draft


async def _as_answer(
    tx: Tx, realm_cache: RealmCache, target: ToMessage, mailed: Mailed
) -> tuple[Actor, OutgoingMessage]:
    actor = Actor(tx.realm_id, await _active(realm_cache, target.user_id), CLIENT)
    connection = await tx.connection()
    place = await message_places.visible(connection, tx.realm_id, target.user_id, target.message_id)
    if place is None:
        raise BadRequestError(_("The message that you answer is gone, or you may not read it now."))
    name = f"message {target.message_id}"
    if place.channel_id is None:
        to = await message_places.dm_user_ids(connection, tx.realm_id, place.conversation_id)
        return actor, mailed.draft(name, type="direct", to=to, topic=None, read_by_sender=True)
    [topic] = await conversations.topics_by_ids(
        connection, tx.realm_id, [TopicId(place.conversation_id)]
    )
    return actor, mailed.draft(
        name, type="channel", to=place.channel_id, topic=topic.name, read_by_sender=True
    )


async def _active(realm_cache: RealmCache, user_id: UserId) -> UserRow:
    row = await realm_cache.user(user_id)
    if row is None or not row.is_active:
        raise BadRequestError(_("This address is no longer valid."))
    return row
