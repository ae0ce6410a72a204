"""Greetings of bots for a new user: to them, to their inviter, and to all."""

from hashlib import sha256
from typing import Final

from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.notices import deliver, system_bot
from server.actions.realm_services import RealmServices
from server.domain.actor import Actor
from server.domain.markdown.writing import literal, mention
from server.domain.realm_settings import NO_CHANNEL
from server.domain.system_bots import NOTIFICATION_BOT, WELCOME_BOT, SystemBot
from server.domain.user_settings import UserSettings
from server.i18n import _, catalogue_language, marked, translated
from storage import users
from storage.ids import ChannelId, MessageId, UserId

SIGNUPS_TOPIC: Final = "signups"
WELCOME: Final = marked(
    "Hello {name}, and welcome to {realm}! :wave:\n\nPeople talk in **channels** here, and in each"
    " channel in **topics**: look around in those that you are in, and answer where you have"
    " something to say. Only you and I see this conversation."
)


async def greet(
    services: RealmServices, user_id: UserId, text: str | None, inviter_id: UserId | None
) -> None:
    """Send the greetings, each once however often this is called.

    `text` is the welcome bot's addition; None: the realm's default.
    """
    async with services.read() as connection:
        found = await users.by_ids(connection, services.realm_id, [user_id])
    if not found or not found[0].is_active:
        return
    [row] = found
    realm, settings = await services.realm_cache.realm(), await services.realm_cache.settings()
    own = settings.welcome_message_custom_text if text is None else text
    own_language = catalogue_language(UserSettings.of(row.settings).default_language)
    names = {"name": literal(row.full_name), "realm": literal(realm.name)}
    welcome = translated(_(WELCOME, **names), own_language)
    for name, content in (("welcome", welcome), ("custom", own)):
        if content.strip():
            await _say(services, WELCOME_BOT, [user_id], content, f"{name}:{user_id}")
    place = settings.signup_announcements_stream_id
    if place != NO_CHANNEL:
        joined = _("{person} joined this organization.", person=mention(row))
        content = translated(joined, settings.language)
        await _say(services, NOTIFICATION_BOT, ChannelId(place), content, f"signup:{user_id}")
    if inviter_id is not None:
        accepted = _("{person} accepted your invitation to join.", person=mention(row))
        content = translated(accepted, settings.language)
        await _say(services, NOTIFICATION_BOT, [inviter_id], content, f"joined:{user_id}")


async def try_out(services: RealmServices, actor: Actor, text: str) -> MessageId:
    """Send the welcome bot's text to the actor as a preview. Raises a DomainError."""
    bot = await system_bot(services.realm_cache, WELCOME_BOT)
    draft = OutgoingMessage(
        type="direct", to=[actor.user_id], topic=None, content=text, read_by_sender=True
    )
    now = services.clock.now()
    decision = await send.prepare(services.realm_cache, bot, draft, services.read)
    sent = await services.write(lambda tx: send.send_message(tx, bot, draft, decision, now))
    message_id: MessageId = sent.result.message_id
    return message_id


async def _say(
    services: RealmServices, bot: SystemBot, to: list[UserId] | ChannelId, content: str, name: str
) -> None:
    is_direct = isinstance(to, list)
    draft = OutgoingMessage(
        type="direct" if is_direct else "channel",
        to=to,
        topic=None if is_direct else SIGNUPS_TOPIC,
        content=content,
        idempotency_key=f"greeting:{name}",
        # A retry may have another text: it is the same greeting.
        idempotency_digest=sha256(name.encode()).digest(),
    )
    await deliver(services, draft, bot)
