"""Changes of credentials: the only place that revokes what depends on them, and emails about it.

Every action that writes a password, an address, a key, an owner of a bot or whether an account is
active calls `end_pending` in the same transaction (tests/architecture/test_credentials.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from server.actions.account_mail import mail_news
from server.actions.client_devices import end_push_registrations
from server.actions.push_devices import drop_all_devices
from server.actions.realm_exports import renew_links
from server.domain.access import ADMINISTRATOR
from server.domain.account_news import AccountNews
from server.domain.api_keys import new_api_key
from server.domain.confirmations import CHANGE_EMAIL, RESET_PASSWORD
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError
from server.events.base import NO_AUDIENCE, Entry
from server.events.log import QueuesEnded
from server.i18n import _
from server.transactions import Tx
from storage import api_keys, confirmations, credentials, event_queues, sessions
from storage.database import Connection
from storage.ids import UserId
from storage.users import UserRow


@dataclass(frozen=True, slots=True)
class Proof:
    """Proof that the caller owns the account, by its credentials as of `changed_at`."""

    changed_at: datetime | None
    session: bytes | None = None
    """Digest of the session in which the proof was given, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What a change revokes besides everything pending."""

    sessions: bool = False
    but_session: bytes | None = None
    """Digest of the session that is kept."""
    api_key: bool = False
    """Whether own keys are replaced, and push registrations of apps with these keys ended."""
    named_keys: bool = False


PENDING_ALONE = Extent()


@dataclass(frozen=True, slots=True)
class Outcome:
    ended: Ended
    keys: Mapping[UserId, str] = field(default_factory=dict)
    """The accounts' new own keys, if replaced."""


async def check_proof(tx: Tx, user_id: UserId, proof: Proof) -> None:
    """Raise BadRequestError if the credentials have changed since the proof.

    The caller has locked the row.
    """
    now = await credentials.of_user(await tx.connection(), tx.realm_id, user_id)
    if now.changed_at != proof.changed_at:
        raise BadRequestError(_("The account's credentials have changed meanwhile. Sign in again."))


async def end_pending(
    tx: Tx,
    rows: Sequence[UserRow],
    extent: Extent = PENDING_ALONE,
    *,
    news: Callable[[Ended], AccountNews] | None = None,
) -> Outcome:
    """Revoke what is pending for accounts with credentials that change in this transaction.

    These are changes of the address, password links, sign-ins begun at other sites, and, for
    administrators, links to exports. `news` is mailed to each user's present address. The caller
    has locked the rows, and deletes the event queues of replaced keys (`end_queues`).
    """
    connection = await tx.changing()
    user_ids = [row.user_id for row in rows]
    await credentials.note_change(connection, tx.realm_id, user_ids)
    purposes = await confirmations.end_of_users(connection, tx.realm_id, user_ids)
    links = 0
    if any(row.role <= ADMINISTRATOR for row in rows):
        links = await renew_links(tx)
    keys, revoked, left = await _end_keys(tx, connection, user_ids, extent)
    phones = 0
    if extent.api_key:
        phones = await drop_all_devices(tx, user_ids)
        phones += await end_push_registrations(tx, user_ids)
    browsers = 0
    if extent.sessions:
        browsers = await sessions.end_of_users(
            connection, tx.realm_id, user_ids, but=extent.but_session
        )
    ended = Ended(
        sessions=browsers,
        address_changes=purposes.count(CHANGE_EMAIL),
        resets=purposes.count(RESET_PASSWORD),
        export_links=links,
        api_key=bool(keys),
        phones=phones,
        named_keys=revoked,
        named_keys_left=left,
    )
    for row in rows:
        if news is not None and row.bot_type is None:
            mail_news(tx, row, news(ended), to=row.email)
    return Outcome(ended, keys)


async def end_queues(tx: Tx, user_ids: Sequence[UserId]) -> Entry:
    """Delete the event queues of these users, and invalidate the cached users."""
    connection = await tx.changing()
    await event_queues.delete_of_users(connection, tx.realm_id, user_ids)
    return tx.append(QueuesEnded(user_ids=tuple(user_ids)), NO_AUDIENCE)


async def _end_keys(
    tx: Tx, connection: Connection, user_ids: Sequence[UserId], extent: Extent
) -> tuple[dict[UserId, str], int, int]:
    """Return the new keys, how many named ones were revoked, and how many still work."""
    keys: dict[UserId, str] = {}
    if extent.api_key:
        keys = {user_id: new_api_key() for user_id in user_ids}
        await credentials.update_api_keys(connection, tx.realm_id, keys)
    if extent.named_keys:
        return keys, await api_keys.delete_of_users(connection, tx.realm_id, user_ids), 0
    return keys, 0, await api_keys.count_live(connection, tx.realm_id, user_ids)
