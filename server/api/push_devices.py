"""Endpoints of push devices, and test notifications."""

import re
from typing import Annotated, Final, TypeVar

from server.actions import client_devices as actions_of_clients
from server.actions import push_devices as actions
from server.actions.client_devices import TOKEN_ID_BYTES, PushKey, TokenRegistration
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Field, Params
from server.domain.api_keys import Scope
from server.domain.errors import BadRequestError, InvalidParameterError, MissingParameterError
from server.domain.push_errors import (
    InvalidPushDeviceTokenError,
    NoActivePushDeviceError,
    PushServiceNotConfiguredError,
)
from server.domain.realm_settings import RealmSettings
from server.i18n import _
from server.push.courier import Courier
from server.push.refusals import refusal_of
from server.push.sealing import decoded, key_of, secret_key_of
from server.push.service import PushError, UnknownDeviceError
from storage import push_devices
from storage.ids import PushDeviceId
from storage.push_devices import DeviceRow, Kind

Given = TypeVar("Given")

MAX_TOKEN_LENGTH: Final = 4_096
MAX_REGISTRATION_LENGTH: Final = 40_000
"""Longer than that of the longest token, escaped as JSON, encrypted and in base64."""
MAX_KEY_ID: Final = 2**32 - 1
_HEX: Final = re.compile(r"([0-9a-fA-F]{2})+")
_APP_ID: Final = re.compile(r"[.a-zA-Z0-9-]{1,255}")


class TokenParams(Params):
    token: str
    """Token that Apple or Google gave the device."""


class AppleTokenParams(TokenParams):
    appid: str
    """Id of the app's bundle."""


class RegisterParams(Params):
    device_id: PushDeviceId | None = None
    """Id of the device, from `POST /register_client_device`. Without it, and with
    `push_account_id`, the registration is of the older form."""
    push_key: Annotated[str | None, Field(max_length=MAX_REGISTRATION_LENGTH)] = None
    """Secret key with which notifications are encrypted: the byte 0x31, and 32 bytes of a key of
    libsodium's `crypto_secretbox_easy`, all in base64."""
    push_key_id: Annotated[int | None, Field(ge=0, le=MAX_KEY_ID)] = None
    """The client's own number for that key, which each notification names."""
    token_kind: Kind | None = None
    """`apns` for Apple, `fcm` for Google."""
    token_id: Annotated[str | None, Field(max_length=MAX_REGISTRATION_LENGTH)] = None
    """The first 8 bytes of the token's SHA-256, in base64."""
    bouncer_public_key: Annotated[str | None, Field(max_length=MAX_REGISTRATION_LENGTH)] = None
    """Public key of the push service with which the registration is encrypted."""
    encrypted_push_registration: Annotated[
        str | None, Field(max_length=MAX_REGISTRATION_LENGTH)
    ] = None
    """The registration, which only the push service can read, in base64."""
    push_account_id: int | None = None
    """Older form: random number with which the device distinguishes its accounts."""
    push_public_key: str | None = None
    """Older form: X25519 key with which notifications are encrypted, in base64."""

    @property
    def is_of_older_form(self) -> bool:
        has_older = self.push_account_id is not None or self.push_public_key is not None
        return self.device_id is None and has_older


class TestParams(Params):
    token: str | None = None
    """Token of the device. Without it: all devices."""


class SealedTestParams(Params):
    device_id: PushDeviceId | None = None
    """Id of the device. Without it: all devices."""
    push_account_id: int | None = None
    """`push_account_id` of a device of the older form."""


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
    if params.is_of_older_form:
        return await _register_account(request, params)
    await request.write(
        actions_of_clients.register_push,
        _given(params.device_id, "device_id"),
        _key(params),
        _token(params),
        now=request.app.clock.now(),
    )
    return Empty()


def _key(params: RegisterParams) -> PushKey | None:
    """Return the key; None unless all its fields are given. Raises BadRequestError."""
    if params.push_key is None or params.push_key_id is None:
        return None
    key = secret_key_of(params.push_key)
    if key is None:
        raise BadRequestError(_("Invalid `push_key`"))
    return PushKey(params.push_key_id, key)


def _token(params: RegisterParams) -> TokenRegistration | None:
    """Return the token; None unless all its fields are given. Raises BadRequestError."""
    kind, text = params.token_kind, params.token_id
    registration, bouncer_key = params.encrypted_push_registration, params.bouncer_public_key
    if kind is None or text is None or registration is None or bouncer_key is None:
        return None
    token_id = decoded(text)
    if token_id is None:
        raise BadRequestError(_("`token_id` is not Base64 encoded"))
    if len(token_id) != TOKEN_ID_BYTES:
        raise BadRequestError(_("Invalid `token_id`"))
    return TokenRegistration(kind, token_id, registration, bouncer_key)


async def _register_account(request: Request, params: RegisterParams) -> Empty:
    """Register a device by the client's number for its account, the older form."""
    public_key = key_of(_given(params.push_public_key, "push_public_key"))
    if public_key is None:
        raise BadRequestError("Invalid `push_public_key`")
    await request.write(
        actions.register_device,
        _given(params.token_kind, "token_kind"),
        _given(params.push_account_id, "push_account_id"),
        public_key,
        registration=_given(params.encrypted_push_registration, "encrypted_push_registration"),
        bouncer_key=_given(params.bouncer_public_key, "bouncer_public_key"),
        now=request.app.clock.now(),
    )
    return Empty()


def _given(value: Given | None, name: str) -> Given:
    if value is None:
        raise MissingParameterError(name)
    return value


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
    if RealmSettings.of(realm.settings).require_e2ee_push_notifications:
        raise BadRequestError(
            _("This organization sends push notifications with end-to-end encryption only.")
        )
    try:
        await courier.test(realm, request.actor.row, rows)
    except PushError as error:
        raise refusal_of(error) from error
    return Empty()


async def test_sealed(request: Request, params: SealedTestParams) -> Empty:
    request.refuse_bots()
    rows = [row for row in await _devices(request) if _is_chosen(row, params)]
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


def _is_chosen(row: DeviceRow, params: SealedTestParams) -> bool:
    """Return whether the device gets encrypted notifications, and is the one of the request."""
    if params.device_id is not None:
        return row.encrypted is not None and row.device_id == params.device_id
    if params.push_account_id is not None:
        return row.sealed is not None and row.account_id == params.push_account_id
    return row.encrypted is not None or row.sealed is not None


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
        description=(
            "Notifications are encrypted on this server, and only the device can read them. An"
            " event reports whether the push service has accepted the token.\n\n"
            "A first registration has a key (`push_key`, `push_key_id`) and a token (`token_kind`,"
            " `token_id`, `bouncer_public_key`, `encrypted_push_registration`); later ones may"
            " replace one of them. While a token is awaiting the push service, another is refused"
            " for ten minutes."
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
        description=("To one device, or to all of the caller's that get encrypted notifications."),
    ),
)
