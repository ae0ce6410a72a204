"""Mark onboarding steps as seen, for all of a user's clients."""

from server.actions import audit
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.domain.onboarding_steps import STEPS, due
from server.events.base import to_users
from server.events.onboarding_steps import OnboardingStepsChanged, shown
from server.i18n import _
from server.transactions import Tx
from storage import onboarding_steps, users


async def mark_seen(tx: Tx, actor: Actor, step: str) -> None:
    """Mark a step as seen. Idempotent. Raises DomainError."""
    if step not in STEPS:
        raise BadRequestError(_("Unknown onboarding_step: {step}", step=step))
    [row] = await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    connection = await tx.connection()
    seen = await onboarding_steps.seen_by(connection, tx.realm_id, actor.user_id)
    if step in seen:
        return
    await onboarding_steps.insert(await tx.changing(), tx.realm_id, actor.user_id, step)
    event = OnboardingStepsChanged(onboarding_steps=shown(due({*seen, step})))
    entry = tx.append(event, to_users(actor.user_id))
    seen_now = {actor.user_id: {"step": step}}
    audit.record_outcomes(tx, entry, actor.user_id, "onboarding_step_seen", seen_now)
