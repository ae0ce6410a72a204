"""Post what an incoming webhook says, as its bot, and notify the bot's owner of failures."""

import hashlib
import re
from dataclasses import replace
from typing import Final

from server.actions.integration_messages import StageMessage, send_stage
from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.notices import deliver
from server.api.endpoint import Request
from server.api.params import Params
from server.domain.errors import BadRequestError, DomainError
from server.domain.markdown.writing import mention, quoted
from server.domain.message_buttons import Buttons
from server.domain.messages import cut_topic
from server.i18n import _, translated
from server.integrations.base import Stage

_ID: Final = re.compile(r"[0-9]{1,18}")


class WebhookParams(Params):
    api_key: str | None = None
    """API key of the bot, instead of an `Authorization` header."""
    stream: str | None = None
    """Channel by name or id. Without it the bot's owner gets a direct message."""
    topic: str | None = None
    """Topic of the message. Default: a topic named after the format, or the channel that the sender
    names."""


async def post(
    request: Request,
    params: WebhookParams,
    topic: str,
    content: str,
    *,
    key: bytes | None = None,
    following: tuple[Stage, bytes] | None = None,
    buttons: Buttons = (),
) -> None:
    """Send the message to the channel or to the bot's owner, who is notified of failures.

    Messages with the same key are one; what is said of a stage follows what was said before.
    """
    draft = replace(_draft(request, params, topic, content), buttons=buttons)
    if key is not None:
        draft = replace(draft, idempotency_key=f"webhook:{key.hex()}", idempotency_digest=key)
    try:
        if following is not None:
            message = StageMessage(draft, *following, delivery=key)
            await send_stage(request.realm_services, request.actor, message)
            return
        decision = await send.prepare(request.realm_cache, request.actor, draft, request.read)
        await request.write(send.send_message, draft, decision, request.app.clock.now())
    except DomainError as refusal:
        if params.stream is not None:
            await notify_owner(request, refusal.message)
        raise


def _draft(request: Request, params: WebhookParams, topic: str, content: str) -> OutgoingMessage:
    row = request.actor.row
    if params.stream:
        is_id = _ID.fullmatch(params.stream) is not None
        to = int(params.stream) if is_id else params.stream
        return OutgoingMessage(type="channel", to=to, topic=cut_topic(topic), content=content)
    if row.bot_owner_id is None:
        raise BadRequestError("Say with `stream` where messages go: the bot has no owner.")
    return OutgoingMessage(type="direct", to=[row.bot_owner_id], topic=None, content=content)


async def notify_owner(request: Request, reason: str) -> None:
    """Notify the bot's owner, once an hour: calling programs discard the response."""
    row, now = request.actor.row, request.app.clock.now()
    if row.bot_owner_id is None:
        return
    language = await request.realm_cache.language_of(row.bot_owner_id)
    text = _("Your bot {bot} could not post what it was sent:", bot=mention(row))
    content = f"{translated(text, language)}\n\n{quoted(reason)}"
    key = f"webhook:{row.user_id}:{now:%Y-%m-%dT%H}"
    draft = OutgoingMessage(type="direct", to=[row.bot_owner_id], topic=None, content=content)
    digest = hashlib.sha256(key.encode()).digest()
    await deliver(
        request.realm_services, replace(draft, idempotency_key=key, idempotency_digest=digest)
    )
