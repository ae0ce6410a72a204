"""Endpoints of push notifications to browsers."""

from typing import Annotated, Final, Self

import msgspec

from server.actions import web_push as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.errors import InvalidParameterError
from server.domain.push_errors import (
    NoActivePushDeviceError,
)
from server.egress import EgressRefusedError
from server.push.refusals import refusal_of
from server.push.service import PushError, UnknownDeviceError
from server.push.web_encryption import auth_secret_of, public_key_of
from storage import push_devices
from storage.ids import PushDeviceId
from storage.push_devices import BrowserDevice

MAX_USER_AGENT_LENGTH: Final = 200


class SubscribeParams(Params):
    endpoint: Annotated[str, Field(max_length=2_048)]
    """URL of the subscription at the browser's push service."""
    p256dh: str
    """Public key of the subscription, in base64 of URLs."""
    auth: str
    """Authentication secret of the subscription, in base64 of URLs."""
    user_agent: Annotated[str, Field(max_length=MAX_USER_AGENT_LENGTH)] | None = None
    """Name of the browser in the list. Default: what the request's header says."""
    wants_removals: bool = True
    """Whether to push that messages were read elsewhere. Browsers that end the subscriptions of
    pages which do not show every push say no."""


class SubscriptionParams(Params):
    subscription_id: PushDeviceId
    """Id of the subscription."""


class TestParams(Params):
    subscription_id: PushDeviceId | None = None
    """Id of the subscription. Without it: all of the caller's."""


class KeyResult(Result):
    web_push_public_key: str


class ShownSubscription(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription, without its secrets."""

    id: PushDeviceId
    endpoint: str
    user_agent: str
    wants_removals: bool
    date_created: int
    """In seconds since 1970."""

    @classmethod
    def of(cls, device: BrowserDevice) -> Self:
        return cls(
            id=device.device_id,
            endpoint=device.endpoint,
            user_agent=device.user_agent,
            wants_removals=device.wants_removals,
            date_created=int(device.created_at.timestamp()),
        )


class Subscriptions(Result):
    web_push_subscriptions: list[ShownSubscription]


class CreatedSubscription(Result):
    subscription_id: PushDeviceId


async def get_key(request: Request, params: NoParams) -> KeyResult:
    del params
    return KeyResult(web_push_public_key=request.app.browsers.public_key)


async def get_all(request: Request, params: NoParams) -> Subscriptions:
    del params
    async with request.read() as connection:
        rows = await push_devices.of_user(connection, request.actor.realm_id, request.actor.user_id)
    found = [row.browser for row in rows if row.browser is not None]
    return Subscriptions(web_push_subscriptions=[ShownSubscription.of(each) for each in found])


async def subscribe(request: Request, params: SubscribeParams) -> CreatedSubscription:
    request.refuse_bots()
    try:
        endpoint = request.app.browsers.checked(params.endpoint)
    except EgressRefusedError as error:
        raise InvalidParameterError("endpoint", error.message) from error
    public_key, auth_secret = public_key_of(params.p256dh), auth_secret_of(params.auth)
    if public_key is None:
        raise InvalidParameterError("p256dh", "p256dh is not a public key of the curve P-256")
    if auth_secret is None:
        raise InvalidParameterError("auth", "auth is not a secret of 16 bytes")
    user_agent = params.user_agent
    if user_agent is None:
        user_agent = request.headers.get("User-Agent", "")[:MAX_USER_AGENT_LENGTH]
    subscription_id = await request.write(
        actions.subscribe_browser,
        endpoint,
        public_key=public_key,
        auth_secret=auth_secret,
        user_agent=user_agent.replace("\0", ""),
        wants_removals=params.wants_removals,
        session=None if request.session is None else request.session.digest,
        now=request.app.clock.now(),
    )
    return CreatedSubscription(subscription_id=subscription_id)


async def unsubscribe(request: Request, params: SubscriptionParams) -> Empty:
    request.refuse_bots()
    await request.write(actions.unsubscribe_browser, params.subscription_id)
    return Empty()


async def test(request: Request, params: TestParams) -> Empty:
    request.refuse_bots()
    async with request.read() as connection:
        rows = await push_devices.of_user(connection, request.actor.realm_id, request.actor.user_id)
    browsers = [
        row
        for row in rows
        if row.browser is not None and params.subscription_id in (None, row.device_id)
    ]
    if not browsers:
        raise NoActivePushDeviceError
    courier, realm = request.app.courier(request.realm_services), await request.realm_cache.realm()
    try:
        await courier.test_browsers(realm, request.actor.row, browsers)
    except UnknownDeviceError as error:
        raise NoActivePushDeviceError from error
    except PushError as error:
        raise refusal_of(error) from error
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/web_push/key",
        Access.USER,
        NoParams,
        get_key,
        KeyResult,
        summary="Get the key with which browsers subscribe",
        description=(
            "The `applicationServerKey` of this server, in base64 of URLs; also in the response of"
            " `POST /register`."
        ),
    ),
    Endpoint(
        "GET",
        "/web_push/subscriptions",
        Access.USER,
        NoParams,
        get_all,
        Subscriptions,
        summary="List your browsers with push notifications",
    ),
    # A browser gets notifications for as long as it is subscribed: longer than a key may be valid.
    Endpoint(
        "POST",
        "/web_push/subscriptions",
        Access.USER,
        SubscribeParams,
        subscribe,
        CreatedSubscription,
        scope=Scope.ACCOUNT,
        summary="Subscribe a browser to push notifications",
        description=(
            "Repeating it changes nothing but what differs. The subscription ends with the session"
            " of the browser."
        ),
    ),
    Endpoint(
        "DELETE",
        "/web_push/subscriptions/{subscription_id}",
        Access.USER,
        SubscriptionParams,
        unsubscribe,
        summary="Unsubscribe a browser",
    ),
    Endpoint(
        "POST",
        "/web_push/test_notification",
        Access.USER,
        TestParams,
        test,
        summary="Send a test notification to browsers",
        description="To one of the caller's browsers, or to all of them.",
    ),
)
