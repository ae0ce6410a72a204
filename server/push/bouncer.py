"""A client of a push bouncer: the service of an app's makers with the keys for its devices."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeVar

import httpx
import msgspec

from server.actions.push_status import PushStatus
from server.events.client_devices import token_text
from server.push.service import (
    DeliveryOutcome,
    DisallowedError,
    EncryptedNotice,
    NeedsOperatorError,
    PlainNotification,
    PushError,
    PushRecipient,
    PushRefusedError,
    SealedNotice,
    ServiceFaultError,
    UnknownDeviceError,
    UnknownRealmError,
)
from server.push.web import asked, retry_after
from server.runtime.untrusted_json import decode_untrusted
from server.runtime.version import FEATURE_LEVEL, MERGE_BASE, VERSION
from storage.ids import PushDeviceId
from storage.push_devices import Kind, PlainDevice

Shape = TypeVar("Shape", bound=msgspec.Struct)

PREFIX: Final = "/api/v1/remotes/"
KIND_NUMBERS: Final = {"apns": 1, "fcm": 2}
_GENERIC: Final = "BAD_REQUEST"

_ERRORS: Final[Mapping[str, type[PushError]]] = {
    "INVALID_ZULIP_SERVER": NeedsOperatorError,
    "REMOTE_SERVER_DEACTIVATED": NeedsOperatorError,
    "REMOTE_REALM_SERVER_MISMATCH_ERROR": NeedsOperatorError,
    "MISSING_REMOTE_REALM": UnknownRealmError,
    "PUSH_NOTIFICATIONS_DISALLOWED": DisallowedError,
    "INVALID_REMOTE_PUSH_DEVICE_TOKEN": UnknownDeviceError,
}
"""Errors by the bouncer's code; every other code is a refusal."""


class _Answer(msgspec.Struct, frozen=True):
    code: str = ""
    msg: str = ""


class _Deleted(msgspec.Struct, frozen=True):
    android_devices: tuple[str, ...] = ()
    apple_devices: tuple[str, ...] = ()


class _Status(msgspec.Struct, frozen=True):
    can_push: bool
    expected_end_timestamp: int | None

    @property
    def shown(self) -> PushStatus:
        return PushStatus(self.can_push, self.expected_end_timestamp)


class _Notified(msgspec.Struct, frozen=True):
    total_android_devices: int
    total_apple_devices: int
    deleted_devices: _Deleted = _Deleted()
    realm: _Status | None = None


class _Registered(msgspec.Struct, frozen=True):
    device_id: int


class _SealedNotified(msgspec.Struct, frozen=True):
    android_successfully_sent_count: int
    apple_successfully_sent_count: int
    delete_device_ids: tuple[int, ...] = ()
    """Of devices by their numbers at the bouncer."""
    delete_token_ids: tuple[str, ...] = ()
    """Of client devices."""
    realm_push_status: _Status | None = None

    def outcome(
        self,
        kinds: Iterable[str],
        *,
        gone: Iterable[PushDeviceId] = (),
        dead_tokens: Mapping[PushDeviceId, bytes] | None = None,
    ) -> DeliveryOutcome:
        """Return the outcome, with these kinds of the devices that are not reached any more."""
        counts: Counter[tuple[str, str]] = Counter((kind, "gone") for kind in kinds)
        counts["fcm", "sent"] = self.android_successfully_sent_count
        counts["apns", "sent"] = self.apple_successfully_sent_count
        status = self.realm_push_status
        return DeliveryOutcome(
            gone=frozenset(gone),
            dead_tokens=dead_tokens or {},
            counts=+counts,
            status=None if status is None else status.shown,
        )


class _Enrolled(msgspec.Struct, frozen=True):
    created: bool = False


class _Realms(msgspec.Struct, frozen=True):
    realms: dict[str, _Status] = {}


