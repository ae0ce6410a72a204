"""Subscribe browsers to push notifications, and end subscriptions."""

from datetime import datetime
from typing import Final

from server.actions.push_devices import lock_device, lock_owner
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, UnauthorizedError
from server.i18n import _
from server.transactions import Tx
from storage import push_devices, sessions
from storage.ids import PushDeviceId
from storage.push_devices import WEB

MAX_BROWSERS: Final = 50
"""Maximum per user; the oldest subscription is deleted for one more."""


async def subscribe_browser(
    tx: Tx,
    actor: Actor,
    endpoint: str,
    *,
    public_key: bytes,
    auth_secret: bytes,
    user_agent: str,
    wants_removals: bool,
    session: bytes | None,
    now: datetime,
) -> PushDeviceId:
    """Store the subscription, or replace the one with this endpoint; return its id.

    Another user's with this endpoint becomes the actor's: a browser has one for all accounts of
    the organization. It ends with the session of this digest; without one, with the API key.
    """
    await lock_owner(tx, actor.user_id)
    connection = await tx.changing()
    if session is not None and not await sessions.hold(
        connection, tx.realm_id, actor.user_id, session
    ):
        raise UnauthorizedError(_("Not logged in: the session has ended"))
    device_id = await push_devices.put_browser(
        connection,
        tx.realm_id,
        actor.user_id,
        endpoint=endpoint,
        public_key=public_key,
        auth_secret=auth_secret,
        user_agent=user_agent,
        wants_removals=wants_removals,
        session_digest=session,
        now=now,
    )
    rows = await push_devices.of_user(connection, tx.realm_id, actor.user_id)
    others = [row.device_id for row in rows if row.kind == WEB and row.device_id != device_id]
    surplus = others[: max(0, len(others) + 1 - MAX_BROWSERS)]
    await push_devices.delete(connection, tx.realm_id, actor.user_id, surplus)
    return device_id


async def unsubscribe_browser(tx: Tx, actor: Actor, device_id: PushDeviceId) -> None:
    """Delete the actor's subscription. Raises BadRequestError."""
    row = await lock_device(tx, actor.user_id, device_id)
    if row is None or row.kind != WEB:
        raise BadRequestError(_("Subscription does not exist"))
    await push_devices.delete(await tx.changing(), tx.realm_id, actor.user_id, [device_id])
