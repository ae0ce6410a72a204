"""Deliver to the services of device makers with own keys, without a bouncer."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from server.actions.push_status import PushStatus
from server.push.apns import Apns
from server.push.fcm import Fcm
from server.push.outcomes import outcome_of
from server.push.service import (
    DeliveryOutcome,
    PlainNotification,
    PushError,
    PushRecipient,
)
from storage.push_devices import Kind, PlainDevice


class Direct:
    """A PushService for the services with configured keys."""

    wants_registration: Final = False
    sealed: Final = None
    """None: registrations encrypted for a bouncer cannot be read here."""

    def __init__(self, fcm: Fcm | None, apns: Apns | None) -> None:
        self._fcm = fcm
        self._apns = apns
        found: dict[Kind, Fcm | Apns | None] = {"fcm": fcm, "apns": apns}
        self.kinds = frozenset(kind for kind, service in found.items() if service is not None)

    async def register(self, recipient: PushRecipient, device: PlainDevice) -> None:
        """See PushService: there is no registration."""

    async def unregister(self, recipient: PushRecipient, kind: str, token: str) -> None:
        """See PushService: there is no registration."""

    async def forget(self, recipient: PushRecipient) -> None:
        """See PushService: there is no registration."""

    async def push(
        self, recipient: PushRecipient, notice: PlainNotification, devices: Sequence[PlainDevice]
    ) -> DeliveryOutcome:
        """See PushService. Devices of a kind without a key are skipped."""
        reached = [device for device in devices if device.kind in self.kinds]
        found = await asyncio.gather(*(self._try(notice, device) for device in reached))
        return outcome_of(recipient.user_id, reached, found)

    async def test(
        self,
        recipient: PushRecipient,
        base: Mapping[str, Any],
        notice: PlainNotification,
        device: PlainDevice,
    ) -> None:
        """See PushService."""
        del recipient, base  # the notice says all
        error = await self._try(notice, device)
        if error is not None:
            raise error

    async def introduce(self, realms: Sequence[Mapping[str, Any]]) -> dict[str, PushStatus]:
        """See PushService: no organization is refused."""
        return {realm["uuid"]: PushStatus(enabled=True) for realm in realms}

    async def check(self) -> None:
        """See PushService."""
        for service in (self._fcm, self._apns):
            if service is not None:
                await service.check()

    async def _try(self, notice: PlainNotification, device: PlainDevice) -> PushError | None:
        try:
            if device.kind == "fcm" and self._fcm is not None:
                await self._fcm.send(device.token, notice.android, is_urgent=notice.is_urgent)
            elif device.kind == "apns" and self._apns is not None:
                await self._apns.send(
                    device.token,
                    device.app_id or "",
                    _for_apple(notice),
                    is_urgent=notice.is_urgent,
                    collapse_key=notice.collapse_key,
                )
        except PushError as error:
            return error
        return None


def _for_apple(notice: PlainNotification) -> dict[str, Any]:
    """Return the payload for Apple: everything outside `aps` is for the app."""
    system = {name: value for name, value in notice.apple.items() if name != "custom"}
    if "alert" not in system:
        system["content-available"] = 1  # the app is woken, to take messages away
    return {"aps": system, **notice.apple.get("custom", {})}
