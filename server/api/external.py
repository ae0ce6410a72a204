"""Endpoints of incoming webhooks: of any program, and of the services of `server/integrations`.

The bot's key is in the URL, with the destination: `?api_key=...&stream=...&topic=...`.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from server.api import forms
from server.api.endpoint import (
    Access,
    Empty,
    Endpoint,
    RawPayload,
    RawResult,
    Remark,
    Request,
    ResponseKind,
    Result,
)
from server.api.webhook_posting import WebhookParams, notify_owner, post
from server.domain.api_keys import Scope
from server.domain.bots import INCOMING_WEBHOOK, OUTGOING_WEBHOOK
from server.domain.errors import (
    InvalidJsonError,
    InvalidParameterError,
    InvalidWebhookSignatureError,
    NotFoundError,
    ServerNotReadyError,
    WebhookPayloadError,
)
from server.domain.incoming_webhooks import JSON_WEBHOOK, SLACK_WEBHOOK
from server.domain.message_buttons import Buttons, checked_buttons
from server.domain.webhook_payloads import (
    JSON,
    SLACK,
    Said,
    cut_content,
    without_command,
)
from server.integrations.base import (
    PREFIX,
    Ignored,
    Integration,
    Malformed,
    Message,
    Outcome,
    Stage,
    Unknown,
)
from server.integrations.registry import integrations, read_delivery
from server.integrations.signatures import (
    GENERAL,
    InvalidSignatureError,
    Scheme,
    SignedRequest,
    verify,
)
from server.integrations.templates import TemplateError, parse
from server.parsing.lane import ParserUnavailableError, TooCostlyError
from server.parsing.reading import SMALL_BYTES, read_webhook
from server.parsing.wire import IntegrationOrder, WebhookOrder

_ID: Final = re.compile(r"[0-9]{1,18}")
_PLAIN_TEXT: Final = {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
}
_HANDSHAKE: Final = re.compile(r"[\w.~+/=-]{1,200}", re.ASCII)
_FORM: Final = "application/x-www-form-urlencoded"


class JsonParams(WebhookParams):
    topic_template: str | None = None
    """Template of the topic, like `{repository.name}`; `topic` precedes it."""
    text_template: str | None = None
    """Template of the text, in Markdown, with fields like `{commits.*.message|first 3}`."""


class IntegrationParams(WebhookParams):
    integration: str
    """Name of the service, as `realm_incoming_webhook_bots` of `POST /register` has it."""
    only_events: list[str] | None = None
    """Events to post; others are accepted and not posted. `*` stands for any characters."""
    exclude_events: list[str] | None = None
    """Events not to post, likewise."""
    branches: str | None = None
    """Branches of which pushes are posted, separated by commas. Default: all."""
    ignore_private_repositories: bool = False
    """Whether to post nothing about private repositories."""
    map_pull_request_topics: bool = True
    """Whether each pull request has a topic of its own, rather than all of a repository one."""
    name: str | None = None
    """For Alertmanager: annotation or label of alerts that becomes the topic. Default: the alert's
    name."""
    desc: str | None = None
    """For Alertmanager: annotation or label of alerts that describes them. Default:
    `description`."""
    eu_region: bool = False
    """For Opsgenie: whether the account is in its EU region, where links have to lead."""


class ChallengeParams(IntegrationParams):
    challenge: str = ""
    """Text to answer with."""


class WebhookReceived(Remark):
    challenge: str | msgspec.UnsetType = msgspec.UNSET
    """The text with which the service has checked the address; else absent."""


class SlackAnswer(Result):
    ok: bool = True
    """In the form of Slack's response."""


async def slack(request: Request, params: WebhookParams) -> SlackAnswer:
    await _check_signature(request, GENERAL, SLACK_WEBHOOK.name)
    said = await _said(request, SLACK_WEBHOOK.name, WebhookOrder("slack", _payload(request, SLACK)))
    topic = params.topic or said.topic or "Slack"
    buttons = await _buttons(request, said)
    await post(request, params, topic, said.content, buttons=buttons)
    return SlackAnswer()


async def _buttons(request: Request, said: Said) -> Buttons:
    """Return the buttons of the payload, if there is a service that clicks can be delivered to.

    Raises InvalidParameterError.
    """
    if request.actor.row.bot_type != OUTGOING_WEBHOOK:
        return ()
    try:
        return checked_buttons(said.buttons, parameter=said.buttons_from)
    except InvalidParameterError as error:
        await notify_owner(request, error.message)
        raise


