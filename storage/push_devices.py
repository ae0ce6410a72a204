"""Push devices: phones that get notifications, and how they are reached."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, LiteralString

from storage.database import Connection
from storage.ids import PushDeviceId, RealmId, UserId

Kind = Literal["apns", "fcm"]
Status = Literal["active", "failed", "pending"]


@dataclass(frozen=True, slots=True)
class PlainDevice:
    """A device that gets unencrypted notifications."""

    device_id: PushDeviceId
    kind: Kind
    token: str
    app_id: str | None
    is_registered: bool
    """Whether it is registered with the bouncer."""


@dataclass(frozen=True, slots=True)
class SealedDevice:
    """A device that gets encrypted notifications, registered with the bouncer."""

    device_id: PushDeviceId
    kind: Kind
    account_id: int
    public_key: bytes
    bouncer_id: int


@dataclass(frozen=True, slots=True)
class DeviceRow:
    device_id: PushDeviceId
    kind: Kind
    token: str | None
    app_id: str | None
    account_id: int | None
    public_key: bytes | None
    bouncer_id: int | None
    error_code: str | None
    created_at: datetime

    @property
    def status(self) -> Status:
        if self.error_code is not None:
            return "failed"
        return "pending" if self.bouncer_id is None else "active"

    @property
    def plain(self) -> PlainDevice | None:
        """The plain device, if it has a token."""
        if self.token is None:
            return None
        is_registered = self.bouncer_id is not None
        return PlainDevice(self.device_id, self.kind, self.token, self.app_id, is_registered)

    @property
    def sealed(self) -> SealedDevice | None:
        """The sealed device, if it can get encrypted notifications."""
        if self.account_id is None or self.public_key is None or self.bouncer_id is None:
            return None
        return SealedDevice(
            self.device_id, self.kind, self.account_id, self.public_key, self.bouncer_id
        )


_SELECT: LiteralString = """
    SELECT device_id, kind, token, app_id, account_id, public_key, bouncer_id, error_code,
           created_at
      FROM push_devices
     WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s """


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[DeviceRow]:
    """Return all devices of the user, oldest first."""
    return await connection.many(
        DeviceRow, _SELECT + "ORDER BY device_id", realm_id=realm_id, user_id=user_id
    )


async def by_id(
    connection: Connection, realm_id: RealmId, user_id: UserId, device_id: PushDeviceId
) -> DeviceRow | None:
    return await connection.one(
        DeviceRow,
        _SELECT + "AND device_id = %(device_id)s",
        realm_id=realm_id,
        user_id=user_id,
        device_id=device_id,
    )


async def with_token(
    connection: Connection, realm_id: RealmId, user_id: UserId, kind: Kind, token: str
) -> DeviceRow | None:
    return await connection.one(
        DeviceRow,
        _SELECT + "AND kind = %(kind)s AND md5(token) = md5(%(token)s) AND token = %(token)s",
        realm_id=realm_id,
        user_id=user_id,
        kind=kind,
        token=token,
    )


async def insert_plain(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    kind: Kind,
    token: str,
    app_id: str | None,
    now: datetime,
) -> PushDeviceId | None:
    """Insert a device; return None if it exists. The caller has locked the user's row."""
    found: PushDeviceId | None = await connection.value(
        """
        INSERT INTO push_devices (realm_id, user_id, kind, token, app_id, created_at)
        VALUES (%(realm_id)s, %(user_id)s, %(kind)s, %(token)s, %(app_id)s, %(now)s)
        ON CONFLICT (realm_id, user_id, kind, md5(token)) WHERE token IS NOT NULL DO NOTHING
        RETURNING device_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        kind=kind,
        token=token,
        app_id=app_id,
        now=now,
    )
    return found


async def put_sealed(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    kind: Kind,
    account_id: int,
    public_key: bytes,
    now: datetime,
) -> PushDeviceId:
    """Insert a device with pending registration; replace one that is still pending.

    It has a new id, so that late responses for the previous one are ignored.
    """
    new: PushDeviceId = await connection.value(
        """
        INSERT INTO push_devices (realm_id, user_id, kind, account_id, public_key, created_at)
        VALUES (%(realm_id)s, %(user_id)s, %(kind)s, %(account_id)s, %(public_key)s, %(now)s)
        ON CONFLICT (realm_id, user_id, account_id) WHERE account_id IS NOT NULL DO UPDATE
           SET device_id = excluded.device_id, kind = excluded.kind,
               public_key = excluded.public_key, bouncer_id = NULL, error_code = NULL,
               created_at = excluded.created_at
        RETURNING device_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        kind=kind,
        account_id=account_id,
        public_key=public_key,
        now=now,
    )
    return new


async def pending_since(
    connection: Connection, realm_id: RealmId, before: datetime
) -> list[tuple[UserId, PushDeviceId]]:
    """Return devices with a registration pending since before that time."""
    return await connection.tuples(
        """
        SELECT user_id, device_id FROM push_devices
         WHERE realm_id = %(realm_id)s AND account_id IS NOT NULL AND bouncer_id IS NULL
           AND error_code IS NULL AND created_at < %(before)s
         ORDER BY user_id, device_id
        """,
        realm_id=realm_id,
        before=before,
    )


async def settle(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    device_id: PushDeviceId,
    *,
    bouncer_id: int | None,
    error_code: str | None = None,
) -> None:
    """Record the bouncer's response about the device."""
    await connection.execute(
        """
        UPDATE push_devices SET bouncer_id = %(bouncer_id)s, error_code = %(error_code)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND device_id = %(device_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        device_id=device_id,
        bouncer_id=bouncer_id,
        error_code=error_code,
    )


async def delete(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    device_ids: Iterable[PushDeviceId],
) -> None:
    await connection.execute(
        """
        DELETE FROM push_devices
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND device_id = ANY (%(device_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        device_ids=list(device_ids),
    )


async def delete_of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[UserId]:
    """Delete all of their devices; return the owner of each."""
    return await connection.values(
        """
        DELETE FROM push_devices
         WHERE realm_id = %(realm_id)s AND user_id = ANY (%(user_ids)s::bigint[])
        RETURNING user_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
