"""Endpoints of incoming webhooks.

The bot's key is in the URL, with the destination: `?api_key=...&stream=...&topic=...`.
"""

import hashlib
import re
from dataclasses import replace
from typing import Final, Literal

from server.actions.messages import send
from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.notices import deliver
from server.api import forms
from server.api.endpoint import Access, Empty, Endpoint, RawPayload, Request, Result
from server.api.params import Params
from server.domain.api_keys import Scope
from server.domain.errors import (
    BadRequestError,
    DomainError,
    InvalidJsonError,
    ServerNotReadyError,
    WebhookPayloadError,
)
from server.domain.incoming_webhooks import JSON_WEBHOOK, SLACK_WEBHOOK
from server.domain.markdown.writing import mention, quoted
from server.domain.messages import cut_topic
from server.domain.webhook_payloads import JSON, READERS, SLACK, Said
from server.parsing import ParserUnavailableError, TooCostlyError
from server.parsing.wire import WebhookOrder

SMALL_BYTES: Final = 16 * 1024
"""Parsing the worst payload of this size takes a few milliseconds."""
_ID: Final = re.compile(r"[0-9]{1,18}")
_FORM: Final = "application/x-www-form-urlencoded"


class WebhookParams(Params):
    api_key: str | None = None
    """API key of the bot, instead of an `Authorization` header."""
    stream: str | None = None
    """Channel by name or id. Without it the bot's owner gets a direct message."""
    topic: str | None = None
    """Topic of the message. Default: a topic named after the format, or the channel that the sender
    names."""


class SlackAnswer(Result):
    ok: bool = True
    """In the form of Slack's response."""


async def slack(request: Request, params: WebhookParams) -> SlackAnswer:
    said = await _said(request, "slack", _payload(request, SLACK))
    await _post(request, params, params.topic or said.channel or "Slack", said.content)
    return SlackAnswer()


async def plain_json(request: Request, params: WebhookParams) -> Empty:
    said = await _said(request, "json", _payload(request, JSON))
    await _post(request, params, params.topic or JSON, said.content)
    return Empty()


async def _said(request: Request, kind: Literal["slack", "json"], body: bytes) -> Said:
    """Return the parsed payload; a large one is parsed in a separate process.

    Raises a DomainError.
    """
    if len(body) <= SMALL_BYTES:
        said = READERS[kind](body)
    else:
        order = WebhookOrder(kind, body)
        try:
            said = await request.app.parser.webhook(order, share=request.actor.user_id)
        except TooCostlyError:
            raise InvalidJsonError("This JSON takes too long to read.") from None
        except ParserUnavailableError:
            raise ServerNotReadyError("The server is not ready. Try again shortly.") from None
    said.check()
    return said


def _payload(request: Request, name: str) -> bytes:
    """Return the JSON of the body, bare or in the field `payload` of a form.

    Raises a DomainError. What looks like JSON is treated as such, whatever its content type:
    programs leave their library's default.
    """
    body = request.payload
    if not body.lstrip().startswith((b"{", b"[")) and request.headers.get(
        "Content-Type", ""
    ).lower().startswith((_FORM, "multipart/form-data")):
        fields = forms.read_body(request.headers, body)
        body = fields.get("payload", "").encode()
    if not body.strip():
        raise WebhookPayloadError("Nothing was sent.", name)
    return body


async def _post(request: Request, params: WebhookParams, topic: str, content: str) -> None:
    """Send the message to the channel or to the bot's owner, who is notified of failures."""
    row = request.actor.row
    draft = _draft(request, params, topic, content)
    try:
        decision = await send.prepare(request.realm_cache, request.actor, draft, request.read)
        await request.write(send.send_message, draft, decision, request.app.clock.now())
    except DomainError as refusal:
        if row.bot_owner_id is not None and params.stream is not None:
            await _notify_owner(request, refusal.message)
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


async def _notify_owner(request: Request, reason: str) -> None:
    """Notify the bot's owner, once an hour: the calling program's response is read by no one."""
    row, now = request.actor.row, request.app.clock.now()
    assert row.bot_owner_id is not None
    content = f"Your bot {mention(row)} could not post what it was sent:\n\n{quoted(reason)}"
    key = f"webhook:{row.user_id}:{now:%Y-%m-%dT%H}"
    draft = OutgoingMessage(type="direct", to=[row.bot_owner_id], topic=None, content=content)
    digest = hashlib.sha256(key.encode()).digest()
    await deliver(
        request.realm_services, replace(draft, idempotency_key=key, idempotency_digest=digest)
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        SLACK_WEBHOOK.path,
        Access.WEBHOOK,
        WebhookParams,
        slack,
        SlackAnswer,
        body=RawPayload(),
        scope=Scope.MESSAGES,
        summary="Post a message in Slack's incoming webhook format",
        description=(
            "For programs that can post to Slack: give them this address with the API key of an"
            " incoming webhook bot. The body is JSON, or a form with JSON in the field `payload`."
            " Text, blocks and attachments become Markdown."
        ),
    ),
    Endpoint(
        "POST",
        JSON_WEBHOOK.path,
        Access.WEBHOOK,
        WebhookParams,
        plain_json,
        body=RawPayload(),
        scope=Scope.MESSAGES,
        summary="Post any JSON as a message",
        description="The body is shown as a block of code, indented.",
    ),
)
