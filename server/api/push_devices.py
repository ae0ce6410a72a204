"""Endpoints of push devices, and test notifications."""

import re
from typing import Final

from server.actions import push_devices as actions
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Params
from server.domain.api_keys import Scope
from server.domain.errors import (
    BadRequestError,
    InvalidParameterError,
    InvalidPushDeviceTokenError,
    NoActivePushDeviceError,
    PushServiceNotConfiguredError,
)
from server.push.courier import Courier
from server.push.refusals import refusal_of
from server.push.sealing import key_of
from server.push.service import PushError, UnknownDeviceError
from storage import push_devices
from storage.push_devices import DeviceRow, Kind

MAX_TOKEN_LENGTH: Final = 4_096
_HEX: Final = re.compile(r"([0-9a-fA-F]{2})+")
_APP_ID: Final = re.compile(r"[.a-zA-Z0-9-]{1,255}")


class TokenParams(Params):
    token: str
    """Token that Apple or Google gave the device."""


class AppleTokenParams(TokenParams):
    appid: str
    """Id of the app's bundle."""


class RegisterParams(Params):
    token_kind: Kind
    """`apns` for Apple, `fcm` for Google."""
    push_account_id: int
    """Random number with which the device distinguishes its accounts."""
    push_public_key: str
    """Key with which notifications are encrypted: its kind in the first byte, all in base64."""
    bouncer_public_key: str
    """Public key of the push service with which the registration is encrypted."""
    encrypted_push_registration: str
    """The registration, which only the push service can read, in base64."""


class TestParams(Params):
    token: str | None = None
    """Token of the device. Without it: all devices."""


class SealedTestParams(Params):
    push_account_id: int | None = None
    """`push_account_id` of the device. Without it: all devices."""


async def add_apple(request: Request, params: AppleTokenParams) -> Empty:
    if not _APP_ID.fullmatch(params.appid):
        raise InvalidParameterError("appid", "appid is not the id of an app")
    return await _add(request, "apns", params.token, params.appid)


async def add_android(request: Request, params: TokenParams) -> Empty:
    return await _add(request, "fcm", params.token, None)


async def remove_apple(request: Request, params: TokenParams) -> Empty:
    return await _remove(request, "apns", params.token)


async def remove_android(request: Request, params: TokenParams) -> Empty:
    return await _remove(request, "fcm", params.token)


async def _add(request: Request, kind: Kind, token: str, app_id: str | None) -> Empty:
    request.refuse_bots()
    now = request.app.clock.now()
    await request.write(actions.add_token, kind, _checked(kind, token), app_id, now=now)
    return Empty()


async def _remove(request: Request, kind: Kind, token: str) -> Empty:
    request.refuse_bots()
    await request.write(actions.remove_token, kind, _checked(kind, token))
    return Empty()


async def register(request: Request, params: RegisterParams) -> Empty:
    request.refuse_bots()
    if request.app.pushes is None or request.app.pushes.sealed is None:
        raise PushServiceNotConfiguredError
    public_key = key_of(params.push_public_key)
    if public_key is None:
        raise BadRequestError("Invalid `push_public_key`")
    await request.write(
        actions.register_device,
        params.token_kind,
        params.push_account_id,
        public_key,
        registration=params.encrypted_push_registration,
        bouncer_key=params.bouncer_public_key,
        now=request.app.clock.now(),
    )
    return Empty()


async def test(request: Request, params: TestParams) -> Empty:
    request.refuse_bots()
    rows = [row for row in await _devices(request) if row.token is not None]
    if params.token is not None:
        rows = [row for row in rows if row.token in (params.token, params.token.lower())]
        if not rows:
            raise InvalidPushDeviceTokenError
    courier, realm = _courier(request), await request.realm_cache.realm()
    if params.token is not None and rows[0].kind not in courier.service.kinds:
        raise PushServiceNotConfiguredError
    try:
        await courier.test(realm, request.actor.row, rows)
    except PushError as error:
        raise refusal_of(error) from error
    return Empty()


async def test_sealed(request: Request, params: SealedTestParams) -> Empty:
    request.refuse_bots()
    account_id = params.push_account_id
    rows = [
        row
        for row in await _devices(request)
        if row.sealed is not None and account_id in (None, row.account_id)
    ]
    if not rows:
        raise NoActivePushDeviceError
    courier, realm = _courier(request), await request.realm_cache.realm()
    if courier.service.sealed is None:
        raise PushServiceNotConfiguredError
    try:
        await courier.test_sealed(realm, request.actor.row, rows)
    except UnknownDeviceError as error:
        raise NoActivePushDeviceError from error
    except PushError as error:
        raise refusal_of(error) from error
    return Empty()


async def _devices(request: Request) -> list[DeviceRow]:
    async with request.read() as connection:
        return await push_devices.of_user(connection, request.actor.realm_id, request.actor.user_id)


def _courier(request: Request) -> Courier:
    if request.app.pushes is None:
        raise PushServiceNotConfiguredError
    return request.app.courier(request.realm_services)


def _checked(kind: Kind, token: str) -> str:
    """Return the normalized token. Raises BadRequestError."""
    if not 0 < len(token) <= MAX_TOKEN_LENGTH:
        raise BadRequestError("Empty or invalid length token")
    if kind == "fcm":
        return token
    if not _HEX.fullmatch(token):
        raise BadRequestError("Invalid APNS token")
    return token.lower()


ENDPOINTS = (
    # A device gets notifications for as long as it is registered: longer than a key may be valid.
    Endpoint(
        "POST",
        "/users/me/apns_device_token",
        Access.USER,
        AppleTokenParams,
        add_apple,
        scope=Scope.ACCOUNT,
        summary="Register an Apple device for push notifications",
    ),
    Endpoint(
        "DELETE",
        "/users/me/apns_device_token",
        Access.USER,
        TokenParams,
        remove_apple,
        summary="Unregister an Apple device",
    ),
    Endpoint(
        "POST",
        "/users/me/android_gcm_reg_id",
        Access.USER,
        TokenParams,
        add_android,
        scope=Scope.ACCOUNT,
        summary="Register an Android device for push notifications",
    ),
    Endpoint(
        "DELETE",
        "/users/me/android_gcm_reg_id",
        Access.USER,
        TokenParams,
        remove_android,
        summary="Unregister an Android device",
    ),
    Endpoint(
        "POST",
        "/mobile_push/register",
        Access.USER,
        RegisterParams,
        register,
        scope=Scope.ACCOUNT,
        summary="Register a device for encrypted push notifications",
        refuses=("device_id",),  # level 468: which device
        description=(
            "Notifications are encrypted on this server, and only the device can read them. An"
            " event reports whether the push service has accepted the device."
        ),
    ),
    Endpoint(
        "POST",
        "/mobile_push/test_notification",
        Access.USER,
        TestParams,
        test,
        summary="Send a test notification",
        description="To one device, or to all of the caller's.",
    ),
    Endpoint(
        "POST",
        "/mobile_push/e2ee/test_notification",
        Access.USER,
        SealedTestParams,
        test_sealed,
        summary="Send an encrypted test notification",
        refuses=("device_id",),  # level 468: which device
        description=(
            "To one device, or to all of the caller's that are registered for encrypted"
            " notifications."
        ),
    ),
)