async def any_json(request: Request, params: JsonParams) -> Empty:
    await _check_signature(request, GENERAL, JSON_WEBHOOK.name)
    for name in ("topic_template", "text_template"):
        _check_template(name, getattr(params, name))
    order = WebhookOrder(
        "json", _payload(request, JSON), params.topic_template, params.text_template
    )
    said = await _said(request, JSON_WEBHOOK.name, order)
    content = without_command(said.content)
    await post(request, params, params.topic or said.topic or JSON, content)
    return Empty()


def _check_template(name: str, template: str | None) -> None:
    """Raise InvalidParameterError unless the template is valid, or None."""
    try:
        parse(template or "")
    except TemplateError as error:
        raise InvalidParameterError(name, f"{name}: {error}") from error


async def integrated(request: Request, params: IntegrationParams) -> WebhookReceived:
    """Post what the service's delivery says. Repeated deliveries are posted once."""
    integration = integrations().get(params.integration)
    if integration is None:
        raise NotFoundError(f"There is no integration {params.integration}.")
    if challenge := _challenge(request, integration):
        return WebhookReceived("The address takes what the service sends.", challenge)
    signed = await _check_signature(request, integration.schemes, integration.name)
    outcome = await _outcome(request, params, integration)
    await _record(request, integration.name, type(outcome).__name__.lower())
    match outcome:
        case Malformed(reason):
            reason = f"This is not what {integration.display_name} sends: {reason}"
            await notify_owner(request, reason)
            raise WebhookPayloadError(reason, integration.display_name)
        case Unknown(event):
            return WebhookReceived(f"Not posted: the event {event} is not known.")
        case Ignored(_, reason):
            return WebhookReceived(f"Not posted: {reason}")
    if not _is_wanted(outcome.event, params):
        return WebhookReceived(f"Not posted: the address does not ask for {outcome.event}.")
    await post(
        request,
        params,
        params.topic or outcome.topic or integration.display_name,
        without_command(cut_content(outcome.content)),
        key=_key(request, params, integration, outcome, signed),
        following=_following(params, outcome),
    )
    return WebhookReceived()


def _key(
    request: Request,
    params: IntegrationParams,
    integration: Integration,
    message: Message,
    signed: bytes | None,
) -> bytes | None:
    """Return a digest by which a repeated delivery is recognized; None if there is none.

    An id in a header that is not signed proves nothing: with another one, a recorded delivery would
    be posted again. So what is signed counts, once for each channel, since several addresses of a
    bot may get the same.
    """
    if signed is not None and integration.has_unique_bodies and not message.delivery_id:
        where = (params.stream or "").strip().casefold()
        return _digest("signed", integration.name, where, hashlib.sha256(signed).hexdigest())
    header = integration.delivery_id
    delivery_id = message.delivery_id or (request.headers.get(header, "") if header else "")
    return _digest("webhook", integration.name, delivery_id) if delivery_id else None


def _following(params: IntegrationParams, message: Message) -> tuple[Stage, bytes] | None:
    """Return the stage, and of what it is at this destination; None if the message has none."""
    if message.stage is None or not message.about.strip():
        return None
    where = (params.stream or "", params.topic or "")
    return message.stage, _digest(params.integration, *where, message.about)


def _digest(*parts: str) -> bytes:
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def _challenge(request: Request, integration: Integration) -> str:
    """Return the text with which the service checks the address alone, and set it as the header.

    Empty if it does not.
    """
    value = request.headers.get(integration.handshake, "") if integration.handshake else ""
    if not _HANDSHAKE.fullmatch(value):
        return ""
    request.response_headers[integration.handshake] = value
    return value


async def challenged(request: Request, params: ChallengeParams) -> RawResult:
    """Answer with the challenge: proof that the address wants the service's deliveries."""
    if params.integration not in integrations():
        raise NotFoundError(f"There is no integration {params.integration}.")
    request.response_headers.update(_PLAIN_TEXT)
    return RawResult(params.challenge.encode(), is_enveloped=False)


