"""Push devices: phones and browsers that get notifications, and how they are reached."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, LiteralString

from storage.database import Connection
from storage.ids import PushDeviceId, RealmId, UserId

Kind = Literal["apns", "fcm"]
"""The push service that reaches a phone."""
WEB: Final = "web"
"""The kind of all browsers."""
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
class ClientDevice:
    """A device that its client registered, with the state of its push registration."""

    device_id: PushDeviceId
    kind: Kind | None
    push_key_id: int | None
    push_key: bytes | None
    push_token_id: bytes | None
    """The token that the bouncer has taken, by its hash."""
    pending_push_token_id: bytes | None
    """The token that the bouncer is asked to take, or has refused."""
    push_token_changed_at: datetime | None
    """When the client last gave the token."""
    error_code: str | None
    """Why the pending token was refused."""

    @property
    def is_in_use(self) -> bool:
        """Whether it gets notifications, or is about to."""
        is_pending = self.pending_push_token_id is not None and self.error_code is None
        return is_pending or self.push_token_id is not None


@dataclass(frozen=True, slots=True)
class EncryptedDevice:
    """A client device that gets notifications, which are encrypted with its key."""

    device_id: PushDeviceId
    kind: Kind
    key_id: int
    key: bytes
    token_id: bytes


@dataclass(frozen=True, slots=True)
class BrowserDevice:
    """A browser with a subscription at its push service."""

    device_id: PushDeviceId
    endpoint: str
    public_key: bytes
    auth_secret: bytes
    user_agent: str
    wants_removals: bool
    """Whether it may be sent what it does not show."""
    created_at: datetime

    @property
    def kind(self) -> Literal["web"]:
        return WEB


@dataclass(frozen=True, slots=True)
class DeviceRow:
    device_id: PushDeviceId
    kind: Kind | Literal["web"] | None
    """None for a client device without a token."""
    token: str | None
    app_id: str | None
    account_id: int | None
    public_key: bytes | None
    bouncer_id: int | None
    error_code: str | None
    endpoint: str | None
    auth_secret: bytes | None
    user_agent: str | None
    wants_removals: bool
    created_at: datetime
    is_client_device: bool
    push_key_id: int | None
    push_key: bytes | None
    push_token_id: bytes | None
    pending_push_token_id: bytes | None
    push_token_changed_at: datetime | None

    @property
    def status(self) -> Status:
        if self.error_code is not None:
            return "failed"
        return "pending" if self.bouncer_id is None else "active"

    @property
    def plain(self) -> PlainDevice | None:
        """The plain device, if it has a token."""
        if self.token is None or self.kind is None or self.kind == WEB:
            return None
        is_registered = self.bouncer_id is not None
        return PlainDevice(self.device_id, self.kind, self.token, self.app_id, is_registered)

    @property
    def sealed(self) -> SealedDevice | None:
        """The sealed device, if it can get encrypted notifications."""
        if self.account_id is None or self.public_key is None or self.bouncer_id is None:
            return None
        if self.kind is None or self.kind == WEB:
            return None
        return SealedDevice(
            self.device_id, self.kind, self.account_id, self.public_key, self.bouncer_id
        )

    @property
    def client(self) -> ClientDevice | None:
        """The client device, if it is one."""
        if not self.is_client_device or self.kind == WEB:
            return None
        return ClientDevice(
            self.device_id,
            self.kind,
            self.push_key_id,
            self.push_key,
            self.push_token_id,
            self.pending_push_token_id,
            self.push_token_changed_at,
            self.error_code,
        )

    @property
    def encrypted(self) -> EncryptedDevice | None:
        """The client device, if it gets notifications."""
        if self.push_key is None or self.push_key_id is None or self.push_token_id is None:
            return None
        if self.kind is None or self.kind == WEB:
            return None
        return EncryptedDevice(
            self.device_id, self.kind, self.push_key_id, self.push_key, self.push_token_id
        )

    @property
    def browser(self) -> BrowserDevice | None:
        """The browser, if it is one."""
        if self.endpoint is None or self.public_key is None or self.auth_secret is None:
            return None
        return BrowserDevice(
            self.device_id,
            self.endpoint,
            self.public_key,
            self.auth_secret,
            self.user_agent or "",
            self.wants_removals,
            self.created_at,
        )


# A session that has expired is deleted only with the next sign-in.
_SELECT: LiteralString = """
    SELECT d.device_id, d.kind, d.token, d.app_id, d.account_id, d.public_key, d.bouncer_id,
           d.error_code, d.endpoint, d.auth_secret, d.user_agent, d.wants_removals, d.created_at,
           d.is_client_device, d.push_key_id, d.push_key, d.push_token_id,
           d.pending_push_token_id, d.push_token_changed_at
      FROM push_devices d
     WHERE d.realm_id = %(realm_id)s AND d.user_id = %(user_id)s
       AND (d.session_digest IS NULL
            OR EXISTS (SELECT FROM sessions s
                        WHERE s.realm_id = d.realm_id AND s.token_digest = d.session_digest
                          AND s.ends_at > now())) """


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[DeviceRow]:
    """Return all devices of the user, oldest first, except browsers with an expired session."""
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


async def put_browser(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    endpoint: str,
    public_key: bytes,
    auth_secret: bytes,
    user_agent: str,
    wants_removals: bool,
    session_digest: bytes | None,
    now: datetime,
) -> PushDeviceId:
    """Insert a browser; one with this endpoint is replaced, and keeps its id with its user.

    The caller has locked the user's row, and holds the session.
    """
    device_id: PushDeviceId = await connection.value(
        """
        INSERT INTO push_devices AS d (realm_id, user_id, kind, endpoint, public_key, auth_secret,
                                       user_agent, wants_removals, session_digest, created_at)
        VALUES (%(realm_id)s, %(user_id)s, 'web', %(endpoint)s, %(public_key)s, %(auth_secret)s,
                %(user_agent)s, %(wants_removals)s, %(session_digest)s, %(now)s)
        ON CONFLICT (realm_id, endpoint) WHERE endpoint IS NOT NULL DO UPDATE
           SET device_id = CASE WHEN d.user_id = excluded.user_id THEN d.device_id
                                ELSE excluded.device_id END,
               user_id = excluded.user_id, public_key = excluded.public_key,
               auth_secret = excluded.auth_secret, user_agent = excluded.user_agent,
               wants_removals = excluded.wants_removals,
               session_digest = excluded.session_digest,
               created_at = CASE WHEN d.user_id = excluded.user_id THEN d.created_at
                                 ELSE excluded.created_at END
        RETURNING device_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        endpoint=endpoint,
        public_key=public_key,
        auth_secret=auth_secret,
        user_agent=user_agent,
        wants_removals=wants_removals,
        session_digest=session_digest,
        now=now,
    )
    return device_id


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
    """Delete their devices that depend on API keys; return the owner of each phone.

    Browsers that depend on sessions are deleted with these, and client devices stay.
    """
    owners: list[UserId] = await connection.values(
        """
        WITH gone AS (
            DELETE FROM push_devices
             WHERE realm_id = %(realm_id)s AND user_id = ANY (%(user_ids)s::bigint[])
               AND session_digest IS NULL AND NOT is_client_device
            RETURNING user_id, kind)
        SELECT user_id FROM gone WHERE kind <> 'web'
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return owners
