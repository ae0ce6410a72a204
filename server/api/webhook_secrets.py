"""Endpoints of the secrets with which services sign what they send to incoming webhook bots."""

from typing import Final

from server.actions import bots
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import JsonOrBareStr, Params
from server.domain.bots import looks_after
from server.domain.errors import BadRequestError, InvalidParameterError
from server.i18n import _
from server.integrations.signatures import is_public_key
from storage.ids import UserId

MIN_LENGTH: Final = 8
MAX_LENGTH: Final = 1_000
"""More than a public key of 4,096 bits has."""
PATH: Final = "/bots/{bot_id}/webhook_secret"


class BotParams(Params):
    bot_id: int
    """User id of an incoming webhook bot."""


class SecretParams(BotParams):
    secret: JsonOrBareStr
    """The secret that the service has, or was given: 8 to 1,000 characters; of Travis CI its public
    key."""


class WebhookSecret(Result):
    is_set: bool


async def get(request: Request, params: BotParams) -> WebhookSecret:
    row = await request.realm_cache.user(UserId(params.bot_id))
    if row is None or row.bot_type is None or not looks_after(request.actor.person, row):
        raise BadRequestError(bots.NO_SUCH_BOT)
    return WebhookSecret(is_set=row.webhook_secret is not None)


async def put(request: Request, params: SecretParams) -> Empty:
    secret = params.secret.strip()
    if not MIN_LENGTH <= len(secret) <= MAX_LENGTH or "\0" in secret:
        raise InvalidParameterError(
            "secret",
            _(
                "secret must have {least} to {most} characters",
                least=MIN_LENGTH,
                most=MAX_LENGTH,
            ),
        )
    if is_public_key(secret):
        from server.integrations.public_keys import public_key  # a start is faster without

        try:
            public_key(secret)
        except ValueError:
            message = _("secret is not a public key of RSA with 2,048 to 4,096 bits")
            raise InvalidParameterError("secret", message) from None
    await request.write(bots.set_webhook_secret, UserId(params.bot_id), secret)
    return Empty()


async def remove(request: Request, params: BotParams) -> Empty:
    await request.write(bots.set_webhook_secret, UserId(params.bot_id), None)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.USER,
        BotParams,
        get,
        WebhookSecret,
        summary="Say whether an incoming webhook has a secret",
        description="For the bot's owner and administrators. The secret itself is never shown.",
    ),
    Endpoint(
        "PUT",
        PATH,
        Access.USER,
        SecretParams,
        put,
        summary="Set the secret of an incoming webhook",
        description=(
            "For the bot's owner and administrators. From then on deliveries to the bot are"
            " accepted only if their service has signed them with the secret, and the bot's key"
            " sends no messages by itself."
        ),
    ),
    Endpoint(
        "DELETE",
        PATH,
        Access.USER,
        BotParams,
        remove,
        summary="Remove the secret of an incoming webhook",
        description=(
            "For the bot's owner and administrators. Deliveries are accepted unsigned again."
        ),
    ),
)
