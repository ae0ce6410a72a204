"""Share or hide one's presence."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from server.actions.locked_realm import LockedRealm
from server.domain.presence import (
    DEFAULT_HISTORY_DAYS,
    OFFLINE_AFTER_SECONDS,
    presence_of,
)
from server.domain.user_settings import UserSettings
from server.events.base import Audience
from server.events.presence import PresencesChanged
from server.events.user_status import (
    IntroducedStatus,
    ShownStatus,
    StatusesIntroduced,
    UserStatusChanged,
)
from server.transactions import Tx
from storage import presences, user_status
from storage.database import Connection
from storage.users import UserRow


async def choose(
    tx: Tx, context: LockedRealm, row: UserRow, knowing: Audience, *, domain: str
) -> None:
    """Publish the choice of the user, with the row after it.

    Those who know them see at once that they are present, or as if they had been away for a while.
    """
    if row.bot_type is not None:
        return
    is_shared = UserSettings.of(row.settings).presence_enabled
    tx.append(UserStatusChanged(user_id=row.user_id, away=not is_shared), knowing)
    if context.settings.presence_disabled:
        return
    now = context.graph.clock.now()
    connection = await tx.changing()
    if is_shared:
        await presences.arrive(connection, tx.realm_id, row.user_id, now=now)
    else:
        latest = now - timedelta(seconds=OFFLINE_AFTER_SECONDS + 1)
        await presences.leave(connection, tx.realm_id, row.user_id, latest=latest)
    people = [
        presence_of(each, domain)
        for each in await presences.of_users(connection, tx.realm_id, [row.user_id])
    ]
    if people:
        tx.append(PresencesChanged(people=people, server_timestamp=now.timestamp()), knowing)


async def introduce(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    people: Sequence[UserRow],
    audience: Audience,
    *,
    domain: str,
) -> None:
    """Publish statuses and presences of these people to an audience that is new to them."""
    ids = [row.user_id for row in people if row.is_active]
    statuses = [
        IntroducedStatus(user_id=row.user_id, **msgspec.structs.asdict(ShownStatus.of(row)))
        for row in await user_status.of_users(connection, tx.realm_id, ids)
    ]
    said = [each for each in statuses if each != IntroducedStatus(user_id=each.user_id)]
    if said:
        tx.append(StatusesIntroduced(statuses=said), audience)
    if context.settings.presence_disabled:
        return
    now = context.graph.clock.now()
    since = now - timedelta(days=DEFAULT_HISTORY_DAYS)
    rows = await presences.of_users(connection, tx.realm_id, ids)
    seen = [presence_of(row, domain) for row in rows if row.seen_at >= since]
    if seen:
        tx.append(PresencesChanged(people=seen, server_timestamp=now.timestamp()), audience)