class Bouncer:
    """A PushService and SealedPushes over HTTP; requests carry the server's id and key.

    `http` has the bouncer's address and the timeouts.
    """

    kinds = frozenset(KIND_NUMBERS)
    wants_registration = True

    def __init__(self, http: httpx.AsyncClient, server_id: str, server_key: str) -> None:
        self._http = http
        self._server_id = server_id
        self._auth = httpx.BasicAuth(server_id, server_key)

    @property
    def sealed(self) -> "Bouncer":
        return self

    # -- in the clear

    async def register(self, recipient: PushRecipient, device: PlainDevice) -> None:
        """See PushService."""
        form = self._device(recipient, device.kind, device.token)
        if device.app_id is not None:
            form["ios_app_id"] = device.app_id
        await self._post_form("push/register", form)

    async def unregister(self, recipient: PushRecipient, kind: str, token: str) -> None:
        """See PushService."""
        try:
            await self._post_form("push/unregister", self._device(recipient, kind, token))
        except PushRefusedError as error:
            if error.code != _GENERIC:
                raise  # else it does not know the token: then there is nothing to forget

    async def forget(self, recipient: PushRecipient) -> None:
        """See PushService."""
        await self._post_form("push/unregister/all", self._person(recipient))

    async def push(
        self, recipient: PushRecipient, notice: PlainNotification, devices: Sequence[PlainDevice]
    ) -> DeliveryOutcome:
        """See PushService. Delivers to all registered devices of the user."""
        tokens = {
            kind: [device.token for device in devices if device.kind == kind]
            for kind in KIND_NUMBERS
        }
        body = {
            **_numbered(recipient),
            "apns_payload": notice.apple if tokens["apns"] else {},
            "gcm_payload": notice.android if tokens["fcm"] else {},
            "gcm_options": {"priority": "high" if notice.is_urgent else "normal"},
            "android_devices": tokens["fcm"],
            "apple_devices": tokens["apns"],
        }
        answer = _read(await self._post_json("push/notify", body), _Notified)
        deleted = {
            "fcm": set(answer.deleted_devices.android_devices),
            "apns": {token.lower() for token in answer.deleted_devices.apple_devices},
        }
        gone = [device for device in devices if device.token in deleted[device.kind]]
        counts: Counter[tuple[str, str]] = Counter(
            (device.kind, "gone" if device in gone else "sent") for device in devices
        )
        return DeliveryOutcome(
            gone=frozenset(device.device_id for device in gone),
            counts=counts,
            status=None if answer.realm is None else answer.realm.shown,
        )

    async def test(
        self,
        recipient: PushRecipient,
        base: Mapping[str, Any],
        notice: PlainNotification,
        device: PlainDevice,
    ) -> None:
        """See PushService."""
        del notice  # it makes its own
        kind = KIND_NUMBERS[device.kind]
        body = {
            **_numbered(recipient),
            "token": device.token,
            "token_kind": kind,
            "base_payload": base,
        }
        await self._post_json("push/test_notification", body)

    # -- encrypted

    async def register_sealed(
        self, realm_uuid: str, account_id: int, *, encrypted: str, public_key: str
    ) -> int:
        """See SealedPushes."""
        form = {
            "realm_uuid": realm_uuid,
            "push_account_id": str(account_id),
            "encrypted_push_registration": encrypted,
            "bouncer_public_key": public_key,
        }
        return _read(await self._post_form("push/e2ee/register", form), _Registered).device_id

    async def push_sealed(
        self, realm_uuid: str, notices: Sequence[SealedNotice], *, is_removal: bool
    ) -> DeliveryOutcome:
        """See SealedPushes."""
        requests = [_sealed_request(notice, is_removal=is_removal) for notice in notices]
        answer = await self._notify(realm_uuid, requests)
        deleted = set(answer.delete_device_ids)
        gone = [each.device for each in notices if each.device.bouncer_id in deleted]
        return answer.outcome(
            [device.kind for device in gone], gone=[device.device_id for device in gone]
        )

    async def register_token(
        self, realm_uuid: str, token_id: str, *, encrypted: str, public_key: str
    ) -> None:
        """See SealedPushes."""
        form = {
            "realm_uuid": realm_uuid,
            "token_id": token_id,
            "encrypted_push_registration": encrypted,
            "bouncer_public_key": public_key,
        }
        _read(await self._post_form("push/e2ee/register", form), _Answer)

    async def push_encrypted(
        self, realm_uuid: str, notices: Sequence[EncryptedNotice], *, is_removal: bool
    ) -> DeliveryOutcome:
        """See SealedPushes."""
        requests = [_encrypted_request(notice, is_removal=is_removal) for notice in notices]
        answer = await self._notify(realm_uuid, requests)
        deleted = set(answer.delete_token_ids)
        dead = [each.device for each in notices if token_text(each.device.token_id) in deleted]
        return answer.outcome(
            [device.kind for device in dead],
            dead_tokens={device.device_id: device.token_id for device in dead},
        )

    async def _notify(self, realm_uuid: str, requests: Sequence[Any]) -> _SealedNotified:
        body = {"realm_uuid": realm_uuid, "push_requests": requests}
        return _read(await self._post_json("push/e2ee/notify", body), _SealedNotified)

    # -- the server and its organizations

    async def enroll(
        self, *, hostname: str, contact_email: str, server_key: str, new_key: str | None = None
    ) -> bool:
        """Register the server, or changes of it; return whether it is new. Raises a PushError."""
        form = {
            "zulip_org_id": self._server_id,
            "zulip_org_key": server_key,
            "hostname": hostname,
            "contact_email": contact_email,
        }
        if new_key is not None:
            form["new_org_key"] = new_key
        content = await self._ask("POST", "server/register", data=form, auth=None)
        return _read(content, _Enrolled).created

    async def withdraw(self) -> None:
        """Remove the server from the bouncer. Raises a PushError."""
        await self._post_form("server/deactivate", {})

    async def check(self) -> None:
        """See PushService."""
        await self._ask("GET", "server/analytics/status")

    async def introduce(self, realms: Sequence[Mapping[str, Any]]) -> dict[str, PushStatus]:
        """See PushService."""
        form = {
            "realms": _json(realms),
            "realm_counts": "[]",
            "installation_counts": "[]",
            "realmauditlog_rows": "[]",
            "version": _json(VERSION),
            "merge_base": _json(MERGE_BASE),
            "api_feature_level": _json(FEATURE_LEVEL),
        }
        answer = _read(await self._post_form("server/analytics", form), _Realms)
        return {uuid: status.shown for uuid, status in answer.realms.items()}

    # -- asking

    def _person(self, recipient: PushRecipient) -> dict[str, str]:
        return {
            "server_uuid": self._server_id,
            "realm_uuid": recipient.realm_uuid,
            "user_uuid": recipient.user_uuid,
            "user_id": str(recipient.user_id),
        }

    def _device(self, recipient: PushRecipient, kind: str, token: str) -> dict[str, str]:
        number = str(KIND_NUMBERS[kind])
        return {**self._person(recipient), "token": token, "token_kind": number}

    async def _post_form(self, path: str, form: Mapping[str, str]) -> bytes:
        return await self._ask("POST", path, data=dict(form))

    async def _post_json(self, path: str, body: Mapping[str, Any]) -> bytes:
        headers = {"Content-Type": "application/json"}
        return await self._ask("POST", path, content=msgspec.json.encode(body), headers=headers)

    async def _ask(self, method: str, path: str, **request: Any) -> bytes:
        response = await asked(self._http, method, PREFIX + path, **{"auth": self._auth, **request})
        if not response.is_success:
            raise _refusal(response)
        return response.content


