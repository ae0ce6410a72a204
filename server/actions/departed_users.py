"""Delete profiles and messages of deactivated users and their bots, in steps."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import msgspec

from server.actions import audit
from server.actions.erasing import (
    MESSAGES_PER_STEP,
    append_profile_events,
    delete_written,
    nameless,
    no_messages,
)
from server.actions.legal_holds import check_not_held
from server.actions.locked_realm import LockedRealm, lock_realm_context
from server.actions.messages.notices import deliver
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.actions.user_activation import deactivate_as_administrator
from server.actions.user_audiences import UserAudiences
from server.domain.actor import Actor
from server.domain.avatars import medium_key
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.jobs import BlobRemoval, enqueue
from server.transactions import Tx
from storage import erasure, profile_data, users
from storage.erasure import Place
from storage.ids import MessageId, UserId
from storage.users import UserRow

ROWS_OF_A_PROFILE: Final = 1_000
"""More than profile fields can be."""
PROFILE_TABLES: Final = ("profile_values", "user_statuses")
"""Tables of what users say of themselves: some rows each."""


class DeletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is deleted of a deactivated user, and of the user's bots."""

    profile: bool = False
    """Whether the name, the picture, the time zone, the status and the profile fields go."""
    places: tuple[Place, ...] = ()
    """Where messages are deleted."""


class DeletionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The request, with the accounts that it is about."""

    actor_id: UserId
    user_ids: list[UserId]
    profile: bool
    places: tuple[Place, ...]


async def deactivate_and_delete(
    tx: Tx,
    actor: Actor,
    user_id: UserId,
    request: DeletionRequest,
    *,
    comment: str | None,
    now: datetime,
) -> str | None:
    """Deactivate the account, and delete the rest in steps; return the work's id, or None.

    What is requested is also deleted if the account was deactivated before, and of all bots of the
    user. Raises LegalHoldError, with nothing done, if a hold covers any of it; BadRequestError as
    `deactivate_as_administrator`.
    """
    await deactivate_as_administrator(tx, actor, user_id, comment=comment, now=now)
    if not request.profile and not request.places:
        return None
    own = await users.bots(await tx.connection(), tx.realm_id, owner_id=user_id)
    await check_not_held(tx, user_id, *(bot.user_id for bot in own))
    plan = DeletionPlan(
        actor_id=actor.user_id,
        user_ids=[*(bot.user_id for bot in own), user_id],
        profile=request.profile,
        places=request.places,
    )
    await tx.changing()
    entry = tx.append(Tick(), NO_AUDIENCE)
    after = {"profile": plan.profile, "messages": list(plan.places)}
    outcomes = dict.fromkeys(plan.user_ids, after)
    audit.record_outcomes(tx, entry, actor.user_id, "user_content_deleted", outcomes)
    return await put_off(tx, DELETING, plan, done=0)


async def _take(tx: Tx, plan: DeletionPlan, step: Step) -> int | None:
    """Delete the profiles, then messages, oldest first.

    The progress is 0 before the profiles are deleted, then the id below which no message is left.
    An account that has been reactivated meanwhile keeps what is left.
    """
    context = await lock_realm_context(tx, plan.user_ids)
    gone = [row for row in context.people.values() if not row.is_active]
    if step.done == 0:
        if plan.profile and gone:
            await _forget_profiles(tx, context, [row.user_id for row in gone])
        return 1
    if not plan.places:
        return None
    some = await erasure.some_of_departed(
        await tx.connection(),
        tx.realm_id,
        [row.user_id for row in gone],
        plan.places,
        since=MessageId(step.done),
        limit=step.size,
    )
    if some is None:
        return None
    await delete_written(tx, context, some, now=step.now, by=[plan.actor_id])
    return some.message_ids[0]


async def _forget_profiles(tx: Tx, context: LockedRealm, user_ids: Sequence[UserId]) -> None:
    """Publish to all who know the accounts that their profiles are gone. The addresses stay."""
    rows = await tx.lock(users.locking(tx.realm_id, user_ids))
    values = await profile_data.of_users(await tx.connection(), tx.realm_id, user_ids)
    without = [_without_profile(row) for row in rows]
    connection = await tx.changing()
    audiences = await UserAudiences.of(tx, context, without)
    for old, new in zip(rows, without, strict=True):
        user_id = new.user_id
        await erasure.forget_profile(connection, tx.realm_id, user_id, full_name=new.full_name)
        if old.avatar_key is not None:
            keys = (old.avatar_key, medium_key(old.avatar_key))
            enqueue(tx, BlobRemoval(realm_id=tx.realm_id, keys=keys))
        fields = list(values.get(user_id, {}))
        knowing = await audiences.audience_knowing(new)
        entry = append_profile_events(tx, new, fields, audiences.address, knowing)
        for table in PROFILE_TABLES:
            gone = erasure.delete_own(tx.realm_id, user_id, table, limit=ROWS_OF_A_PROFILE)
            tx.at_position(entry, gone)
        tx.at_position(entry, users.changed(tx.realm_id, [user_id]))


def _without_profile(row: UserRow) -> UserRow:
    return replace(
        row,
        full_name=nameless(row.user_id),
        timezone="",
        avatar_key=None,
        avatar_version=row.avatar_version + 1,
        is_deleted=not row.is_active,
    )


DELETING: Final = SteppedWorkKind(
    "delete_departed", DeletionPlan, MESSAGES_PER_STEP, _take, no_messages, deliver
)
