"""Withdraw users' removed choices of a profile field, in steps, and publish it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from server.actions import audit
from server.actions.locked_realm import LockedRealm, lock_realm_context
from server.actions.messages.notices import deliver
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.domain.access import GUEST
from server.domain.profile_fields import FieldType, choices
from server.events.base import EVERYONE, MEMBERS, Audience, to_users
from server.events.users import ProfileValueWithdrawn
from server.transactions import Tx
from storage import profile_data, profile_fields, shared_contacts, users
from storage.database import Connection
from storage.ids import ProfileFieldId, UserId
from storage.profile_fields import FieldRow

PEOPLE_PER_STEP: Final = 500
"""Maximum number of users per transaction, which bounds how long others' writes wait. One entry
holds as many.
"""


class ChoiceRemovalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A field that has lost choices."""

    actor_id: UserId
    field_id: ProfileFieldId
    gone: list[str]


def choices_of(row: FieldRow) -> set[str]:
    """Return the field's choices; empty for a field with free values."""
    return choices(row.field_data) if row.field_type == FieldType.SELECT else set()


async def lock_first(tx: Tx, plan: ChoiceRemovalPlan) -> list[UserId]:
    """Lock some of the users with a removed choice.

    The realm is locked, so no user chooses it meanwhile.
    """
    return await _lock_some(tx, plan, PEOPLE_PER_STEP)


async def withdraw_first(
    tx: Tx, context: LockedRealm, plan: ChoiceRemovalPlan, user_ids: Sequence[UserId]
) -> str | None:
    """Withdraw the choice of these users, and leave the others to later transactions.

    Return the id of the remaining work, if any.
    """
    await _withdraw(tx, context, plan, user_ids)
    if len(user_ids) < PEOPLE_PER_STEP:
        return None
    return await put_off(tx, WITHDRAWING, plan, done=len(user_ids))


async def _take(tx: Tx, plan: ChoiceRemovalPlan, step: Step) -> int | None:
    """Withdraw the choice of the next few, unless it is one again."""
    context = await lock_realm_context(tx, [])
    fields = await profile_fields.of_realm(await tx.connection(), tx.realm_id)
    there = [choices_of(row) for row in fields if row.field_id == plan.field_id]
    left = msgspec.structs.replace(plan, gone=sorted(set(plan.gone).difference(*there)))
    user_ids = await _lock_some(tx, left, step.size)
    await _withdraw(tx, context, left, user_ids)
    return step.done + len(user_ids) if len(user_ids) == step.size else None


WITHDRAWING: Final = SteppedWorkKind(
    "finish_withdrawing_choices",
    ChoiceRemovalPlan,
    PEOPLE_PER_STEP,
    _take,
    lambda _plan, _work_id: (),
    deliver,
)


async def _lock_some(tx: Tx, plan: ChoiceRemovalPlan, limit: int) -> list[UserId]:
    tx.must_be_exact()
    user_ids = await profile_data.who_say(
        await tx.connection(), tx.realm_id, plan.field_id, plan.gone, limit=limit
    )
    await tx.lock(users.locking(tx.realm_id, user_ids))
    return user_ids


async def _withdraw(
    tx: Tx, context: LockedRealm, plan: ChoiceRemovalPlan, user_ids: Sequence[UserId]
) -> None:
    """Remove the value of these users; publish it to all who know one of them."""
    if not user_ids:
        return
    connection = await tx.changing()
    withdrawn = await profile_data.delete_values(
        connection, tx.realm_id, user_ids, plan.field_id, plan.gone
    )
    if not withdrawn:
        return
    entry = None
    for audience, known in await _who_know_of(connection, context, list(withdrawn)):
        if known:
            event = ProfileValueWithdrawn(field_id=plan.field_id, user_ids=tuple(known))
            entry = tx.append(event, audience)
    assert entry is not None, "members know all users"
    tx.at_position(entry, users.changed(tx.realm_id, list(withdrawn)))
    lost = {user_id: {str(plan.field_id): (value, None)} for user_id, value in withdrawn.items()}
    audit.record_each(tx, entry, plan.actor_id, "profile_data_changed", lost)


async def _who_know_of(
    connection: Connection, context: LockedRealm, user_ids: Sequence[UserId]
) -> list[tuple[Audience, Sequence[UserId]]]:
    """Return audiences with those of the users that they know; no user is in two of them."""
    if context.settings.guests_know_all_users(context.graph):
        return [(EVERYONE, user_ids)]
    realm_id = context.realm.realm_id
    guests = (await users.ids_by_role(connection, realm_id)).get(GUEST, ())
    met = await shared_contacts.known_to_each(connection, realm_id, guests, among=user_ids)
    known = {guest: sorted(met[guest].intersection(user_ids)) for guest in guests}
    return [(MEMBERS, user_ids), *((to_users(guest), known[guest]) for guest in guests)]
