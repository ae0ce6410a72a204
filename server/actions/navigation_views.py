"""Navigation views: places that users pin, the same in all their clients."""

from dataclasses import asdict, replace
from typing import Any, Final

from server.actions import audit
from server.domain.actor import Actor
from server.domain.errors import (
    BadRequestError,
    InvalidParameterError,
    NotFoundError,
    UserDeactivatedError,
)
from server.events.base import Event, to_users
from server.events.navigation_views import (
    NavigationViewAdded,
    NavigationViewChanged,
    NavigationViewRemoved,
    ShownView,
)
from server.i18n import _
from server.transactions import Tx
from storage import navigation_views, users
from storage.navigation_views import NavigationViewRow

MAX_VIEWS: Final = 500
MAX_FRAGMENT_LENGTH: Final = 1_000
MAX_NAME_LENGTH: Final = 100


async def add_view(tx: Tx, actor: Actor, view: NavigationViewRow) -> None:
    """Add a view. Raises BadRequestError, also for a fragment that exists."""
    if not view.fragment.strip() or len(view.fragment) > MAX_FRAGMENT_LENGTH:
        raise BadRequestError(_("fragment is blank or too long"))
    view = replace(view, name=_checked_name(view.name))
    there = await _held(tx, actor)
    if view.fragment in there:
        raise BadRequestError(_("Navigation view already exists."))
    if len(there) >= MAX_VIEWS:
        raise BadRequestError(_("Too many navigation views (limit: {limit})", limit=MAX_VIEWS))
    await navigation_views.put(await tx.changing(), tx.realm_id, actor.user_id, view)
    event = NavigationViewAdded(navigation_view=ShownView.of(view))
    _append(tx, actor, "navigation_view_added", event, before={}, after=asdict(view))


async def change_view(
    tx: Tx, actor: Actor, fragment: str, *, is_pinned: bool | None, name: str | None
) -> None:
    """Pin, unpin or rename a view; None leaves a field as it is. Raises DomainError."""
    old = _found(await _held(tx, actor), fragment)
    new = old
    if is_pinned is not None:
        new = replace(new, is_pinned=is_pinned)
    if name is not None:
        new = replace(new, name=_checked_name(name))
    if new == old:
        return
    await navigation_views.put(await tx.changing(), tx.realm_id, actor.user_id, new)
    before, after = asdict(old), asdict(new)
    data = {key: value for key, value in after.items() if value != before[key]}
    event = NavigationViewChanged(fragment=fragment, data=data)
    _append(tx, actor, "navigation_view_changed", event, before=before, after=after)


async def remove_view(tx: Tx, actor: Actor, fragment: str) -> None:
    """Remove a view. Raises NotFoundError."""
    old = _found(await _held(tx, actor), fragment)
    await navigation_views.delete(await tx.changing(), tx.realm_id, actor.user_id, fragment)
    event = NavigationViewRemoved(fragment=fragment)
    _append(tx, actor, "navigation_view_removed", event, before=asdict(old), after={})


async def _held(tx: Tx, actor: Actor) -> dict[str, NavigationViewRow]:
    """Lock the actor's row, which guards the views; return them by fragment."""
    [row] = await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    if not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    rows = await navigation_views.of_user(await tx.connection(), tx.realm_id, actor.user_id)
    return {each.fragment: each for each in rows}


def _found(there: dict[str, NavigationViewRow], fragment: str) -> NavigationViewRow:
    if fragment not in there:
        raise NotFoundError(_("Navigation view does not exist."))
    return there[fragment]


def _checked_name(name: str | None) -> str | None:
    """Return the normalized name; None if it is empty.

    Raises InvalidParameterError.
    """
    name = (name or "").strip()
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidParameterError(
            "name", _("name is too long (limit: {limit} characters)", limit=MAX_NAME_LENGTH)
        )
    return name or None


def _append(tx: Tx, actor: Actor, action: str, event: Event, **values: dict[str, Any]) -> None:
    own, user_id = to_users(actor.user_id), actor.user_id
    audit.append_recorded(tx, user_id, action, event, own, subject_id=user_id, **values)
