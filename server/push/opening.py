"""Open the push service of the settings."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx

from server.domain.clock import Clock
from server.push import apns, fcm, web
from server.push.apns import Apns
from server.push.bouncer import Bouncer
from server.push.direct import Direct
from server.push.fcm import Fcm
from server.push.service import NeedsOperatorError, PushService
from server.settings import Settings, SettingsError, variable_of


@asynccontextmanager
async def open_push_service(settings: Settings, clock: Clock) -> AsyncIterator[PushService | None]:
    """Return a bouncer if configured, else a service with the own keys; None without either.

    No connection is opened before the first request. Raises SettingsError.
    """
    async with AsyncExitStack() as stack:
        if settings.push_bouncer_url is not None:
            yield await stack.enter_async_context(open_bouncer(settings))
            return
        fcm_service, apns_service = None, None
        if settings.fcm_credentials is not None:
            http = await stack.enter_async_context(web.client(fcm.ADDRESS))
            fcm_service = _fcm(settings, http, clock)
        if settings.apns_key is not None:
            address = apns.SANDBOX_ADDRESS if settings.apns_sandbox else apns.ADDRESS
            http = await stack.enter_async_context(web.client(address, http2=True))
            apns_service = _apns(settings, http, clock)
        yield Direct(fcm_service, apns_service) if fcm_service or apns_service else None


@asynccontextmanager
async def open_bouncer(settings: Settings) -> AsyncIterator[Bouncer | None]:
    """Return the bouncer; None unless it is configured with an id and a key."""
    url, name, key = (
        settings.push_bouncer_url,
        settings.push_server_id,
        settings.push_server_key,
    )
    if url is None or name is None or key is None:
        yield None
        return
    async with web.client(url) as http:
        yield Bouncer(http, name, key)


def _fcm(settings: Settings, http: httpx.AsyncClient, clock: Clock) -> Fcm:
    try:
        account = fcm.account_of(settings.fcm_credentials or "")
    except NeedsOperatorError as error:
        raise SettingsError([f"{variable_of('fcm_credentials')}: {error}."]) from error
    return Fcm(http, account, clock)


def _apns(settings: Settings, http: httpx.AsyncClient, clock: Clock) -> Apns:
    lacking = [
        variable_of(name)
        for name in ("apns_key_id", "apns_team_id")
        if getattr(settings, name) is None
    ]
    if lacking:
        raise SettingsError([f"{variable_of('apns_key')} needs {' and '.join(lacking)} too."])
    try:
        key = apns.key_of(settings.apns_key or "")
    except NeedsOperatorError as error:
        raise SettingsError([f"{variable_of('apns_key')}: {error}."]) from error
    return Apns(
        http,
        key,
        key_id=settings.apns_key_id or "",
        team_id=settings.apns_team_id or "",
        clock=clock,
    )