def _numbered(recipient: PushRecipient) -> dict[str, Any]:
    return {
        "realm_uuid": recipient.realm_uuid,
        "user_uuid": recipient.user_uuid,
        "user_id": recipient.user_id,
    }


def _sealed_request(notice: SealedNotice, *, is_removal: bool) -> dict[str, Any]:
    device = notice.device
    payload = {"push_account_id": device.account_id, "encrypted_data": notice.encrypted}
    parts = _request_parts(device.kind, payload, is_removal=is_removal)
    return {"device_id": device.bouncer_id, **parts}


def _encrypted_request(notice: EncryptedNotice, *, is_removal: bool) -> dict[str, Any]:
    device = notice.device
    payload = {"push_key_id": device.key_id, "encrypted_data": notice.encrypted}
    parts = _request_parts(device.kind, payload, is_removal=is_removal)
    return {"token_id": token_text(device.token_id), **parts}


def _request_parts(kind: Kind, payload: Mapping[str, Any], *, is_removal: bool) -> dict[str, Any]:
    """Return a request without its device. A removal wakes an iPhone, and is no alert there."""
    if kind == "fcm":
        return {"fcm_priority": "normal" if is_removal else "high", "payload": payload}
    headers = {
        "apns_priority": 5 if is_removal else 10,
        "apns_push_type": "background" if is_removal else "alert",
    }
    alert = {"mutable-content": 1, "alert": {"title": "New notification"}}
    aps = {"content-available": 1} if is_removal else alert
    return {"http_headers": headers, "payload": {**payload, "aps": aps}}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _read(content: bytes, kind: type[Shape]) -> Shape:
    try:
        return decode_untrusted(content, kind)
    except msgspec.DecodeError as error:
        raise ServiceFaultError(f"the bouncer's answer cannot be read: {error}") from error


def _refusal(response: httpx.Response) -> PushError:
    """Return the error for the status and code of a response."""
    status = response.status_code
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        reason = f"the bouncer answers {status}"
        return ServiceFaultError(reason, after_seconds=retry_after(response))
    try:
        answer = decode_untrusted(response.content, _Answer)
    except msgspec.DecodeError:
        return NeedsOperatorError(f"what is to be a bouncer answers {status}")
    reason = f"{answer.code or status}: {answer.msg}"[:500]
    if answer.code in _ERRORS:
        return _ERRORS[answer.code](reason)
    if status == HTTPStatus.UNAUTHORIZED:
        return NeedsOperatorError(reason)
    return PushRefusedError(reason, code=answer.code)