async def _outcome(
    request: Request, params: IntegrationParams, integration: Integration
) -> Outcome:
    """Return the outcome of the delivery; a large one is read in a separate process."""
    body = _payload(request, integration.display_name)
    headers = {each.lower(): request.headers.get(each, "") for each in integration.headers}
    given = {option.key: getattr(params, option.key) for option in integration.options}
    options = {key: str(value) for key, value in given.items() if value is not None}
    if len(body) <= SMALL_BYTES:
        return read_delivery(integration.name, body, headers, options)
    order = IntegrationOrder(integration.name, body, headers, options)
    async with _parsing():
        return await request.app.parser.delivery(order, share=request.actor.user_id)


async def _record(request: Request, service: str, outcome: str) -> None:
    """Count the delivery, and record it as the bot's last one."""
    request.app.metrics.webhook_delivered(service, outcome)
    if request.actor.row.bot_type == INCOMING_WEBHOOK:
        await request.app.webhook_deliveries.note(request.actor, service, outcome)


async def _check_signature(request: Request, schemes: Sequence[Scheme], name: str) -> bytes | None:
    """Return what the signature proves to be the service's; None without a secret or signature.

    Raises InvalidWebhookSignatureError if the bot has a secret, and it is not signed with it.
    """
    secret = request.actor.row.webhook_secret
    if secret is None:
        return None
    realm = await request.realm_cache.realm()
    signed = SignedRequest(
        headers=request.headers,
        body=request.payload,
        url=f"{request.realm_cache.address_of(realm).url}{request.target}",
        payload=lambda: _payload(request, name),
        received_at=request.app.clock.now(),
    )
    try:
        return verify(schemes, signed, secret).signed(signed)
    except InvalidSignatureError as error:
        await _record(request, name, "refused")
        await notify_owner(request, str(error))
        raise InvalidWebhookSignatureError(str(error), name) from error


def _is_wanted(event: str, params: IntegrationParams) -> bool:
    def matches(patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(event, pattern) for pattern in patterns)

    is_excluded = params.exclude_events is not None and matches(params.exclude_events)
    return not is_excluded and (params.only_events is None or matches(params.only_events))


@asynccontextmanager
async def _parsing() -> AsyncIterator[None]:
    """Raise the errors of the parser as those of the API."""
    try:
        yield
    except TooCostlyError:
        raise InvalidJsonError("This JSON takes too long to read.") from None
    except ParserUnavailableError:
        raise ServerNotReadyError("The server is not ready. Try again shortly.") from None


async def _said(request: Request, service: str, order: WebhookOrder) -> Said:
    """Return the parsed payload; a large one is parsed in a separate process.

    Raises a DomainError.
    """
    if len(order.body) <= SMALL_BYTES:
        said = read_webhook(order)
    else:
        async with _parsing():
            said = await request.app.parser.webhook(order, share=request.actor.user_id)
    await _record(request, service, "malformed" if said.problem else "message")
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
            " Text, blocks and attachments become Markdown. With the key of an outgoing webhook"
            " bot, their buttons are the message's, and clicks are delivered to the bot."
        ),
    ),
    Endpoint(
        "POST",
        JSON_WEBHOOK.path,
        Access.WEBHOOK,
        JsonParams,
        any_json,
        body=RawPayload(),
        scope=Scope.MESSAGES,
        summary="Post any JSON as a message",
        description=(
            "The body is shown as a block of code, indented, unless templates say which of its"
            " fields make the topic and the text."
        ),
    ),
    Endpoint(
        "POST",
        f"{PREFIX}{{integration}}",
        Access.WEBHOOK,
        IntegrationParams,
        integrated,
        WebhookReceived,
        body=RawPayload(),
        scope=Scope.MESSAGES,
        summary="Post what a service's webhook says",
        description=(
            "Give a service this address with the API key of an incoming webhook bot. Events that"
            " are not posted are answered with success, and `msg` says why; deliveries that a"
            " service repeats are posted once."
        ),
    ),
    Endpoint(
        "GET",
        f"{PREFIX}{{integration}}",
        Access.WEBHOOK,
        ChallengeParams,
        challenged,
        response=ResponseKind.TEXT,
        scope=Scope.MESSAGES,
        summary="Answer a service that checks the address of a webhook",
        description=(
            "Dropbox sends a challenge before it accepts an address; Trello asks with HEAD whether"
            " it exists."
        ),
    ),
)
